"""Chapter 3 of the dissertation, sections 3.3.3 and 3.4.1: steady states of XOR on a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from torch import Tensor

from creases_reproduction.claim import Claim, Judgement, Numbers
from creases_reproduction.experiment import Scale
from creases_reproduction.judges import count_failures, judge_cases, row, rows, rows_picture
from creases_reproduction.linearity import xor
from creases_reproduction.linearity.boolean_optima import Optima, table_3_2
from creases_reproduction.linearity.xor.steady_states import ALL, DEAD, LEFT, LEFT_TWO, RIGHT, RIGHT_TWO, Sides
from creases_reproduction.statistics import wilson_interval

#: The optima that the text gives for (3.12), by whether a > 0.
PRINTED_OPTIMA = {"a > 0": (2.0, -1.0), "a <= 0": (-4.0, 2.0)}


def gradient(loss: Tensor, parameters: Tensor) -> Tensor:
    """Return the gradient of a loss by its parameters."""
    (results,) = torch.autograd.grad(loss, parameters)
    return results


def measure_example(scale: Scale) -> Numbers:
    """Measure the gradient of (3.13) at the printed optima and at (0, 0), and the losses there."""
    results = {}
    for name, at in {**PRINTED_OPTIMA, "a = b = 0": (0.0, 0.0)}.items():
        p = torch.tensor(at, dtype=torch.float64, requires_grad=True)
        v = torch.relu(p[0] * torch.tensor([-1.0, 1.0])) + p[1]
        loss = ((torch.tensor([-1.0, 1.0]) - v) ** 2).sum()
        results[name] = {"at": list(at), "gradient": float(gradient(loss, p).abs().max()), "loss": float(loss.detach())}
    return results


def judge_example(numbers: Numbers) -> Judgement:
    """Judge section 2.2, Figure 3 and section 3.3.3, (3.12) to (3.22)."""
    off = [name for name in PRINTED_OPTIMA if numbers[name]["gradient"] > 1e-9]
    if not off:
        return Judgement("agrees", "the gradient vanishes at both")
    zero = numbers["a = b = 0"]
    words = "; ".join(f"at {tuple(numbers[name]['at'])} the gradient is {numbers[name]['gradient']:g}" for name in off)
    if zero["gradient"] < 1e-9:
        words += f"; for a <= 0 the one steady state is (0, 0), of loss {zero['loss']:g}"
    return Judgement("disagrees", words)


def loss(p: Tensor) -> Tensor:
    """Return (3.25) at parameters (..., 7): w_1, w_2, o_1, o_2, b_1, b_2, c."""
    w, o, b, c = p[..., 0:2], p[..., 2:4], p[..., 4:6], p[..., 6]
    values = [c + (o * torch.relu(w * x + b)).sum(dim=-1) for x in xor.POINTS]
    return (values[0] + 1) ** 2 + 2 * (values[1] - 1) ** 2 + (values[2] + 1) ** 2


def active_everywhere(count: int, seed: int = 0) -> Tensor:
    """Return parameters (count, 7) with both units active at all three points."""
    draw = np.random.default_rng(seed)
    w, o, c = draw.uniform(-1, 1, (count, 2)), draw.normal(size=(count, 2)), draw.normal(size=(count, 1))
    b = np.abs(w) + draw.uniform(0.1, 1, (count, 2))
    return torch.from_numpy(np.hstack([w, o, b, c]))


def measure_equations(scale: Scale) -> Numbers:
    """Measure the printed derivatives by time where both units are active everywhere.

    Over those of (3.25) by parameters.
    """
    p = active_everywhere(50).requires_grad_()
    known = gradient(loss(p).sum(), p)
    w1, w2, o1, o2, b1, b2, c = p.detach().T
    sums, levels = o1 * w1 + o2 * w2, b1 * o1 + b2 * o2 + c
    printed = torch.stack(
        [
            4 * o1 * sums,
            4 * o2 * sums,
            8 * b1**2 * o1 + 8 * b1 * b2 * o2 + 8 * b1 * c + 4 * o1 * w1**2 + 4 * o2 * w1 * w2,
            8 * b1 * b2 * o1 + 8 * b2**2 * o2 + 8 * b2 * c + 4 * o1 * w1 * w2 + 4 * o2 * w2**2,
            8 * o1 * levels,
            8 * o2 * levels,
            8 * b1 * o1 + 8 * b2 * o2 + 8 * c,
        ],
        dim=1,
    )
    return {
        "from descent": float((printed + known).abs().max()),
        "from ascent": float((printed - known).abs().max()),
    }


def judge_equations(numbers: Numbers) -> Judgement:
    """Judge section 3.3.3."""
    if numbers["from descent"] < 1e-9:
        return Judgement("agrees", "the derivatives by time are those of gradient descent")
    if numbers["from ascent"] < 1e-9:
        return Judgement("disagrees", "the sign: all seven are plus the derivatives of the loss, (3.21) has minus")
    return Judgement("disagrees", f"they are {numbers['from ascent']:.2g} off the derivatives of the loss")


def measure_sign_regions(scale: Scale) -> Numbers:
    """Measure how many combinations of signs there are, and the losses of their steady states."""
    losses = Counter("none" if item.loss is None else str(item.loss) for item in xor.REGIONS)
    return {"regions": len(xor.REGIONS), "of": 2**6, "losses": dict(losses)}


def judge_sign_regions(numbers: Numbers) -> Judgement:
    """Judge section 3.3.3."""
    right = numbers["regions"] == 36 and numbers["of"] == 64
    return Judgement("agrees" if right else "disagrees", f"{numbers['regions']} of {numbers['of']} are possible")


def judge_losses(numbers: Numbers) -> Judgement:
    """Judge section 3.4.1."""
    losses = dict(numbers["losses"])
    none = losses.pop("none", 0)
    words = ", ".join(f"{count} regions of loss {name}" for name, count in sorted(losses.items()))
    right = set(losses) == {"0", "8/3", "4"}
    return Judgement("agrees" if right else "disagrees", f"with both outer weights not 0: {words}; {none} have none")


def measure_symmetries(scale: Scale) -> Numbers:
    """Count the regions in which the loss of steady states is another than in the one that a symmetry makes of it."""
    losses = {item.sides: item.loss for item in xor.REGIONS}
    maps: dict[str, Callable[[Sides, Sides], tuple[Sides, Sides]]] = {
        "units exchanged": lambda first, second: (second, first),
        "both w negated": lambda first, second: (_mirror_sides(first), _mirror_sides(second)),
        "w_1 negated": lambda first, second: (_mirror_sides(first), second),
    }
    differ = {name: sum(losses[sides] != losses[of(*sides)] for sides in losses) for name, of in maps.items()}
    return {"regions": len(losses), "differ": differ}


def _mirror_sides(sides: Sides) -> Sides:
    """Return a unit's sides with the sign of w changed."""
    left, middle, right = sides
    return right, middle, left


def judge_symmetries(numbers: Numbers) -> Judgement:
    """Judge section 3.3.3."""
    off = {name: count for name, count in numbers["differ"].items() if count}
    if not off:
        return Judgement("agrees", f"in all {numbers['regions']} regions losses stay the same")
    words = ", ".join(
        f"with {name} the loss is another in {count} of {numbers['regions']} regions" for name, count in off.items()
    )
    return Judgement("disagrees", f"{words}; units exchanged and both w negated make four equivalent optima, not eight")


def measure_freedom(scale: Scale) -> Numbers:
    """Measure dimensions of the families of steady states."""
    return {"dimensions": dict(Counter(str(item.dimension) for item in xor.REGIONS if item.dimension is not None))}


def judge_freedom(numbers: Numbers) -> Judgement:
    """Judge section 3.4.1."""
    results = numbers["dimensions"]
    words = ", ".join(f"{count} of dimension {name}" for name, count in sorted(results.items()))
    return Judgement("agrees" if min(map(int, results)) >= 2 else "disagrees", f"families: {words}")


def measure_families(scale: Scale) -> Numbers:
    """Measure the three printed families where both units are active everywhere.

    Gradient 0 and loss 4 at random members.
    """
    p = active_everywhere(50)
    o1, o2, b1, b2 = p[:, 2].clone(), p[:, 3].clone(), p[:, 4], p[:, 5]
    first, second, third = p.clone(), p.clone(), p.clone()
    first[:, 6], first[:, 0] = -b1 * o1 - b2 * o2, -o2 * p[:, 1] / o1
    second[:, 2:4], second[:, 6] = 0, 0
    third[:, 2], third[:, 1], third[:, 6] = 0, 0, -b2 * o2
    third[:, 0] = p[:, 0]
    inside_region = (first[:, 0].abs() < b1) & (first[:, 1].abs() < b2)
    members = torch.cat([first[inside_region], second, third]).requires_grad_()
    losses = loss(members)
    slopes = gradient(losses.sum(), members).abs().amax(dim=1)
    known = next(item.loss for item in xor.REGIONS if item.sides == (ALL, ALL))
    holds = [bool(s < 1e-9 and abs(v - 4) < 1e-9) for s, v in zip(slopes, losses.detach(), strict=True)]
    return {**count_failures(holds), "loss of the region": str(known)}


#: Sign regions in words: at which points each unit is active.
_WORDS = {DEAD: "off", LEFT: "-1", RIGHT: "1", LEFT_TWO: "-1, 0", RIGHT_TWO: "0, 1", ALL: "all"}
_NAMES = {one.conditions: " | ".join(_WORDS[side] for side in one.sides) for one in xor.REGIONS}


@cache
def train_optima(scale: Scale) -> Optima:
    """Return the trainings of Table 3.2, once for all claims."""
    return table_3_2(scale)


def measure_table_3_2(scale: Scale) -> Numbers:
    """Measure Table 3.2.

    Shares of trained networks by family (mean loss), and by loss for both readings of the loss.
    """
    results = train_optima(scale)
    solutions = results.solutions("mean")
    by_loss = results.frequencies()
    return {
        "rows": [
            row(f"loss {item.loss:.3g}: {_NAMES[item.region]}", item.printed / 1000, item.share, item.low, item.high)
            for item in solutions.dropna(subset=["printed"]).sort_values("printed").itertuples()
        ],
        "by loss": {
            name: {values_of.loss: [values_of.share, values_of.low, values_of.high] for values_of in part.itertuples()}
            for name, part in by_loss.groupby("trained on", sort=False)
        },
        "families found": int((solutions.loc[solutions["solution"] != "none of these", "count"] > 0).sum()),
        "networks": len(results.runs["mean"].ends.loss),
    }


def judge_table(numbers: Numbers) -> Judgement:
    """Judge Table 3.2."""
    all_rows = rows(numbers)
    near = [_is_consistent(row.printed, row.measured) for row in all_rows if row.printed is not None]
    here, printed = (
        numbers["by loss"]["mean"]["8/3"][0],
        sum(row.printed or 0 for row in all_rows if row.what.startswith("loss 2.67")),
    )
    words = (
        f"{sum(near)} of {len(near)} printed counts are within the chance of 1,000 trials, on the mean of the errors; "
        f"loss 8/3: {here:.3f}, printed {printed:.3f} (the sum of (3.25) gives {_shares(numbers['by loss']['sum'])} "
        f"for 0, 8/3, 4); {numbers['families found']} families found, printed 53; rows 1 and 2 are the same in the "
        "transcription, "
        "so that 14 are compared"
    )
    if all(near):
        return Judgement("agrees", words)
    kind = sum(near) >= len(near) / 2 and _is_consistent(printed, here)
    return Judgement("agrees in kind" if kind else "disagrees", words)


def _is_consistent(printed: float, share: float | None) -> bool:
    """Whether a share of 1,000 trials may come from the measured one: 95 % interval."""
    low, high = wilson_interval(round(1000 * printed), 1000)
    return share is not None and low <= share <= high


def _shares(own: Numbers) -> str:
    return ", ".join(f"{share:.3f}" for share, *_ in own.values())


CLAIMS = [
    Claim(
        "linearity/section-3.3.3-example",
        "section 3.3.3, (3.12) to (3.22)",
        "The optima of max(ax, 0) + b on -1 -> -1, 1 -> 1 are (2, -1) where a > 0 and (-4, 2) where a <= 0.",
        printed="(2, -1), (-4, 2)",
        measure=measure_example,
        judge=judge_example,
        misprints=("linearity/section-3.3.3-example",),
    ),
    Claim(
        "linearity/section-3.3.3-equations",
        "section 3.3.3",
        "The differential equations of gradient descent on (3.25).",
        measure=measure_equations,
        judge=judge_equations,
        misprints=("linearity/section-3.3.3-equations",),
    ),
    Claim(
        "linearity/section-3.3.3-regions",
        "section 3.3.3",
        "Of 64 combinations of the signs of b and b +- w only 36 are possible.",
        printed="64, 36",
        measure=measure_sign_regions,
        judge=judge_sign_regions,
    ),
    Claim(
        "linearity/section-3.3.3-steady",
        "section 3.3.3",
        "Where both units are active everywhere there are three families of steady states, all of loss four.",
        printed="4",
        measure=measure_families,
        judge=judge_cases("members of the three families: gradient 0 and loss 4"),
    ),
    Claim(
        "linearity/section-3.3.3-symmetry",
        "section 3.3.3",
        "Exchanging the units, or the sign of w_1 or of w_2, changes no solution: optima come in classes of eight.",
        printed="8",
        measure=measure_symmetries,
        judge=judge_symmetries,
        misprints=("linearity/section-3.3.3-symmetry",),
    ),
    Claim(
        "linearity/section-3.4.1-freedom",
        "section 3.4.1",
        "Solutions are no points: they have at least two degrees of freedom.",
        printed="2",
        measure=measure_freedom,
        judge=judge_freedom,
    ),
    Claim(
        "linearity/section-3.4.1-losses",
        "section 3.4.1",
        "Minima have loss 0, 8/3 or 4.",
        printed="0, 8/3, 4",
        measure=measure_sign_regions,
        judge=judge_losses,
    ),
    Claim(
        "linearity/table-3.2",
        "Table 3.2",
        "How often each of the 15 most common solutions is found in 1,000 trainings; 53 are found in all.",
        printed="23, 25, 26, 26, 26, 26, 31, 33, 58, 61, 62, 64, 66, 67, 75 of 1,000",
        measure=measure_table_3_2,
        judge=judge_table,
        picture=rows_picture("share of trainings"),
        full="half a minute",
    ),
]
