"""Section 3.3.2 of the dissertation quotes that threshold units solve parity of n bits with O(sqrt(n)) of them."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from creases_reproduction.claim import Claim, Curve, Judgement, Numbers, Picture
from creases_reproduction.experiment import Scale


@dataclass(frozen=True)
class ThresholdParity:
    """Two layers of threshold units; the second reads the inputs too.

    Unit k of the first layer is 1 if the sum of the inputs is at least ``block k``, so that the sum minus ``block``
    times the units is the remainder. Unit j of the second layer is 1 if the remainder is at least j; the output adds
    them with alternating signs, and is 1 where the sum is odd. The block is even, so it does not change parity.
    """

    inputs: int
    block: int

    @classmethod
    def smallest(cls, inputs: int) -> ThresholdParity:
        """Return the network with the fewest units of this kind."""
        near = isqrt(inputs)
        blocks = [block for block in range(max(2, near - 3), near + 5) if block % 2 == 0]
        return min((cls(inputs, block) for block in blocks), key=lambda network: network.units)

    @property
    def units(self) -> int:
        """Units of both layers."""
        return self.inputs // self.block + min(self.block - 1, self.inputs)

    def __call__(self, bits: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return the outputs (m,) for bits (m, n)."""
        total = bits.sum(axis=1)
        first = total[:, None] >= self.block * np.arange(1, self.inputs // self.block + 1)
        rest = total - self.block * first.sum(axis=1)
        second = rest[:, None] >= np.arange(1, min(self.block - 1, self.inputs) + 1)
        signs = np.where(np.arange(second.shape[1]) % 2 == 0, 1, -1)
        return np.asarray(second @ signs > 0)


def measure_threshold_parity(scale: Scale) -> Numbers:
    """Measure failures over all inputs of few bits and one input of every sum of many, and the units by n."""
    few, many = (10, 100) if scale == "quick" else (16, 1000)
    failed = 0
    for n in range(1, few + 1):
        bits = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        failed += int((ThresholdParity.smallest(n)(bits) != bits.sum(axis=1) % 2).sum())
    for n in range(few + 1, many + 1):
        bits = np.tri(n + 1, n, -1, dtype=np.int64)  # a sum of 0, 1, ..., n
        failed += int((ThresholdParity.smallest(n)(bits) != np.arange(n + 1) % 2).sum())
    sizes = np.arange(1, many + 1)
    units = [ThresholdParity.smallest(int(n)).units for n in sizes]
    return {
        "all inputs up to": few,
        "all sums up to": many,
        "failed": failed,
        "units": units,
        "largest ratio to sqrt(n)": (np.array(units) / np.sqrt(sizes)).max(),
    }


def judge_threshold_parity(numbers: Numbers) -> Judgement:
    """Judge whether the construction is right and its size in proportion to sqrt(n)."""
    ratio = numbers["largest ratio to sqrt(n)"]
    words = (
        f"{numbers['failed']} failures over all inputs of up to {numbers['all inputs up to']} bits and all sums of up "
        f"to {numbers['all sums up to']}; at most {ratio:.2f} sqrt(n) units ({numbers['units'][15]} for 16 bits, "
        f"{numbers['units'][99]} for 100), in two layers of which the second reads the inputs too"
    )
    return Judgement("agrees" if not numbers["failed"] and ratio < 4 else "disagrees", words)


def picture_threshold_parity(numbers: Numbers) -> Picture:
    """Draw units by bits."""
    n = list(range(1, len(numbers["units"]) + 1))
    curves = [Curve("units", n, numbers["units"]), Curve("2 sqrt(n)", n, (2 * np.sqrt(n)).tolist())]
    return Picture(curves=curves, x="bits", y="threshold units")


CLAIMS = [
    Claim(
        "linearity/section-3.3.2-root",
        "section 3.3.2",
        "Threshold networks solve parity of n bits with O(sqrt(n)) units.",
        measure=measure_threshold_parity,
        judge=judge_threshold_parity,
        picture=picture_threshold_parity,
        full="a second",
    ),
]
