"""Two networks in a box: by how much their outputs differ, and whether they ever decide differently.

``difference_bounds`` proves bounds of each output's difference, ``largest_difference`` adds what a search reaches,
``compare_decisions`` returns an input that both decide differently or a proof that there is none. ``Joint`` makes one
network of two.
"""

from creases.certify.differences._decisions import DecisionComparison, compare_decisions
from creases.certify.differences._joint import Joint, as_pair, subtract_networks
from creases.certify.differences._largest import difference_bounds, largest_difference

__all__ = [
    "DecisionComparison",
    "Joint",
    "as_pair",
    "compare_decisions",
    "difference_bounds",
    "largest_difference",
    "subtract_networks",
]
