"""Bound propagation: intervals for every value of a network while its input stays in a box.

``value_bounds`` is interval arithmetic; ``linear_value_bounds`` adds linear bounds carried backwards (CROWN),
``lp_value_bounds`` linear programs over the convex relaxation of the bends, ``exact_value_bounds`` the partition of the
box. ``tight_value_bounds`` takes the tightest of them that a network's size allows. The first two hold in real
arithmetic: what rounding may change is added to them.
"""

from creases.certify.propagation._intervals import Interval, output_change_bound, value_bounds
from creases.certify.propagation._linear import linear_value_bounds
from creases.certify.propagation._relaxation import lp_value_bounds
from creases.certify.propagation._tight import exact_value_bounds, tight_value_bounds

__all__ = [
    "Interval",
    "exact_value_bounds",
    "linear_value_bounds",
    "lp_value_bounds",
    "output_change_bound",
    "tight_value_bounds",
    "value_bounds",
]
