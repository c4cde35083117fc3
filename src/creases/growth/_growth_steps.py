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
from creases.growth._proposal import Proposal, apply, first_units
from creases.growth._records import Record
from creases.growth._samples import Pair
from creases.growth._state import State
from creases.growth._training import Metrics, measure
from creases.growth.methods._registry import refusal, reviewer
from creases.growth.policies._policies import grows_every_place
from creases.network import Place, remove
from creases.network.surgery import (
    UnitTensors,
    copy_sharing_parameters,
    count_outputs,
    find_place,
    input_tensors,
    output_tensors,
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


def first_samples(batches: Sequence[Pair]) -> list[Pair]:
    """Return a few samples, enough to see that most units are alive."""
    return [(x[:FEW_SAMPLES], y[:FEW_SAMPLES]) for x, y in batches[:1]]


def revive_units(model: nn.Module, place: Place, batches: Sequence[Pair], units: list[int], seed: int) -> None:
    """Reinitialise units (Kaiming), each with its crease through the mean of the samples, so that some are active.

    Outgoing weights of zero are reinitialised too. The optimizer's moments of these weights stay.
    """
    layer = model.get_submodule(place.name)
    numbers = torch.Generator().manual_seed(seed)
    rows = _weight(layer, output_tensors(layer))  # (width, ...)
    with torch.no_grad():
        size = (2.0 / rows[0].numel()) ** 0.5
        rows[units] = (size * torch.randn(rows[units].shape, generator=numbers)).to(rows)
        _center_on_mean(model, place, batches, units)
        for link in place.consumers:
            consumer = model.get_submodule(link.path)
            columns = _weight(consumer, input_tensors(consumer))  # (inputs, outputs, ...)
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
        rows = _weight(layer, output_tensors(layer))
        sign = torch.where(middle < 0, -1.0, 1.0).to(rows)
        rows[units] = rows[units] * sign.reshape(-1, *[1] * (rows.ndim - 1))


def _weight(layer: nn.Module, held: UnitTensors) -> Tensor:
    """Return a view of a layer's weight with the axis of the units first."""
    weight = layer.weight
    assert isinstance(weight, Tensor)
    return weight.detach().movedim(held.weight_axis, 0)


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
    last, places, is_narrowed = state.history.epochs[-1:], set[str](), False
    kept = [record for record in state.history.records if not record.explanation.get("dead")]
    for record in reversed(state.history.records):
        if record.explanation.get("dead"):
            is_narrowed = True  # units of its place, and inputs of the next one, have other numbers than before
        elif last and record.epoch == kept[-1].epoch and not record.undone and record.place not in places:
            places.add(record.place)
            record.later = {name: last[0][name] for name in _NUMBERS if last[0][name] is not None}
            if not is_narrowed:
                review = reviewer(state.how, record.method)
                if review is not None:  # the method adds the outcome to its explanation
                    model = copy_sharing_parameters(state.model)
                    record.explanation = dict(review(record.explanation, record.units, model, state.evidence))


#: Samples on which units are checked for being dead.
MAX_SAMPLES = 5000

#: Change of an output that is rounding, in units of the last place of the largest one.
ROUNDING = 1000

#: Incoming weights of new units up to which a record holds them.
MAX_WEIGHTS = 20_000


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
    """Return the widths of the places that a stage changes by a factor, within the limits of size."""
    places = state.where(state)
    factor = _fitting_factor(state, places, factor) if factor > 1 else factor
    return {place.name: _stage_width(state, place, factor) for place in places}


def resize_places(state: State, widths: Mapping[str, int]) -> Record | None:
    """Widen or narrow places to these widths, within the limits of size; return the last growth step's record."""
    last = None
    present = {place.name: place for place in state.places}
    alone = are_independent(state.places)
    for name, width in widths.items():
        place = present[name] if alone else find_place(state.model, name, X=state.samples.example())
        if width < place.width:
            units = list(range(width, place.width))  # those of an untrained network are all alike
            last = _remove_units(state, place, units)
        else:
            room = state.limit.available_units(state, place)
            last = _widen_place(state, place, min(width, place.width + room)) or last
    return last


def remove_dead(state: State) -> None:
    """Remove units, of the places that stages change, that are 0 on all samples that are drawn: 5,000 at most.

    Units stay where outputs on these samples would change without them, as something else reads them, where the model
    has companions, in which they may be active, and with a loss of the user's own, whose outputs may be anything.
    """
    if state.followers.companions or state.objective.task is None:
        return
    batches, _ = state.evidence.draw(MAX_SAMPLES)
    first = first_samples(batches)
    for name in [place.name for place in state.where(state)]:
        place = next(place for place in state.places if place.name == name)
        units = dead_units(state.model, place, batches) if dead_units(state.model, place, first) else []
        if 0 < len(units) < place.width and _is_same_without(state, place, units, batches):
            state.record = _remove_units(state, place, units, dead=True)


@torch.no_grad()
def _is_same_without(state: State, place: Place, units: list[int], batches: Sequence[Pair]) -> bool:
    """Return whether the outputs on samples stay the same, up to rounding, without some units of a place."""
    model, smaller = (copy_sharing_parameters(state.model).eval() for _ in range(2))
    remove(smaller, place, units)
    changed = torch.zeros(())
    with without_side_effects():
        for x, _ in (pair for pair in batches if len(pair[0])):
            before, after = model(x), smaller(x)
            allowed = ROUNDING * torch.finfo(before.dtype).eps * before.abs().max()
            changed += float(((before - after).abs() > allowed).any())
    ranks.sum_over_ranks([changed])
    return not changed


def _remove_units(state: State, place: Place, units: list[int], **why: bool) -> Record:
    edit = partial(remove, state.model, place, units, optimizer=state.optimizer)
    return _record_step(state, "narrow", _no_units("narrow", place, len(units), **why), units, edit)


def _fitting_factor(state: State, places: Sequence[Place], factor: float) -> float:
    """Return a factor, at most the given one, by which all places can be widened within the limits of size.

    Without it the first places would get all there is room for, and the last nothing.
    """

    def fits(trial: float) -> bool:
        widths = {place.name: _stage_width(state, place, trial) for place in places}
        units = sum(widths.get(place.name, place.width) for place in state.places)
        return state.limit.admits(state.size_at(widths)[0], units)

    if not state.limit.is_set or fits(factor):
        return factor
    low, high = 1.0, factor
    for _ in range(8):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _stage_width(state: State, place: Place, factor: float) -> int:
    """Return the width of a place after a stage: a dense layer gets at least as many units as the model has outputs.

    With fewer its rank limits the outputs, and a race between such layers says nothing.
    """
    is_dense = isinstance(state.model.get_submodule(place.name), nn.Linear)
    if factor < 1:
        width = max(math.ceil(factor * place.width), state.n_outputs if is_dense else 1)
        return min(width, place.width)
    width = max(math.ceil(factor * place.width - 1e-9), place.width + 1)
    return max(width, state.n_outputs) if is_dense else width


def _widen_place(state: State, place: Place, width: int) -> Record | None:
    """Widen a place for a stage of growth by as many units, at most, as the method supplies."""
    count = width - place.width
    if count < 1 or refusal(state.how, state.model, place):
        return None
    evidence = replace(state.evidence, untrained=state.untrained)
    proposal = state.call_method(place, evidence, count if _is_counted(state.how) else None)
    return _add_units(state, proposal, count)


def _is_counted(how: Any) -> bool:
    """Return whether a method can be asked for a number of units."""
    return "count" in getattr(how, "__dataclass_fields__", ())


def _add_units(state: State, proposal: Proposal, room: int) -> Record | None:
    """Add as many of the proposed units as there is room for."""
    if proposal.count > room:
        fewer = first_units(proposal, room)
        if fewer.count > room and _is_counted(state.how):  # changes existing weights
            fewer = state.call_method(proposal.place, state.evidence, room)
        proposal = fewer if fewer.count <= room else first_units(fewer, 0)
    if not proposal.count and not proposal.change:
        return None
    return _record_step(state, "grow", proposal, [], partial(apply, proposal, state.model, optimizer=state.optimizer))


def revive_layer(state: State) -> Record | None:
    """Reinitialise the units of a dead layer, at most three times in a row: nothing behind it can learn or grow."""
    batches, _ = state.evidence.draw(MAX_SAMPLES)
    row = takewhile(lambda record: record.action == "revive", reversed(state.history.records))
    tried = Counter(record.place for record in row)
    for place in state.places:
        if len(dead_units(state.model, place, first_samples(batches))) < place.width:
            continue  # most layers are active on a few samples
        units = dead_units(state.model, place, batches)
        if len(units) < place.width or tried[place.name] >= 3:
            continue
        edit = partial(revive_units, state.model, place, batches, units, state.evidence.seed)
        return _record_step(state, "revive", _no_units("revive", place, len(units)), units, edit)
    return None


def _no_units(method: str, place: Place, units: int, **why: bool) -> Proposal:
    """Return a change of a place that adds no units, in the form of a proposal."""
    explanation = {"method": method, "place": place.name, "reason": "", "units": units, **why}
    return Proposal(method, place, torch.zeros(0), torch.zeros(0), {}, 0.0, explanation)


def _record_step(state: State, action: str, proposal: Proposal, removed: list[int], edit: Callable[[], Any]) -> Record:
    """Apply an edit and record it, with metrics on training samples before and after."""
    place, history = proposal.place, state.history
    before, size = state.once("metrics", partial(_measure, state)), state.parameters
    with state.followers.follow(state.model, place, [] if action == "revive" else removed, proposal.count):
        edit()
        ranks.broadcast(list(state.model.state_dict().values()))
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
        weights=_weights(proposal),
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


def _weights(proposal: Proposal) -> dict[str, Any]:
    """Return the new units' weights as nested lists; none of large units."""
    if proposal.fan_in.numel() > MAX_WEIGHTS:
        return {}

    def plain(values: Tensor) -> Any:
        return values.detach().double().cpu().tolist()

    fan_out = {path: plain(columns) for path, columns in proposal.fan_out.items()}
    return {"fan_in": plain(proposal.fan_in), "bias": plain(proposal.bias), "fan_out": fan_out}
