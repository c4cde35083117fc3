"""XOR on a line, the smallest problem with bad local optima: every steady state, and where trained networks end."""

from creases.boolean.xor._classify import Ends, classify
from creases.boolean.xor._steady_states import LOSSES, POINTS, REGIONS, TARGETS, SignRegion

__all__ = ["LOSSES", "POINTS", "REGIONS", "TARGETS", "Ends", "SignRegion", "classify"]
