"""PCA and kernel PCA with error bounds and scikit-learn's names.

>>> from mercer import PCA, KernelPCA

replaces

>>> from sklearn.decomposition import PCA, KernelPCA  # doctest: +SKIP
"""

from . import kernels
from ._certificate import Certificate, Plan, Statement
from ._convert import from_sklearn
from ._files import load
from ._incremental_pca import IncrementalPCA
from ._kernel_pca import KernelPCA
from ._mercer import __version__
from ._nystroem import Nystroem
from ._pca import PCA
from ._verification import Claim, Verification
from .kernels import Kernel

__all__ = [
    "PCA",
    "Certificate",
    "Claim",
    "IncrementalPCA",
    "Kernel",
    "KernelPCA",
    "Nystroem",
    "Plan",
    "Statement",
    "Verification",
    "__version__",
    "from_sklearn",
    "kernels",
    "load",
]
