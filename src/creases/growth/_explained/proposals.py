"""The units that growth methods propose, one at a time, for a perceptron of one hidden layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import nn

from creases._typing import Ints
from creases.growth._explained.perceptron import Perceptron, Rows
from creases.growth._explained.search import Candidate
from creases.growth._objective import Objective, objective
from creases.growth._proposal import Proposal, first_units
from creases.growth._samples import InMemorySamples, combine_seeds
from creases.growth.methods._evidence import Evidence, GrowthMethod
from creases.network import Place
from creases.network.surgery import find_place

#: The hidden layer of :func:`as_module`, and the layer that reads it.
LAYER, OUTPUT = "0", "2"


@dataclass(frozen=True, eq=False)
class Proposals:
    """Proposes units of a method, named and numbered as in the user's model and data."""

    how: GrowthMethod
    place: str  #: name of the hidden layer in the user's model
    numbers: Callable[[Rows], Ints]  #: numbers of rows in the user's data

    def __call__(
        self, net: Perceptron, rows: Rows, seed: int, count: int, tried: Sequence[Mapping[str, Any]]
    ) -> list[Candidate]:
        """Return up to ``count`` units for a network, those whose explanations were ``tried`` in vain aside."""
        model = as_module(net)
        place = _one_unit().resize(net.width - 1)
        earlier = [{**explanation, "undone": True} for explanation in tried]
        evidence = self._evidence(rows, seed, earlier)
        proposals = alternatives(self.how, model, place, evidence, count)
        return [self._candidate(proposal) for proposal in proposals if _is_finite(proposal)]

    def review(self, explanation: Mapping[str, Any], unit: int, net: Perceptron, rows: Rows) -> dict[str, Any]:
        """Return the explanation of a unit with its outcome, where the method says it."""
        review = getattr(self.how, "review", None)
        if review is None:
            return dict(explanation)
        evidence = self._evidence(rows, 0, ())
        reviewed = review({**explanation, "place": LAYER}, [unit], as_module(net), evidence)
        return {**reviewed, "place": self.place}

    def _evidence(self, rows: Rows, seed: int, earlier: Sequence[Mapping[str, Any]]) -> Evidence:
        return Evidence(_samples(rows, self.numbers(rows)), _objective(rows), seed, earlier)

    def _candidate(self, proposal: Proposal) -> Candidate:
        w, b = proposal.fan_in.double().numpy()[0], float(proposal.bias[0])
        v = proposal.fan_out[OUTPUT].double().numpy()[:, 0]
        return Candidate(w, b, v, proposal.gain, {**proposal.explanation, "place": self.place})


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


def _samples(rows: Rows, numbers: Ints) -> InMemorySamples:
    y = torch.from_numpy(rows.y.astype(np.int64) if rows.task == "classification" else rows.y)
    return InMemorySamples(torch.from_numpy(rows.X), y, torch.from_numpy(rows.weight), torch.from_numpy(numbers))


def _objective(rows: Rows) -> Objective:
    return objective(rows.task, weighted=True)


def _is_finite(proposal: Proposal) -> bool:
    parts = (proposal.fan_in, proposal.bias, *proposal.fan_out.values())
    return bool(proposal.count) and all(bool(torch.isfinite(part).all()) for part in parts)
