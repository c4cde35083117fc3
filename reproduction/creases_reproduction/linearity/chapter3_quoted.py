"""Chapter 3 of the dissertation, section 3.1: what it quotes of others."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.special import entr

from creases import boolean, lab
from creases_reproduction.claim import Claim, Judgement, Numbers
from creases_reproduction.experiment import Scale
from creases_reproduction.judges import count_failures, judge_cases, row, rows, rows_picture


def measure_normal_forms(scale: Scale) -> Numbers:
    """Measure whether one ReLU for each conjunction of a disjunctive normal form has the form's value at every point.

    The unit of a conjunction of k literals is the sum of the literals less k - 1: 1 where it holds, else 0.
    """
    draw, holds = np.random.default_rng(0), []
    for n in (2, 3, 4, 6, 8):
        x = boolean.all_inputs(n)  # (2^n, n), of 0 and 1
        for _ in range(200 if scale == "full" else 20):
            terms = draw.integers(-1, 2, size=(int(draw.integers(1, 2**n)), n))  # a literal, its negation, or neither
            terms = terms[np.abs(terms).any(axis=1)]
            meant = ((x[:, None] == (terms > 0)) | (terms == 0)).all(axis=2).any(axis=1)  # (2^n,)
            bias = (terms < 0).sum(axis=1) - np.abs(terms).sum(axis=1) + 1
            holds.append(bool(((np.maximum(x @ terms.T + bias, 0).sum(axis=1) > 0) == meant).all()))
    return count_failures(holds)


def measure_bias_to_low_entropy(scale: Scale) -> Numbers:
    """Measure entropy of the share of points of {0, 1}^n that untrained networks put into class 1, in bits.

    By depth.
    """
    n, width, trials = 7, 32, 20_000 if scale == "full" else 1_000
    collected = []
    for depth in (0, 1, 2, 4, 8) if scale == "full" else (0, 1, 4):
        batch = lab.Batch.initial(trials, [n, *[width] * depth, 1], seed=0, init="he")
        share = (batch.outputs(boolean.all_inputs(n).astype(np.float32))[..., 0] > 0).mean(axis=1)
        bits = (entr(share) + entr(1 - share)) / np.log(2)
        error = 1.96 * bits.std() / np.sqrt(trials)
        collected.append(row(f"{depth} hidden layers", None, bits.mean(), bits.mean() - error, bits.mean() + error))
    return {"rows": collected, "networks": trials}


def judge_bias(numbers: Numbers) -> Judgement:
    """Judge section 3.1."""
    part = rows(numbers)
    words = f"mean entropy over {numbers['networks']} networks: " + ", ".join(
        f"{row.measured:.3f} bits ({row.what})" for row in part
    )
    falls = all((a.low or 0) > (b.high or 0) for a, b in pairwise(part))
    return Judgement("agrees" if falls else "disagrees", words)


CLAIMS = [
    Claim(
        "linearity/section-3.1-normal-form",
        "section 3.1",
        "One hidden layer of as many ReLUs as a disjunctive normal form has conjunctions represents it.",
        measure=measure_normal_forms,
        judge=judge_cases("random normal forms of 2 to 8 bits, at every point"),
        full="seconds",
    ),
    Claim(
        "linearity/section-3.1-bias",
        "section 3.1",
        "Untrained networks have a bias to functions of low entropy, the stronger the more layers there are.",
        measure=measure_bias_to_low_entropy,
        judge=judge_bias,
        picture=rows_picture("entropy of the share of points of class 1, bits"),
        full="seconds",
    ),
]
