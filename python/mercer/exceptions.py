"""Warnings of the estimators.

The text of a warning is constant, so that Python shows it once per place. The numbers are attributes of the warning,
which ``warnings.catch_warnings(record=True)`` collects.
"""

from sklearn.exceptions import PositiveSpectrumWarning

__all__ = ["AsymmetricMatrixWarning", "IndefiniteKernelWarning", "LandmarkWarning"]


class _WithNumbers:
    """A warning with a constant text and numbers as attributes."""

    def __init__(self, message, **numbers):
        super().__init__(message)
        self.__dict__.update(numbers)


class IndefiniteKernelWarning(_WithNumbers, PositiveSpectrumWarning):
    """The kernel is not positive semi-definite: its matrix has negative eigenvalues, which are not used.

    For :class:`mercer.KernelPCA` it is the centred Gram matrix, for :class:`mercer.Nystroem` the kernel matrix of the
    sampled points.

    Attributes
    ----------
    negative : int
        The number of negative eigenvalues.
    n : int
        The number of all eigenvalues.
    smallest, largest : float
        The smallest and the largest eigenvalue.
    share : float
        The sum of the magnitudes of the negative eigenvalues, as a share of that of all eigenvalues.
    """


class AsymmetricMatrixWarning(_WithNumbers, UserWarning):
    """A precomputed Gram matrix is not symmetric. The mean of the matrix and its transpose is used.

    Attributes
    ----------
    row, column : int
        Where the matrix differs most from its transpose.
    difference : float
        By how much.
    """


class LandmarkWarning(_WithNumbers, UserWarning):
    """There are fewer landmarks than requested, or they leave out more variance than ``trace_error`` allows.

    Attributes
    ----------
    landmarks, requested : int
        The number of landmarks, and the number that was requested (None with ``trace_error``).
    trace_share, trace_error : float
        The share of the variance that the landmarks leave out, and the largest share that was allowed (None without
        ``trace_error``).
    """
