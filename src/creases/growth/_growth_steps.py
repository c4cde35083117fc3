"""The growth steps of a run, applied and recorded: units added, dead units replaced or removed; and their outcome."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import Any

import torch
from torch import Tensor, nn

from creases.growth._checkpoint import are_independent
from creases.growth._integrations import _ranks as ranks
from creases.growth._proposal import Proposal, apply, first_units, unit_rows, weight_of
from creases.growth._records import Record, list_weights
from creases.growth._samples import Pair
from creases.growth._state import State
from creases.growth._training import Metrics, measure
from creases.growth.methods._registry import Auto, refusal, reviewer
from creases.growth.policies._policies import grows_every_place
from creases.network import Place
from creases.network.surgery import (
    copy_sharing_parameters,
    count_outputs,
    find_place,
    input_tensors,
    without_side_effects,
)

#: Samples that are enough to see that most units are alive.
FEW_SAMPLES = 50


def dead_units(model: nn.Module, place: Place, batches: Sequence[Pair]) -> list[int]:
    """Return the units of a place that are never active, on any sample of any rank; none without a relu."""
    if place.bend != "relu" or place.norm:
        return []
    largest = torch.full((place.width,), -torch.inf, dtype=torch.float64)
    for out in _layer_outputs(model, place, batches):
        largest = torch.maximum(largest, out.max(0).values.double().cpu())
    alive = (largest > 0).double()
    ranks.sum_over_ranks([alive])
    return torch.nonzero(alive == 0).flatten().tolist()


def revive_units(model: nn.Module, place: Place, batches: Sequence[Pair], units: list[int], seed: int) -> None:
    """Reinitialise units (Kaiming), each with its crease through the mean of the samples, so that some are active.

    Outgoing weights of zero are reinitialised too. The optimizer's moments of these weights stay.
    """
    layer = model.get_submodule(place.name)
    numbers = torch.Generator().manual_seed(seed)
    rows = unit_rows(layer)  # (width, ...)
    with torch.no_grad():
        size = (2.0 / rows[0].numel()) ** 0.5
        rows[units] = (size * torch.randn(rows[units].shape, generator=numbers)).to(rows)
        _center_on_mean(model, place, batches, units)
        for link in place.consumers:
            consumer = model.get_submodule(link.path)
            axis = input_tensors(consumer).weight_axis
            columns = weight_of(consumer).detach().movedim(axis, 0)  # (inputs, outputs, ...)
            for mine in link.columns(place.width)[units].to(columns.device):
                if not bool(columns[mine].any()):
                    random = torch.randn(columns[mine].shape, generator=numbers).to(columns)
                    columns[mine] = random / columns[:, 0].numel() ** 0.5


def _center_on_mean(model: nn.Module, place: Place, batches: Sequence[Pair], units: list[int]) -> None:
    """Shift units so that they are 0 at the mean over all ranks' samples; without a bias, flip negative ones."""
    layer = model.get_submodule(place.name)
    bias = layer.bias
    if isinstance(bias, Tensor):
        bias[units] = 0.0
    sums = torch.zeros(3, len(units), dtype=torch.float64)
    for out in _layer_outputs(model, place, batches):
        mine = out[:, units].double().cpu()
        number = torch.full((len(units),), float(len(mine)), dtype=torch.float64)
        sums += torch.stack([number, mine.sum(0), mine.square().sum(0)])
    ranks.sum_over_ranks([sums])
    count, first, second = sums
    middle = first / count.clamp(min=1)
    if isinstance(bias, Tensor):
        alike = second / count.clamp(min=1) - middle.square() <= 1e-12 * middle.square()
        bias[units] = (alike.double() - middle).to(bias)  # identical samples lie on the active side
    else:
        rows = unit_rows(layer)
        sign = torch.where(middle < 0, -1.0, 1.0).to(rows)
        rows[units] = rows[units] * sign.reshape(-1, *[1] * (rows.ndim - 1))


def _layer_outputs(model: nn.Module, place: Place, batches: Sequence[Pair]) -> Iterator[Tensor]:
    """Yield the output of a place's layer by batch, with one row (width,) for each sample and position."""
    twin = copy_sharing_parameters(model)
    outputs: list[Tensor] = []
    layer = twin.get_submodule(place.name)
    layer.register_forward_hook(lambda module, args, out: outputs.append(out))
    axis = -1 if isinstance(layer, nn.Linear) else 1
    for x, _ in batches:
        outputs.clear()
        with without_side_effects():
            twin(x)
        yield outputs[0].movedim(axis, -1).reshape(-1, place.width)


#: Numbers of the last epoch that a record holds.
_NUMBERS = ("epoch", "loss", "score", "validation_loss", "validation_score")


def note_outcomes(state: State) -> None:
    """Note the outcome of the last growth steps so far: one for each place of those that came at once and are kept."""
    last, places, records = state.history.epochs[-1:], set[str](), state.history.records
    for record in reversed(records):
        if last and record.epoch == records[-1].epoch and not record.undone and record.place not in places:
            places.add(record.place)
            record.later = {name: last[0][name] for name in _NUMBERS if last[0][name] is not None}
            review = reviewer(state.how, record.method)
            if review is not None:  # the method adds the outcome to its explanation
                model = copy_sharing_parameters(state.model)
                record.explanation = dict(review(record.explanation, record.units, model, state.evidence))


#: Samples on which units are checked for being dead.
MAX_SAMPLES = 5000


def grow_places(state: State) -> Record | None:
    """Grow the places that the policy ``where`` names; return the last growth step's record, if there was one.

    "all" are all grown; otherwise the first, in the policy's order, that gets units and has room for them.
    """
    last = None
    for candidate in state.where(state):
        place = find_place(state.model, candidate.name, X=state.samples.example())
        record = _add_units(state, state.propose(place), state.limit.available_units(state, place))
        last = record or last
        if record is not None and not grows_every_place(state):
            break
    return last


def stage_widths(state: State, factor: float) -> dict[str, int]:
    """Return the widths of the places that a stage widens by a factor, or by less where limits of size ask for it.

    A dense layer gets at least as many units as the model has outputs: with fewer its rank limits the outputs.
    """
    places, n_outputs = state.where(state), state.n_outputs

    def widen(factor: float) -> dict[str, int]:
        widths = {place.name: max(math.ceil(factor * place.width - 1e-9), place.width + 1) for place in places}
        dense = {name for name in widths if isinstance(state.model.get_submodule(name), nn.Linear)}
        return {name: max(width, n_outputs) if name in dense else width for name, width in widths.items()}

    widths = widen(factor)
    for k in range(1, 25) if state.limit.is_set else ():  # otherwise the first place would get all the room
        units = sum(widths.get(place.name, place.width) for place in state.places)
        sizes = ((state.limit.parameters, state.size_at(widths)[0]), (state.limit.units, units))
        if all(limit is None or size <= limit for limit, size in sizes):
            break
        widths = widen(1 + (factor - 1) * 0.8**k)
    return widths


def widen_places(state: State, widths: Mapping[str, int]) -> Record | None:
    """Widen places to these widths, within the limits of size; return the last growth step's record.

    Where the method supplies fewer units, the others are random.
    """
    last = None
    present = {place.name: place for place in state.places}
    alone = are_independent(state.places)
    for name, width in widths.items():
        place = present[name] if alone else find_place(state.model, name, X=state.samples.example())
        count = min(width - place.width, state.limit.available_units(state, place))
        if count < 1 or refusal(state.how, state.model, place):
            continue
        evidence = replace(state.evidence, untrained=state.untrained)
        last = _add_units(state, state.call_method(_counted(state.how, count), place, evidence), count) or last
        count -= count_outputs(state.model.get_submodule(name)) - place.width
        if count and _is_counted(state.how) and not getattr(state.how, "as_printed", False):
            place = find_place(state.model, name, X=state.samples.example())
            last = _add_units(state, state.call_method(Auto(count, folds=0), place, evidence), count) or last
    return last


def _is_counted(how: Any) -> bool:
    """Return whether a method can be asked for a number of units."""
    return "count" in getattr(how, "__dataclass_fields__", ())


def _counted(how: Any, count: int) -> Any:
    """Return a method that proposes so many units, where it can be asked for a number."""
    return replace(how, count=count) if _is_counted(how) else how


def _add_units(state: State, proposal: Proposal, room: int) -> Record | None:
    """Add as many of the proposed units as there is room for."""
    if proposal.count > room:
        fewer = first_units(proposal, room)
        if fewer.count > room and _is_counted(state.how):  # changes existing weights
            fewer = state.call_method(_counted(state.how, room), proposal.place, state.evidence)
        proposal = fewer if fewer.count <= room else first_units(fewer, 0)
    if not proposal.count and not proposal.change:
        return None
    return _record_step(state, "grow", proposal, [], partial(apply, proposal, state.model, optimizer=state.optimizer))


def revive_layer(state: State) -> Record | None:
    """Reinitialise the units of a dead layer, at most three times in a row: nothing behind it can learn or grow."""
    batches, _ = state.evidence.draw(MAX_SAMPLES)
    few = [(x[:FEW_SAMPLES], y[:FEW_SAMPLES]) for x, y in batches[:1]]
    row = takewhile(lambda record: record.action == "revive", reversed(state.history.records))
    tried = Counter(record.place for record in row)
    for place in state.places:
        if len(dead_units(state.model, place, few)) < place.width:
            continue  # most layers are active on a few samples
        units = dead_units(state.model, place, batches)
        if len(units) == place.width and tried[place.name] < 3:
            edit = partial(revive_units, state.model, place, batches, units, state.evidence.seed)
            explanation = {"method": "revive", "place": place.name, "reason": "", "units": len(units)}
            proposal = Proposal("revive", place, torch.zeros(0), torch.zeros(0), {}, 0.0, explanation)
            return _record_step(state, "revive", proposal, units, edit)
    return None


def _record_step(state: State, action: str, proposal: Proposal, removed: list[int], edit: Callable[[], Any]) -> Record:
    """Apply an edit and record it, with metrics on training samples before and after."""
    place, history = proposal.place, state.history
    before, size = state.once("metrics", partial(_measure, state)), state.parameters
    edit()
    ranks.broadcast(list(state.model.state_dict().values()))
    state.followers.renew(state.model)
    after, width = _measure(state), count_outputs(state.model.get_submodule(place.name))
    record = Record(
        number=len(history.records) + 1,
        action=action,
        epoch=len(history.epochs),
        steps=history.steps,
        place=place.name,
        method=proposal.method,
        units=list(range(place.width - len(removed), width)) if proposal.count else removed,
        removed=removed,
        width=(place.width, width),
        parameters=(size, state.parameters),
        predicted=proposal.gain,
        before=before.numbers,
        after=after.numbers,
        changed=_changed_decisions(before, after),
        weights=list_weights(proposal.fan_in, proposal.bias, proposal.fan_out),
        explanation=dict(proposal.explanation),
    )
    history.records.append(record)
    history.idle = 0
    state.clear()
    state.once("metrics", lambda: after)
    return record


def _measure(state: State) -> Metrics:
    return measure(state.model, state.inspected, state.objective)


def _changed_decisions(before: Metrics, after: Metrics) -> int | None:
    """Return the number of decisions that changed, over all ranks."""
    if before.decisions is None or after.decisions is None:
        return None
    count = (before.decisions != after.decisions).sum().double()
    ranks.sum_over_ranks([count])
    return int(count)
