"""Pruning by channels: groups of channels of any model are removed, the least important first."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from creases._schema import NUMBER, optional
from creases._validation import check_arguments, check_choice, check_count
from creases.errors import InputError
from creases.network.surgery import (
    ChannelGroups,
    channel_groups,
    count_outputs,
    count_parameters,
    get_layer,
    remove_channels,
    union_channels,
)
from creases.prune._evaluation import Tune, as_module, check_accuracy, check_samples, evaluate, tuner
from creases.prune._results import PruningResult, PruningStep
from creases.prune._selection import Candidates, Selection, Target

#: Called after each step with its record and the model.
Callback = Callable[[PruningStep, nn.Module], None]


@check_arguments(min_accuracy=optional(NUMBER))
def channels(
    model: Any,
    X: Any,
    y: Any,
    *,
    min_accuracy: float | None = None,
    parameters: float | None = None,
    multiply_adds: float | None = None,
    validation: tuple[Any, Any] | None = None,
    tune: Tune | None = None,
    places: Sequence[str] | None = None,
    per_step: int | None = None,
    candidates: Candidates = "auto",
    max_samples: int | None = None,
    callback: Callback | None = None,
) -> PruningResult:
    """Remove the least important channels and fine-tune, step by step, down to a size or while the accuracy lasts.

    The method of the dissertation [1]_, section 3.4.5 (Figs. 3.11 and 3.12), for models of any architecture. Channels
    that a residual sum, a depthwise or grouped convolution or a gate ties together are removed as one group
    (:func:`creases.network.surgery.channel_groups`). In each step the loss without each group is computed exactly, by
    forward passes; if there are many groups, a Taylor score from one backward pass selects candidates first. The groups
    whose removal leaves the smallest loss are removed (the model really gets smaller) and the rest is fine-tuned. The
    original model is left unchanged.

    Parameters
    ----------
    model
        Any torch module of linear layers and convolutions with any code between; or a :class:`creases.Network` or a
        file name, which is rebuilt as a module.
    X, y
        Inputs (n, *shape) and classes (n,), on which losses are computed.
    min_accuracy
        Accuracy, as a fraction, below which pruning ends; the model before is the result.
    parameters
        Number of parameters to prune to, or their fraction of the model's if it is a float up to 1. Groups are then
        compared by the increase of the loss for each parameter that they save. Give this, ``multiply_adds`` or
        ``min_accuracy``; the last can be given with one of the others.
    multiply_adds
        The same for the multiply-adds of all layers for one input.
    validation
        Inputs and classes on which the accuracy is measured; X and y by default.
    tune
        Fine-tunes a model in place; called after each removal. An epoch of gradient descent on X and y
        (:func:`tuner`) by default; ``lambda model: None`` for none.
    places
        Names of the layers whose channels may be removed, with all that they are tied to; all by default.
    per_step
        Number of groups removed in a step; 1 by default, with a target size a 32nd of those left.
    candidates
        Number of groups for each one removed, those with the smallest Taylor scores, whose exact loss is computed;
        with 1 the Taylor score alone decides, with "all" the exact loss alone. "auto" is "all" for up to 64 groups;
        for more it is 4, and 1 while the Taylor scores predict that the loss of a step increases by less than 0.001.
    max_samples
        Number of samples to compute scores and losses on, the first ones; all by default.
    callback
        Called as ``callback(step, model)`` after each step with its record and the model.

    Returns
    -------
    PruningResult
        Its ``fixed`` lists the channels that cannot be removed, with the reason. After Ctrl-C the best so far, with
        ``ended="interrupted"``.

    References
    ----------
    .. [1] Ben Sattelberg, "Local Linearity of ReLU Neural Networks", dissertation, Colorado State University, 2026.
    """
    module, _ = as_module(model)
    X, y = check_samples(module, X, y)
    few = (X, y) if max_samples is None else (X[: check_count(max_samples, "max_samples")], y[:max_samples])
    tests = (X, y) if validation is None else check_samples(module, *validation, name="validation")
    if per_step is not None:
        check_count(per_step, "per_step")
    if isinstance(candidates, str):
        check_choice(candidates, ("auto", "all"), "candidates")
    else:
        check_count(candidates, "candidates")
    fine_tune = tuner(X, y) if tune is None else tune
    best = copy.deepcopy(module)
    groups = _named_groups(channel_groups(best, X=X[:2]), places)
    target = _target(best, groups, min_accuracy, parameters, multiply_adds)
    selection = Selection(few, per_step, candidates, target)
    layers = list(dict.fromkeys(path for group in groups.groups for path in group.outputs))
    first = record_step(best, layers, {}, few, tests)
    least = 0.0 if min_accuracy is None else min_accuracy
    check_accuracy(least, first.accuracy)
    steps: list[PruningStep] = []
    kept, ended = 0, ""
    try:
        while not ended:
            chosen = selection.choose(best, groups.groups)
            if not chosen:
                ended = "size" if target is not None and target.is_reached(best) else "smallest"
                break
            smaller = copy.deepcopy(best)
            remove_channels(smaller, chosen)
            loss = evaluate(smaller, *few)[0]
            fine_tune(smaller)
            removed = union_channels(group.outputs for group in chosen)
            steps.append(record_step(smaller, layers, removed, few, tests, loss))
            if callback is not None:
                callback(steps[-1], smaller)
            if steps[-1].accuracy >= least:
                best, groups, kept = smaller, groups.without(chosen), len(steps)
            else:
                ended = "accuracy"
    except KeyboardInterrupt:
        ended = "interrupted"
    settings = {
        "method": "channels",
        "min_accuracy": min_accuracy,
        "parameters": target.limit if target is not None and parameters is not None else None,
        "multiply_adds": target.limit if target is not None and multiply_adds is not None else None,
        "per_step": per_step,
        "candidates": candidates,
        "max_samples": len(few[0]),
    }
    return PruningResult(best, first, tuple(steps), kept, ended, settings, groups.fixed)


def record_step(
    model: nn.Module,
    layers: Sequence[str],
    removed: dict[str, list[int]],
    few: tuple[Tensor, Tensor],
    tests: tuple[Tensor, Tensor],
    loss_removed: float | None = None,
) -> PruningStep:
    """Return the record of a model after a step."""
    loss, accuracy = evaluate(model, *few)
    if tests[0] is not few[0]:
        accuracy = evaluate(model, *tests)[1]
    widths = {path: count_outputs(get_layer(model, path)) for path in layers}
    nonzero = sum(int(torch.count_nonzero(p.detach())) for p in model.parameters())
    before = loss if loss_removed is None else loss_removed
    return PruningStep(removed, widths, count_parameters(model), nonzero, before, loss, accuracy)


def _target(
    model: nn.Module,
    groups: ChannelGroups,
    min_accuracy: float | None,
    parameters: float | None,
    multiply_adds: float | None,
) -> Target | None:
    """Return the size to prune to; None if only the accuracy counts."""
    if parameters is not None and multiply_adds is not None:
        raise InputError("multiply_adds", "be left out with parameters", repr(multiply_adds))
    if parameters is not None:
        return Target.from_fraction("parameters", parameters, model)
    if multiply_adds is not None:
        return Target.from_fraction("multiply_adds", multiply_adds, model, groups.positions)
    if min_accuracy is None:
        raise InputError("parameters", "be given, or min_accuracy", "neither", "for example parameters=0.5")
    return None


def _named_groups(found: ChannelGroups, names: Sequence[str] | None) -> ChannelGroups:
    """Return the groups with channels of some layers; all if None."""
    if names is None:
        return found
    layers = dict.fromkeys(path for group in found.groups for path in group.outputs)
    missing = [name for name in names if name not in layers]
    if missing:
        listed = ", ".join(map(repr, layers)) or "none"
        why = next((part.reason for part in found.fixed if part.layer == missing[0]), "")
        raise InputError("places", f"be among the model's places, {listed}", repr(missing[0]), why)
    return replace(found, groups=tuple(group for group in found.groups if set(names) & set(group.outputs)))
