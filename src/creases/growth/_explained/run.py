"""A run of explained growth: the search on a torch module, with its history, its checkpoint, and steps to undo."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from creases.growth._budget import Budget, Meter
from creases.growth._checkpoint import ModelState
from creases.growth._config import GrowthConfig, describe_run, describe_setting
from creases.growth._explained.perceptron import Perceptron, Rows
from creases.growth._explained.search import (
    BUDGET_SPENT,
    FOLDED,
    MIN_HELD,
    Growth,
    Judges,
    Limits,
    Round,
    Trained,
    advance,
)
from creases.growth._explained.units import Proposals
from creases.growth._explanation import LINEAR
from creases.growth._objective import Loss, objective
from creases.growth._records import History, Record, list_weights
from creases.growth._resumable import Resumable
from creases.growth._samples import InMemorySamples
from creases.growth._state import State
from creases.growth.methods._fold.fold import Fold
from creases.growth.methods._registry import resolve_method
from creases.growth.policies._policies import as_stops, resolve_where
from creases.network import places
from creases.network.surgery import find_place

#: Passes over the rows of a run without a budget: more than any takes.
NO_LIMIT = 1_000_000


class ExplainedRun(Resumable):
    """A run of explained growth, driven round by round; each round is an epoch of its history.

    The module becomes the network of the search after every round. It has what :class:`creases.growth.Run` has for
    those who drive either.
    """

    optimizer = None  #: full-batch quasi-Newton, without a state between rounds

    def __init__(
        self,
        model: nn.Module,
        train: InMemorySamples,
        held: InMemorySamples | None,
        loss: str | Loss,
        config: GrowthConfig,
        *,
        joins: bool,
        checkpoint: str | Path | None = None,
    ) -> None:
        self.config, self.path = config, None if checkpoint is None else Path(checkpoint)
        self.before_decision: list[Callable[[State], None]] = []  #: called in every round, before the module changes
        self.judges = _judges(train, held, loss, model, config.seed, joins=joins)
        how = Fold() if config.how == "auto" else resolve_method(config.how, config.as_printed)
        place = find_place(model, places(model, X=train.example())[0].name, X=train.example())
        self._place, self._consumer = place.name, place.consumers[0].path
        self._propose = Proposals(how, place.name)
        goal = objective(loss, weighted=train.weighted)
        budget = Budget(NO_LIMIT) if config.budget == "auto" else Budget.parse(config.budget)
        history = History(setting=describe_setting(loss, config, as_stops(config.stop)))
        limit = "no limit" if config.budget == "auto" else budget
        history.setting |= describe_run(train, held, budget=limit, loop="explained")
        meter = Meter(budget, len(train))
        self.state = State(model, None, train, goal, how, resolve_where(config.where), history, config.seed, meter)
        self.growth = Growth()
        self._unfinished: Growth | None = None  #: as the budget ended growth
        self._before: tuple[Growth, Growth | None, History, dict[str, Any]] | None = None  #: a round: the run before it

    @property
    def history(self) -> History:
        """Rounds and growth steps so far."""
        return self.state.history

    @property
    def widths(self) -> dict[str, int]:
        """The width of the hidden layer, by name."""
        return {self._place: self._layer.out_features}

    @property
    def phase(self) -> str:
        """What comes next, in a few words."""
        phases = {
            "start": "Next: fit the linear model.",
            "fold": "Next: fold at a typical misprediction and train to convergence.",
            "group": "Next: fold at several typical mispredictions together.",
            "remove": "Next: see which units held-out rows can do without.",
            "finish": "Next: train on all rows.",
        }
        return phases.get(self.growth.phase, "")

    @property
    def _layer(self) -> nn.Linear:
        layer = self.state.model.get_submodule(self._place)
        assert isinstance(layer, nn.Linear)
        return layer

    def epoch(self, *, grow: bool = True) -> None:
        """Take the next round: fit the linear model, fold, take a unit away, or train on all rows.

        With ``grow=False`` growth ends: what is there is trained on all rows.
        """
        state = self.state
        state.record = None
        if not grow and self.growth.phase in ("start", "fold", "group", "remove"):
            self._end_growth("it was told to")
        self._before = self._parts()
        self._advance()
        self._before = None

    def grow_now(self) -> Record | None:
        """Fold now; None where no fold promises a gain."""
        if self.growth.phase not in ("fold", "group", "remove") or self.growth.now is None:
            return None
        self.growth = replace(self.growth, phase="fold", failures=0)
        records = len(self.history.records)
        self._advance()
        return self.state.record if len(self.history.records) > records else None

    def leave_stage(self) -> None:
        """Do nothing: each fold stands alone."""

    def _advance(self) -> None:
        """Take rounds until one does something, or the run ends."""
        state = self.state
        limits = self._limits()
        while self.growth.phase != "ended":
            if self.growth.phase == "finish" and self._unfinished is None:
                self._unfinished = self.growth
            self.growth, done = advance(self.growth, self.judges, self._propose, limits)
            self._note(done)
            if done.kind != "none":
                break
        if self.growth.phase == "ended":
            self._end()
        state.clear()

    def _limits(self) -> Limits:
        meter, config = self.state.meter, self.config
        units = config.max_units
        if config.max_parameters is not None:
            d, m = self.judges.rows.X.shape[1], self.judges.rows.n_outputs
            room = (config.max_parameters - m) // (d + 1 + m)
            units = room if units is None else min(units, room)
        is_spent = None if config.budget == "auto" and meter.budget.amount == NO_LIMIT else self._is_spent
        grows_groups = "count" in getattr(self.state.how, "__dataclass_fields__", ()) and not config.as_printed
        return Limits(units, is_spent, config.seed, propose_group=self._propose.propose_group if grows_groups else None)

    def _is_spent(self, passes: int, multiply_adds: int) -> bool:
        """Return whether the budget is spent after so much in this round."""
        meter = self.state.meter
        meter.read_clock()
        more = {"epochs": passes, "seconds": 0, "multiply-adds": multiply_adds}[meter.budget.unit]
        return meter.spent + more >= meter.budget.amount

    def _end_growth(self, why: str) -> None:
        self._mark_undone()
        growth = self.growth
        if growth.best is None:  # not even the linear model was fitted
            self.growth = replace(growth, phase="ended", ended=why)
            return
        self.growth = replace(growth, phase="finish", now=growth.best, ended=growth.ended or why)

    def _note(self, done: Round) -> None:
        """Write down what a round did: in the module, the history and the meter."""
        state, history, growth = self.state, self.history, self.growth
        state.meter.epochs += done.passes
        state.meter.multiply_adds += done.multiply_adds
        state.meter.read_clock()
        if growth.ended and growth.phase != "group" and not history.growth_ended:
            is_spent = growth.ended == BUDGET_SPENT
            history.growth_ended = f"the budget of {state.meter.budget} is spent" if is_spent else growth.ended
            history.growth_spent = state.meter.progress
        if done.kind in ("start", "fold", "remove"):
            self._record(done)
        if done.is_undone or (growth.phase == "finish" and growth.now is growth.best):
            self._mark_undone()
        if done.kind != "none":
            self._add_epoch(done)
            state.due = done.kind != "finish"
            for hook in self.before_decision if self._before is not None else ():
                hook(state)  # the module is as it was before the round
        if growth.now is not None:
            self._write(growth.now.net)

    def _add_epoch(self, done: Round) -> None:
        history, state, after = self.history, self.state, done.after
        assert after is not None
        numbers = dict(after.numbers)
        if done.kind == "finish" and done.passes:
            history.joined = len(history.epochs)
            outputs = after.net.outputs(self.judges.rows)
            numbers |= {"loss": self.judges.rows.mean(self.judges.rows.losses(outputs))}
            numbers |= {"score": self.judges.rows.score(outputs)}
        history.add_epoch(numbers, done.passes, state.meter, after.net.size, {self._place: after.net.width})

    def _record(self, done: Round) -> None:
        """Record a growth step: what it was for, and what became of it."""
        history, before, after = self.history, done.before, done.after
        assert before is not None
        assert after is not None
        assert done.placed is not None
        rows = self.judges.parts[0]
        placed = done.placed.outputs(rows)
        old = 0 if done.kind == "start" else before.net.width
        units = list(range(old, done.placed.width))
        net = done.placed.keep_units(units)
        fan_in, bias, fan_out = map(torch.from_numpy, (net.W, net.b, net.V))
        weights = list_weights(fan_in, bias, {self._consumer: fan_out}) if units else {}
        explanation = self._explanation(done)
        changed = int((rows.wrong(placed) != rows.wrong(before.net.outputs(rows))).sum())
        record = Record(
            number=len(history.records) + 1,
            action="narrow" if done.kind == "remove" else "grow",
            epoch=len(history.epochs) + 1,
            steps=history.steps,
            place=self._place,
            method=str(explanation.get("method", "")),
            units=units,
            removed=list(done.removed),
            width=(old, done.placed.width),
            parameters=(0 if done.kind == "start" else before.net.size, done.placed.size),
            predicted=0.0 if done.candidate is None else done.candidate.gain,
            before=dict(before.numbers),
            after={"loss": rows.mean(rows.losses(placed)), "score": rows.score(placed)},
            changed=changed if rows.task == "classification" else None,
            weights=weights,
            explanation=explanation,
            later={"epoch": len(history.epochs) + 1, **after.numbers},
        )
        history.records.append(record)
        self.state.record = record

    def _explanation(self, done: Round) -> dict[str, Any]:
        assert done.after is not None
        if done.kind == "start":
            return {"method": LINEAR, "place": self._place, "units": done.after.net.width, "pairs": done.rank}
        if done.kind == "remove":
            numbers = self.history.added_by(done.after.net.width + len(done.removed))
            of = sorted({numbers[unit] for unit in done.removed} - {0}) if numbers else []
            return {"method": "remove", "place": self._place, "needless": True, "added_by": of}
        assert done.candidate is not None
        assert done.placed is not None
        assert done.before is not None
        ground = done.candidate.ground
        assert ground is not None
        units = list(range(done.before.net.width, done.placed.width))
        first = {"unit": units[0]} if len(units) == 1 else {"together": True}
        explanation = {**first, **done.candidate.explanation, "alone": done.alone}
        return self._propose.review(explanation, units, done.after.nets[ground.network], ground.rows)

    def _mark_undone(self) -> None:
        """Mark the growth steps that were not confirmed as undone."""
        best = self.growth.best
        width = 0 if best is None else best.net.width
        standing = [record for record in self.history.records if not record.undone]
        for record in reversed(standing):
            if record.action != "grow" or record.width[1] <= width:
                break
            record.undone = True

    def _end(self) -> None:
        history = self.history
        self._mark_undone()
        history.kept = len(history.epochs)
        history.ended = history.growth_ended
        if history.joined is not None:
            history.note = "all rows, those held out too, were trained on at the end"

    def _write(self, net: Perceptron) -> None:
        """Give the module the network's units and weights."""
        layer, consumer = self._layer, self.state.model.get_submodule(self._consumer)
        assert isinstance(consumer, nn.Linear)
        layer.out_features = consumer.in_features = net.width
        for module, weight, bias in ((layer, net.W, net.b), (consumer, net.V, net.c)):
            for name, values in (("weight", weight), ("bias", bias)):
                old = getattr(module, name)
                new = torch.from_numpy(values).to(old.dtype)
                if new.shape == old.shape:
                    old.data.copy_(new)
                else:
                    setattr(module, name, nn.Parameter(new, requires_grad=old.requires_grad))

    def _parts(self) -> tuple[Growth, Growth | None, History, dict[str, Any]]:
        return self.growth, self._unfinished, self.history.copy(), self.state.meter.numbers

    def full_state(self) -> dict[str, Any]:
        """Return the state of the run, for snapshots and its checkpoint; for hooks that before the round."""
        growth, unfinished, history, spent = self._before or self._parts()
        return {
            "growth": _growth_dict(growth),
            "unfinished": None if unfinished is None else _growth_dict(unfinished),
            "history": history.to_json(),
            "spent": spent,
            "model": ModelState.from_model(self.state.model, self.widths).to_dict(),
        }

    def load_full_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from what :meth:`full_state` returned."""
        state = self.state
        ModelState.from_dict(saved["model"]).restore(state.model, state.samples.example())
        self.growth = _growth_from(saved["growth"], self.judges)
        self._unfinished = None if saved["unfinished"] is None else _growth_from(saved["unfinished"], self.judges)
        state.history = History.from_json(saved["history"])
        state.meter.resume(saved["spent"])
        state.clear()

    def go_on(self) -> None:
        """Let a run that has ended continue."""
        self.extend(self.state.meter.budget)

    def extend(self, budget: str | float | Budget) -> None:
        """Raise the total budget; growth that the budget ended continues."""
        self.state.meter.extend(budget)
        history = self.history
        history.setting["budget"] = str(self.state.meter.budget)
        history.ended, history.note, history.kept = "", "", None
        if self._unfinished is not None and self._unfinished.ended == BUDGET_SPENT:
            history.growth_ended, history.growth_spent = "", None
            self.growth, self._unfinished = replace(self._unfinished, phase="fold", ended=""), None
            if self.growth.round == 1:  # the linear model may not have converged
                self.growth = Growth()
                history.epochs, history.records = [], []

    def finish(self) -> None:
        """Do nothing: the last round leaves the network that is kept."""


def _judges(
    train: InMemorySamples,
    held: InMemorySamples | None,
    loss: str | Loss,
    model: nn.Module,
    seed: int,
    *,
    joins: bool,
) -> Judges:
    """Return the rows of a run with those that judge."""
    parts = [train] if held is None else [train, held]
    with torch.no_grad():
        m = deepcopy(model)(train.example()).flatten(1).shape[1]
    task = objective(loss).task
    assert task is not None
    X = np.concatenate([part.X.detach().double().flatten(1).numpy() for part in parts])
    y = np.concatenate([part.y.detach().double().reshape(len(part), -1).numpy() for part in parts])
    weights = [torch.ones(len(part)) if part.weight is None else part.weight for part in parts]
    weight = np.concatenate([weight.double().numpy() for weight in weights])
    numbers = [torch.arange(len(part)) if part.rows is None else part.rows for part in parts]
    every = np.concatenate([part.numpy() for part in numbers])
    rows = Rows(X, y[:, 0] if task == "classification" else y, weight, task, m, numbers=every)
    if held is None or (joins and (len(held) < MIN_HELD or X.size <= FOLDED)):
        return Judges.folds(rows, seed)
    return Judges.part(rows, np.arange(len(train)), np.arange(len(train), len(rows)), joins=joins)


def _growth_dict(growth: Growth) -> dict[str, Any]:
    """Return a search as text and tensors; how well its networks predict is measured again when it is read."""
    plain = {name: value for name, value in vars(growth).items() if name not in ("best", "now")}
    parts = {"best": growth.best, "now": None if growth.now is growth.best else growth.now}
    nets = {
        name: {"decay": trained.decay, "nets": [list(map(torch.tensor, vars(net).values())) for net in trained.nets]}
        for name, trained in parts.items()
        if trained is not None
    }
    text = json.dumps(plain, default=lambda value: value.tolist() if hasattr(value, "tolist") else str(value))
    return {**nets, "plain": text}


def _growth_from(saved: Mapping[str, Any], judges: Judges) -> Growth:
    """Return the search that :func:`_growth_dict` wrote."""
    plain = json.loads(saved["plain"])
    parts = {
        name: Trained.of(
            [Perceptron(*(part.numpy() for part in net)) for net in saved[name]["nets"]], judges, saved[name]["decay"]
        )
        for name in ("best", "now")
        if name in saved
    }
    best = parts.get("best")
    return Growth(**{**plain, "tried": tuple(plain["tried"]), "best": best, "now": parts.get("now", best)})
