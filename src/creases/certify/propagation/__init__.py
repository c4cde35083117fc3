"""Bound propagation: intervals for every value of a network while its input stays in a box.

``value_bounds`` is interval arithmetic, which holds in real arithmetic: what rounding may change is added to it.
"""

from creases.certify.propagation._intervals import Interval, output_change_bound, value_bounds

__all__ = [
    "Interval",
    "output_change_bound",
    "value_bounds",
]
