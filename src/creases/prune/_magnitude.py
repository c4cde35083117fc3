"""Pruning by magnitude: the smallest weights of a model are set to zero."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from creases._schema import NUMBER, sequence
from creases._validation import check_arguments
from creases.errors import InputError, ReadError
from creases.network import places
from creases.network.surgery import AFFINE_LAYERS
from creases.prune._channels import Callback, record_step
from creases.prune._evaluation import Tune, as_module, check_accuracy, check_samples, evaluate, tuner
from creases.prune._exact import exact
from creases.prune._results import PruningResult, PruningStep

#: Fractions of the weights that are set to zero, step by step.
SPARSITIES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99)


@check_arguments(min_accuracy=NUMBER, sparsities=sequence(NUMBER))
def magnitude(
    model: Any,
    X: Any,
    y: Any,
    *,
    min_accuracy: float,
    sparsities: Sequence[float] = SPARSITIES,
    validation: tuple[Any, Any] | None = None,
    tune: Tune | None = None,
    callback: Callback | None = None,
) -> PruningResult:
    """Set the smallest weights of all layers to zero and fine-tune the others, while the accuracy is high enough.

    The method of the dissertation [1]_, section 3.4.5 (Figs. 3.11 and 3.12). Weights of linear layers and convolutions
    are pruned, biases and batch norms are not. Weights at zero stay there during fine-tuning (their gradients are
    zero). Units that become dead or unread are really removed from the result (:func:`exact` over all inputs), and the
    record of the last kept step describes the model after that.

    Parameters
    ----------
    model, X, y, min_accuracy, validation, callback
        As in :func:`channels`.
    sparsities
        Fractions of all weights that are zero in each step, increasing.
    tune
        As in :func:`channels`. It must start with a new optimizer: one with momentum would move weights at zero.

    References
    ----------
    .. [1] Ben Sattelberg, "Local Linearity of ReLU Neural Networks", dissertation, Colorado State University, 2026.
    """
    module, _ = as_module(model)
    X, y = check_samples(module, X, y)
    tests = (X, y) if validation is None else check_samples(module, *validation, name="validation")
    _check_sparsities(sparsities)
    fine_tune = tuner(X, y) if tune is None else tune
    names = [place.name for place in places(module, X=X[:2])]
    best = copy.deepcopy(module)
    first = record_step(best, names, {}, (X, y), tests)
    check_accuracy(min_accuracy, first.accuracy)
    steps: list[PruningStep] = []
    kept, ended = 0, ""
    try:
        for sparsity in sparsities:
            sparser = copy.deepcopy(best)
            masks = _zero_smallest(sparser, sparsity)
            loss = evaluate(sparser, X, y)[0]
            with _masked_gradients(masks):
                fine_tune(sparser)
            steps.append(record_step(sparser, names, {}, (X, y), tests, loss))
            if callback is not None:
                callback(steps[-1], sparser)
            if steps[-1].accuracy < min_accuracy:
                ended = "accuracy"
                break
            best, kept = sparser, len(steps)
        ended = ended or "sparsities"
    except KeyboardInterrupt:
        ended = "interrupted"
    settings: dict[str, Any] = {"method": "magnitude", "min_accuracy": min_accuracy, "sparsities": list(sparsities)}
    if kept:
        try:
            best = exact(best, input_shape=tuple(X.shape[1:]), n_samples=100).model
            steps[kept - 1] = record_step(best, names, {}, (X, y), tests, steps[kept - 1].loss_removed)
        except ReadError as problem:
            settings["unread"] = str(problem)
    return PruningResult(best, first, tuple(steps), kept, ended, settings)


def weights(model: nn.Module) -> list[nn.Parameter]:
    """Return the weights of linear layers and convolutions, shared ones once."""
    every = [module.weight for module in model.modules() if isinstance(module, AFFINE_LAYERS)]
    return list(dict.fromkeys(weight for weight in every if isinstance(weight, nn.Parameter)))


def _zero_smallest(model: nn.Module, sparsity: float) -> list[tuple[nn.Parameter, Tensor]]:
    """Set a fraction of all weights to zero, the smallest; return each parameter with the mask of the others."""
    every = weights(model)
    sizes = torch.cat([weight.detach().abs().flatten() for weight in every])
    zero = torch.zeros_like(sizes, dtype=torch.bool)
    zero[sizes.argsort(stable=True)[: round(sparsity * len(sizes))]] = True
    masks = []
    with torch.no_grad():
        for weight, part in zip(every, torch.split(zero, [weight.numel() for weight in every]), strict=True):
            mask = ~part.reshape(weight.shape)
            weight.mul_(mask)
            masks.append((weight, mask))
    return masks


@contextmanager
def _masked_gradients(masks: list[tuple[nn.Parameter, Tensor]]) -> Iterator[None]:
    """Set the gradients of weights at zero to zero, so that no optimizer without momentum moves them."""
    hooks = [weight.register_hook(_multiply_by(mask)) for weight, mask in masks]  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _multiply_by(mask: Tensor) -> Callable[[Tensor], Tensor]:
    return lambda gradient: gradient * mask


def _check_sparsities(sparsities: Sequence[float]) -> None:
    increasing = all(a < b for a, b in pairwise(sparsities))
    if not len(sparsities) or not increasing or not all(0 < sparsity < 1 for sparsity in sparsities):
        raise InputError("sparsities", "be increasing numbers between 0 and 1", f"{list(sparsities)}")
