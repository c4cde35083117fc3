"""Units beside another model: grown one fold at a time on what its predictions leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from creases._text import OneLine
from creases._typing import Floats, Ints
from creases.growth._explained.perceptron import Perceptron, Rows, fit
from creases.growth._explained.search import PASSES, Candidate, Growth, Judges, Limits, advance
from creases.growth._objective import objective
from creases.growth._proposal import Proposal, first_units
from creases.growth._samples import InMemorySamples, combine_seeds
from creases.growth.methods._evidence import Evidence, GrowthMethod, renumber_samples
from creases.growth.methods._fold.explanation import unrepaired_rows
from creases.growth.methods._fold.fold import Fold, fold_each
from creases.network import Place
from creases.network.surgery import find_place

# The units that growth methods propose, one at a time, for a perceptron of one hidden layer.

#: The hidden layer of :func:`as_module`, and the layer that reads it.
LAYER, OUTPUT = "0", "2"


@dataclass(frozen=True, eq=False)
class Proposals:
    """Proposes units of a method, named and numbered as in the user's model and data."""

    how: GrowthMethod
    place: str  #: name of the hidden layer in the user's model

    def __call__(
        self, net: Perceptron, rows: Rows, seed: int, count: int, tried: Sequence[Mapping[str, Any]]
    ) -> list[Candidate]:
        """Return up to ``count`` units for a network, those whose explanations were ``tried`` in vain aside."""
        model = as_module(net)
        place = _one_unit().resize(net.width - 1)
        earlier = [{**explanation, "undone": True} for explanation in tried]
        evidence = self._evidence(rows, seed, earlier)
        proposals = alternatives(self.how, model, place, evidence, count)
        return [_candidate(proposal, {"place": self.place}) for proposal in proposals if _is_finite(proposal)]

    def propose_group(self, net: Perceptron, rows: Rows, seed: int, count: int) -> list[Candidate]:
        """Return so many units for a network that come together, each for what the others leave, where any helps."""
        how: Any = replace(self.how, count=count)  # type: ignore[type-var]
        if isinstance(how, Fold):
            how = replace(how, k=count)
        proposal = how(as_module(net), _one_unit().resize(net.width - 1), self._evidence(rows, seed, ()))
        is_group = proposal.count > 1 and _is_finite(proposal)
        return [_candidate(proposal, {"place": self.place})] if is_group else []

    def review(
        self, explanation: Mapping[str, Any], units: Sequence[int], net: Perceptron, rows: Rows
    ) -> dict[str, Any]:
        """Return the explanation of units with their outcome, where the method says it."""
        review = getattr(self.how, "review", None)
        if review is None:
            return dict(explanation)
        evidence = self._evidence(rows, 0, ())
        reviewed = review({**explanation, "place": LAYER}, units, as_module(net), evidence)
        return {**reviewed, "place": self.place}

    def _evidence(self, rows: Rows, seed: int, earlier: Sequence[Mapping[str, Any]]) -> Evidence:
        y = torch.from_numpy(rows.y.astype(np.int64) if rows.task == "classification" else rows.y)
        assert rows.numbers is not None
        X, weight, numbers = map(torch.from_numpy, (rows.X, rows.weight, rows.numbers))
        return Evidence(InMemorySamples(X, y, weight, numbers), objective(rows.task, weighted=True), seed, earlier)


def alternatives(how: GrowthMethod, model: nn.Module, place: Place, evidence: Evidence, count: int) -> list[Proposal]:
    """Return up to ``count`` proposals of one unit each: what the method has, or what it proposes for several seeds."""
    propose = getattr(how, "alternatives", None)
    if propose is not None:
        result: list[Proposal] = propose(model, place, evidence, count)
        return result
    one: Any = replace(how, count=1) if "count" in getattr(how, "__dataclass_fields__", ()) else how  # type: ignore[type-var]
    seeds = [combine_seeds(evidence.seed, k) for k in range(count)]
    proposals = [one(model, place, replace(evidence, seed=seed)) for seed in seeds]
    return [first_units(proposal, 1) for proposal in proposals if proposal.count]


def as_module(net: Perceptron) -> nn.Sequential:
    """Return a network as a torch module, in float64."""
    h, d = net.W.shape
    with torch.random.fork_rng(devices=()):  # the numbers that it draws are replaced
        model = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, len(net.c))).double()
    with torch.no_grad():
        for parameter, values in zip(model.parameters(), (net.W, net.b, net.V, net.c), strict=True):
            parameter.copy_(torch.from_numpy(values))
    return model


@cache
def _one_unit() -> Place:
    """Return the hidden layer of :func:`as_module` as a place, of one unit."""
    with torch.random.fork_rng(devices=()):
        return find_place(nn.Sequential(nn.Linear(1, 1), nn.ReLU(), nn.Linear(1, 1)), LAYER)


def _candidate(proposal: Proposal, more: Mapping[str, Any]) -> Candidate:
    W, b, V = (part.double().numpy() for part in (proposal.fan_in, proposal.bias, proposal.fan_out[OUTPUT]))
    return Candidate(W, b, V, proposal.gain, {**proposal.explanation, **more})


def _is_finite(proposal: Proposal) -> bool:
    parts = (proposal.fan_in, proposal.bias, *proposal.fan_out.values())
    return bool(proposal.count) and all(bool(torch.isfinite(part).all()) for part in parts)


@dataclass(frozen=True, eq=False, repr=False)
class GrownUnits(OneLine):
    """Units ``V relu(W x + b) + c`` to add to the outputs of another model, each with its reason."""

    W: Floats  #: (k, d)
    b: Floats  #: (k,)
    V: Floats  #: (m, k)
    c: Floats  #: (m,)
    #: of each unit: the explanation of its fold, with the losses ``"before"`` and ``"later"``, and the
    #: ``"units_before"`` (W, b, V, c) beside which the rows were mispredicted
    reasons: tuple[Mapping[str, Any], ...]
    without: tuple[tuple[Floats, Floats], ...]  #: W and b of the same units, trained without each fold
    held_loss_before: float  #: mean loss of the rows that judge, without units
    held_loss: float
    ended: str  #: why growth ended


def grow_units(
    X: Floats,
    y: Floats,
    *,
    task: Literal["classification", "regression"],
    offset: Floats,
    weight: Floats | None = None,
    held: Ints | None = None,
    folds: Sequence[Ints] | None = None,
    max_units: int | None = None,
    seed: int = 0,
) -> GrownUnits:
    """Grow units one fold at a time on what another model leaves; keep those that held-out rows confirm.

    Parameters
    ----------
    X
        (n, d) rows, scaled alike.
    y
        (n, m) values; (n,) class numbers.
    task
        The loss: the cross-entropy, or the squared error.
    offset
        (n, m) outputs of the other model: values, or logits (one column decides between two classes by its sign).
        Those of rows that judge must come from a model that was not fitted to them.
    weight
        (n,) weights of the rows, 1 by default.
    held, folds
        Row numbers of the held-out rows, or of each fold in turn; by default a fifth of the rows, or four folds where
        that would be fewer than 40. With both, ``held`` judges, and the units are trained without each fold once
        they are grown.
    max_units
        Maximum number of units.
    seed
        Seed of the choice of rows, and of the clusters of mispredictions.
    """
    weight = np.ones(len(X)) if weight is None else weight
    every = np.arange(len(X))
    rows = Rows(X, y, weight, task, offset.shape[1], offset, every)
    if held is not None:
        judges = Judges.part(rows, np.setdiff1d(every, held), held)
    elif folds is not None:
        judges = Judges(rows, [every, *(np.setdiff1d(every, part) for part in folds)], [every[:0], *folds])
    else:
        judges = Judges.draw(rows, seed)
    limits, growth, reasons, waiting = Limits(max_units, None, seed, False), Growth(), list[Any](), list[Any]()
    before, confirmed = np.inf, growth.best
    while growth.phase != "ended":
        confirmed = growth.best
        growth, done = advance(growth, judges, _propose, limits)
        if done.kind == "start" and done.after is not None:
            before = done.after.held_loss
        if done.kind == "fold" and done.candidate is not None and done.before is not None and done.after is not None:
            net = done.before.net
            losses = {"before": done.before.numbers, "later": done.after.numbers}
            units = {"units_before": (net.W, net.b, net.V, net.c)}
            waiting.append({**done.candidate.explanation, **losses, **units})
        if done.is_undone:
            waiting = []
        elif done.is_confirmed:
            reasons, waiting = [*reasons, *waiting], []
        reasons = [reason for unit, reason in enumerate(reasons) if unit not in done.removed]
    assert growth.best is not None
    assert confirmed is not None
    net, nets = growth.best.net, growth.best.nets[1:]
    if held is not None:
        others = [rows.part(np.setdiff1d(every, part)) for part in folds or ()]
        fits = [fit(confirmed.net, part, passes=PASSES, decay=confirmed.decay).net for part in others if net.width]
        nets = tuple(fits or [net] * len(others))
    without = tuple((one.W, one.b) for one in nets)
    return GrownUnits(net.W, net.b, net.V, net.c, tuple(reasons), without, before, growth.best.held_loss, growth.ended)


def _propose(net: Perceptron, rows: Rows, seed: int, count: int, tried: Sequence[Mapping[str, Any]]) -> list[Candidate]:
    """Return folds at typical mispredictions of the other model and the units together."""
    known = sorted(unrepaired_rows([{**explanation, "undone": True} for explanation in tried]))
    used = np.flatnonzero(rows.weight > 0)
    assert rows.offset is not None
    assert rows.numbers is not None
    numbers = rows.numbers[used]
    d, m = net.W.shape[1], len(net.c)  # folds need a layer to be added to: a constant unit that nothing reads
    layer = net if net.width else Perceptron(np.zeros((1, d)), np.ones(1), np.zeros((m, 1)), net.c)
    proposals = fold_each(
        as_module(layer),
        LAYER,
        rows.X[used],
        rows.y[used],
        loss=rows.task,
        count=count,
        seed=seed,
        weight=rows.weight[used],
        tried=np.flatnonzero(np.isin(numbers, known)).tolist(),
        offset=rows.offset[used],
    )
    named = [renumber_samples(dict(proposal.explanation), torch.from_numpy(numbers)) for proposal in proposals]
    return [_candidate(one, {**more, "unit": net.width}) for one, more in zip(proposals, named, strict=True)]
