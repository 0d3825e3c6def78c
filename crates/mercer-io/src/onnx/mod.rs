//! ONNX: a fitted transformation as a graph that other programs run, z = W'phi((x - m) / s) - b (MATHS.md, M11).
//!
//! Numbers are doubles throughout.

mod proto;

use std::f64::consts::TAU;

use mercer::kernel::{Formula, Leaf, Statistic};
use mercer::{Kernel, Points, Standardise};
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
        self.attribute("keepdims", i64::from(keep));
        name
    }

    /// Gives the last node an attribute.
    fn attribute(&mut self, name: &str, value: i64) {
        let attribute = AttributeProto { name: name.into(), i: value, r#type: 2 };
        self.nodes.last_mut().expect("a node was added before").attribute.push(attribute);
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

/// The values of a kernel for new points (rows) and fitted points (columns); with `own`, of each new point with itself.
struct Pair<'a> {
    graph: &'a mut Graph,
    x: String,
    points: &'a Points<f64>,
    /// The point from which linear terms are measured.
    about: Option<&'a [f64]>,
    /// x.x of the new points, where the pairs are those of each point with itself.
    own: Option<String>,
}

impl<'a> Pair<'a> {
    fn new(graph: &'a mut Graph, x: String, points: &'a Points<f64>, about: Option<&'a [f64]>) -> Self {
        Pair { graph, x, points, about, own: None }
    }

    /// factor (x - a).(y - a). The factor is part of the points: a common runtime would make a number after a matrix
    /// product a part of the product, rounded to f32.
    fn dot(&mut self, about: Option<&[f64]>, factor: f64) -> String {
        if let Some(own) = self.own.clone() {
            return self.graph.with("Mul", &own, "factor", factor);
        }
        let zero = vec![0.0; self.points.d()];
        let columns = columns(self.points, about.unwrap_or(&zero), factor);
        let y = self.graph.table("points", &columns);
        let x = match about {
            Some(about) => {
                let about = self.graph.list("about", about);
                self.graph.node("Sub", &[&self.x.clone(), &about])
            }
            None => self.x.clone(),
        };
        self.graph.node("MatMul", &[&x, &y])
    }

    /// x.x, one value per row.
    fn square(&mut self, x: &str) -> String {
        let squares = self.graph.node("Mul", &[x, x]);
        self.graph.sum(&squares, 1, true)
    }

    /// A constant in the shape of one value per row: distances of points from themselves.
    fn constant_of_own(&mut self, own: &str, value: f64) -> String {
        let zero = self.graph.with("Mul", own, "zero", 0.0);
        self.graph.with("Add", &zero, "value", value)
    }

    /// |u-v|^2 of mapped points by |u|^2 + |v|^2 - 2 u.v, measured from the middle of the fitted ones, where it keeps its
    /// digits.
    fn squared_distance(&mut self, x: &str, points: &Points<f64>) -> String {
        let n = points.n() as f64;
        let middle: Vec<f64> = (0..points.d()).map(|j| points.column(j).iter().sum::<f64>() / n).collect();
        let columns = columns(points, &middle, 1.0);
        let norms: Vec<f64> =
            (0..points.n()).map(|i| (0..middle.len()).map(|j| columns.row(j)[i].powi(2)).sum()).collect();
        let (middle, y) = (self.graph.list("middle", &middle), self.graph.table("centred", &columns));
        let norms = self.graph.list("norms", &norms);
        let x = self.graph.node("Sub", &[x, &middle]);
        let own = self.square(&x);
        let products = self.graph.node("MatMul", &[&x, &y]);
        let twice = self.graph.with("Mul", &products, "minus_two", -2.0);
        let sum = self.graph.node("Add", &[&own, &norms]);
        let sum = self.graph.node("Add", &[&sum, &twice]);
        self.graph.with("Max", &sum, "zero", 0.0)
    }

    /// x and the fitted points as (n, 1, d) and (1, m, d), for sums over coordinates.
    fn side_by_side(&mut self) -> (String, String) {
        let (n, d) = (self.points.n() as i64, self.points.d() as i64);
        let y = self.graph.constant("points", vec![1, n, d], self.points.as_slice().iter().copied());
        let shape = [-1, 1, d].iter().flat_map(|v: &i64| v.to_le_bytes()).collect();
        let name = format!("shape_{}", self.graph.constants.len());
        let dims = vec![3];
        self.graph.constants.push(TensorProto { dims, data_type: INT64, name: name.clone(), raw_data: shape });
        (self.graph.node("Reshape", &[&self.x.clone(), &name]), y)
    }

    /// The statistic of every pair.
    fn statistic(&mut self, statistic: Statistic<'_>) -> String {
        if let Some(own) = self.own.clone() {
            return match statistic {
                Statistic::Dot => own,
                Statistic::Cosine => {
                    let positive = self.graph.with("Greater", &own, "zero", 0.0);
                    let (one, zero) = (self.graph.number("one", 1.0), self.graph.number("zero", 0.0));
                    self.graph.node("Where", &[&positive, &one, &zero])
                }
                Statistic::Tanimoto => self.constant_of_own(&own, 1.0),
                Statistic::SquaredDistance
                | Statistic::ScaledDistance(_)
                | Statistic::CircleDistance(_)
                | Statistic::L1
                | Statistic::ChiSquared => self.constant_of_own(&own, 0.0),
            };
        }
        let x = self.x.clone();
        match statistic {
            Statistic::Dot => self.dot(None, 1.0),
            Statistic::Cosine => {
                let dot = self.dot(None, 1.0);
                let own = self.square(&x);
                self.divided_by_roots(&dot, &own, |p| p.iter().map(|v| v * v).sum())
            }
            Statistic::Tanimoto => {
                let dot = self.dot(None, 1.0);
                let own = self.square(&x);
                let norms: Vec<f64> = self.points.rows().map(|p| p.iter().map(|v| v * v).sum()).collect();
                let norms = self.graph.list("norms", &norms);
                let sum = self.graph.node("Add", &[&own, &norms]);
                let below = self.graph.node("Sub", &[&sum, &dot]);
                let positive = self.graph.with("Greater", &below, "zero", 0.0);
                let lifted = self.graph.with("Max", &below, "tiny", TINY);
                let ratio = self.graph.node("Div", &[&dot, &lifted]);
                let one = self.graph.number("one", 1.0);
                self.graph.node("Where", &[&positive, &ratio, &one])
            }
            Statistic::SquaredDistance => self.squared_distance(&x, &self.points.clone()),
            Statistic::ScaledDistance(lengths) => {
                let points = self.points;
                let scaled = Points::from_fn(points.n(), points.d(), |i, j| points.row(i)[j] / lengths[j]);
                let divisor = self.graph.list("lengths", lengths);
                let x = self.graph.node("Div", &[&x, &divisor]);
                self.squared_distance(&x, &scaled)
            }
            Statistic::CircleDistance(period) => {
                let points = self.points;
                let d = points.d();
                // The cosine as a sine: some runtimes have no cosine of doubles.
                let angle = |v: f64, quarter: f64| (TAU * ((v % period) / period + quarter)).sin();
                let wound = Points::from_fn(points.n(), 2 * d, |i, j| {
                    if j < d { angle(points.row(i)[j], 0.25) } else { angle(points.row(i)[j - d], 0.0) }
                });
                // The remainder first, so that points many periods away keep their digits.
                let turns = self.graph.with("Div", &x, "period", period);
                let whole = self.graph.node("Floor", &[&turns]);
                let part = self.graph.node("Sub", &[&turns, &whole]);
                let phase = self.graph.with("Mul", &part, "turn", TAU);
                let quarter = self.graph.with("Add", &phase, "quarter", TAU / 4.0);
                let (cosine, sine) = (self.graph.node("Sin", &[&quarter]), self.graph.node("Sin", &[&phase]));
                let both = self.graph.node("Concat", &[&cosine, &sine]);
                self.graph.attribute("axis", 1);
                self.squared_distance(&both, &wound)
            }
            Statistic::L1 => {
                let (x, y) = self.side_by_side();
                let gap = self.graph.node("Sub", &[&x, &y]);
                let gap = self.graph.node("Abs", &[&gap]);
                self.graph.sum(&gap, 2, false)
            }
            Statistic::ChiSquared => {
                let (x, y) = self.side_by_side();
                let gap = self.graph.node("Sub", &[&x, &y]);
                let total = self.graph.node("Add", &[&x, &y]);
                let total = self.graph.with("Max", &total, "tiny", TINY);
                let ratio = self.graph.node("Div", &[&gap, &total]);
                let term = self.graph.node("Mul", &[&ratio, &gap]);
                self.graph.sum(&term, 2, false)
            }
        }
    }

    /// A function of a statistic.
    fn formula(&mut self, formula: &Formula, statistic: Statistic<'_>) -> Result<String> {
        Ok(match formula {
            Formula::Statistic => self.statistic(statistic),
            // A factor of a matrix product becomes part of the points (see `dot`).
            Formula::Times(factor, f) if **f == Formula::Statistic && statistic == Statistic::Dot => {
                self.dot(None, *factor)
            }
            Formula::Times(factor, f) => {
                let f = self.formula(f, statistic)?;
                self.graph.with("Mul", &f, "factor", *factor)
            }
            Formula::Plus(f, number) => {
                let f = self.formula(f, statistic)?;
                self.graph.with("Add", &f, "number", *number)
            }
            Formula::Product(f, g) => {
                let (f, g) = (self.formula(f, statistic)?, self.formula(g, statistic)?);
                self.graph.node("Mul", &[&f, &g])
            }
            Formula::Power(f, power) => {
                let f = self.formula(f, statistic)?;
                self.graph.with("Pow", &f, "power", *power)
            }
            Formula::Root(f) => self.unary("Sqrt", f, statistic)?,
            Formula::Exp(f) => self.unary("Exp", f, statistic)?,
            Formula::Tanh(f) => self.unary("Tanh", f, statistic)?,
            other => return Err(unsupported(format!("the formula {other:?} has no graph"))),
        })
    }

    fn unary(&mut self, op: &str, f: &Formula, statistic: Statistic<'_>) -> Result<String> {
        let f = self.formula(f, statistic)?;
        Ok(self.graph.node(op, &[&f]))
    }

    /// k(x, y) for every pair; `additive` as long as nothing but sums and weights stand between this kernel and the whole.
    fn kernel(&mut self, kernel: &Kernel, additive: bool) -> Result<String> {
        Ok(match kernel {
            Kernel::Leaf(leaf) => self.leaf(leaf, additive, 1.0)?,
            Kernel::Scaled(weight, inner) => match inner.as_ref() {
                Kernel::Leaf(leaf @ Leaf::Linear(_)) => self.leaf(leaf, additive, *weight)?,
                inner => {
                    let inner = self.kernel(inner, additive)?;
                    self.graph.with("Mul", &inner, "weight", *weight)
                }
            },
            Kernel::Normalised(inner) => self.normalised(inner)?,
            Kernel::Sum(parts) => self.fold("Add", parts, additive)?,
            Kernel::Product(parts) => self.fold("Mul", parts, false)?,
        })
    }

    fn leaf(&mut self, leaf: &Leaf, additive: bool, factor: f64) -> Result<String> {
        if !Kernel::Leaf(leaf.clone()).is_numeric() {
            return Err(unsupported("the kernel has a parameter that is not a number".into()));
        }
        if matches!(leaf, Leaf::Linear(_)) {
            let about = if additive { self.about } else { None };
            return Ok(self.dot(about, factor));
        }
        self.formula(&leaf.formula(), leaf.statistic())
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
        let x = self.x.clone();
        let dot = self.square(&x);
        let own =
            Pair { graph: self.graph, x, points: self.points, about: None, own: Some(dot) }.kernel(inner, false)?;
        if self.own.is_some() {
            let positive = self.graph.with("Greater", &own, "zero", 0.0);
            let (one, zero) = (self.graph.number("one", 1.0), self.graph.number("zero", 0.0));
            return Ok(self.graph.node("Where", &[&positive, &one, &zero]));
        }
        let values = self.kernel(inner, false)?;
        Ok(self.divided_by_roots(&values, &own, |p| inner.self_value(p)))
    }

    /// values / sqrt(own of x, own of y), 0 where one of these is not positive.
    fn divided_by_roots(&mut self, values: &str, own: &str, of_point: impl Fn(&[f64]) -> f64) -> String {
        let inverse_root = |v: f64| if v > 0.0 { 1.0 / v.sqrt() } else { 0.0 };
        let of_points: Vec<f64> = self.points.rows().map(|p| inverse_root(of_point(p))).collect();
        let positive = self.graph.with("Greater", own, "zero", 0.0);
        let lifted = self.graph.with("Max", own, "tiny", TINY);
        let root = self.graph.node("Sqrt", &[&lifted]);
        let (one, zero) = (self.graph.number("one", 1.0), self.graph.number("zero", 0.0));
        let inverse = self.graph.node("Div", &[&one, &root]);
        let inverse = self.graph.node("Where", &[&positive, &inverse, &zero]);
        // Constants last: the values may be a matrix product (see `dot`).
        let of_points = self.graph.list("of_points", &of_points);
        let scaled = self.graph.node("Mul", &[values, &inverse]);
        self.graph.node("Mul", &[&scaled, &of_points])
    }
}

/// The points less `about` times a factor, with a row per dimension.
fn columns(points: &Points<f64>, about: &[f64], factor: f64) -> Points<f64> {
    Points::from_fn(points.d(), points.n(), |j, i| factor * (points.row(i)[j] - about[j]))
}
