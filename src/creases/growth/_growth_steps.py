"""The growth steps of a run: units added, spare units grown anew, dead units drawn anew; each made and recorded."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import Any

import torch
from torch import Tensor, nn

from creases.growth import _distributed as ranks
from creases.growth._proposal import Proposal, apply, first_units
from creases.growth._records import History, Record
from creases.growth._recycle import RedundantUnit, redundant_units, remove_redundant
from creases.growth._revive import dead_units, revive_units
from creases.growth._state import State
from creases.growth._training import Metrics, measure
from creases.growth.policies._stop import Stop, available_units, is_worth_adding
from creases.network.surgery import Place, find_place

#: Samples on which units are looked at to see whether they are dead or redundant.
MAX_SAMPLES = 5000


def grow_place(state: State, stops: Sequence[Stop]) -> Record | None:
    """Grow the first place, in the policy's order, that gets units worth adding and has room for them."""
    for place in state.where(state):
        proposal = state.propose(place)
        if is_worth_adding(stops, state, proposal):
            proposal = _fitting(state, state.model, proposal, available_units(stops, state, place))
            if proposal.count:
                edit = partial(apply, proposal, state.model, optimizer=state.optimizer)
                return _made(state, "grow", proposal, [], edit)
    return None


def recycle_units(state: State, stops: Sequence[Stop]) -> Record | None:
    """Take units away that earn nothing, and grow anew in their place, where that was not just done in vain."""
    if _in_vain(state.history):
        return None
    for place in state.where(state)[:1]:  # units that could go elsewhere must not hold up growth here
        twin, smaller, gone = _without_spare(state, place)
        if not gone:
            continue
        proposal = _fitting(state, twin, state.asked(twin, smaller), available_units(stops, state, place) + len(gone))
        if proposal.count:
            alive = list(range(place.width))
            removed = [alive.pop(one.unit) for one in gone]
            recycled = {"units": removed, "cost": sum(one.cost for one in gone)}
            shown = replace(proposal, place=place, explanation={**proposal.explanation, "recycled": recycled})
            return _made(state, "recycle", shown, removed, partial(_replace, state, place, gone, proposal))
    return None


def revive_layer(state: State) -> Record | None:
    """Draw the units of a dead layer anew: nothing behind it can learn or grow. Three times in a row at most."""
    batches, _ = state.evidence.draw(MAX_SAMPLES)
    row = takewhile(lambda record: record.action == "revive", reversed(state.history.records))
    tried = Counter(record.place for record in row)
    for place in state.places:
        units = dead_units(state.model, place, batches)
        if len(units) < place.width or tried[place.name] >= 3:
            continue
        explanation = {"method": "revive", "place": place.name, "reason": "", "units": len(units)}
        nothing = torch.zeros(0)
        proposal = Proposal("revive", place, nothing, nothing, {}, 0.0, explanation)
        edit = partial(revive_units, state.model, place, batches, units, state.evidence.seed)
        return _made(state, "revive", proposal, units, edit)
    return None


def _fitting(state: State, model: nn.Module, proposal: Proposal, most: int) -> Proposal:
    """As many of the proposed units as there is room for."""
    if proposal.count <= most:
        return proposal
    how: Any = state.how
    fewer = first_units(proposal, most)
    if fewer.count > most and "count" in getattr(how, "__dataclass_fields__", ()):  # changes present weights
        fewer = state.asked(model, proposal.place, replace(how, count=most))
    return fewer if fewer.count <= most else first_units(fewer, 0)


def _without_spare(state: State, place: Place) -> tuple[nn.Module, Place, list[RedundantUnit]]:
    """A copy of the model without units of a place that earn nothing, and these in the order they left.

    No more than the method grows at a time, and no more than a tenth of them (but one): each may cost a little.
    """
    most = max(1, min(place.width // 10, getattr(state.how, "max_units", getattr(state.how, "count", 1))))
    batches, validation = state.evidence.draw(MAX_SAMPLES)
    twin, smaller, gone = copy.deepcopy(state.model), place, list[RedundantUnit]()
    without = torch.tensor(float(not batches))
    ranks.sum_over_ranks([without])
    while len(gone) < most and not without:  # too few samples to judge by where a rank has none
        found = ranks.from_first(
            redundant_units(twin, smaller, batches, state.objective.loss, validation=validation)[:1]
        )
        if not found:
            break
        certificate = remove_redundant(twin, smaller, found[0])
        assert certificate.place is not None
        smaller, gone = certificate.place, [*gone, found[0]]
    return twin, smaller, gone


def _in_vain(history: History) -> bool:
    """Whether the last growth step was recycling and the loss has not fallen by a hundredth since.

    Also where as many recycling steps in a row were made as the place has units: the fall may be another's doing.
    """
    row = list(takewhile(lambda record: record.action == "recycle", reversed(history.records)))
    if not row:
        return False
    before = row[0].before["loss"]
    assert before is not None
    return len(row) >= row[0].width[1] or bool(history.last["loss"] > before - 0.01 * abs(before))


def _replace(state: State, place: Place, gone: Sequence[RedundantUnit], new: Proposal) -> None:
    """Let go of units, in this order, and put the new ones in."""
    now: Place | None = place
    for one in gone:
        assert now is not None
        now = remove_redundant(state.model, now, one, optimizer=state.optimizer).place
    apply(new, state.model, optimizer=state.optimizer)


def _made(state: State, action: str, proposal: Proposal, removed: list[int], edit: Callable[[], Any]) -> Record:
    """Make an edit and record it, measured on all training samples before and after."""
    place, history = proposal.place, state.history
    before, size = measure(state.model, state.samples, state.objective), state.parameters
    edit()
    ranks.broadcast(list(state.model.state_dict().values()))
    after = measure(state.model, state.samples, state.objective)
    width = find_place(state.model, place.name, data=state.samples.example()).width
    record = Record(
        number=len(history.records) + 1,
        action=action,
        epoch=len(history.epochs),
        steps=history.last["steps"] if history.epochs else 0,
        place=place.name,
        method=proposal.method,
        units=list(range(width - proposal.count, width)) if proposal.count else removed,
        removed=removed,
        width=(place.width, width),
        parameters=(size, state.parameters),
        predicted=proposal.gain,
        before=before.numbers,
        after=after.numbers,
        changed=_changed(before, after),
        weights=_weights(proposal),
        explanation={**proposal.explanation, **({"unit": width - 1} if proposal.method == "fold" else {})},
    )
    history.records.append(record)
    history.idle = 0
    state.edited()
    return record


def _changed(before: Metrics, after: Metrics) -> int | None:
    """How many decisions, over all ranks, are others than before."""
    if before.decisions is None or after.decisions is None:
        return None
    count = (before.decisions != after.decisions).sum().double()
    ranks.sum_over_ranks([count])
    return int(count)


def _weights(proposal: Proposal) -> dict[str, Any]:
    """The new units' weights as nested lists."""

    def plain(values: Tensor) -> Any:
        return values.detach().double().cpu().tolist()

    fan_out = {path: plain(columns) for path, columns in proposal.fan_out.items()}
    return {"fan_in": plain(proposal.fan_in), "bias": plain(proposal.bias), "fan_out": fan_out}
