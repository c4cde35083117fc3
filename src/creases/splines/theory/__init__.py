"""The lecture's theory of networks of one input, with its formulas corrected: each function cites its equation.

Motion      :func:`velocities` of breakpoints under gradient flow; the :func:`tangent_kernel`
Loss        :func:`loss_slice` in one breakpoint, :func:`hessian`, :func:`degenerate_units`
Fits        :func:`minimum_norm_fit` of the kernel regime, and its limit, the natural cubic spline
Partitions  :func:`breakpoint_density` at initialisation; :func:`lonely_samples`

The numbering is that of Ankit B. Patel, "Understanding Neural Nets as Splines", lecture, ELEC/COMP 576.
"""

from creases.splines.theory._fits import minimum_norm_fit
from creases.splines.theory._loss import degenerate_units, hessian, loss_slice
from creases.splines.theory._motion import tangent_kernel, velocities
from creases.splines.theory._partitions import breakpoint_density, lonely_samples

__all__ = [
    "breakpoint_density",
    "degenerate_units",
    "hessian",
    "lonely_samples",
    "loss_slice",
    "minimum_norm_fit",
    "tangent_kernel",
    "velocities",
]
