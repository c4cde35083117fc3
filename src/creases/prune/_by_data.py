"""Pruning by data: the least important channels, or the smallest weights, are removed while the accuracy lasts."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Integral
from typing import Any, Literal

import torch
from torch import Tensor, nn

from creases._schema import NUMBER, optional, sequence
from creases._validation import check_arguments, check_choice, check_count
from creases.errors import InputError, ReadError
from creases.network import places as find_places
from creases.network.surgery import (
    AFFINE_LAYERS,
    ChannelGroup,
    ChannelGroups,
    channel_groups,
    count_multiply_adds,
    count_outputs,
    count_parameters,
    evaluation_mode,
    get_layer,
    input_tensors,
    remove_channels,
    saved_multiply_adds,
    saved_parameters,
    union_channels,
)
from creases.prune._evaluation import (
    Tune,
    as_module,
    blocks,
    check_samples,
    evaluate,
    losses,
    losses_without,
    tuner,
)
from creases.prune._exact import exact
from creases.prune._results import PruningResult, PruningStep


def taylor_scores(model: nn.Module, groups: Sequence[ChannelGroup], X: Tensor, y: Tensor) -> Tensor:
    """Return an estimate of the increase of the mean loss by the removal of each group (len(groups),).

    A gate of 1 multiplies the channels of a group wherever they are read; removal sets it to 0. With the derivative s_i
    of sample i's loss by the gate, the estimate is ``mean(s_i^2) / 2``: the second term of the Taylor series, with the
    Fisher information for the second derivative (Theis et al., 2018). The first term vanishes at the minimum of
    training, and what is left of it elsewhere is mostly noise.
    """
    columns: dict[str, list[tuple[int, int]]] = {}  # of each reader, with the group of each
    for i, group in enumerate(groups):
        for path, numbers in group.readers.items():
            columns.setdefault(path, []).extend((number, i) for number in numbers)
    members = {path: torch.tensor(pairs, device=X.device).T for path, pairs in columns.items()}
    total = torch.zeros(len(groups), dtype=torch.float64, device=X.device)
    with evaluation_mode(model):
        for inputs, classes in blocks(X, y):
            slopes = torch.zeros(len(inputs), len(groups), dtype=torch.float64, device=X.device)
            for path, by_column in _column_slopes(model, list(members), inputs, classes):
                number, group_of = members[path]
                slope = by_column[:, number % by_column.shape[1]]  # weights of grouped convolutions have fewer columns
                if len(slope) != len(inputs):  # a sum over samples, or another axis comes first: spread evenly
                    slope = slope.sum(0).expand(len(inputs), -1) / len(inputs)
                slopes.index_add_(1, group_of, slope)
            total += slopes.square().sum(0)
    return total / (2 * len(X))


def _column_slopes(model: nn.Module, paths: list[str], X: Tensor, y: Tensor) -> list[tuple[str, Tensor]]:
    """Return the derivatives of the loss by the gates of layers' columns: (n, columns) for each call of a layer.

    A layer whose weight is used without its module has no gates: the derivative (1, columns) of the sum over samples is
    then that by a factor of the weight's columns. Calls that no gradient gets through are left out.
    """
    gates: list[tuple[str, Tensor]] = []
    layers = {path: get_layer(model, path) for path in paths}
    weights = {path: layer.get_parameter("weight") for path, layer in layers.items()}
    frozen = [weight for weight in weights.values() if not weight.requires_grad]
    hooks = [layer.register_forward_pre_hook(_gate_hook(path, gates)) for path, layer in layers.items()]
    try:
        for weight in frozen:
            weight.requires_grad_(True)
        with torch.enable_grad():
            loss = losses(model(X), y).double().sum()
        functional = [path for path in paths if path not in dict(gates)]
        inputs = [*(gate for _, gate in gates), *(weights[path] for path in functional)]
        if not loss.requires_grad or not inputs:
            return []
        gradients = torch.autograd.grad(loss, inputs, allow_unused=True)
    finally:
        for hook in hooks:
            hook.remove()
        for weight in frozen:
            weight.requires_grad_(False)
    slopes: list[tuple[str, Tensor]] = []
    for i, (path, gradient) in enumerate(zip([*(path for path, _ in gates), *functional], gradients, strict=True)):
        if gradient is not None and i < len(gates):
            slopes.append((path, gradient.double().reshape(len(gradient), -1)))
        elif gradient is not None:
            product = (weights[path].detach() * gradient).double().movedim(input_tensors(layers[path]).weight_axis, 0)
            slopes.append((path, product.flatten(1).sum(1)[None]))
    return slopes


def _gate_hook(path: str, gates: list[tuple[str, Tensor]]) -> Callable[[nn.Module, tuple[Any, ...]], tuple[Any, ...]]:
    """Return a hook that multiplies the input of a layer by a gate for each sample and column."""

    def hook(module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        x = inputs[0]
        shape = [len(x), *[1] * (x.ndim - 1)]
        axis = -1 if isinstance(module, nn.Linear) else 1
        shape[axis] = x.shape[axis]
        gate = x.new_ones(shape, requires_grad=True)
        gates.append((path, gate))
        return x * gate, *inputs[1:]

    return hook


#: Number of groups whose exact losses are always computed.
FEW = 64

#: Of more groups, the number of exact losses for each group to remove ...
CANDIDATES = 4

#: ... if the Taylor scores predict that the loss increases by more than this.
NEGLIGIBLE = 1e-3

#: With a target size a step removes one of this number of groups.
STEP = 32

#: How many groups compete by their exact losses.
Candidates = int | Literal["auto", "all"]


@dataclass(frozen=True, eq=False)
class Selection:
    """Chooses the groups of channels to remove in a step."""

    samples: tuple[Tensor, Tensor]  #: inputs and classes on which losses are computed
    per_step: int | None  #: None: one, with a target size a share of the groups
    candidates: Candidates  #: for each group to remove
    target: Target | None  #: None: only the accuracy counts

    def choose(self, model: nn.Module, groups: Sequence[ChannelGroup]) -> list[ChannelGroup]:
        """Return the groups to remove next; none if the model is small enough or cannot get smaller."""
        left = {path: count_outputs(get_layer(model, path)) for group in groups for path in group.outputs}
        removable = [group for group in groups if all(left[path] > len(part) for path, part in group.outputs.items())]
        if not removable or (self.target is not None and self.target.size(model) <= self.target.limit):
            return []
        count = self.per_step or (1 if self.target is None else max(1, len(groups) // STEP))
        chosen: list[ChannelGroup] = []
        excess = self.target.size(model) - self.target.limit if self.target is not None else 0
        for group in self._rank(model, removable, count):
            if all(left[path] > len(part) for path, part in group.outputs.items()):  # a channel of every layer stays
                chosen.append(group)
                left.update({path: left[path] - len(part) for path, part in group.outputs.items()})
            reached = self.target is not None and self.target.saved(model, chosen) >= excess
            if len(chosen) == count or reached:
                break
        return chosen

    def _rank(self, model: nn.Module, groups: list[ChannelGroup], count: int) -> list[ChannelGroup]:
        """Return candidates for the removal of some groups, the least important first."""
        saved = [1 if self.target is None else self.target.saved(model, [group]) for group in groups]
        costs = torch.tensor(saved, dtype=torch.float64).clamp(min=1)
        limit = len(groups)  # of those whose exact losses are computed, if the Taylor scores do not decide alone
        if self.candidates != "all" and (self.candidates != "auto" or limit > FEW):
            limit = count * (CANDIDATES if self.candidates == "auto" else self.candidates)
        if self.candidates == 1 or limit < len(groups):
            scores = taylor_scores(model, groups, *self.samples).cpu()
            order = (scores / costs).argsort(stable=True)
            groups, costs = [groups[i] for i in order.tolist()], costs[order]
            negligible = self.candidates == "auto" and float(scores[order[:count]].sum()) < NEGLIGIBLE
            if negligible or self.candidates == 1:
                return groups
        groups, costs = groups[:limit], costs[:limit]
        increase = losses_without(model, groups, *self.samples).cpu() - evaluate(model, *self.samples)[0]
        key = torch.where(increase > 0, increase / costs, increase * costs)
        return [groups[i] for i in key.argsort(stable=True).tolist()]


@dataclass(frozen=True)
class Target:
    """A size to prune to."""

    limit: int
    positions: dict[str, int] | None = None  #: how often each layer applies its weight; None: parameters are counted

    @classmethod
    def from_arguments(
        cls,
        model: nn.Module,
        positions: dict[str, int],
        min_accuracy: float | None,
        parameters: float | None,
        multiply_adds: float | None,
    ) -> Target | None:
        """Return the target of a number, or of a fraction of the model's size; None if only the accuracy counts."""
        if parameters is not None and multiply_adds is not None:
            raise InputError("multiply_adds", "be left out with parameters", repr(multiply_adds))
        name, value = ("multiply_adds", multiply_adds) if parameters is None else ("parameters", parameters)
        if value is None and min_accuracy is None:
            raise InputError("parameters", "be given, or min_accuracy", "neither", "for example parameters=0.5")
        if value is None:
            return None
        counted = None if name == "parameters" else positions
        size = cls(0, counted).size(model)
        if isinstance(value, Integral) and not isinstance(value, bool) and value > 0:
            return cls(int(value), counted)
        if isinstance(value, float) and 0 < value <= 1:
            return cls(int(value * size), counted)
        expected = "be a fraction above 0 and up to 1, or a positive integer"
        raise InputError(name, expected, repr(value), f"the model has {size:,}")

    def size(self, model: nn.Module) -> int:
        """Return the size of a model."""
        return count_parameters(model) if self.positions is None else count_multiply_adds(model, self.positions)

    def saved(self, model: nn.Module, groups: Sequence[ChannelGroup]) -> int:
        """Return by how much the removal of groups makes a model smaller."""
        if self.positions is None:
            return saved_parameters(model, groups)
        return saved_multiply_adds(model, groups, self.positions)


#: Called after each step with its record and the model.
Callback = Callable[[PruningStep, nn.Module], None]

#: Fractions of the weights that are set to zero, step by step.
SPARSITIES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99)

#: Smaller models with the channels that each has lost.
Proposals = Iterator[tuple[nn.Module, dict[str, list[int]]]]


class PruningRun:
    """Steps of pruning by data: each smaller model is fine-tuned, recorded, and kept while its accuracy is enough."""

    def __init__(
        self,
        model: Any,
        X: Any,
        y: Any,
        min_accuracy: float,
        validation: tuple[Any, Any] | None,
        tune: Tune | None,
        callback: Callback | None,
        max_samples: int | None = None,
    ) -> None:
        module, _ = as_module(model)
        self.X, self.y = X, y = check_samples(module, X, y)
        self.few = (X, y) if max_samples is None else (X[: check_count(max_samples, "max_samples")], y[:max_samples])
        self.tests = (X, y) if validation is None else check_samples(module, *validation, name="validation")
        self.tune, self.min_accuracy, self.callback = tuner(X, y) if tune is None else tune, min_accuracy, callback
        self.best = copy.deepcopy(module)  #: the smallest model that is accurate enough
        self.kept, self.steps = 0, list[PruningStep]()

    def prune(self, layers: Sequence[str], proposals: Proposals) -> str:
        """Try one smaller model after another; return why that ended early, "" if there are no more."""
        self.layers = layers
        self.first = self.record(self.best, {})
        if not 0 <= self.min_accuracy <= 1:
            raise InputError("min_accuracy", "be a fraction from 0 to 1", repr(self.min_accuracy))
        if self.first.accuracy < self.min_accuracy:
            expected = f"be at most the model's accuracy, {self.first.accuracy:.4g}"
            raise InputError("min_accuracy", expected, f"{self.min_accuracy:.4g}")
        try:
            for model, removed in proposals:
                loss = evaluate(model, *self.few)[0]
                self.tune(model)
                self.steps.append(self.record(model, removed, loss))
                if self.callback is not None:
                    self.callback(self.steps[-1], model)
                if self.steps[-1].accuracy < self.min_accuracy:
                    return "accuracy"
                self.best, self.kept = model, len(self.steps)
        except KeyboardInterrupt:
            return "interrupted"
        return ""

    def record(self, model: nn.Module, removed: dict[str, list[int]], loss_removed: float | None = None) -> PruningStep:
        """Return the record of a model after a step."""
        loss, accuracy = evaluate(model, *self.few)
        if self.tests[0] is not self.few[0]:
            accuracy = evaluate(model, *self.tests)[1]
        widths = {path: count_outputs(get_layer(model, path)) for path in self.layers}
        nonzero = sum(int(torch.count_nonzero(p.detach())) for p in model.parameters())
        before = loss if loss_removed is None else loss_removed
        return PruningStep(removed, widths, count_parameters(model), nonzero, before, loss, accuracy)


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

    The method of Sattelberg's dissertation (2026), section 3.4.5 (Figs. 3.11 and 3.12), for any architecture. Channels
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
    """
    least = 0.0 if min_accuracy is None else min_accuracy
    run = PruningRun(model, X, y, least, validation, tune, callback, max_samples)
    if per_step is not None:
        check_count(per_step, "per_step")
    if isinstance(candidates, str):
        check_choice(candidates, ("auto", "all"), "candidates")
    else:
        check_count(candidates, "candidates")
    groups = _named_groups(channel_groups(run.best, X=run.X[:2]), places)
    target = Target.from_arguments(run.best, groups.positions, min_accuracy, parameters, multiply_adds)
    selection = Selection(run.few, per_step, candidates, target)

    def smaller_models() -> Proposals:
        nonlocal groups
        while chosen := selection.choose(run.best, groups.groups):
            smaller = copy.deepcopy(run.best)
            remove_channels(smaller, chosen)
            yield smaller, union_channels(group.outputs for group in chosen)
            groups = groups.without(chosen)

    layers = list(dict.fromkeys(path for group in groups.groups for path in group.outputs))
    ended = run.prune(layers, smaller_models())
    if not ended:
        ended = "size" if target is not None and target.size(run.best) <= target.limit else "smallest"
    settings = {
        "method": "channels",
        "min_accuracy": min_accuracy,
        "parameters": target.limit if target is not None and parameters is not None else None,
        "multiply_adds": target.limit if target is not None and multiply_adds is not None else None,
        "per_step": per_step,
        "candidates": candidates,
        "max_samples": len(run.few[0]),
    }
    return PruningResult(run.best, run.first, tuple(run.steps), run.kept, ended, settings, groups.fixed)


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

    The method of Sattelberg's dissertation (2026), section 3.4.5 (Figs. 3.11 and 3.12). Weights of linear layers and
    convolutions are pruned, biases and batch norms are not. Weights at zero stay there during fine-tuning (their
    gradients are zero). Units that become dead or unread are really removed from the result (:func:`exact` over all
    inputs), and the record of the last kept step describes the model after that.

    Parameters
    ----------
    model, X, y, min_accuracy, validation, callback
        As in :func:`channels`.
    sparsities
        Fractions of all weights that are zero in each step, increasing.
    tune
        As in :func:`channels`. It must start with a new optimizer: one with momentum would move weights at zero.
    """
    if not len(sparsities) or not all(a < b for a, b in pairwise((0, *sparsities, 1))):
        raise InputError("sparsities", "be increasing numbers between 0 and 1", f"{list(sparsities)}")
    run = PruningRun(model, X, y, min_accuracy, validation, tune, callback)
    names = [place.name for place in find_places(run.best, X=run.X[:2])]

    def sparser_models() -> Proposals:
        for sparsity in sparsities:
            sparser = copy.deepcopy(run.best)
            every, hooks = weights(sparser), []
            sizes = torch.cat([weight.detach().abs().flatten() for weight in every])
            stays = torch.ones_like(sizes, dtype=torch.bool)
            stays[sizes.argsort(stable=True)[: round(sparsity * len(sizes))]] = False
            for weight, part in zip(every, torch.split(stays, [weight.numel() for weight in every]), strict=True):
                mask = part.reshape(weight.shape)
                with torch.no_grad():
                    weight.mul_(mask)
                # gradients of weights at zero are zero, so that no optimizer without momentum moves them
                hooks.append(weight.register_hook(mask.mul))  # type: ignore[no-untyped-call]
            yield sparser, {}
            for hook in hooks:
                hook.remove()

    ended = run.prune(names, sparser_models()) or "sparsities"
    settings: dict[str, Any] = {"method": "magnitude", "min_accuracy": min_accuracy, "sparsities": list(sparsities)}
    if run.kept:
        try:
            run.best = exact(run.best, input_shape=tuple(run.X.shape[1:]), n_samples=100).model
            run.steps[run.kept - 1] = run.record(run.best, {}, run.steps[run.kept - 1].loss_removed)
        except ReadError as problem:
            settings["unread"] = str(problem)
    return PruningResult(run.best, run.first, tuple(run.steps), run.kept, ended, settings)


def weights(model: nn.Module) -> list[nn.Parameter]:
    """Return the weights of linear layers and convolutions, shared ones once."""
    every = [module.weight for module in model.modules() if isinstance(module, AFFINE_LAYERS)]
    return list(dict.fromkeys(weight for weight in every if isinstance(weight, nn.Parameter)))
