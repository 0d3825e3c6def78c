//! A problem: data, and one of all the ways to fit it.

use mercer::op::SymOp;
use mercer::state::{LandmarkState, PcaState, Survey};
use mercer::{
    AnyModel, Block, Certificate, Components, Csr, Embedding, Exec, Kernel, KernelPca, KernelPcaModel, Landmarks, Pca,
    PcaModel, Points, Result, Route, Standardise,
};

use crate::rng::Rng;
use crate::{data, kernels};

/// One fit, and all that it depends on.
#[derive(Clone, Debug)]
pub struct Problem {
    /// What the data is.
    pub family: String,
    /// The points, or the matrix that is given.
    pub points: Points<f64>,
    /// Whether it is handed over as f32; the numbers are then those of f32.
    pub f32: bool,
    /// Whether its certificate is one in which all rounding is enclosed.
    pub rigorous: bool,
    pub task: Task,
}

/// A way to fit.
#[derive(Clone, Debug)]
pub enum Task {
    /// PCA of points; a model restricted to its first components, if so many are named.
    Pca { pca: Pca, first: Option<usize> },
    /// PCA by passes over the points.
    PcaPasses { pca: Pca },
    /// PCA of points in batches, whose states are merged in a random order.
    States { pca: Pca, tree: u64 },
    /// PCA of sparse points.
    Sparse { pca: Pca },
    /// PCA of a scatter matrix that is given.
    Scatter { pca: Pca },
    /// Kernel PCA of points.
    Kernel { spec: KernelPca },
    /// The same by landmarks; in batches, if a random order is named.
    Landmarks { spec: KernelPca, tree: Option<u64> },
    /// A Gram matrix that is given.
    Gram { spec: KernelPca },
    /// An operator: the matrix, and whether its diagonal and its norm are told.
    Operator { spec: KernelPca, diagonal: bool, norm: bool },
    /// The Gram matrix of whole numbers X and c on the diagonal, as a matrix or as an operator: XX' + cI.
    Whole { spec: KernelPca, shift: f64, operator: bool },
    /// A kernel function of the user's.
    Function { spec: KernelPca, function: Function },
}

/// Kernel functions of a user's.
#[derive(Clone, Copy, Debug)]
pub enum Function {
    Exponential,
    Overlap,
    Cubic,
}

impl Function {
    pub fn value(self, x: &[f64], y: &[f64]) -> f64 {
        let pairs = x.iter().zip(y);
        match self {
            Function::Exponential => (-pairs.map(|(a, b)| (a - b).abs()).sum::<f64>()).exp(),
            Function::Overlap => pairs.map(|(a, b)| a.abs().min(b.abs())).sum(),
            Function::Cubic => pairs.map(|(a, b)| a * b).sum::<f64>().powi(3),
        }
    }
}

/// What a fit shows: eigenpairs and their certificate.
pub struct Shown {
    pub values: Vec<f64>,
    /// Axes, or eigenvectors of the centred Gram matrix, of length 1 but for rounding.
    pub vectors: Vec<Vec<f64>>,
    pub certificate: Certificate,
    /// The kernel with numbers for parameters.
    pub kernel: Option<Kernel>,
    /// What a kernel model subtracts from points and divides them by.
    pub standardise: Option<Standardise>,
    /// How the model names its route.
    pub route: String,
    pub model: AnyModel,
}

impl Problem {
    /// A random problem.
    pub fn random(rng: &mut Rng) -> Self {
        let mut problem = match rng.whole(0, 99) {
            0..=27 => pca(rng),
            28..=38 => states(rng),
            39..=47 => sparse(rng),
            48..=49 => scatter(rng),
            50..=72 => kernel_pca(rng),
            73..=83 => landmarks(rng),
            84..=91 => given(rng),
            92..=94 => function(rng),
            95..=96 => pca_passes(rng),
            97..=98 => passes(rng),
            _ => whole(rng),
        };
        if rng.chance(0.25) {
            let x = &problem.points;
            let rounded = Points::from_fn(x.n(), x.d(), |i, j| f64::from(x.row(i)[j] as f32));
            if rounded.as_slice().iter().all(|v| v.is_finite()) {
                (problem.points, problem.f32) = (rounded, true);
            }
        }
        problem.rigorous = match &problem.task {
            Task::Pca { pca, .. } | Task::States { pca, .. } => pca.get_embedding().is_identity(),
            Task::Landmarks { .. } | Task::Scatter { .. } => false,
            _ => true,
        } && rng.chance(0.2);
        problem
    }

    fn points32(&self) -> Points<f32> {
        let x = &self.points;
        Points::from_fn(x.n(), x.d(), |i, j| x.row(i)[j] as f32)
    }

    /// The name of the way in tables.
    pub fn name(&self) -> String {
        if self.rigorous { format!("rigorous: {}", self.usual_name()) } else { self.usual_name() }
    }

    fn usual_name(&self) -> String {
        let route = |pca: &Pca| pca.get_route().name();
        match &self.task {
            Task::Pca { pca, .. } if !pca.get_embedding().is_identity() => "pca of monomials".into(),
            Task::Pca { pca, .. } => format!("pca, {}", route(pca)),
            Task::PcaPasses { .. } => "pca by passes".into(),
            Task::States { pca, .. } => {
                format!("pca in batches, {}", if pca.get_route() == Route::Svd { "factor" } else { "moments" })
            }
            Task::Sparse { pca } => format!("sparse pca, {}", route(pca)),
            Task::Scatter { .. } => "pca of a scatter matrix".into(),
            Task::Kernel { spec } if spec.get_standardise() => "kernel pca, standardised".into(),
            Task::Kernel { .. } => "kernel pca".into(),
            Task::Landmarks { .. } => "landmarks".into(),
            Task::Gram { .. } => "given matrix".into(),
            Task::Operator { .. } => "operator".into(),
            Task::Whole { operator, .. } => {
                if *operator { "operator by passes" } else { "given matrix by passes" }.into()
            }
            Task::Function { .. } => "function".into(),
        }
    }

    /// Fits it.
    pub fn fit(&self) -> Result<Shown> {
        let mut shown = self.fit_as_usual()?;
        if self.rigorous {
            let x = match &self.task {
                Task::Whole { shift, .. } => &whole_gram(&self.points, *shift),
                _ => &self.points,
            };
            let certified = shown.model.certify(x, &Exec::new())?;
            shown.certificate = certified.certificate().expect("a certificate").clone();
        }
        Ok(shown)
    }

    fn fit_as_usual(&self) -> Result<Shown> {
        let (x, x32, exec) = (&self.points, self.f32.then(|| self.points32()), Exec::new());
        match &self.task {
            Task::Pca { pca, first } => {
                let mut model = match &x32 {
                    Some(x) => pca.fit(x)?,
                    None => pca.fit(x)?,
                };
                if let Some(k) = first {
                    model = model.first(*k)?;
                }
                Ok(of_pca(&model))
            }
            Task::PcaPasses { pca } => Ok(of_pca(&match &x32 {
                Some(x) => pca.fit_by_passes(x)?,
                None => pca.fit_by_passes(x)?,
            })),
            Task::States { pca, tree } => {
                let mut rng = Rng::of(*tree, 0);
                let cuts = cuts(&mut rng, x.n());
                let mut states: Vec<PcaState> = Vec::new();
                for (start, end) in cuts {
                    // Some batches join the state before them, others begin their own.
                    if states.is_empty() || rng.chance(0.5) {
                        states.push(pca.state(x.d())?);
                    }
                    let state = states.last_mut().expect("just put in");
                    match &x32 {
                        Some(x) => state.update(x.view().slice(start, end), &exec)?,
                        None => state.update(x.view().slice(start, end), &exec)?,
                    }
                }
                while states.len() > 1 {
                    let other = states.swap_remove(rng.whole(0, states.len() - 1));
                    let into = rng.whole(0, states.len() - 1);
                    let other = if rng.chance(0.2) { PcaState::from_bytes(&other.to_bytes()?)? } else { other };
                    states[into].merge(&other)?;
                }
                Ok(of_pca(&pca.finish(&states[0], &exec)?))
            }
            Task::Sparse { pca } => Ok(of_pca(&pca.fit_sparse(&match &x32 {
                Some(x) => Csr::from_points(x)?,
                None => Csr::from_points(x)?,
            })?)),
            Task::Scatter { pca } => {
                let at = mercer::Standardise { mean: vec![0.0; x.d()], scale: vec![1.0; x.d()] };
                let scatter = Block::from_fn(x.n(), x.d(), |i, j| x.row(i)[j]);
                Ok(of_pca(&pca.fit_scatter(&scatter, at, 2 * x.n() + 5, &exec)?))
            }
            Task::Kernel { spec } => Ok(of_kernel_pca(&match &x32 {
                Some(x) => spec.fit(x)?,
                None => spec.fit(x)?,
            })),
            Task::Landmarks { spec, tree } => {
                let model = match (tree, &x32) {
                    (None, Some(x)) => spec.fit(x)?,
                    (None, None) => spec.fit(x)?,
                    (Some(tree), _) => in_batches(spec, x, *tree)?,
                };
                let mut shown = of_kernel_pca(&model);
                if !model.is_exact() {
                    let scores = model.transform(x)?;
                    shown.vectors = (0..scores.d()).map(|j| unit(scores.column(j))).collect();
                }
                Ok(shown)
            }
            Task::Gram { spec } => Ok(of_kernel_pca(&match &x32 {
                Some(x) => spec.fit_gram(x)?,
                None => spec.fit_gram(x)?,
            })),
            Task::Operator { spec, diagonal, norm } => {
                Ok(of_kernel_pca(&spec.fit_op(&Stored { matrix: x, diagonal: *diagonal, norm: *norm })?))
            }
            Task::Whole { spec, shift, operator: true } => {
                Ok(of_kernel_pca(&spec.fit_op(&Inner { x, shift: *shift })?))
            }
            Task::Whole { spec, shift, operator: false } => {
                let gram = whole_gram(x, *shift);
                Ok(of_kernel_pca(&match self.f32 {
                    true => spec.fit_gram(&Points::from_fn(x.n(), x.n(), |i, j| gram.row(i)[j] as f32))?,
                    false => spec.fit_gram(&gram)?,
                }))
            }
            Task::Function { spec, function } => {
                let function = *function;
                Ok(of_kernel_pca(&match &x32 {
                    Some(x) => spec.fit_fn(x, move |a, b| function.value(a, b))?,
                    None => spec.fit_fn(x, move |a, b| function.value(a, b))?,
                }))
            }
        }
    }
}

/// XX' + cI, which whole numbers make exact.
fn whole_gram(x: &Points<f64>, shift: f64) -> Points<f64> {
    let dot = |i: usize, j: usize| x.row(i).iter().zip(x.row(j)).map(|(a, b)| a * b).sum::<f64>();
    Points::from_fn(x.n(), x.n(), |i, j| dot(i, j) + if i == j { shift } else { 0.0 })
}

/// Consecutive batches of random sizes, rows one by one among them.
fn cuts(rng: &mut Rng, n: usize) -> Vec<(usize, usize)> {
    let most = *rng.pick(&[1, 2, 5, n.div_ceil(3), n]);
    let (mut start, mut cuts) = (0, Vec::new());
    while start < n {
        let end = n.min(start + rng.whole(1, most));
        cuts.push((start, end));
        start = end;
    }
    cuts
}

fn in_batches(spec: &KernelPca, x: &Points<f64>, tree: u64) -> Result<KernelPcaModel> {
    let (mut rng, exec) = (Rng::of(tree, 1), Exec::new());
    let mut survey = Survey::new(x.d(), spec.sample_size(), 0);
    survey.update(x, &exec)?;
    let basis = spec.basis(&survey, &exec)?;
    let mut states: Vec<LandmarkState> = Vec::new();
    for (start, end) in cuts(&mut rng, x.n()) {
        if states.is_empty() || rng.chance(0.5) {
            states.push(LandmarkState::new(&basis));
        }
        states.last_mut().expect("just put in").update(&basis, x.view().slice(start, end), &exec)?;
    }
    while states.len() > 1 {
        let other = states.swap_remove(rng.whole(0, states.len() - 1));
        let into = rng.whole(0, states.len() - 1);
        states[into].merge(&other)?;
    }
    spec.finish(&basis, &states[0], &exec)
}

fn of_pca(model: &PcaModel) -> Shown {
    Shown {
        values: model.spectrum().eigenvalues().to_vec(),
        vectors: model.axes().rows().map(<[f64]>::to_vec).collect(),
        certificate: model.certificate().clone(),
        kernel: None,
        standardise: None,
        route: model.route().name().into(),
        model: AnyModel::Pca(model.clone()),
    }
}

fn of_kernel_pca(model: &KernelPcaModel) -> Shown {
    let values = model.spectrum().eigenvalues().to_vec();
    Shown {
        // What is shown are the scores.
        vectors: match model.is_exact() {
            true => (0..model.components()).map(|j| unit(model.scores().column(j))).collect(),
            false => Vec::new(),
        },
        values,
        certificate: model.certificate().clone(),
        kernel: model.kernel().cloned(),
        standardise: model.standardise().cloned(),
        route: match (model.is_exact(), model.spectrum().is_complete()) {
            (false, _) => "landmarks",
            (true, true) => "dense",
            (true, false) => "passes",
        }
        .into(),
        model: AnyModel::KernelPca(model.clone()),
    }
}

fn unit(mut v: Vec<f64>) -> Vec<f64> {
    let scale = v.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    if scale > 0.0 {
        v.iter_mut().for_each(|x| *x /= scale);
        let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        v.iter_mut().for_each(|x| *x /= norm);
    }
    v
}

/// A stored matrix as an operator.
struct Stored<'a> {
    matrix: &'a Points<f64>,
    diagonal: bool,
    norm: bool,
}

impl SymOp for Stored<'_> {
    fn n(&self) -> usize {
        self.matrix.n()
    }

    fn apply(&self, x: &Block, y: &mut Block, _: &Exec) -> Result<()> {
        for c in 0..x.b() {
            for (i, row) in self.matrix.rows().enumerate() {
                y.col_mut(c)[i] = row.iter().zip(x.col(c)).map(|(a, b)| a * b).sum();
            }
        }
        Ok(())
    }

    fn apply_with_norm(&self, x: &Block, y: &mut Block, exec: &Exec) -> Result<Option<f64>> {
        self.apply(x, y, exec)?;
        Ok(self.norm.then(|| self.matrix.as_slice().iter().map(|v| v * v).sum::<f64>().sqrt()))
    }

    fn diagonal(&self, _: &Exec) -> Result<Option<Vec<f64>>> {
        Ok(self.diagonal.then(|| (0..self.n()).map(|i| self.matrix.row(i)[i]).collect()))
    }
}

/// XX' + cI, which is not stored.
struct Inner<'a> {
    x: &'a Points<f64>,
    shift: f64,
}

impl SymOp for Inner<'_> {
    fn n(&self) -> usize {
        self.x.n()
    }

    fn apply(&self, v: &Block, y: &mut Block, _: &Exec) -> Result<()> {
        for c in 0..v.b() {
            let mut along = vec![0.0; self.x.d()];
            for (row, v) in self.x.rows().zip(v.col(c)) {
                along.iter_mut().zip(row).for_each(|(s, x)| *s += x * v);
            }
            for (i, row) in self.x.rows().enumerate() {
                let dot: f64 = row.iter().zip(&along).map(|(a, b)| a * b).sum();
                y.col_mut(c)[i] = dot + self.shift * v.col(c)[i];
            }
        }
        Ok(())
    }

    fn diagonal(&self, _: &Exec) -> Result<Option<Vec<f64>>> {
        Ok(Some(self.x.rows().map(|r| r.iter().map(|v| v * v).sum::<f64>() + self.shift).collect()))
    }
}

/// Small sizes most of the time.
fn size(rng: &mut Rng) -> usize {
    match rng.whole(0, 19) {
        0..=8 => rng.whole(2, 10),
        9..=16 => rng.whole(8, 32),
        17..=18 => rng.whole(32, 64),
        _ => rng.whole(64, 110),
    }
}

fn components(rng: &mut Rng, most: usize) -> Components {
    match rng.whole(0, 9) {
        0..=3 => Components::All,
        4..=6 => Components::Count(rng.whole(1, most.max(1))),
        7 => Components::Count(most.max(1)),
        8 => Components::Share(*rng.pick(&[0.5, 0.9, 0.99, 0.999_999, 1.0])),
        _ => Components::UpTo(rng.whole(1, most + 3)),
    }
}

fn problem(family: String, points: Points<f64>, task: Task) -> Problem {
    Problem { family, points, f32: false, rigorous: false, task }
}

fn pca(rng: &mut Rng) -> Problem {
    let (n, d) = match rng.whole(0, 19) {
        0 => (rng.power(2.0, 5.5) as usize, rng.whole(1, 2)),
        1..=2 => (rng.power(2.0, 4.0) as usize, rng.whole(1, 8)),
        3..=4 => (rng.whole(2, 6), rng.whole(3, 40)),
        5..=6 => {
            let both = rng.whole(2, 20);
            (both, both)
        }
        _ => (size(rng), rng.whole(1, 24)),
    };
    let (family, x) = data::points(rng, n, d);
    let mut features = d;
    let mut pca = Pca::new().center(rng.chance(0.8)).standardise(rng.chance(0.25)).whiten(rng.chance(0.1));
    if d <= 4 && n < 200 && rng.chance(0.15) {
        let degree = rng.whole(1, 4) as u32;
        let phi = match rng.chance(0.5) {
            true => Embedding::monomials(degree),
            false => Embedding::monomials_up_to(degree, *rng.pick(&[1.0, 0.5, 10.0])),
        };
        features = phi.features(d).expect("few") as usize;
        pca = pca.embed(phi);
    }
    let route = match n > 3000 {
        true => *rng.pick(&[Route::Auto, Route::Covariance, Route::Svd]),
        false => *rng.pick(&[Route::Auto, Route::Auto, Route::Covariance, Route::Gram, Route::Svd]),
    };
    let k = components(rng, n.min(features));
    let first = rng.chance(0.1).then(|| rng.whole(1, n.min(features)));
    problem(family, x, Task::Pca { pca: pca.route(route).components(k), first })
}

fn states(rng: &mut Rng) -> Problem {
    let (n, d) = match rng.whole(0, 9) {
        0 => (rng.power(3.0, 4.0) as usize, rng.whole(1, 3)),
        1..=2 => (rng.power(2.0, 3.0) as usize, rng.whole(1, 8)),
        _ => (size(rng), rng.whole(1, 16)),
    };
    let (family, x) = data::points(rng, n, d);
    let route = if rng.chance(0.5) { Route::Svd } else { Route::Covariance };
    let k = components(rng, n.min(d));
    let pca = Pca::new().center(rng.chance(0.85)).standardise(rng.chance(0.2)).route(route).components(k);
    problem(family, x, Task::States { pca, tree: rng.next() })
}

fn sparse(rng: &mut Rng) -> Problem {
    let (n, d) = match rng.whole(0, 9) {
        0..=1 => (rng.power(2.0, 3.7) as usize, rng.whole(1, 6)),
        2..=3 => (rng.whole(2, 8), rng.whole(4, 40)),
        _ => (size(rng), rng.whole(1, 20)),
    };
    let (family, mut x) = data::points(rng, n, d);
    if rng.chance(0.5) {
        let kept = rng.uniform(0.1, 0.9);
        x = Points::from_fn(n, d, |i, j| if rng.chance(kept) { x.row(i)[j] } else { 0.0 });
    }
    let route = match n > 2000 {
        true => Route::Covariance,
        false => *rng.pick(&[Route::Auto, Route::Covariance, Route::Gram]),
    };
    let k = components(rng, n.min(d));
    let pca = Pca::new().center(rng.chance(0.8)).standardise(rng.chance(0.2)).route(route).components(k);
    problem(family, x, Task::Sparse { pca })
}

fn scatter(rng: &mut Rng) -> Problem {
    let d = rng.whole(1, 24);
    let (family, x) = data::points(rng, 2 * d, d);
    let sums = Points::from_fn(d, d, |i, j| {
        let (i, j) = (i.max(j), i.min(j));
        x.rows().map(|r| r[i] * r[j]).sum::<f64>()
    });
    let k = components(rng, d);
    problem(format!("sums of products of {family}"), sums, Task::Scatter { pca: Pca::new().components(k) })
}

fn kernel_pca(rng: &mut Rng) -> Problem {
    let (n, d) = (size(rng), if rng.chance(0.9) { rng.whole(1, 6) } else { rng.whole(7, 40) });
    let (family, mut x) = data::points(rng, n, d);
    if rng.chance(0.2) {
        x = Points::from_fn(n, d, |i, j| x.row(i)[j].abs());
    }
    let kernel = kernels::kernel(rng, &x, false);
    let mut spec = KernelPca::new(kernel).components(components(rng, n - 1)).standardise(rng.chance(0.12));
    if spec.get_standardise() && rng.chance(0.9) {
        // Widths for standardised points; the others are as wide or narrow as the units of the data make them.
        let alike = data::family(rng, "normal", n, d);
        spec = spec.kernel(kernels::kernel(rng, &alike, false));
    }
    problem(family, x, Task::Kernel { spec })
}

fn landmarks(rng: &mut Rng) -> Problem {
    let most = if rng.chance(0.15) { 140 } else { 60 };
    let (n, d) = (rng.whole(6, most), rng.whole(1, 6));
    let (family, x) = data::points(rng, n, d);
    let kernel = kernels::kernel(rng, &x, true);
    let m = rng.whole(1, n.div_ceil(2) + 2);
    let landmarks = match rng.whole(0, 5) {
        0 => Landmarks::Uniform(m),
        1..=2 => Landmarks::KMeans(m),
        3 => Landmarks::RpCholesky(m),
        4 => Landmarks::TraceError(rng.power(-6.0, -1.0)),
        _ => Landmarks::Given(Points::from_fn(m, d, |i, j| x.row(i)[j])),
    };
    let most = m.min(n - 1);
    let spec = KernelPca::new(kernel).components(components(rng, most)).standardise(rng.chance(0.1));
    let tree = rng.chance(0.35).then(|| rng.next());
    problem(family, x, Task::Landmarks { spec: spec.landmarks(landmarks), tree })
}

fn given(rng: &mut Rng) -> Problem {
    let n = size(rng);
    let (family, gram) = data::gram(rng, n);
    let spec = KernelPca::custom().components(components(rng, n - 1));
    let task = match rng.chance(0.3) {
        true => Task::Operator { spec, diagonal: rng.chance(0.5), norm: rng.chance(0.5) },
        false => Task::Gram { spec },
    };
    problem(family, gram, task)
}

fn function(rng: &mut Rng) -> Problem {
    let (n, d) = (size(rng), rng.whole(1, 5));
    let (family, x) = data::points(rng, n, d);
    let function = *rng.pick(&[Function::Exponential, Function::Overlap, Function::Cubic]);
    problem(family, x, Task::Function { spec: KernelPca::custom().components(components(rng, n - 1)), function })
}

/// More than 2000 points, so that the matrix is not decomposed as a whole; few dimensions, so that the truth is cheap.
fn pca_passes(rng: &mut Rng) -> Problem {
    let (n, d) = if rng.chance(0.5) {
        (rng.whole(2001, 2400), rng.whole(4, 24))
    } else {
        (rng.whole(20, 200), rng.whole(2, 30))
    };
    let (family, x) = data::points(rng, n, d);
    let pca =
        Pca::new().components(rng.whole(1, 4.min(d))).standardise(rng.chance(0.2)).tolerance(rng.power(-10.0, -3.0));
    let task = if rng.chance(0.3) { Task::Sparse { pca: pca.route(Route::Gram) } } else { Task::PcaPasses { pca } };
    problem(family, x, task)
}

fn passes(rng: &mut Rng) -> Problem {
    let most = if rng.chance(0.1) { 1800 } else { 640 };
    let (n, d) = (rng.whole(601, most), rng.whole(1, 8));
    let (family, x) = data::points(rng, n, d);
    let kernel = kernels::kernel(rng, &x, true);
    let k = rng.whole(1, 8);
    let spec = KernelPca::new(kernel).components(k).tolerance(rng.power(-10.0, -3.0));
    match rng.chance(0.2) {
        true => {
            let spec = spec.landmarks(Landmarks::KMeans(rng.whole(10, 80)));
            problem(family, x, Task::Landmarks { spec, tree: None })
        }
        false => problem(family, x, Task::Kernel { spec }),
    }
}

/// More than 2000 rows of whole numbers, so that the matrix is exact and its eigenvalues are those of a small one.
fn whole(rng: &mut Rng) -> Problem {
    let (n, d, most) = (rng.whole(2001, 2200), rng.whole(2, 12), *rng.pick(&[2.0, 20.0]));
    let x = Points::from_fn(n, d, |_, _| (most * rng.normal()).round().clamp(-100.0, 100.0));
    let spec = KernelPca::custom().components(rng.whole(1, d)).tolerance(rng.power(-10.0, -3.0));
    let shift = *rng.pick(&[0.0, 0.0, 1.0, 5000.0]);
    problem("integers".into(), x, Task::Whole { spec, shift, operator: rng.chance(0.5) })
}
