//! `mercer steps`: every intermediate result of the textbook on a few rows, under the numbers of MATHS.md.

use std::io::Write;

use mercer::kernel::Bound;
use mercer::op::centre;
use mercer::op::{Gram, SymOp};
use mercer::state::Moments;
use mercer::{Block, Embedding, Exec, KernelPca, Pca, Points};

use crate::args::{RunArgs, StepsArgs};
use crate::input::{self, KernelChoice, exec, load};
use crate::output::{Failure, Outcome, Result, Terminal, line, table};
use mercer_view::{component, short};

/// More rows than this do not fit a screen.
const MOST_ROWS: usize = 30;

pub(crate) fn run(args: &StepsArgs, run: &RunArgs, terminal: &mut Terminal) -> Result {
    if !(2..=MOST_ROWS).contains(&args.rows) {
        return Err(Failure::Usage(format!("--rows {}: must be between 2 and {MOST_ROWS}", args.rows)));
    }
    if args.components == 0 {
        return Err(Failure::Usage("-k 0: at least one component is needed".into()));
    }
    let choice = input::kernel(&args.kernel)?;
    let mut data = load(&args.data, run)?;
    let n = data.points.n();
    let rows = args.rows.min(n);
    // Spread over the data: the first rows of Iris are all of one species.
    let spread: Vec<usize> = (0..rows).map(|i| i * n / rows).collect();
    data.points = Points::from_fn(rows, data.points.d(), |i, j| data.points.row(spread[i])[j]);
    let new = new_point(args, &data.points)?;
    // Nothing is printed until all of it is known.
    let mut text: Vec<u8> = Vec::new();
    let out = &mut text;
    let numbers: Vec<String> = spread.iter().map(|i| (i + 1).to_string()).collect();
    line(out, "data", format!("{}: rows {} of {n}", data.source, numbers.join(", ")))?;
    let steps = Steps { x: &data.points, columns: &data.columns, new, k: args.components, exec: exec(run) };
    match choice {
        KernelChoice::None => steps.pca(out).map_err(|f| f.about(&data.source))?,
        KernelChoice::Kernel(kernel) => steps.kernel_pca(&kernel, out).map_err(|f| f.about(&data.source))?,
        KernelChoice::Precomputed => {
            return Err(Failure::Usage("steps needs points: '--kernel precomputed' has none".into()));
        }
    }
    terminal.out.write_all(&text)?;
    Ok(Outcome::Done)
}

fn new_point(args: &StepsArgs, x: &Points<f64>) -> Result<Points<f64>> {
    let values: Vec<f64> = match &args.new {
        None => (0..x.d()).map(|j| (x.row(0)[j] + x.row(1)[j]) / 2.0).collect(),
        Some(text) => {
            let wrong = |part: &str| Failure::Usage(format!("--new: '{part}' is not a number"));
            text.split(',').map(|p| p.trim().parse().map_err(|_| wrong(p))).collect::<Result<_>>()?
        }
    };
    if values.len() != x.d() {
        return Err(Failure::Usage(format!(
            "--new has {} values, but the data has {}",
            values.len(),
            input::numeric_columns(x.d())
        )));
    }
    Ok(Points::new(values, 1, x.d())?)
}

struct Steps<'a> {
    x: &'a Points<f64>,
    columns: &'a [String],
    new: Points<f64>,
    k: usize,
    exec: Exec,
}

impl Steps<'_> {
    fn kernel_pca(&self, kernel: &mercer::Kernel, out: &mut dyn Write) -> Result<()> {
        let bound = Bound::new(kernel, self.x)?;
        step(out, "", "the points", "x_1, ..., x_n")?;
        self.points("x_", self.x, out)?;
        step(out, "M5", "the Gram matrix", "K_ij = k(x_i, x_j)")?;
        line(out, "  kernel", bound.kernel())?;
        for choice in bound.choices() {
            line(out, "  chosen", choice)?;
        }
        let mut gram = Gram::new(&bound, self.x)?.to_matrix(&self.exec)?;
        matrix(&gram, out)?;
        let trace: f64 = (0..gram.n()).map(|i| gram.at(i, i)).sum();
        let sum: f64 = gram.as_slice().iter().sum();
        let (means, grand) = centre(&mut gram);
        step(out, "M7", "centring", "K~ = HKH: K~_ij = K_ij - kbar_i - kbar_j + mean, H = I - 11'/n")?;
        list("kbar", &means, out)?;
        list("mean", &[grand], out)?;
        matrix(&gram, out)?;

        let model = KernelPca::new(bound.kernel().clone()).components(self.k).fit_with(self.x, &self.exec)?;
        step(out, "M8", "eigenvalues", "K~ u = lambda u")?;
        list("lambda", model.spectrum().eigenvalues(), out)?;
        list("lambda/n", &model.spectrum().population_variances(), out)?;
        step(out, "M9", "total variance", "tr K~ = tr K - 1'K1/n")?;
        list("tr K~", &[trace - sum / self.x.n() as f64], out)?;
        list("shares", &model.spectrum().ratios(), out)?;
        for note in model.notes() {
            line(out, "  note", note)?;
        }
        step(
            out,
            "M10",
            "normalised eigenvectors",
            "alpha = u / sqrt(lambda), so that the component has length 1 in the feature space",
        )?;
        self.components(model.alpha(), out)?;
        step(out, "M10", "scores of the points", "z_i = sum_j alpha_j K~_ij = u_i sqrt(lambda)")?;
        self.components(&model.scores(), out)?;
        step(out, "M11", "a new point", "z(x) = sum_i alpha_i k~(x, x_i)")?;
        self.points("x", &self.new, out)?;
        let row: Vec<f64> = self.x.rows().map(|x| bound.eval(self.new.row(0), x)).collect();
        list("k", &row, out)?;
        let mean = row.iter().sum::<f64>() / row.len() as f64;
        let centred: Vec<f64> = row.iter().zip(&means).map(|(k, m)| k - mean - m + grand).collect();
        list("k~", &centred, out)?;
        list("z", model.transform(&self.new)?.row(0), out)?;
        step(out, "M12", "squared error of its projection", "k~(x,x) - |z|^2")?;
        list("error", &model.squared_errors(&self.new)?, out)?;
        if !model.has_preimages() {
            return Ok(());
        }
        step(
            out,
            "M18",
            "the pre-image of its projection",
            "y <- sum_i g_i k(y, x_i) x_i / sum_i g_i k(y, x_i), g = A z + 1/n",
        )?;
        let found = model.preimages(&self.new, &self.exec)?;
        self.points("y", found.points(), out)?;
        list("steps", &[found.steps()[0] as f64], out)?;
        list("distance", found.distances(), out)
    }

    fn pca(&self, out: &mut dyn Write) -> Result<()> {
        let k = self.k.min(self.x.d()).min(self.x.n());
        step(out, "", "the points", "x_1, ..., x_n")?;
        self.points("x_", self.x, out)?;
        let moments = Moments::of(self.x)?;
        step(out, "M1", "mean and scatter", "m = (1/n) sum x_i,  S = sum (x_i - m)(x_i - m)'")?;
        list("m", &moments.mean(), out)?;
        matrix(&moments.scatter(), out)?;
        let model = Pca::new().components(k).fit_with(self.x, &self.exec)?;
        step(out, "M2", "eigenvalues", "S f = lambda f")?;
        list("lambda", model.spectrum().eigenvalues(), out)?;
        step(out, "M3", "variances", "lambda/(n-1) of a sample, lambda/n of a population; shares of tr S")?;
        list("/(n-1)", &model.spectrum().variances(), out)?;
        list("/n", &model.spectrum().population_variances(), out)?;
        list("shares", &model.spectrum().ratios(), out)?;
        step(out, "M2", "axes (loadings)", "F = (f_1, ..., f_k), each of length 1")?;
        let names = Embedding::Identity.names(self.columns);
        let axes = model.axes();
        let rows: Vec<Vec<String>> = (0..self.x.d())
            .map(|j| std::iter::once(names[j].clone()).chain(axes.rows().map(|f| short(f[j]))).collect())
            .collect();
        let header: Vec<String> = std::iter::once("column".into()).chain((0..k).map(component)).collect();
        table(out, &header.iter().map(String::as_str).collect::<Vec<_>>(), &rows)?;
        step(out, "M2", "scores", "y = F'(x - m)")?;
        self.components(&model.transform(self.x)?, out)?;
        step(out, "M2", "reconstruction", "x^ = m + F y")?;
        self.points("x^_", &model.reconstruct(&model.transform(self.x)?)?, out)?;
        step(out, "M3", "squared error", "sum |x - x^|^2 = sum of the discarded lambda")?;
        let errors = model.squared_errors(self.x)?;
        list("errors", &errors, out)?;
        list("sum", &[errors.iter().sum()], out)?;
        list("discarded", &[model.spectrum().discarded()], out)?;
        step(out, "M2", "a new point", "y = F'(x - m)")?;
        self.points("x", &self.new, out)?;
        list("y", model.transform(&self.new)?.row(0), out)
    }

    /// Points under the names of their columns.
    fn points(&self, name: &str, x: &Points<f64>, out: &mut dyn Write) -> Result<()> {
        let rows: Vec<Vec<String>> = x
            .rows()
            .enumerate()
            .map(|(i, r)| {
                let name = if name.ends_with('_') { format!("{name}{}", i + 1) } else { name.to_string() };
                std::iter::once(name).chain(r.iter().map(|v| short(*v))).collect()
            })
            .collect();
        let header: Vec<&str> = std::iter::once("").chain(self.columns.iter().map(String::as_str)).collect();
        Ok(table(out, &header, &rows)?)
    }

    /// A row per point, a column per component.
    fn components(&self, z: &Points<f64>, out: &mut dyn Write) -> Result<()> {
        let rows: Vec<Vec<String>> = z
            .rows()
            .enumerate()
            .map(|(i, r)| std::iter::once(format!("x_{}", i + 1)).chain(r.iter().map(|v| short(*v))).collect())
            .collect();
        let header: Vec<String> = std::iter::once(String::new()).chain((0..z.d()).map(component)).collect();
        Ok(table(out, &header.iter().map(String::as_str).collect::<Vec<_>>(), &rows)?)
    }
}

fn step(out: &mut dyn Write, number: &str, name: &str, formula: &str) -> Result<()> {
    let bold = anstyle::Style::new().bold();
    let number = if number.is_empty() { String::new() } else { format!("({number}) ") };
    writeln!(out, "\n{bold}{number}{name}{bold:#}   {formula}")?;
    Ok(())
}

fn list(name: &str, values: &[f64], out: &mut dyn Write) -> Result<()> {
    let values: Vec<String> = values.iter().map(|v| short(*v)).collect();
    writeln!(out, "  {name:<10} {}", values.join("  "))?;
    Ok(())
}

/// All entries with as many digits as the largest needs, in columns as wide as the widest.
fn matrix(a: &Block, out: &mut dyn Write) -> Result<()> {
    let largest = a.as_slice().iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let plain = largest == 0.0 || (1e-2..1e6).contains(&largest);
    let text = |v: f64| if plain { format!("{v:.5}") } else { format!("{v:.3e}") };
    let width = a.as_slice().iter().map(|v| text(*v).len()).max().unwrap_or(0) + 2;
    for i in 0..a.n() {
        let cells: String = (0..a.b()).map(|j| format!("{:>width$}", text(a.at(i, j)))).collect();
        writeln!(out, "{cells}")?;
    }
    Ok(())
}
