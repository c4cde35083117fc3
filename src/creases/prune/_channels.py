"""Pruning by channels: units of any place are removed from a model, the least important first."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from creases._validation import check_count
from creases.errors import InputError
from creases.network import places as find_places
from creases.network import remove
from creases.network.surgery import Place, count_parameters
from creases.prune._evaluation import check_accuracy, check_samples, evaluate, losses_without
from creases.prune._model import as_module
from creases.prune._results import PruningResult, PruningStep
from creases.prune._tuner import Tune, tuner

#: Called after each step with its record and the model.
Callback = Callable[[PruningStep, nn.Module], None]


def channels(
    model: Any,
    X: Any,
    y: Any,
    *,
    min_accuracy: float,
    validation: tuple[Any, Any] | None = None,
    tune: Tune | None = None,
    places: Sequence[str] | None = None,
    per_step: int = 1,
    max_samples: int | None = None,
    callback: Callback | None = None,
) -> PruningResult:
    """Remove the least important channels and fine-tune, step by step, while the accuracy is high enough.

    The method of the dissertation [1]_, section 3.4.5 (Figs. 3.11 and 3.12). In each step the loss without each unit of
    each place is computed by forward passes alone; the unit whose removal leaves the smallest loss is removed (the
    model really gets smaller) and the rest is fine-tuned. Pruning ends at the first model below ``min_accuracy``; the
    one before it is the result. The original model is left unchanged.

    Parameters
    ----------
    model
        Any torch module with places (:func:`creases.places`): convolutions, linear layers, batch norms, residual sums;
        or a :class:`creases.Network` or a file name, which is rebuilt as a module.
    X, y
        Inputs (n, *shape) and classes (n,), on which losses are computed.
    min_accuracy
        Accuracy, as a fraction, below which pruning ends.
    validation
        Inputs and classes on which the accuracy is measured; X and y by default.
    tune
        Fine-tunes a model in place; called after each removal. An epoch of gradient descent on X and y
        (:func:`tuner`) by default.
    places
        Names of the places to prune; all by default.
    per_step
        Number of units removed in a step.
    max_samples
        Number of samples to compute losses on, the first ones; all by default.
    callback
        Called as ``callback(step, model)`` after each step with its record and the model.

    Returns
    -------
    PruningResult
        After Ctrl-C the best so far, with ``ended="interrupted"``.

    References
    ----------
    .. [1] Ben Sattelberg, "Local Linearity of ReLU Neural Networks", dissertation, Colorado State University, 2026.
    """
    module, _ = as_module(model)
    X, y = check_samples(module, X, y)
    tests = (X, y) if validation is None else check_samples(module, *validation, name="validation")
    check_count(per_step, "per_step")
    if max_samples is not None:
        check_count(max_samples, "max_samples")
    fine_tune = tuner(X, y) if tune is None else tune
    few = (X[:max_samples], y[:max_samples])
    best = copy.deepcopy(module)
    names = [place.name for place in _named_places(best, X, places)]
    first = record_step(best, X, names, {}, few, tests)
    check_accuracy(min_accuracy, first.accuracy)
    steps: list[PruningStep] = []
    kept, ended = 0, ""
    try:
        while not ended:
            smaller = copy.deepcopy(best)
            removed = _remove_units(smaller, X, names, few, per_step)
            if not removed:
                ended = "smallest"
                break
            loss = evaluate(smaller, *few)[0]
            fine_tune(smaller)
            steps.append(record_step(smaller, X, names, removed, few, tests, loss))
            if callback is not None:
                callback(steps[-1], smaller)
            if steps[-1].accuracy >= min_accuracy:
                best, kept = smaller, len(steps)
            else:
                ended = "accuracy"
    except KeyboardInterrupt:
        ended = "interrupted"
    settings = {
        "method": "channels",
        "min_accuracy": min_accuracy,
        "per_step": per_step,
        "max_samples": len(few[0]),
    }
    return PruningResult(best, first, tuple(steps), kept, ended, settings)


def record_step(
    model: nn.Module,
    X: Tensor,
    names: Sequence[str],
    removed: dict[str, list[int]],
    few: tuple[Tensor, Tensor],
    tests: tuple[Tensor, Tensor],
    loss_removed: float | None = None,
) -> PruningStep:
    """Return the record of a model after a step."""
    loss = evaluate(model, *few)[0]
    widths = {place.name: place.width for place in _named_places(model, X, names)}
    nonzero = sum(int(torch.count_nonzero(p.detach())) for p in model.parameters())
    before = loss if loss_removed is None else loss_removed
    return PruningStep(removed, widths, count_parameters(model), nonzero, before, loss, evaluate(model, *tests)[1])


def _named_places(model: nn.Module, X: Tensor, names: Sequence[str] | None) -> list[Place]:
    """Return the places of a model with these names; all if None."""
    every = find_places(model, X=X[:2])
    missing = [name for name in names or [] if name not in {place.name for place in every}]
    if missing:
        listed = ", ".join(repr(place.name) for place in every) or "none"
        raise InputError("places", f"be among the model's places, {listed}", repr(missing[0]))
    return every if names is None else [place for place in every if place.name in names]


def _remove_units(
    model: nn.Module, X: Tensor, names: Sequence[str], few: tuple[Tensor, Tensor], count: int
) -> dict[str, list[int]]:
    """Remove the least important units, leaving one at each place; return them by place."""
    candidates = [place for place in _named_places(model, X, names) if place.width > 1]
    scores = [
        (float(loss), i, unit)
        for i, place in enumerate(candidates)
        for unit, loss in enumerate(losses_without(model, place, *few))
    ]
    by_place: dict[int, list[int]] = {}
    for _, i, unit in sorted(scores):
        units = by_place.setdefault(i, [])
        if sum(map(len, by_place.values())) < count and len(units) < candidates[i].width - 1:
            units.append(unit)
    removed = {candidates[i].name: sorted(units) for i, units in by_place.items() if units}
    for name, units in removed.items():
        place = next(place for place in _named_places(model, X, names) if place.name == name)
        remove(model, place, units)
    return removed
