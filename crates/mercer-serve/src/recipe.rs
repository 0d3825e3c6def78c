//! What is fitted.

use mercer::{Approx, Components, Kernel, KernelPca, Pca, Spec};
use serde::Deserialize;

use crate::data::{Data, MissingChoice};
use crate::error::{Refusal, Result};

/// More components than this are not looked at on a page.
const MOST_COMPONENTS: usize = 100;

/// What the page asks for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recipe {
    /// Which table.
    pub(crate) data: usize,
    /// Which columns; all columns of numbers when there are none.
    pub(crate) columns: Option<Vec<String>>,
    /// The column that colours the points, and is not computed with.
    pub(crate) label: Option<String>,
    #[serde(default)]
    pub(crate) scale: bool,
    #[serde(default)]
    pub(crate) missing: MissingChoice,
    /// A kernel as text; none for PCA.
    pub(crate) kernel: Option<String>,
    pub(crate) components: usize,
}

impl Recipe {
    pub(crate) fn kernel(&self) -> Result<Option<Kernel>> {
        if !(1..=MOST_COMPONENTS).contains(&self.components) {
            let what = format!("{} components are not between 1 and {MOST_COMPONENTS}", self.components);
            return Err(Refusal::bad(what, "for more use the command: mercer fit -k"));
        }
        Ok(self.kernel.as_ref().map(|text| text.parse()).transpose()?)
    }

    /// The columns that are computed with: those chosen, or all of numbers, without the label.
    pub(crate) fn columns(&self, data: &Data) -> Vec<String> {
        let chosen = self.columns.clone().unwrap_or_else(|| data.usual_columns(None));
        chosen.into_iter().filter(|name| Some(name) != self.label.as_ref()).collect()
    }

    /// Components that are asked for; PCA has no more than columns and points.
    pub(crate) fn count(&self, n: usize, d: usize) -> usize {
        match self.kernel {
            Some(_) => self.components,
            None => self.components.min(n).min(d),
        }
    }

    /// All of it but the kernel, as a text that stands for it.
    pub(crate) fn without_kernel(&self) -> String {
        format!("{:?}", Recipe { kernel: None, ..self.clone() })
    }

    /// What is to be fitted to n points of d dimensions, as the library's record: the one of the command that is shown
    /// beside the result.
    pub(crate) fn spec(&self, kernel: Option<Kernel>, n: usize, d: usize) -> Spec {
        let count = Components::Count(self.count(n, d));
        match kernel {
            Some(kernel) => {
                KernelPca::new(kernel).components(count).standardise(self.scale).approx(Approx::Auto).into()
            }
            None => self.pca().components(count).into(),
        }
    }

    /// PCA of the same points, which is shown beside that of a kernel.
    pub(crate) fn pca(&self) -> Pca {
        Pca::new().components(Components::UpTo(self.components)).standardise(self.scale)
    }
}
