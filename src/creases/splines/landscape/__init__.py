"""The loss around a shallow network of one input: residuals, Hessian, degeneracies, critical points, slices."""

from creases.splines._residuals import Residuals, residuals
from creases.splines.landscape._critical import CriticalPoint, critical_point
from creases.splines.landscape._degeneracy import Degeneracy, degeneracies, gram_rank
from creases.splines.landscape._hessian import Hessian, generating_vectors, hessian, spline_hessian
from creases.splines.landscape._loss_slice import LossSlice, loss_slice

__all__ = [
    "CriticalPoint",
    "Degeneracy",
    "Hessian",
    "LossSlice",
    "Residuals",
    "critical_point",
    "degeneracies",
    "generating_vectors",
    "gram_rank",
    "hessian",
    "loss_slice",
    "residuals",
    "spline_hessian",
]
