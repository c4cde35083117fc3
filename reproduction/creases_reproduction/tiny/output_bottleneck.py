"""Definition 3.1 of the TINY paper at the output: the best change of all parameters beside that of the last layer."""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import nn

from creases.growth import Proposal, apply
from creases.growth.methods.expressivity import bottleneck, optimal_units, statistics
from creases.network import places
from creases_reproduction.claim import Claim, Judgement, Numbers
from creases_reproduction.experiment import Scale
from creases_reproduction.tiny.output_jacobian import output_bottleneck
from creases_reproduction.tiny.theorems import Case, case, loss

CASES = {"quick": 3, "full": 40}
SIZE = 1e-2  # of the new units: small, so that they change tangents and not the function


def measure_output_bottleneck(scale: Scale) -> Numbers:
    """Measure the lack at the output over all parameters, the last layer's, and what two new units take from it."""
    off = 0.0
    layer: list[float] = []
    all_: list[float] = []
    optimal: list[float] = []
    drawn: list[float] = []
    for seed in range(CASES[scale]):
        part = case(seed)
        found = output_bottleneck(part.model, [(part.x, part.y)], loss)
        off = max(off, abs(found.lack - _dense_lack(part)) / found.goal)
        sums = statistics(part.model, places(part.model)[-1], [(part.x, part.y)], loss)
        layer.append(bottleneck(sums) / found.goal)
        all_.append(found.lack / found.goal)
        for results, units in ((optimal, _optimal(part)), (drawn, _drawn(part, seed))):
            model = copy.deepcopy(part.model)
            apply(units.scale(SIZE, SIZE), model)
            results.append(output_bottleneck(model, [(part.x, part.y)], loss).lack / found.goal)
    return {
        "cases": CASES[scale],
        "off": off,
        "last layer": layer,
        "all parameters": all_,
        "with two optimal units": optimal,
        "with two random units": drawn,
    }


def _dense_lack(part: Case) -> float:
    """Return the lack by autograd and LAPACK's least squares."""
    outputs, parameters = part.model(part.x), list(part.model.parameters())
    goal = nn.functional.one_hot(part.y, outputs.shape[1]) - outputs.detach().softmax(1)
    each = torch.eye(outputs.numel(), dtype=outputs.dtype).reshape(-1, *outputs.shape)
    slopes = torch.autograd.grad(outputs, parameters, each, is_grads_batched=True)
    J = torch.cat([slope.flatten(1) for slope in slopes], 1)
    solution = torch.linalg.lstsq(J, goal.flatten(), driver="gelsd", rcond=1e-10).solution
    return float((J @ solution - goal.flatten()).square().sum()) / len(part.x)


def _optimal(part: Case) -> Proposal:
    """Return TINY's two best units at a case's place."""
    units = optimal_units(part.sums, count=2)
    return Proposal("tiny", part.place, units.alpha[:-1].T, units.alpha[-1], units.omega, 0.0, {})


def _drawn(part: Case, seed: int) -> Proposal:
    """Return two random units with the lengths of TINY's."""
    best, draw = _optimal(part), torch.Generator().manual_seed(seed)

    def redraw(weights: torch.Tensor) -> torch.Tensor:
        numbers = torch.randn(weights.shape, generator=draw, dtype=weights.dtype)
        return numbers * float(weights.norm() / numbers.norm())

    fan_out = {path: redraw(weights) for path, weights in best.fan_out.items()}
    return Proposal("random", part.place, redraw(best.fan_in), redraw(best.bias), fan_out, 0.0, {})


def judge_output_bottleneck(numbers: Numbers) -> Judgement:
    """Judge whether the layer's move is sub-optimal at every network, and the function right."""
    layer, all_, optimal, drawn = (
        np.array(numbers[name])
        for name in ("last layer", "all parameters", "with two optimal units", "with two random units")
    )
    words = (
        f"of |V_goal|^2 the last layer alone misses {layer.mean():.0%} ({layer.min():.0%} to {layer.max():.0%}), all "
        f"parameters together {all_.mean():.0%} ({all_.min():.0%} to {all_.max():.0%}), over {numbers['cases']} "
        f"networks; the function is dense least squares to {numbers['off']:.1g}. After two new units that TINY finds "
        f"for a layer all parameters miss {optimal.mean():.0%}, after two random ones {drawn.mean():.0%}"
    )
    holds = numbers["off"] < 1e-9 and bool((all_ <= layer * (1 + 1e-9)).all()) and all_.mean() < 0.99 * layer.mean()
    return Judgement("agrees" if holds else "disagrees", words)


CLAIMS = [
    Claim(
        "tiny/definition-3.1",
        "Definition 3.1, (2), section 3.1",
        (
            "The lack of expressivity is what no change of the parameters provides; the best move of one layer is "
            "sub-optimal, as it does not come from an update of all parameters."
        ),
        measure=measure_output_bottleneck,
        judge=judge_output_bottleneck,
        full="5 s",
    ),
]
