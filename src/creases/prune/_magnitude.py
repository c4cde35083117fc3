"""The smallest weights of a model set to zero."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from creases.errors import InputError, ReadError
from creases.network import places
from creases.network.surgery import AFFINE_LAYERS, unwrap_module
from creases.prune._channels import record
from creases.prune._evaluation import check_samples, evaluate
from creases.prune._exact import exact
from creases.prune._results import PruningResult, PruningStep
from creases.prune._tuner import Tune, tuner

#: Shares of the weights that are set to zero, one after another.
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99)


def magnitude(
    model: nn.Module,
    X: Any,
    y: Any,
    *,
    keep: float,
    shares: Sequence[float] = SHARES,
    judge: tuple[Any, Any] | None = None,
    tune: Tune | None = None,
    progress: Callable[[PruningStep, nn.Module], None] | None = None,
) -> PruningResult:
    """Set the smallest weights of all layers to zero, fine-tune the others, and so on while an accuracy is kept.

    Dissertation, section 3.4.5 (Figs. 3.11 and 3.12). Weights of linear layers and convolutions count, biases and batch
    norms do not. Weights at zero stay there while the model is fine-tuned (their gradients are zero). Units that have
    become dead or unread by this are really removed from the result (:func:`exact` over all inputs): the record of the
    step that is kept tells what is left.

    Parameters
    ----------
    shares
        Of all weights, rising: how many are zero in each step.
    keep, judge, tune, progress
        As in :func:`channels`. ``tune`` must begin with a new optimizer, as one with a memory would move weights at
        zero.
    """
    model = unwrap_module(model)
    X, y = check_samples(model, X, y)
    tests = (X, y) if judge is None else check_samples(model, *judge, names="judge")
    _check(keep, shares)
    own = tuner(X, y) if tune is None else tune
    names = [place.name for place in places(model, data=X[:2])]
    work = copy.deepcopy(model)
    first = record(work, X, names, {}, (X, y), tests)
    if first.accuracy < keep:
        raise InputError(f"keep: the model has an accuracy of {first.accuracy:.4g}, which is below {keep:.4g}")
    best, steps, kept, ended = work, [], 0, ""
    try:
        for share in shares:
            work = copy.deepcopy(best)
            masks = _zeroed(work, share)
            loss = evaluate(work, X, y)[0]
            with _held(masks):
                own(work)
            steps.append(record(work, X, names, {}, (X, y), tests, loss))
            if progress is not None:
                progress(steps[-1], work)
            if steps[-1].accuracy < keep:
                ended = "accuracy"
                break
            best, kept = work, len(steps)
        ended = ended or "shares"
    except KeyboardInterrupt:
        ended = "interrupted"
    settings: dict[str, Any] = {"method": "magnitude", "keep": keep, "shares": list(shares)}
    if kept:
        try:
            best = exact(best, input_shape=tuple(X.shape[1:]), samples=100).model
            steps[kept - 1] = record(best, X, names, {}, (X, y), tests, steps[kept - 1].loss_removed)
        except ReadError as problem:
            settings["unread"] = str(problem)
    return PruningResult(best, first, tuple(steps), kept, ended, settings)


def weights(model: nn.Module) -> list[nn.Parameter]:
    """Weights of linear layers and convolutions, shared ones once."""
    found = [module.weight for module in model.modules() if isinstance(module, AFFINE_LAYERS)]
    return list(dict.fromkeys(weight for weight in found if isinstance(weight, nn.Parameter)))


def _zeroed(model: nn.Module, share: float) -> list[tuple[nn.Parameter, Tensor]]:
    """Set a share of all weights to zero, the smallest; which are left, for each parameter."""
    every = weights(model)
    sizes = torch.cat([weight.detach().abs().flatten() for weight in every])
    gone = torch.zeros_like(sizes, dtype=torch.bool)
    gone[sizes.argsort(stable=True)[: round(share * len(sizes))]] = True
    masks = []
    with torch.no_grad():
        for weight, part in zip(every, torch.split(gone, [weight.numel() for weight in every]), strict=True):
            left = ~part.reshape(weight.shape)
            weight.mul_(left)
            masks.append((weight, left))
    return masks


@contextmanager
def _held(masks: list[tuple[nn.Parameter, Tensor]]) -> Iterator[None]:
    """Weights at zero have no gradient, so that no optimizer without a memory moves them."""
    hooks = [weight.register_hook(_masking(left)) for weight, left in masks]  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _masking(left: Tensor) -> Callable[[Tensor], Tensor]:
    return lambda gradient: gradient * left


def _check(keep: float, shares: Sequence[float]) -> None:
    if not 0 <= keep <= 1:
        raise InputError(f"keep: expected an accuracy, a share from 0 to 1, got {keep!r}")
    rising = all(a < b for a, b in pairwise(shares))
    if not len(shares) or not rising or not all(0 < share < 1 for share in shares):
        raise InputError(f"shares: expected rising numbers between 0 and 1, got {list(shares)}")
