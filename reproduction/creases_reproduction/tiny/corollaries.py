"""Corollaries of the TINY paper (section 3.2) and what its appendices A.2 and B.3 say, at random networks."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from creases.growth import Proposal, apply
from creases.growth.methods.expressivity import optimal_units, whitening_matrix
from creases_reproduction.claim import Claim, Judgement, Numbers
from creases_reproduction.experiment import Scale
from creases_reproduction.judges import judge_rows, row
from creases_reproduction.tiny.theorems import CASES, Case, cases, change, left, loss


def small(limit: float, *names: str) -> Callable[[Numbers], Judgement]:
    """Return a judge: largest deviations by these names are below a limit."""

    def judge(numbers: Numbers) -> Judgement:
        words = ", ".join(f"{name} {numbers[name]:.1g}" for name in names)
        good = all(numbers[name] <= limit for name in names)
        return Judgement("agrees" if good else "disagrees", f"at {numbers['cases']} random networks: {words}")

    return judge


def measure_corollary_1(scale: Scale) -> Numbers:
    """Measure least of |V_goal - dW B_l - V(theta)|^2 over both dW and K = 1 unit.

    Against dW* first and the unit then.
    """
    gain = []
    for part in cases(scale):
        n = part.goal.shape[1]
        rest, size = left(part), float(part.goal.square().sum() / n)
        first = optimal_units(part.sums, count=1)
        at_star = float((rest - change(part, first)).square().sum() / n)
        gain.append((at_star - _jointly(part, change(part, first))) / size)
    return {"cases": CASES[scale], "left less when chosen together, of |V_goal|^2": [min(gain), max(gain)]}


def _jointly(own: Case, V: Tensor, rounds: int = 200) -> float:
    """Return dW and one unit in turn, each best for the other: what is left of V_goal."""
    n, W = own.goal.shape[1], own.sums.features / own.sums.count
    white = whitening_matrix(W)
    for _ in range(rounds):
        dW = torch.linalg.lstsq(own.after.T, (own.goal - V).T, driver="gelsd").solution.T
        rest = own.goal - dW @ own.after
        u, lam, vh = torch.linalg.svd(white.T @ (own.before @ rest.T / n), full_matrices=False)
        V = lam[0] * torch.outer(vh[0], (white @ u[:, 0]) @ own.before)
    return float((rest - V).square().sum() / n)


def judge_corollary_1(numbers: Numbers) -> Judgement:
    """Judge first corollary of section 3.2."""
    low, high = numbers["left less when chosen together, of |V_goal|^2"]
    words = (
        f"chosen together dW and a unit leave {low:.1%} to {high:.1%} of |V_goal|^2 less than dW* and the unit after it"
    )
    if high < 1e-6:
        return Judgement("agrees", words)
    return Judgement("disagrees", f"{words}: what enters the unit is correlated with what the layer has already")


def measure_corollary_2(scale: Scale) -> Numbers:
    """Measure m units, then m' for what these leave, against m + m' at once: gains, to first order."""
    off = 0.0
    for part in cases(scale):
        units = optimal_units(part.sums)
        rest, n, total = left(part), part.goal.shape[1], len(units.values)
        S = part.sums.features / part.sums.count
        white = whitening_matrix(S)
        for m in range(1, total):
            after = rest - change(part, units, m)
            lam = torch.linalg.svdvals(white.T @ (part.before @ after.T / n))[: total - m]
            off = max(off, float((lam - units.values[m:]).abs().max() / units.values[0]))
    return {"cases": CASES[scale], "off": off}


def measure_cholesky(scale: Scale) -> Numbers:
    """Measure B.3: the QR decomposition of sqrt(Sigma) U' gives R with R'R = S, also where S is singular."""
    off, ranks = 0.0, []
    for seed in range(CASES[scale]):
        draw = np.random.default_rng(seed)
        B = draw.normal(size=(8, 5)) @ draw.normal(size=(5, 100))
        S = B @ B.T / 100
        U, sigma, _ = np.linalg.svd(S)
        R = np.linalg.qr(np.sqrt(sigma)[:, None] * U.T)[1]
        off = max(off, float(np.abs(R.T @ R - S).max() / np.abs(S).max()))
        W = whitening_matrix(torch.from_numpy(S))
        ranks.append(int(W.shape[1]))
        off = max(off, float((W.T @ torch.from_numpy(S) @ W - torch.eye(5, dtype=torch.float64)).abs().max()))
    return {"cases": CASES[scale], "off": off, "ranks": sorted(set(ranks))}


def measure_zero_units(scale: Scale) -> Numbers:
    """Measure (9): the gradient of the loss at units whose weights in and out are all 0."""
    largest = 0.0
    for part in cases(scale):
        model = copy.deepcopy(part.model)
        zeros = torch.zeros(2, len(part.before) - 1, dtype=torch.float64)
        columns = {part.path: torch.zeros(len(part.goal), 2, dtype=torch.float64)}
        apply(Proposal("zero", part.place, zeros, zeros[:, 0], columns, 0.0, {}), model)
        loss(model(part.x), part.y).backward()  # type: ignore[no-untyped-call]
        slopes = {name: value.grad for name, value in model.named_parameters() if value.grad is not None}
        new = slopes[f"{part.place.name}.weight"][-2:], slopes[f"{part.path}.weight"][:, -2:]
        largest = max(largest, *(float(item.abs().max()) for item in new))
    return {"rows": [row("largest gradient of new weights", 0.0, largest)]}


CLAIMS = [
    Claim(
        "tiny/corollary-1",
        "first corollary of section 3.2",
        "The dW that minimises (4) over both dW and the new units is dW* of Proposition 3.1.",
        measure=measure_corollary_1,
        judge=judge_corollary_1,
        full="20 s",
        misprints=("tiny/corollary-1",),
    ),
    Claim(
        "tiny/corollary-2",
        "second corollary of section 3.2",
        "To add m units and then m' is, to first order, to add m + m'.",
        measure=measure_corollary_2,
        judge=small(1e-9, "off"),
        full="2 s",
    ),
    Claim(
        "tiny/section-B.3",
        "appendix B.3",
        "A root of a singular S comes from the QR decomposition of sqrt(Sigma) U'.",
        measure=measure_cholesky,
        judge=small(1e-9, "off"),
        full="a second",
    ),
    Claim(
        "tiny/equation-9",
        "appendix A.2, (9)",
        "Units with zero weights in and out have no gradient.",
        printed="0",
        measure=measure_zero_units,
        judge=judge_rows(0.0),
        full="a second",
    ),
]
