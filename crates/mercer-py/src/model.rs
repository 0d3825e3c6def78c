//! A fitted model: its numbers, scores of new points, and its bytes.

use mercer::parts::{KernelPcaParts, PcaParts};
use mercer::verify::{Verification, Verify};
use mercer::{
    AnyModel, Certificate, Embedding, KernelPcaModel, NystroemModel, PcaModel, Points, PointsRef, Real, Route, Spec,
    Spectrum, Standardise,
};
use mercer_io::{Outputs, SavedModel, onnx};
use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};

use crate::array::{Array, List, SparseRows, Table, list, owned, points, table, with_points};
use crate::error::{of_files, python};
use crate::kernels::read;
use crate::records::{PyLocation, PyNegativePart, PySpectrum};
use crate::run::{Options, work, work_of};

/// A fitted model.
#[pyclass(frozen, module = "mercer._mercer")]
pub(crate) struct Model(SavedModel);

impl Model {
    pub(crate) fn new(model: AnyModel) -> Self {
        Model(SavedModel { columns: Vec::new(), front: None, spec: None, model })
    }

    /// Of a fit, with what was asked for.
    pub(crate) fn of(model: AnyModel, spec: Spec) -> Self {
        Model(SavedModel { columns: Vec::new(), front: None, spec: Some(spec), model })
    }

    fn transform_points<T: Real>(
        &self,
        py: Python<'_>,
        x: PointsRef<'_, T>,
        options: &Options,
    ) -> PyResult<Points<f64>> {
        let model = &self.0.model;
        let features = match model {
            AnyModel::KernelPca(model) => model.n() as f64,
            AnyModel::Pca(model) if *model.embedding() == Embedding::Identity => 1.0,
            _ => f64::INFINITY,
        };
        let flops = 2.0 * x.n() as f64 * features * (model.d() + model.components() + 30) as f64;
        work_of(py, options, flops, |exec| model.transform(x, exec))
    }

    fn verify_points<T: Real>(
        &self,
        py: Python<'_>,
        x: PointsRef<'_, T>,
        passes: usize,
        options: &Options,
    ) -> PyResult<Verification> {
        work(py, options, |exec| Verify::new().passes(passes).run(&self.0.model, x, exec))
    }

    fn certify_points<T: Real>(&self, py: Python<'_>, x: PointsRef<'_, T>, options: &Options) -> PyResult<AnyModel> {
        work(py, options, |exec| self.0.model.certify(x, exec))
    }

    fn spectrum(&self) -> PyResult<&Spectrum> {
        self.0.model.spectrum().ok_or_else(|| PyTypeError::new_err("this model has no components"))
    }

    fn pca(&self) -> PyResult<&PcaModel> {
        match &self.0.model {
            AnyModel::Pca(model) => Ok(model),
            _ => Err(PyTypeError::new_err("this is not a PCA model")),
        }
    }

    fn nystroem(&self) -> PyResult<&NystroemModel> {
        match &self.0.model {
            AnyModel::Nystroem(model) => Ok(model),
            _ => Err(PyTypeError::new_err("this is not a Nystroem model")),
        }
    }

    fn kernel_pca(&self) -> PyResult<&KernelPcaModel> {
        match &self.0.model {
            AnyModel::KernelPca(model) => Ok(model),
            _ => Err(PyTypeError::new_err("this is not a kernel PCA model")),
        }
    }
}

#[pymethods]
impl Model {
    /// "pca", "kernel_pca" or "nystroem".
    #[getter]
    fn kind(&self) -> &'static str {
        match &self.0.model {
            AnyModel::Pca(_) => "pca",
            AnyModel::Nystroem(_) => "nystroem",
            _ => "kernel_pca",
        }
    }

    #[getter]
    fn n(&self) -> PyResult<usize> {
        Ok(self.spectrum()?.n())
    }

    #[getter]
    fn columns(&self) -> Vec<String> {
        self.0.columns.clone()
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        self.0.model.notes().to_vec()
    }

    /// Eigenvalues of the scatter matrix or of the centred Gram matrix.
    #[getter]
    fn eigenvalues<'py>(&self, py: Python<'py>) -> PyResult<List<'py>> {
        Ok(list(py, self.spectrum()?.eigenvalues()))
    }

    #[getter(spectrum)]
    fn py_spectrum(&self, py: Python<'_>) -> PyResult<PySpectrum> {
        Ok(PySpectrum::new(py, self.spectrum()?))
    }

    /// Returns the sum of all eigenvalues, of those that were not kept, how many are not zero, and whether all were
    /// computed.
    fn total(&self) -> PyResult<(f64, f64, usize, bool)> {
        let spectrum = self.spectrum()?;
        Ok((spectrum.total(), spectrum.discarded(), spectrum.rank(), spectrum.is_complete()))
    }

    /// Returns the certificate of at least so many components as JSON, its statements as JSON, and these as a sentence.
    fn certificate(&self, components: usize) -> PyResult<(String, String, String)> {
        let none = || PyTypeError::new_err("this model has no components");
        let certificate = self.0.model.certificate().ok_or_else(none)?;
        let completed = self.0.model.certificate_of(components).ok_or_else(none)?;
        let failed = |e: serde_json::Error| PyTypeError::new_err(e.to_string());
        let json = serde_json::to_string(&completed).map_err(failed)?;
        let statements = serde_json::to_string(&certificate.statements()).map_err(failed)?;
        Ok((json, statements, certificate.to_string()))
    }

    /// PCA: a unit row per component.
    fn axes<'py>(&self, py: Python<'py>) -> PyResult<Table<'py>> {
        table(py, self.pca()?.axes())
    }

    /// PCA: what is subtracted from points and what they are divided by.
    #[getter]
    fn location(&self, py: Python<'_>) -> PyResult<PyLocation> {
        Ok(PyLocation::new(py, self.pca()?))
    }

    /// PCA: the embedding of the points, None for the points themselves.
    fn embedding(&self) -> PyResult<Option<String>> {
        let embedding = self.pca()?.embedding();
        Ok((*embedding != Embedding::Identity).then(|| embedding.to_string()))
    }

    /// PCA: which matrix was decomposed.
    fn route(&self) -> PyResult<&'static str> {
        Ok(self.pca()?.route().name())
    }

    /// The first k components only, with their certificate.
    fn first(&self, k: usize) -> PyResult<Self> {
        match &self.0.model {
            AnyModel::KernelPca(model) => {
                let (model, spec) = (model.first(k).map_err(python)?, self.0.spec.clone());
                let (columns, front) = (self.0.columns.clone(), self.0.front.clone());
                Ok(Model(SavedModel { model: AnyModel::KernelPca(model), columns, front, spec }))
            }
            _ => Ok(Model::new(AnyModel::Pca(self.pca()?.first(k).map_err(python)?))),
        }
    }

    /// PCA: the same model, whitened or not. A whitened model has only components with a variance.
    fn whitened(&self, whiten: bool) -> PyResult<Self> {
        let model = self.pca()?;
        let rank = model.spectrum().rank();
        let mut parts = if whiten { model.first(rank).map_err(python)? } else { model.clone() }.to_parts();
        parts.whiten = whiten;
        Ok(Model(SavedModel {
            model: AnyModel::Pca(PcaModel::from_parts(parts).map_err(python)?),
            columns: self.0.columns.clone(),
            front: self.0.front.clone(),
            spec: self.0.spec.clone(),
        }))
    }

    /// Kernel PCA: eigenvectors, a unit column per component.
    fn vectors<'py>(&self, py: Python<'py>) -> PyResult<Table<'py>> {
        let model = self.kernel_pca()?;
        let (alpha, values) = (model.alpha(), model.spectrum().eigenvalues());
        table(py, Points::from_fn(alpha.n(), alpha.d(), |i, j| alpha.row(i)[j] * values[j].sqrt()))
    }

    /// Kernel PCA: alpha, a row per fitted point.
    fn alpha<'py>(&self, py: Python<'py>) -> PyResult<Table<'py>> {
        table(py, self.kernel_pca()?.alpha().clone())
    }

    /// Kernel PCA: b in z(x) = alpha'k(x) - b, and the origin of the linear terms of the kernel.
    fn offset(&self) -> PyResult<(Vec<f64>, Vec<f64>)> {
        let parts = self.kernel_pca()?.to_parts().map_err(python)?;
        Ok((parts.offset, parts.shift))
    }

    /// Kernel PCA: whether it has all fitted points, not only landmarks.
    fn is_exact(&self) -> PyResult<bool> {
        Ok(self.kernel_pca()?.is_exact())
    }

    /// Kernel PCA: scores of the fitted points, or of the landmarks.
    fn scores<'py>(&self, py: Python<'py>) -> PyResult<Table<'py>> {
        table(py, self.kernel_pca()?.scores())
    }

    /// The bound kernel, None if it is a callable or a given matrix.
    #[getter]
    fn kernel(&self) -> PyResult<Option<String>> {
        Ok(match &self.0.model {
            AnyModel::Nystroem(model) => Some(model.kernel().to_string()),
            _ => self.kernel_pca()?.kernel().map(ToString::to_string),
        })
    }

    /// Nystroem: landmarks and weights, a row per landmark.
    fn landmarks<'py>(&self, py: Python<'py>) -> PyResult<(Table<'py>, Table<'py>)> {
        let model = self.nystroem()?;
        Ok((table(py, model.landmarks().clone())?, table(py, model.weights().clone())?))
    }

    /// Kernel PCA: mean and scale if points are standardised before the kernel is evaluated.
    fn standardise(&self) -> PyResult<Option<(Vec<f64>, Vec<f64>)>> {
        let parts = self.kernel_pca()?.to_parts().map_err(python)?;
        Ok(parts.standardise.map(|s| (s.mean, s.scale)))
    }

    /// Kernel PCA: the fitted points, with `as_seen` after standardising.
    fn points<'py>(&self, py: Python<'py>, as_seen: bool) -> PyResult<Table<'py>> {
        let parts = self.kernel_pca()?.to_parts().map_err(python)?;
        let points = match parts.standardise.filter(|_| !as_seen) {
            Some(s) => Points::from_fn(parts.points.n(), parts.points.d(), |i, j| {
                s.mean[j] + s.scale[j] * parts.points.row(i)[j]
            }),
            None => parts.points,
        };
        table(py, points)
    }

    /// Kernel PCA: the negative eigenvalues of the Gram matrix, if all eigenvalues are known and some are negative.
    #[getter]
    fn negative(&self) -> PyResult<Option<PyNegativePart>> {
        let definiteness = self.kernel_pca()?.definiteness();
        Ok(definiteness.filter(|d| d.is_indefinite()).map(PyNegativePart::from))
    }

    fn transform<'py>(&self, py: Python<'py>, x: Array<'py>, options: Options) -> PyResult<Table<'py>> {
        let scores = with_points!(x, |x| self.transform_points(py, x, &options))?;
        table(py, scores)
    }

    /// Measures again what the model says, on the points that it was fitted to. Returns JSON, the verdict, and the text.
    fn verify<'py>(
        &self,
        py: Python<'py>,
        x: Array<'py>,
        passes: usize,
        options: Options,
    ) -> PyResult<(String, &'static str, String)> {
        let found = with_points!(x, |x| self.verify_points(py, x, passes, &options))?;
        let json = serde_json::to_string(&found).map_err(|e| PyTypeError::new_err(e.to_string()))?;
        Ok((json, found.verdict().name(), found.to_string()))
    }

    /// The same model with a certificate in which all rounding is enclosed, given the points that it was fitted to.
    fn certify<'py>(&self, py: Python<'py>, x: Array<'py>, options: Options) -> PyResult<Self> {
        let model = with_points!(x, |x| self.certify_points(py, x, &options))?;
        let SavedModel { columns, front, spec, .. } = self.0.clone();
        Ok(Model(SavedModel { model, columns, front, spec }))
    }

    /// PCA: scores of sparse points.
    fn transform_sparse<'py>(&self, py: Python<'py>, x: SparseRows<'_>, options: Options) -> PyResult<Table<'py>> {
        let (model, x) = (self.pca()?, x.points()?);
        table(py, work(py, &options, |exec| model.transform_sparse_with(&x, exec))?)
    }

    /// The JSON text that the estimator saved with the model.
    #[getter]
    fn front(&self) -> Option<String> {
        self.0.front.as_ref().map(ToString::to_string)
    }

    /// Returns the bytes of a model file.
    fn to_bytes<'py>(&self, py: Python<'py>, columns: Vec<String>) -> PyResult<Bound<'py, PyBytes>> {
        let saved = SavedModel { model: self.0.model.clone(), columns, front: None, spec: self.0.spec.clone() };
        let bytes = py.detach(|| saved.to_bytes()).map_err(of_files)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes a model file atomically, with the column names and a JSON text of the estimator.
    fn save(&self, py: Python<'_>, path: std::path::PathBuf, columns: Vec<String>, front: &str) -> PyResult<()> {
        let front = serde_json::from_str(front).map_err(|e| PyTypeError::new_err(e.to_string()))?;
        let saved = SavedModel { model: self.0.model.clone(), columns, front: Some(front), spec: self.0.spec.clone() };
        py.detach(|| saved.save(path)).map_err(of_files)
    }

    /// Reads what `to_bytes` returned.
    #[new]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        py.detach(|| SavedModel::from_bytes("model", bytes)).map(Model).map_err(of_files)
    }

    /// skops reads an object only if its class itself takes the arguments.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyType>, (Bound<'py, PyBytes>,))> {
        let columns = (1..=self.0.model.d()).map(|j| format!("x{j}")).collect();
        Ok((py.get_type::<Model>(), (self.to_bytes(py, columns)?,)))
    }
}

/// Reads a model file.
#[pyfunction]
pub(crate) fn load_model(py: Python<'_>, path: &str) -> PyResult<Model> {
    py.detach(|| mercer_io::load_model(path)).map(Model).map_err(of_files)
}

fn number(facts: &Bound<'_, PyDict>, name: &str) -> PyResult<f64> {
    facts.as_any().get_item(name)?.extract()
}

/// Makes a PCA model from its numbers.
#[pyfunction]
pub(crate) fn pca_model(facts: &Bound<'_, PyDict>) -> PyResult<Model> {
    let of = |name: &str| facts.as_any().get_item(name);
    let axes: PyReadonlyArray2<'_, f64> = of("axes")?.extract()?;
    let (axes, eigenvalues, total) =
        (owned(&axes)?, of("eigenvalues")?.extract::<Vec<f64>>()?, number(facts, "total")?);
    let rank = eigenvalues.iter().filter(|v| **v > 0.0).count();
    let parts = PcaParts {
        embedding: Embedding::Identity,
        d: axes.d(),
        mean: of("mean")?.extract()?,
        scale: of("scale")?.extract()?,
        certificate: Certificate::unknown(&eigenvalues, total),
        axes,
        total,
        discarded: number(facts, "discarded")?,
        rank,
        n: of("n")?.extract()?,
        center: of("center")?.extract()?,
        standardise: of("standardise")?.extract()?,
        whiten: of("whiten")?.extract()?,
        route: Route::Svd,
        notes: Vec::new(),
        eigenvalues,
    };
    Ok(Model::new(AnyModel::Pca(PcaModel::from_parts(parts).map_err(python)?)))
}

/// Makes a kernel PCA model from fitted points, unit eigenvectors and the row means of the Gram matrix.
#[pyfunction]
pub(crate) fn kernel_model(facts: &Bound<'_, PyDict>) -> PyResult<Model> {
    let of = |name: &str| facts.as_any().get_item(name);
    let vectors: PyReadonlyArray2<'_, f64> = of("vectors")?.extract()?;
    let vectors = points(&vectors)?;
    let eigenvalues: Vec<f64> = of("eigenvalues")?.extract()?;
    let means: Vec<f64> = of("means")?.extract()?;
    let kernel: Option<String> = of("kernel")?.extract()?;
    let fitted: PyReadonlyArray2<'_, f64> = of("points")?.extract()?;
    let (fitted, n) = (owned(&fitted)?, vectors.n());
    // Rounding left the columns not quite orthogonal to 1. Only if they are, the offset does all of the centring.
    let mean = |j: usize| (0..n).map(|i| vectors.row(i)[j]).sum::<f64>() / n as f64;
    let middles: Vec<f64> = (0..vectors.d()).map(mean).collect();
    let weights = Points::from_fn(n, vectors.d(), |i, j| (vectors.row(i)[j] - middles[j]) / eigenvalues[j].sqrt());
    let offset = (0..weights.d()).map(|j| (0..n).map(|i| weights.row(i)[j] * means[i]).sum()).collect();
    let total = number(facts, "total")?;
    let parts = KernelPcaParts {
        kernel: kernel.as_deref().map(read).transpose()?,
        deviation: false,
        shift: vec![0.0; fitted.d()],
        standardise: None,
        points: fitted,
        n,
        mean_weights: None,
        grand_mean: means.iter().sum::<f64>() / n as f64,
        weights,
        offset,
        certificate: Certificate::unknown(&eigenvalues, total),
        total,
        discarded: (total - eigenvalues.iter().sum::<f64>()).max(0.0),
        rank: eigenvalues.len(),
        complete: false,
        definiteness: None,
        notes: Vec::new(),
        eigenvalues,
    };
    Ok(Model::new(AnyModel::KernelPca(KernelPcaModel::from_parts(parts).map_err(python)?)))
}

/// Makes a Nystroem model from landmarks and weights, a row per landmark.
#[pyfunction]
pub(crate) fn nystroem_model(
    kernel: &str,
    landmarks: PyReadonlyArray2<'_, f64>,
    weights: PyReadonlyArray2<'_, f64>,
) -> PyResult<Model> {
    let model = NystroemModel::new(read(kernel)?, owned(&landmarks)?, owned(&weights)?).map_err(python)?;
    Ok(Model::new(AnyModel::Nystroem(model)))
}

/// Returns ((x - mean) / scale) weights as an ONNX graph.
#[pyfunction]
pub(crate) fn onnx_linear<'py>(
    py: Python<'py>,
    mean: Vec<f64>,
    scale: Vec<f64>,
    weights: PyReadonlyArray2<'_, f64>,
) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = onnx::linear(&Standardise { mean, scale }, &owned(&weights)?).map_err(of_files)?;
    Ok(PyBytes::new(py, &bytes))
}

/// Returns k(x, points) weights - offset as an ONNX graph.
#[pyfunction]
pub(crate) fn onnx_kernel<'py>(
    py: Python<'py>,
    kernel: &str,
    points: PyReadonlyArray2<'_, f64>,
    weights: PyReadonlyArray2<'_, f64>,
    offset: Vec<f64>,
    about: Option<Vec<f64>>,
    standardise: Option<(Vec<f64>, Vec<f64>)>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (points, weights) = (owned(&points)?, owned(&weights)?);
    let standardise = standardise.map(|(mean, scale)| Standardise { mean, scale });
    let bytes = onnx::kernel(&read(kernel)?, standardise.as_ref(), about.as_deref(), &points, &weights, &offset)
        .map_err(of_files)?;
    Ok(PyBytes::new(py, &bytes))
}

/// Writes a file atomically.
#[pyfunction]
pub(crate) fn write_file(path: std::path::PathBuf, bytes: &[u8]) -> PyResult<()> {
    let mut outputs = Outputs::new();
    outputs.stage(path, bytes.to_vec()).map_err(of_files)?;
    outputs.commit().map_err(of_files)
}
