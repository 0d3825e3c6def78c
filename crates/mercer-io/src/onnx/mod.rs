//! ONNX: a fitted transformation as a graph that other programs run, z = W'phi((x - m) / s) - b (MATHS.md, M11).
//!
//! Numbers are doubles throughout.

mod proto;

use mercer::{Gamma, Kernel, Length, Nu, Points, Standardise};
use prost::Message;

use crate::error::{Error, Result};
use proto::{
    AttributeProto, Dimension, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, Shape, TensorProto, TensorType,
    TypeProto, ValueInfoProto,
};

/// The version of the operators, and of the file format.
const OPSET: i64 = 18;
const IR: i64 = 10;
const DOUBLE: i32 = 11;
const INT64: i32 = 7;
/// The smallest normal number: zero norms are lifted to it, so that 0 / 0 is 0.
const TINY: f64 = f64::MIN_POSITIVE;

/// z = W'((x - m) / s): PCA. `weights` has a row per dimension and a column per component.
///
/// # Errors
/// When lengths do not fit together.
pub fn linear(at: &Standardise, weights: &Points<f64>) -> Result<Vec<u8>> {
    fits("dimensions", weights.n(), at.mean.len())?;
    let mut graph = Graph::default();
    let x = graph.standardised(at);
    let w = graph.table("weights", weights);
    let scores = graph.node("MatMul", &[&x, &w]);
    Ok(graph.finish(at.mean.len(), weights.d(), &scores))
}

/// z = W'k(x) - b, k(x) the kernel's values with the points: kernel PCA, or features of landmarks. `weights` has a row per
/// point and a column per component. In kernel PCA, linear terms of the kernel are measured from the point `about`.
///
/// # Errors
/// When lengths do not fit together, or the kernel has parameters that are not numbers.
pub fn kernel(
    kernel: &Kernel,
    at: Option<&Standardise>,
    about: Option<&[f64]>,
    points: &Points<f64>,
    weights: &Points<f64>,
    offset: &[f64],
) -> Result<Vec<u8>> {
    fits("points", weights.n(), points.n())?;
    fits("components", offset.len(), weights.d())?;
    let mut graph = Graph::default();
    let x = at.map_or("X".to_string(), |at| graph.standardised(at));
    if let Some(about) = about {
        fits("dimensions", about.len(), points.d())?;
    }
    let mut pair = Pair::new(&mut graph, x, points, about);
    let values = pair.kernel(kernel, true)?;
    let w = graph.table("weights", weights);
    let b = graph.list("offset", offset);
    let product = graph.node("MatMul", &[&values, &w]);
    let scores = graph.node("Sub", &[&product, &b]);
    Ok(graph.finish(points.d(), weights.d(), &scores))
}

fn fits(what: &str, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(unsupported(format!("{found} {what} where {expected} are expected")))
}

fn unsupported(what: String) -> Error {
    Error::advised("ONNX", what, "export a fitted model")
}

/// A graph as it grows: nodes and constants, each with a name of its own.
#[derive(Default)]
struct Graph {
    nodes: Vec<NodeProto>,
    constants: Vec<TensorProto>,
}

impl Graph {
    /// Adds a node and names its result.
    fn node(&mut self, op: &str, inputs: &[&str]) -> String {
        let name = format!("{}_{}", op.to_lowercase(), self.nodes.len());
        self.nodes.push(NodeProto {
            input: inputs.iter().map(ToString::to_string).collect(),
            output: vec![name.clone()],
            op_type: op.into(),
            attribute: Vec::new(),
        });
        name
    }

    /// Sums over one axis, which stays with length 1 if `keep`.
    fn sum(&mut self, of: &str, axis: i64, keep: bool) -> String {
        let axes = format!("axis_{}", self.constants.len());
        let raw_data = axis.to_le_bytes().to_vec();
        self.constants.push(TensorProto { dims: vec![1], data_type: INT64, name: axes.clone(), raw_data });
        let name = self.node("ReduceSum", &[of, &axes]);
        let keepdims = AttributeProto { name: "keepdims".into(), i: i64::from(keep), r#type: 2 };
        self.nodes.last_mut().expect("just added").attribute.push(keepdims);
        name
    }

    fn constant(&mut self, name: &str, dims: Vec<i64>, values: impl Iterator<Item = f64>) -> String {
        let name = format!("{name}_{}", self.constants.len());
        let raw_data = values.flat_map(f64::to_le_bytes).collect();
        self.constants.push(TensorProto { dims, data_type: DOUBLE, name: name.clone(), raw_data });
        name
    }

    fn number(&mut self, name: &str, value: f64) -> String {
        self.constant(name, Vec::new(), std::iter::once(value))
    }

    fn list(&mut self, name: &str, values: &[f64]) -> String {
        self.constant(name, vec![values.len() as i64], values.iter().copied())
    }

    fn table(&mut self, name: &str, values: &Points<f64>) -> String {
        self.constant(name, vec![values.n() as i64, values.d() as i64], values.as_slice().iter().copied())
    }

    /// `of` with a number, by an operator of two.
    fn with(&mut self, op: &str, of: &str, name: &str, value: f64) -> String {
        let number = self.number(name, value);
        self.node(op, &[of, &number])
    }

    fn standardised(&mut self, at: &Standardise) -> String {
        let (mean, scale) = (self.list("mean", &at.mean), self.list("scale", &at.scale));
        let centred = self.node("Sub", &["X", &mean]);
        self.node("Div", &[&centred, &scale])
    }

    /// The file: X of shape (n, d) in, scores of shape (n, k) out.
    fn finish(mut self, d: usize, k: usize, scores: &str) -> Vec<u8> {
        self.nodes.push(NodeProto {
            input: vec![scores.into()],
            output: vec!["scores".into()],
            op_type: "Identity".into(),
            attribute: Vec::new(),
        });
        let value = |name: &str, width: usize| {
            let rows = Dimension { dim_value: None, dim_param: Some("n".into()) };
            let columns = Dimension { dim_value: Some(width as i64), dim_param: None };
            let tensor_type = TensorType { elem_type: DOUBLE, shape: Some(Shape { dim: vec![rows, columns] }) };
            ValueInfoProto { name: name.into(), r#type: Some(TypeProto { tensor_type: Some(tensor_type) }) }
        };
        ModelProto {
            ir_version: IR,
            producer_name: "mercer".into(),
            producer_version: env!("CARGO_PKG_VERSION").into(),
            graph: Some(GraphProto {
                node: self.nodes,
                name: "mercer".into(),
                initializer: self.constants,
                input: vec![value("X", d)],
                output: vec![value("scores", k)],
            }),
            opset_import: vec![OperatorSetIdProto { domain: String::new(), version: OPSET }],
        }
        .encode_to_vec()
    }
}

/// The statistics of new points (rows) and fitted points (columns), made when they are first needed.
struct Pair<'a> {
    graph: &'a mut Graph,
    x: String,
    points: &'a Points<f64>,
    /// Where linear terms are measured from.
    about: Option<&'a [f64]>,
    /// x.x, where the pairs are those of each point with itself.
    own_dot: Option<String>,
    squared: Option<String>,
    absolute: Option<String>,
}

impl<'a> Pair<'a> {
    fn new(graph: &'a mut Graph, x: String, points: &'a Points<f64>, about: Option<&'a [f64]>) -> Self {
        Pair { graph, x, points, about, own_dot: None, squared: None, absolute: None }
    }

    /// The points less `about`, with a row per dimension.
    fn columns(&self, about: &[f64]) -> Points<f64> {
        Points::from_fn(self.points.d(), self.points.n(), |j, i| self.points.row(i)[j] - about[j])
    }

    /// factor x.y. The factor is part of the points: a common runtime would make a number after a matrix product a part of
    /// the product, rounded to f32.
    fn dot(&mut self, factor: f64) -> String {
        if let Some(own) = self.own_dot.clone() {
            return self.graph.with("Mul", &own, "factor", factor);
        }
        let y = self.scaled_columns(&vec![0.0; self.points.d()], factor);
        self.graph.node("MatMul", &[&self.x.clone(), &y])
    }

    /// factor (x - a).(y - a)
    fn dot_about(&mut self, about: &[f64], factor: f64) -> String {
        let y = self.scaled_columns(about, factor);
        let about = self.graph.list("about", about);
        let x = self.graph.node("Sub", &[&self.x.clone(), &about]);
        self.graph.node("MatMul", &[&x, &y])
    }

    fn scaled_columns(&mut self, about: &[f64], factor: f64) -> String {
        let columns = self.columns(about);
        let scaled = Points::from_fn(columns.n(), columns.d(), |i, j| factor * columns.row(i)[j]);
        self.graph.table("points", &scaled)
    }

    /// x.x, one value per row.
    fn square(&mut self, x: &str) -> String {
        let squares = self.graph.node("Mul", &[x, x]);
        self.graph.sum(&squares, 1, true)
    }

    /// |x-y|^2 by |x|^2 + |y|^2 - 2 x.y, measured from the middle of the points, where it keeps its digits.
    fn squared(&mut self) -> String {
        if self.squared.is_none() {
            let n = self.points.n() as f64;
            let middle: Vec<f64> =
                (0..self.points.d()).map(|j| self.points.column(j).iter().sum::<f64>() / n).collect();
            let columns = self.columns(&middle);
            let norms: Vec<f64> =
                (0..self.points.n()).map(|i| (0..middle.len()).map(|j| columns.row(j)[i].powi(2)).sum()).collect();
            let (middle, y) = (self.graph.list("middle", &middle), self.graph.table("centred", &columns));
            let norms = self.graph.list("norms", &norms);
            let x = self.graph.node("Sub", &[&self.x.clone(), &middle]);
            let own = self.square(&x);
            let products = self.graph.node("MatMul", &[&x, &y]);
            let twice = self.graph.with("Mul", &products, "minus_two", -2.0);
            let sum = self.graph.node("Add", &[&own, &norms]);
            let sum = self.graph.node("Add", &[&sum, &twice]);
            self.squared = Some(self.graph.with("Max", &sum, "zero", 0.0));
        }
        self.squared.clone().expect("just made")
    }

    /// |x-y|_1
    fn absolute(&mut self) -> String {
        if self.absolute.is_none() {
            let (n, d) = (self.points.n() as i64, self.points.d() as i64);
            let y = self.graph.constant("points", vec![1, n, d], self.points.as_slice().iter().copied());
            let shape = [-1, 1, d].iter().flat_map(|v: &i64| v.to_le_bytes()).collect();
            let name = format!("shape_{}", self.graph.constants.len());
            let dims = vec![3];
            self.graph.constants.push(TensorProto { dims, data_type: INT64, name: name.clone(), raw_data: shape });
            let x = self.graph.node("Reshape", &[&self.x.clone(), &name]);
            let gap = self.graph.node("Sub", &[&x, &y]);
            let gap = self.graph.node("Abs", &[&gap]);
            self.absolute = Some(self.graph.sum(&gap, 2, false));
        }
        self.absolute.clone().expect("just made")
    }

    /// gamma x.y + coef0
    fn affine(&mut self, gamma: Gamma, coef0: f64) -> Result<String> {
        let dot = self.dot(number(gamma)?);
        Ok(self.graph.with("Add", &dot, "coef0", coef0))
    }

    /// exp(-rate s)
    fn decay(&mut self, statistic: &str, rate: f64) -> String {
        let scaled = self.graph.with("Mul", statistic, "rate", -rate);
        self.graph.node("Exp", &[&scaled])
    }

    /// k(x, y) for every pair; `additive` as long as nothing but sums and weights stand between this kernel and the whole.
    fn kernel(&mut self, kernel: &Kernel, additive: bool) -> Result<String> {
        let (factor, inner) = match kernel {
            Kernel::Scaled(weight, inner) => (*weight, inner.as_ref()),
            other => (1.0, other),
        };
        Ok(match (inner, self.about) {
            (Kernel::Linear, Some(about)) if additive => self.dot_about(about, factor),
            (Kernel::Linear, _) => self.dot(factor),
            _ => self.leaf_or_composite(kernel, additive)?,
        })
    }

    fn leaf_or_composite(&mut self, kernel: &Kernel, additive: bool) -> Result<String> {
        Ok(match kernel {
            Kernel::Linear => self.dot(1.0),
            Kernel::Polynomial { gamma, coef0, degree } => {
                let inner = self.affine(*gamma, *coef0)?;
                self.graph.with("Pow", &inner, "degree", f64::from(*degree))
            }
            Kernel::Sigmoid { gamma, coef0 } => {
                let inner = self.affine(*gamma, *coef0)?;
                self.graph.node("Tanh", &[&inner])
            }
            Kernel::Gaussian { gamma } => {
                let squared = self.squared();
                self.decay(&squared, number(*gamma)?)
            }
            Kernel::Laplacian { gamma } => {
                let absolute = self.absolute();
                self.decay(&absolute, number(*gamma)?)
            }
            Kernel::RationalQuadratic { alpha, length: width } => {
                let squared = self.squared();
                let scaled = self.graph.with("Mul", &squared, "rate", 0.5 / (alpha * length(*width)?.powi(2)));
                let base = self.graph.with("Add", &scaled, "one", 1.0);
                self.graph.with("Pow", &base, "power", -alpha)
            }
            Kernel::Matern { nu, length: width } => {
                let (squared, width) = (self.squared(), length(*width)?);
                let distance = self.graph.node("Sqrt", &[&squared]);
                let (smooth, quadratic) = match nu {
                    Nu::Half => (1.0, None),
                    Nu::ThreeHalves => (3.0f64, Some(0.0)),
                    Nu::FiveHalves => (5.0, Some(1.0 / 3.0)),
                };
                let a = self.graph.with("Mul", &distance, "rate", smooth.sqrt() / width);
                let decay = self.decay(&a, 1.0);
                match quadratic {
                    None => decay,
                    // (1 + a (1 + a q)) exp(-a)
                    Some(q) => {
                        let inner = self.graph.with("Mul", &a, "quadratic", q);
                        let inner = self.graph.with("Add", &inner, "one", 1.0);
                        let inner = self.graph.node("Mul", &[&a, &inner]);
                        let inner = self.graph.with("Add", &inner, "one", 1.0);
                        self.graph.node("Mul", &[&inner, &decay])
                    }
                }
            }
            Kernel::Cosine => self.normalised(&Kernel::Linear)?,
            Kernel::Normalised(inner) => self.normalised(inner)?,
            Kernel::Sum(parts) => self.fold("Add", parts, additive)?,
            Kernel::Product(parts) => self.fold("Mul", parts, false)?,
            Kernel::Scaled(weight, inner) => {
                let inner = self.kernel(inner, additive)?;
                self.graph.with("Mul", &inner, "weight", *weight)
            }
            other => return Err(unsupported(format!("kernel '{other}' has no graph"))),
        })
    }

    fn fold(&mut self, op: &str, parts: &[Kernel], additive: bool) -> Result<String> {
        let mut parts = parts.iter();
        let first = parts.next().ok_or_else(|| unsupported("a kernel of no parts has no graph".into()))?;
        let mut sum = self.kernel(first, additive)?;
        for part in parts {
            let next = self.kernel(part, additive)?;
            sum = self.graph.node(op, &[&sum, &next]);
        }
        Ok(sum)
    }

    /// k(x,y) / sqrt(k(x,x) k(y,y)), 0 where k(x,x) or k(y,y) is not positive.
    fn normalised(&mut self, inner: &Kernel) -> Result<String> {
        let own = self.own(inner)?;
        let positive = self.graph.with("Greater", &own, "zero", 0.0);
        if self.own_dot.is_some() {
            let (one, zero) = (self.graph.number("one", 1.0), self.graph.number("zero", 0.0));
            return Ok(self.graph.node("Where", &[&positive, &one, &zero]));
        }
        let inverse_root = |v: f64| if v > 0.0 { 1.0 / v.sqrt() } else { 0.0 };
        let of_points: Vec<f64> = self.points.rows().map(|p| inverse_root(inner.eval(p, p))).collect();
        let values = self.kernel(inner, false)?;
        let lifted = self.graph.with("Max", &own, "tiny", TINY);
        let root = self.graph.node("Sqrt", &[&lifted]);
        let (one, zero) = (self.graph.number("one", 1.0), self.graph.number("zero", 0.0));
        let inverse = self.graph.node("Div", &[&one, &root]);
        let inverse = self.graph.node("Where", &[&positive, &inverse, &zero]);
        // Constants last: the values may be a matrix product (see `dot`).
        let of_points = self.graph.list("of_points", &of_points);
        let scaled = self.graph.node("Mul", &[&values, &inverse]);
        Ok(self.graph.node("Mul", &[&scaled, &of_points]))
    }

    /// k(x, x), one value per row: the kernel where x.y is x.x and distances are 0.
    fn own(&mut self, kernel: &Kernel) -> Result<String> {
        let x = self.x.clone();
        let dot = self.square(&x);
        let zero = self.graph.with("Mul", &dot, "zero", 0.0);
        let (squared, absolute) = (Some(zero.clone()), Some(zero));
        let mut own =
            Pair { graph: self.graph, x, points: self.points, about: None, own_dot: Some(dot), squared, absolute };
        own.kernel(kernel, false)
    }
}

fn number(gamma: Gamma) -> Result<f64> {
    gamma.number().ok_or_else(|| unsupported("the kernel has a gamma that is not a number".into()))
}

fn length(length: Length) -> Result<f64> {
    length.number().ok_or_else(|| unsupported("the kernel has a length that is not a number".into()))
}
