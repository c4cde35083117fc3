"""Propositions of the TINY paper (section 3, appendix B) at random networks: the library's sums against matrices.

All in float64 with tanh, whose slope at 0 is 1, unless said otherwise; eta = 1 and the loss of one sample.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from math import pi

import numpy as np
import torch
from torch import Tensor, nn

from creases.growth import Proposal, apply
from creases.growth.methods.expressivity import (
    NewUnits,
    PlaceObserver,
    Statistics,
    best_moves,
    bottleneck,
    optimal_units,
    projected_pairs,
    statistics,
)
from creases.network import Place, places
from creases_reproduction.claim import Claim, Judgement, Numbers
from creases_reproduction.experiment import Scale
from creases_reproduction.judges import drawing
from creases_reproduction.tiny.bottlenecks import perceptron

loss = nn.functional.cross_entropy
CASES = {"quick": 6, "full": 40}


@dataclass(frozen=True, eq=False)
class Case:
    """A random network with samples, and what a layer of it sees, as matrices with samples as columns."""

    model: nn.Sequential
    x: Tensor
    y: Tensor
    place: Place
    sums: Statistics
    before: Tensor  #: B_{l-1} (d, n), the constant 1 last
    after: Tensor  #: B_l (m, n)
    goal: Tensor  #: V_goal (out, n)

    @property
    def path(self) -> str:
        """The path of the layer that reads the place."""
        return self.place.consumers[0].path


def case(seed: int, bend: type[nn.Module] = nn.Tanh) -> Case:
    """Return networks 4 - 5 - 6 - 3, grown at the first or the second hidden layer.

    On 120 samples of random classes.
    """
    model = perceptron([4, 5, 6, 3], bend, seed).double()
    numbers = torch.Generator().manual_seed(seed)
    x = torch.randn(120, 4, generator=numbers, dtype=torch.float64)
    y = (torch.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] > 0).long() + (x[:, 3] > 1).long()
    place = places(model)[seed % 2]
    results = PlaceObserver.from_model(model, place, loss, x).observe(x, y)
    ones = torch.ones(1, len(x), dtype=torch.float64)
    path = place.consumers[0].path
    before, after = torch.cat([results.layer_input.T, ones]), torch.cat([results.consumer_inputs[path].T, ones])
    return Case(model, x, y, place, statistics(model, place, [(x, y)], loss), before, after, results.goals[path].T)


def cases(scale: Scale, bend: type[nn.Module] = nn.Tanh) -> Iterator[Case]:
    """Return random networks with their data and sums."""
    return (case(seed, bend) for seed in range(CASES[scale]))


def move(own: Case) -> Tensor:
    """Return dW* (out, m) of Prop. 3.1."""
    return best_moves(own.sums)[own.path].T


def left(own: Case) -> Tensor:
    """Return v_proj (out, n)."""
    return own.goal - move(own) @ own.after


def change(own: Case, units: NewUnits, k: int | None = None) -> Tensor:
    """Return V(theta) (out, n) of the first k units, to first order."""
    return units.omega[own.path][:, :k] @ (units.alpha[:, :k].T @ own.before)


# 2.2 and 3.1


def measure_example(scale: Scale) -> Numbers:
    """Measure 2 sin x + x at 0, 1.5, pi, 4.5 by a x + b at (1, 0).

    Whether some (da, db) improves all four, by their errors.

    An update improves a point where it moves towards its error's sign; at 0 and pi the error is 0 and must stay so.
    """
    x = np.array([0.0, 1.5, pi, 4.5])
    goal = 2 * (2 * np.sin(x))  # v_goal = -2 (f - y), eta = 1
    design = np.stack([x, np.ones(4)], axis=1)
    best = np.linalg.lstsq(design, goal, rcond=None)[0]
    angles = np.linspace(0, 2 * pi, 3601)
    moves = design @ np.stack([np.cos(angles), np.sin(angles)])
    wanted = np.sign(np.round(goal, 12))
    helped = (wanted[:, None] * moves > 0) | ((wanted == 0)[:, None] & (np.abs(moves) < 1e-9))
    return {
        "goal": goal.tolist(),
        "best move": best.tolist(),
        "directions tried": len(angles),
        "improving all": int(helped.all(axis=0).sum()),
        "improving most": int(helped.sum(axis=0).max()),
        "lack of expressivity": float(np.square(goal - design @ best).sum()),
    }


def judge_example(numbers: Numbers) -> Judgement:
    """Judge section 2.2, Figure 3 and section 3.3.3, (3.12) to (3.22)."""
    words = (
        f"no direction of {numbers['directions tried']} improves all four points, at best {numbers['improving most']}"
    )
    words += f"; the lack of expressivity is {numbers['lack of expressivity']:.3g}"
    if numbers["improving all"] or numbers["lack of expressivity"] < 1e-9:
        return Judgement("disagrees", f"{numbers['improving all']} directions improve all four points")
    return Judgement("agrees", words)


def measure_proposition_3_1(scale: Scale) -> Numbers:
    """Measure dW* against least squares on the matrices, V_0 against the projector.

    And whether it is along the gradient.
    """
    off = {
        "to least squares": 0.0,
        "to the projector": 0.0,
        "of what is left, along B_l": 0.0,
        "of the bottleneck": 0.0,
    }
    cosines = []
    for part in cases(scale):
        W = move(part)
        want = torch.linalg.lstsq(part.after.T, part.goal.T, driver="gelsd").solution.T
        n = part.after.shape[1]
        S = part.after @ part.after.T / n
        projector = part.after.T @ torch.linalg.pinv(S, hermitian=True) @ part.after / n
        size = part.goal.norm()
        rest = part.goal - W @ part.after
        results = {
            "to least squares": (W @ part.after - want @ part.after).norm() / size,
            "to the projector": (W @ part.after - part.goal @ projector).norm() / size,
            "of what is left, along B_l": (rest @ part.after.T).norm() / (size * part.after.norm()),
            "of the bottleneck": abs(bottleneck(part.sums) - rest.square().sum() / n) / (size**2 / n),
        }
        off = {name: max(off[name], float(value)) for name, value in results.items()}
        gradient = part.goal @ part.after.T
        cosines.append(float((W * gradient).sum() / (W.norm() * gradient.norm())))
    return {"cases": CASES[scale], **off, "cosine to the gradient, mean": float(np.mean(cosines))}


def judge_proposition_3_1(numbers: Numbers) -> Judgement:
    """Judge Proposition 3.1, Definition 3.1."""
    names = [name for name in numbers if name.startswith(("to ", "of "))]
    worst = max(numbers[name] for name in names)
    cosine = numbers["cosine to the gradient, mean"]
    words = f"at {numbers['cases']} random networks off by {worst:.1g}; its cosine to the gradient is {cosine:.2f}"
    return Judgement("agrees" if worst < 1e-9 and cosine < 0.99 else "disagrees", words)


# 3.2


def measure_proposition_3_2(scale: Scale) -> Numbers:
    """Measure the gain identity (10) with the square roots of lambda and as printed, K = rank.

    And other units tried.
    """
    off, printed, ranks, better = 0.0, 0.0, [], 0
    for number, part in enumerate(cases(scale)):
        units = optimal_units(part.sums)
        rest, n = left(part), part.goal.shape[1]
        lam, full = units.values, float(rest.square().sum() / n)
        N = part.before @ rest.T / n
        ranks.append([len(lam), int(torch.linalg.matrix_rank(N, rtol=1e-7))])
        for k in range(1, len(lam) + 1):
            want = full - float(lam[:k].square().sum())
            off = max(off, abs(float((rest - change(part, units, k)).square().sum() / n) - want) / full)
            bare = change(part, _bare(units), k)
            printed = max(printed, abs(float((rest - bare).square().sum() / n) - want) / full)
            better += _beaten(part, rest, want, k, number)
    return {
        "cases": CASES[scale],
        "off": off,
        "off as printed": printed,
        "rank": ranks,
        "other units that do better": better,
        "orthogonal": max(_overlap(part) for part in cases(scale)),
    }


def _bare(units: NewUnits) -> NewUnits:
    """Return the units as Prop. 3.2 lists them, before they are scaled by the square roots of lambda."""
    root = units.values.sqrt()
    omega = {path: columns / root for path, columns in units.omega.items()}
    return NewUnits(units.alpha / root, omega, units.values, units.rank)


def _beaten(own: Case, rest: Tensor, want: float, k: int, seed: int, tries: int = 20) -> int:
    """Return how many random fan-ins of k units, each with the fan-out that is best for it, leave less of V_proj."""
    draw, n, count = torch.Generator().manual_seed(seed), rest.shape[1], 0
    for _ in range(tries):
        z = torch.randn(k, len(own.before), generator=draw, dtype=torch.float64) @ own.before
        omega = torch.linalg.lstsq(z.T, rest.T, driver="gelsd").solution.T
        count += float((rest - omega @ z).square().sum() / n) < want * (1 - 1e-9)
    return count


def _overlap(own: Case) -> float:
    """Return largest cosine between the changes that two units make, in the trace product."""
    units = optimal_units(own.sums)
    omega, inner = units.omega[own.path], units.alpha.T @ own.before
    each = torch.stack([torch.outer(omega[:, k], inner[k]).flatten() for k in range(len(inner))])
    each = each / each.norm(dim=1, keepdim=True)
    return float((each @ each.T - torch.eye(len(each), dtype=each.dtype)).abs().max())


def judge_proposition_3_2(numbers: Numbers) -> Judgement:
    """Judge Proposition 3.2, (10)."""
    same = all(a == b for a, b in numbers["rank"])
    words = (
        f'with the units times sqrt(lambda) on both sides, its "scaled weights", eq. (10) holds to {numbers["off"]:.1g}'
    )
    words += f"; {numbers['other units that do better']} random units do better; K* is {'' if same else 'not '}N's rank"
    if numbers["off"] > 1e-9 or numbers["other units that do better"] or not same:
        return Judgement("disagrees", words)
    return Judgement("agrees", words)


def judge_orthogonal(numbers: Numbers) -> Judgement:
    """Judge section 3.2."""
    worst = numbers["orthogonal"]
    return Judgement(
        "agrees" if worst < 1e-9 else "disagrees", f"largest cosine between two units' changes: {worst:.1g}"
    )


def measure_equation_11(scale: Scale) -> Numbers:
    """Measure the fall of the loss for small units against sigma'(0) sum lambda^2.

    And against the sum with the cross term.
    """
    ratio: dict[str, list[float]] = {"tanh": [], "relu": [], "selu": []}
    off, plain = 0.0, 0.0
    for name, bend in (("tanh", nn.Tanh), ("relu", nn.ReLU), ("selu", nn.SELU)):
        for part in cases(scale, bend):
            units = optimal_units(part.sums)
            if not len(units.values):
                continue
            sum_ = float(units.values.square().sum())
            cross = float((change(part, units) * (move(part) @ part.after)).sum() / part.goal.shape[1])
            fall = _slope(part, units)
            ratio[name].append(fall / sum_)
            if name == "tanh":
                off = max(off, abs(fall - sum_ - cross) / sum_)
                for_goal = optimal_units(part.sums, project=False)
                plain = max(plain, abs(_slope(part, for_goal) / float(for_goal.values.square().sum()) - 1))
    return {
        "cases": CASES[scale],
        "fall over sum of lambda^2": {name: [min(part), max(part)] for name, part in ratio.items()},
        "off with the cross term": off,
        "off for units of V_goal": plain,
    }


def _slope(own: Case, units: NewUnits, step: float = 1e-3) -> float:
    """Return the fall of the mean loss for units of size step, over step^2; two steps, extrapolated."""
    falls = []
    for size in (step, step / 2):
        model = copy.deepcopy(own.model)
        fan_in, bias = units.alpha[:-1].T.clone(), units.alpha[-1].clone()
        apply(Proposal("tiny", own.place, fan_in, bias, units.omega, 0.0, {}).scale(size, size), model)
        with torch.no_grad():
            falls.append(float(loss(own.model(own.x), own.y) - loss(model(own.x), own.y)) / size**2)
    return 2 * falls[1] - falls[0]


def judge_equation_11(numbers: Numbers) -> Judgement:
    """Judge Proposition 3.2, (11)."""
    by, cross, plain = (
        numbers[k] for k in ("fall over sum of lambda^2", "off with the cross term", "off for units of V_goal")
    )
    low, high = by["tanh"]
    words = f"the fall of the loss is {low:.2f} to {high:.2f} times sum lambda^2 (tanh, which has a slope at 0)"
    if max(cross, plain) > 1e-3:
        return Judgement("disagrees", f"{words}; with the cross term it is off by {cross:.1g}")
    if abs(low - 1) < 1e-3 and abs(high - 1) < 1e-3:
        return Judgement("agrees", words)
    return Judgement(
        "disagrees",
        f"{words}: a term (1/n) <V, dW* B> is missing, as large and of either sign; with it the formula is off by "
        f"{cross:.1g}. As printed it holds (to {plain:.1g}) for units of V_goal, where dW = 0. ReLU and SELU have "
        "no slope "
        "at 0, which the paper assumes, and are left out of the verdict",
    )


def measure_proposition_3_3(scale: Scale) -> Numbers:
    """Measure n N' alpha = lambda^2 S alpha and omega = N' alpha at the optimal units.

    And with lambda and N as printed.
    """
    off, out, printed = 0.0, 0.0, 0.0
    for part in cases(scale):
        units = optimal_units(part.sums)
        S, N = part.sums.features / part.sums.count, projected_pairs(part.sums, best_moves(part.sums))[part.path].T
        lam, alpha = units.values, units.alpha / units.values.sqrt()
        image = N @ (N.T @ alpha)
        off = max(off, float((image - S @ alpha * lam.square()).norm() / image.norm()))
        printed = max(printed, float((image - S @ alpha * lam).norm() / image.norm()))
        omega = units.omega[part.path] / lam.sqrt()
        out = max(out, float((N.T @ alpha - omega * lam).norm() / (omega * lam).norm()))
    return {"cases": CASES[scale], "off": off, "omega off": out, "off with lambda": printed}


def judge_proposition_3_3(numbers: Numbers) -> Judgement:
    """Judge Proposition 3.3."""
    words = f"with eigenvalues lambda^2 and omega along N' alpha off by {max(numbers['off'], numbers['omega off']):.1g}"
    if max(numbers["off"], numbers["omega off"]) > 1e-8:
        return Judgement("disagrees", words)
    return Judgement(
        "agrees", f"{words} (the text has N alpha, which has another size; lambda there is the eigenvalue)"
    )


CLAIMS = [
    drawing("tiny/figure-1", "Figure 1", "Notations."),
    drawing("tiny/figure-2", "Figure 2", "The lack of expressivity as the distance of V_goal from the tangent space."),
    drawing("tiny/figure-4", "Figure 4", "Two new units and their weights."),
    drawing("tiny/figure-7", "Figure 7", "Left to be done, says the source."),
    Claim(
        "tiny/section-2.2",
        "section 2.2, Figure 3",
        "No update of a x + b improves the prediction of 2 sin x + x at all four points.",
        measure=measure_example,
        judge=judge_example,
        full="a second",
    ),
    Claim(
        "tiny/proposition-3.1",
        "Proposition 3.1, Definition 3.1",
        (
            "dW* = (1/n) V_goal B' ((1/n) B B')^+ is the best move; it projects V_goal onto what the layer has, and "
            "is not the gradient."
        ),
        measure=measure_proposition_3_1,
        judge=judge_proposition_3_1,
        full="2 s",
    ),
    Claim(
        "tiny/proposition-3.2",
        "Proposition 3.2, (10)",
        (
            "The best new units are (S^(-1/2)' u_k, v_k), as many as N has rank; K of them reduce the lack of "
            "expressivity by sum lambda_k^2."
        ),
        measure=measure_proposition_3_2,
        judge=judge_proposition_3_2,
        full="5 s",
    ),
    Claim(
        "tiny/section-3.2-orthogonal",
        "section 3.2",
        "The changes that the new units make are orthogonal.",
        measure=measure_proposition_3_2,
        judge=judge_orthogonal,
        full="5 s",
    ),
    Claim(
        "tiny/equation-11",
        "Proposition 3.2, (11)",
        "To first order the loss falls by sigma'(0) / eta sum lambda_k^2.",
        measure=measure_equation_11,
        judge=judge_equation_11,
        full="5 s",
        misprints=("tiny/cross-term",),
    ),
    Claim(
        "tiny/proposition-3.3",
        "Proposition 3.3",
        "The units solve N N' alpha = lambda S alpha.",
        measure=measure_proposition_3_3,
        judge=judge_proposition_3_3,
        full="2 s",
        misprints=("tiny/proposition-3.3",),
    ),
]
