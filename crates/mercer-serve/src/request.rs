//! What the page asks for: a choice of data, and the library's record of what is fitted to it.

use mercer::{Approx, Components, Kernel, KernelPca, Pca, Spec};
use serde::Deserialize;
use serde_json::Value;

use crate::data::{Data, MissingChoice};
use crate::error::{Refusal, Result};

/// More components than this are not looked at on a page.
const MOST_COMPONENTS: usize = 100;

/// A request for a fit or a width scan.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FitRequest {
    pub(crate) choice: DataChoice,
    /// A [`Spec`] as JSON.
    spec: Value,
}

/// Which part of which table is fitted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DataChoice {
    pub(crate) table: usize,
    /// Names of columns; all numeric columns where it is null.
    columns: Option<Vec<String>>,
    /// The column that colours the points and is not used in the fit.
    pub(crate) label: Option<String>,
    #[serde(default)]
    pub(crate) missing: MissingChoice,
}

impl DataChoice {
    /// Returns the columns that are used in the fit: those chosen, or all numeric ones, without the label.
    pub(crate) fn columns(&self, data: &Data) -> Vec<String> {
        let chosen = self.columns.clone().unwrap_or_else(|| data.usual_columns(None));
        chosen.into_iter().filter(|name| Some(name) != self.label.as_ref()).collect()
    }
}

impl FitRequest {
    /// Returns the spec, if it is one that the page has controls for: PCA, or kernel PCA that is exact as long as that is
    /// feasible, with a number of components. The texts of "Copy as" can say all of these.
    pub(crate) fn spec(&self) -> Result<Spec> {
        // A kernel may be typed by hand, and reading JSON would drop the help of its errors.
        if let Some(Value::String(kernel)) = self.spec.get("kernel") {
            kernel.parse::<Kernel>()?;
        }
        let spec = Spec::deserialize(&self.spec)
            .map_err(|e| Refusal::bad(format!("the spec cannot be read: {e}"), "load the page again"))?;
        let count = match spec.components() {
            Components::Count(count) | Components::UpTo(count) => count,
            other => {
                let what = format!("components = {other} is not a number");
                return Err(Refusal::bad(what, "for shares use the command: mercer fit -k"));
            }
        };
        if !(1..=MOST_COMPONENTS).contains(&count) {
            let what = format!("components = {count} is not between 1 and {MOST_COMPONENTS}");
            return Err(Refusal::bad(what, "for more use the command: mercer fit -k"));
        }
        let plain: Spec = match spec.kernel() {
            Some(kernel) => {
                KernelPca::new(kernel.clone()).standardise(spec.is_standardised()).approx(Approx::Auto).into()
            }
            None => Pca::new().standardise(spec.is_standardised()).into(),
        };
        if plain.with_components(spec.components()) != spec {
            let what = "the spec has options that the page has no controls for";
            return Err(Refusal::bad(what, "use the command for them: mercer fit"));
        }
        Ok(spec)
    }
}

/// Returns the number of components that the command for a spec asks for, of n points of d columns: PCA has no more than
/// either.
pub(crate) fn asked(spec: &Spec, n: usize, d: usize) -> Components {
    match (spec, spec.components()) {
        (Spec::Pca(_), Components::UpTo(count)) => Components::Count(count.min(n).min(d)),
        (_, Components::UpTo(count)) => Components::Count(count),
        (_, other) => other,
    }
}

/// Returns PCA of the same points, which is shown beside kernel PCA.
pub(crate) fn pca_beside(spec: &Spec) -> Pca {
    let components = match spec.components() {
        Components::Count(count) => Components::UpTo(count),
        other => other,
    };
    Pca::new().components(components).standardise(spec.is_standardised())
}
