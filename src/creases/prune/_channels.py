"""Channels (units of any place) out of a model, the least missed first."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from creases.errors import InputError
from creases.network import places, remove
from creases.network.surgery import Place, count_parameters, unwrap_module
from creases.prune._evaluation import check_samples, evaluate, losses_without
from creases.prune._results import PruningResult, PruningStep
from creases.prune._tuner import Tune, tuner


def channels(
    model: nn.Module,
    X: Any,
    y: Any,
    *,
    keep: float,
    judge: tuple[Any, Any] | None = None,
    tune: Tune | None = None,
    where: Sequence[str] | None = None,
    per_step: int = 1,
    samples: int | None = None,
    progress: Callable[[PruningStep, nn.Module], None] | None = None,
) -> PruningResult:
    """Remove the channel whose loss is least missed, fine-tune, and so on while the model keeps an accuracy.

    Dissertation, section 3.4.5 (Figs. 3.11 and 3.12). In each step the loss without each unit of each place is found by
    forward runs alone; the unit whose removal leaves the least loss goes (the model really gets smaller), the rest is
    fine-tuned. It ends with the first model below the accuracy; the one before is the result. The model given is left
    alone.

    Parameters
    ----------
    model
        Any torch module with places (:func:`creases.places`): convolutions, linear layers, batch norms, residual sums.
    X, y
        Inputs (n, *shape) and classes (n,): losses are on these.
    keep
        Accuracy, a share of samples classified right, below which pruning ends.
    judge
        Inputs and classes on which the accuracy is measured; X and y unless given.
    tune
        Trains a model a little, in place: called after each removal. An epoch of gradient descent on X and y
        (:func:`tuner`) unless given.
    where
        Names of the places to prune; all unless given.
    per_step
        Units removed in a step: those with the least losses.
    samples
        Losses are found on so many of the first samples; on all unless given.
    progress
        Called with the record of each step and the model after it.

    Returns
    -------
    Pruned
        After Ctrl-C the best so far, with ``ended="interrupted"``.
    """
    model = unwrap_module(model)
    X, y = check_samples(model, X, y)
    tests = (X, y) if judge is None else check_samples(model, *judge, names="judge")
    _check(keep, per_step, samples)
    own = tuner(X, y) if tune is None else tune
    few = (X[:samples], y[:samples])
    work = copy.deepcopy(model)
    names = [place.name for place in _places(work, X, where)]
    first = record(work, X, names, {}, few, tests)
    if first.accuracy < keep:
        raise InputError(f"keep: the model has an accuracy of {first.accuracy:.4g}, which is below {keep:.4g}")
    best, steps, kept, ended = work, [], 0, ""
    try:
        while not ended:
            work = copy.deepcopy(best)
            removed = _remove(work, X, names, few, per_step)
            if not removed:
                ended = "smallest"
                break
            loss = evaluate(work, *few)[0]
            own(work)
            steps.append(record(work, X, names, removed, few, tests, loss))
            if progress is not None:
                progress(steps[-1], work)
            if steps[-1].accuracy >= keep:
                best, kept = work, len(steps)
            else:
                ended = "accuracy"
    except KeyboardInterrupt:
        ended = "interrupted"
    settings = {"method": "channels", "keep": keep, "per_step": per_step, "samples": len(few[0])}
    return PruningResult(best, first, tuple(steps), kept, ended, settings)


def record(
    model: nn.Module,
    X: Tensor,
    names: Sequence[str],
    removed: dict[str, list[int]],
    few: tuple[Tensor, Tensor],
    tests: tuple[Tensor, Tensor],
    loss_removed: float | None = None,
) -> PruningStep:
    """The record of a model after a step."""
    loss = evaluate(model, *few)[0]
    widths = {place.name: place.width for place in _places(model, X, names)}
    nonzero = sum(int(torch.count_nonzero(p.detach())) for p in model.parameters())
    before = loss if loss_removed is None else loss_removed
    return PruningStep(removed, widths, count_parameters(model), nonzero, before, loss, evaluate(model, *tests)[1])


def _places(model: nn.Module, X: Tensor, where: Sequence[str] | None) -> list[Place]:
    found = places(model, data=X[:2])
    missing = [name for name in where or [] if name not in {place.name for place in found}]
    if missing:
        raise InputError(
            f"where: no place {missing[0]!r}; this model's places are "
            f"{', '.join(repr(place.name) for place in found) or 'none'}"
        )
    return found if where is None else [place for place in found if place.name in where]


def _remove(
    model: nn.Module, X: Tensor, names: Sequence[str], few: tuple[Tensor, Tensor], count: int
) -> dict[str, list[int]]:
    """Remove the units that are least missed, one at each place staying; which they were."""
    found = [place for place in _places(model, X, names) if place.width > 1]
    scored = [
        (float(loss), i, unit)
        for i, place in enumerate(found)
        for unit, loss in enumerate(losses_without(model, place, *few))
    ]
    chosen: dict[int, list[int]] = {}
    for _, i, unit in sorted(scored):
        units = chosen.setdefault(i, [])
        if sum(map(len, chosen.values())) < count and len(units) < found[i].width - 1:
            units.append(unit)
    removed = {found[i].name: sorted(units) for i, units in chosen.items() if units}
    for name, units in removed.items():
        place = next(place for place in _places(model, X, names) if place.name == name)
        remove(model, place, units)
    return removed


def _check(keep: float, per_step: int, samples: int | None) -> None:
    if not 0 <= keep <= 1:
        raise InputError(f"keep: expected an accuracy, a share from 0 to 1, got {keep!r}")
    if per_step < 1:
        raise InputError(f"per_step: expected at least 1 unit, got {per_step!r}")
    if samples is not None and samples < 1:
        raise InputError(f"samples: expected at least 1, got {samples!r}")
