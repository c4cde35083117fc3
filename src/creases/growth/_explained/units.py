"""Units beside another model: grown one fold at a time on what its predictions leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import torch

from creases._typing import Floats, Ints
from creases.growth._explained.perceptron import Perceptron, Rows, fit
from creases.growth._explained.proposals import LAYER, OUTPUT, as_module
from creases.growth._explained.search import PASSES, Candidate, Growth, Judges, Limits, advance
from creases.growth.methods._evidence import renumber_samples
from creases.growth.methods._fold.explanation import unrepaired_rows
from creases.growth.methods._fold.fold import fold_each


@dataclass(frozen=True, eq=False)
class GrownUnits:
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
        Numbers of the rows that judge, or of those of each fold in turn; by default a fifth of the rows, or four folds
        where that would be fewer than 40. With both, ``held`` judges, and the units are trained without each fold once
        they are grown.
    max_units
        Maximum number of units.
    seed
        Seed of the choice of rows, and of the clusters of mispredictions.
    """
    weight = np.ones(len(X)) if weight is None else weight
    rows = Rows(X, y, weight, task, offset.shape[1], offset)
    every = np.arange(len(rows))
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
        growth, done = advance(growth, judges, partial(_propose, judges), limits)
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
        if done.unit is not None:
            del reasons[done.unit]
    assert growth.best is not None
    assert confirmed is not None
    net, nets = growth.best.net, growth.best.nets[1:]
    if held is not None:
        others = [rows.part(np.setdiff1d(every, part)) for part in folds or ()]
        nets = tuple(fit(confirmed.net, part, passes=PASSES).net if net.width else net for part in others)
    without = tuple((one.W, one.b) for one in nets)
    return GrownUnits(net.W, net.b, net.V, net.c, tuple(reasons), without, before, growth.best.held_loss, growth.ended)


def _propose(
    judges: Judges, net: Perceptron, rows: Rows, seed: int, count: int, tried: Sequence[Mapping[str, Any]]
) -> list[Candidate]:
    """Return folds at typical mispredictions of the other model and the units together."""
    known = sorted(unrepaired_rows([{**explanation, "undone": True} for explanation in tried]))
    used = np.flatnonzero(rows.weight > 0)
    numbers = (judges.fitted[0] if rows is judges.parts[0] else np.arange(len(rows)))[used]
    assert rows.offset is not None
    proposals = fold_each(
        as_module(net if net.width else _without_effect(net)),
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
    return [
        Candidate(
            proposal.fan_in.numpy()[0],
            float(proposal.bias[0]),
            proposal.fan_out[OUTPUT].numpy()[:, 0],
            proposal.gain,
            {**renumber_samples(dict(proposal.explanation), torch.from_numpy(numbers)), "unit": net.width},
        )
        for proposal in proposals
    ]


def _without_effect(net: Perceptron) -> Perceptron:
    """Return a network with a constant unit that nothing reads: folds need a layer to be added to."""
    d, m = net.W.shape[1], len(net.c)
    return Perceptron(np.zeros((1, d)), np.ones(1), np.zeros((m, 1)), net.c)
