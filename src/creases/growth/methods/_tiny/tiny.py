"""TINY: the units that fix a layer's expressivity bottleneck, in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import torch
from torch import Tensor, nn

from creases.errors import InputError
from creases.growth._loss_sum import Loss
from creases.growth._proposal import Proposal
from creases.growth.methods._first_order.gains import choose_signs, first_order_fit
from creases.growth.methods._first_order.observation import Batches, Observation
from creases.growth.methods._first_order.statistics import subtract_best_moves
from creases.growth.methods._first_order.units import NewUnits, scale_units, select_units
from creases.growth.methods._tiny.bottleneck import best_moves, bottleneck
from creases.growth.methods._tiny.growth_sample import GrowthSample, gather_sample
from creases.growth.methods._tiny.line_search import LineSearchResult, line_search, resize_units
from creases.growth.methods._tiny.mixed_precision import optimal_units_for, recompute_features
from creases.growth.methods._tiny.noise_level import noise_level
from creases.growth.methods._tiny.second_order import higher_order_units
from creases.network.surgery import Place


def tiny(
    model: nn.Module,
    place: Place | str,
    batches: Batches,
    loss: Loss,
    *,
    heldout: Batches | None = None,
    max_units: int = 10,
    tau: float = 1e-4,
    project: bool = True,
    beyond: str | None = None,
    above_chance: bool = False,
    solver: str = "auto",
    cutoff: float = 1e-10,
    seed: int = 0,
) -> Proposal:
    """Propose the units that best make up for what the layers behind a place cannot do.

    The wanted change of the next layers' pre-activations, less what their present weights can give, is approximated
    by new units in closed form (Prop. 3.2); the sign of each is chosen by its exact slope, and the size of all by a
    line search on held-out samples (eq. 7). The present weights are left as they are (:func:`best_move`).

    Where the next layer is a convolution whose windows overlap, or follows a flattening, the units are the best in the
    metric ``(alpha' S alpha) |omega|^2``; gain and bottleneck are exact there too. The wanted change is torch's
    gradient: where a bend further on is at its kink exactly, torch takes one of its two slopes.

    Parameters
    ----------
    batches, loss
        As in :func:`statistics`.
    heldout
        Batches for the line search; if not given, every fifth sample is held out for it. Over several ranks each
        gives its own share, which may be empty.
    max_units, tau
        A unit is proposed where its lambda^2 is more than tau times the mean loss; at most so many. Where no size of
        all of them lowers the held-out loss, the stronger half is tried, and so on.
    project
        Whether units make up for V_proj, what the present weights cannot do (they would follow by training), or for
        all of V_goal, which is best for the loss at once where no weight is trained.
    beyond
        What to do where linear correlations give nothing any more (section 5): "second" looks for quadratic ones,
        "random" takes the best of random units; None proposes nothing.
    above_chance
        Whether to leave out units whose lambda is no larger than it would be if the wanted changes had nothing to do
        with what enters (:func:`by_chance`). With many inputs and few samples all of them may be such.
    solver, cutoff
        As in :func:`optimal_units`.

    Returns
    -------
    Proposal
        With no units, and the reason in its explanation, where nothing is worth adding: no correlation above tau, no
        size that lowers the held-out loss, or dead layers.

    Examples
    --------
    >>> numbers = torch.Generator().manual_seed(0)
    >>> x = torch.rand(200, 1, generator=numbers) * 4 - 2
    >>> model = nn.Sequential(nn.Linear(1, 1), nn.ReLU(), nn.Linear(1, 1))
    >>> with torch.no_grad():
    ...     for parameter in model.parameters():
    ...         _ = parameter.fill_(0.1)
    >>> proposal = tiny(model, "0", (x, x.abs()), nn.MSELoss(), max_units=1)
    >>> proposal.count, proposal.explanation["reason"]
    (1, '')
    """
    if not isinstance(max_units, int) or max_units < 1 or not 0 <= tau < inf:
        raise InputError(f"max_units, tau: expected at least 1 and at least 0, got {max_units!r} and {tau!r}")
    sample = gather_sample(model, place, batches, loss, heldout)
    _checked(sample, beyond)
    found = _found(sample, tau)
    if why := _dead(sample):
        return _nothing(sample, found, why)
    moves = best_moves(sample.sums, cutoff=cutoff)
    projected = [subtract_best_moves(sample.route, one, moves) for one in sample.observations]
    options: dict[str, Any] = {"count": max_units, "solver": solver, "cutoff": cutoff, "seed": seed}
    units = optimal_units_for(
        sample.route, sample.observations, projected if project else sample.observations, sample.sums, **options
    )
    found |= {"project": project, "lambda": units.values.tolist(), "solver": units.solver, "rank": units.rank}
    found["gain_by_chance"] = units.rank * found["bottleneck"] / found["samples"]
    least = tau * sample.sums.mean_loss
    if above_chance:
        noise = noise_level(
            sample.route, projected if project else sample.observations, units.rank, float(sample.sums.count)
        )
        found["lambda_by_chance"] = noise**0.5
        least = max(least, noise)
    units = select_units(units, units.values.square() > least)
    first_order = bool(sample.route.right_slope or sample.route.left_slope)
    best = choose_signs(sample.route, sample.observations, units) if first_order and len(units.values) else None
    if best is not None and len(best.gains):
        found |= {"flipped": best.flipped, "gains": best.gains.tolist(), "errors": best.errors.tolist()}
        proposal = _sized(sample, found, balance_weights(best.units), best.gains, projected)
    else:
        proposal = _nothing(sample, found, _useless(len(units.values)))
    if proposal.count or beyond is None:
        return proposal
    recompute_features(sample.route, sample.observations, sample.sums)
    units, gains = higher_order_units(sample.route, sample.observations, sample.sums, beyond, max_units, cutoff, seed)
    units = select_units(units, gains > tau * sample.sums.mean_loss)
    if not len(units.values):
        return _nothing(sample, found, f"no correlation ({beyond}) with the wanted change is left (above tau)")
    found |= {"beyond": beyond, "gains": units.values.square().tolist()}
    return _sized(sample, found, units, units.values.square(), None)


def balance_weights(units: NewUnits) -> NewUnits:
    """The same first-order change with weights in and out of equal length, unit by unit."""
    outs = torch.stack([columns.movedim(1, 0).flatten(1).square().sum(1) for columns in units.omega.values()]).sum(0)
    ratio = (outs.sqrt() / units.alpha.norm(dim=0)).sqrt()
    return scale_units(units, ratio, 1 / ratio)


def _checked(sample: GrowthSample, beyond: str | None) -> None:
    """Refuse places where a small unit does little else than its first order, or is not small."""
    route, name = sample.route, sample.observer.place.name
    if sample.observer.place.norm:
        raise InputError(
            f"place: batch norm behind {name!r} gives new units its own size in training, so that none is small; use "
            "gradmax or random units"
        )
    if route.value_at_zero:
        raise InputError(
            f"place: the bend behind {name!r} is {route.value_at_zero:.3g} at 0, so that a small unit is not a small change; "
            "tiny needs sigma(0) = 0; use gradmax or random units"
        )
    if not route.right_slope and not route.left_slope and beyond is None:
        raise InputError(
            f"place: the bend behind {name!r} has slope 0 at 0, so that small units do nothing to first order; give "
            "beyond='second' or 'random'"
        )


def _found(sample: GrowthSample, tau: float) -> dict[str, Any]:
    """The explanation as far as the statistics tell."""
    sums, lack = sample.sums, bottleneck(sample.sums)
    return {
        "method": "tiny",
        "place": sample.observer.place.name,
        "reason": "",
        "samples": int(sums.count),
        "loss": sums.mean_loss,
        "bottleneck": lack,
        "bottleneck_after": lack,
        "share_of_loss": lack / sums.mean_loss if sums.mean_loss else 0.0,
        "share_of_goal": lack / sums.mean_goal if sums.mean_goal else 0.0,
        "tau": tau,
    }


def _dead(sample: GrowthSample) -> str:
    """Why first-order growth cannot start here, "" where it can."""
    if not sample.sums.mean_goal:
        names = ", ".join(repr(link.path) for link in sample.observer.place.consumers)
        return f"dead layer: the loss does not change with {names} on any sample, so that no gradient arrives"
    observations = sample.sums.features.diagonal()
    if not bool((observations[:-1] if sample.route.has_bias else observations).any()):
        return f"dead layer: nothing that enters {sample.observer.place.name!r} is active on any sample"
    return ""


def _useless(count: int) -> str:
    """Why no unit is proposed from the spectrum."""
    if not count:
        return "no linear correlation with the wanted change is left (above tau)"
    return (
        f"none of the {count} units that would widen the bottleneck lowers the loss while the present weights stay as "
        "they are; train them further, or give project=False"
    )


def _sized(
    sample: GrowthSample, found: dict[str, Any], units: NewUnits, gains: Tensor, projected: Sequence[Observation] | None
) -> Proposal:
    """The units at the size that the held-out samples want; where they want none of all of them, the stronger half.

    With ``projected`` (V_proj), both fan-in and fan-out are sized, otherwise fan-out.
    """
    fan_in = projected is not None
    found["candidates"] = len(gains)
    size = line_search(sample.route, sample.runs, units, fan_in=fan_in)
    while not size.factor and len(gains) > 1:
        strongest = torch.arange(len(gains) // 2, device=gains.device)
        units, gains = select_units(units, strongest), gains[strongest]
        size = line_search(sample.route, sample.runs, units, fan_in=fan_in)
    found["line_search"] = _searched(size, sample.aside)
    if not size.factor:
        return _nothing(sample, found, "no size of the new units lowers the loss on held-out samples")
    if projected is not None:
        along, square = first_order_fit(sample.route, projected, units)
        found["bottleneck_after"] = found["bottleneck"] - (max(along, 0.0) ** 2 / square if square else 0.0)
    units = resize_units(units, size.factor, fan_in=fan_in)
    gain = float(gains.sum()) * size.factor
    found |= {"units": len(gains), "gain": gain}
    weights, bias = sample.route.layer_weights(units.alpha)
    return Proposal("tiny", sample.observer.place, weights, bias, units.omega, gain, found)


def _searched(size: LineSearchResult, aside: bool) -> dict[str, Any]:
    return {
        "amplitude": size.factor,
        "samples": size.samples,
        "held_out": aside,
        "loss_before": size.before,
        "loss_after": size.after,
        "gain": size.before - size.after,
        "tried": size.tried,
    }


def _nothing(sample: GrowthSample, found: dict[str, Any], why: str) -> Proposal:
    """A proposal of no units, with the reason."""
    empty: Tensor = sample.sums.features.new_zeros(len(sample.sums.features), 0)
    weights, bias = sample.route.layer_weights(empty)
    parts = sample.sums.consumers.items()
    outs = {path: part.pairs.new_zeros(part.moves.shape[1], 0, *part.pairs.shape[2:]) for path, part in parts}
    return Proposal("tiny", sample.observer.place, weights, bias, outs, 0.0, found | {"reason": why, "units": 0})
