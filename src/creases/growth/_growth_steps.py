"""The growth steps of a run, applied and recorded: units and layers added, dead units replaced or removed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import Any

import torch
from torch import Tensor, nn

from creases.growth._checkpoint import are_independent
from creases.growth._proposal import DepthProposal, Proposal, apply, first_units
from creases.growth._records import Record
from creases.growth._revive import dead_units, first_samples, revive_units
from creases.growth._samples import Pair
from creases.growth._state import State
from creases.growth._training import Metrics, measure
from creases.growth.integrations import _ranks as ranks
from creases.growth.methods._auto import MAX_FOLDS, Auto
from creases.growth.methods._fold.fold import Fold
from creases.growth.methods._registry import filler, refusal
from creases.growth.policies._stop import SizeLimit, Stop, available_units, is_worth_adding
from creases.growth.policies._where import EveryPlace, grows_together
from creases.network import Place, remove
from creases.network.surgery import copy_sharing_parameters, count_outputs, find_place, without_side_effects

#: Samples on which units are checked for being dead.
MAX_SAMPLES = 5000

#: Change of an output that is rounding, in units of the last place of the largest one.
ROUNDING = 1000

#: Incoming weights of new units up to which a record holds them.
MAX_WEIGHTS = 20_000


def grow_places(state: State, stops: Sequence[Stop], factor: float | None = None) -> Record | None:
    """Grow the places that the policy ``where`` names; return the last growth step's record, if there was one.

    "all", or several places by name, are all grown; otherwise the first, in the policy's order, that gets units worth
    adding and has room for them. With ``factor``, a place is widened by it: the method is asked for that many units,
    and where it supplies fewer, random units without effect are added (their outgoing weights are 0). Where the policy
    proposes a layer, that is inserted if it is worth adding and fits.
    """
    if factor is not None and grows_together(state):
        return resize_places(state, stage_widths(state, stops, factor))
    last = None
    for candidate in state.where(state):
        if isinstance(candidate, DepthProposal):
            fits = available_units(stops, state, candidate) >= candidate.count
            record = insert_layer(state, candidate) if fits and is_worth_adding(stops, state, candidate) else None
        else:
            place = find_place(state.model, candidate.name, X=state.samples.example())
            record = _grow_place(state, stops, place, factor)
        last = record or last
        if record is not None and not isinstance(state.where, EveryPlace):
            break
    return last


def stage_widths(state: State, stops: Sequence[Stop], factor: float) -> dict[str, int]:
    """Return the widths of the places that a stage changes by a factor, within the limits of size."""
    places = [candidate for candidate in state.where(state) if isinstance(candidate, Place)]
    factor = _fitting_factor(state, stops, places, factor) if factor > 1 else factor
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
            room = available_units(state.stops, state, place)
            last = _widen_place(state, place, min(width, place.width + room)) or last
    return last


def remove_dead(state: State) -> None:
    """Remove units, of the places that stages change, that are 0 on all samples that are drawn: 5,000 at most.

    Units stay where outputs on these samples would change without them, as something else reads them, where the model
    has companions, in which they may be active, and with a loss of the user's own, whose outputs may be anything.
    """
    if not grows_together(state) or state.followers.companions or state.objective.task is None:
        return
    batches, _ = state.evidence.draw(MAX_SAMPLES)
    first = first_samples(batches)
    for name in [place.name for place in state.where(state) if isinstance(place, Place)]:
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
    explanation = {"method": "narrow", "place": place.name, "reason": "", "units": len(units), **why}
    nothing = torch.zeros(0)
    proposal = Proposal("narrow", place, nothing, nothing, {}, 0.0, explanation)
    edit = partial(remove, state.model, place, units, optimizer=state.optimizer)
    return _record_step(state, "narrow", proposal, units, edit)


def _grow_place(state: State, stops: Sequence[Stop], place: Place, factor: float | None) -> Record | None:
    room = available_units(stops, state, place)
    if factor is not None:
        return _widen_place(state, place, min(place.width + room, _stage_width(state, place, factor)))
    proposal = state.propose(place)
    if not is_worth_adding(stops, state, proposal):
        return None
    proposal = _fit_budget(state, state.model, proposal, room)
    if not proposal.count:
        return None
    return _record_step(state, "grow", proposal, [], partial(apply, proposal, state.model, optimizer=state.optimizer))


def _fitting_factor(state: State, stops: Sequence[Stop], places: Sequence[Place], factor: float) -> float:
    """Return a factor, at most the given one, by which all places can be widened within the limits of size.

    Without it the first places would get all there is room for, and the last nothing.
    """
    limits = [stop for stop in stops if isinstance(stop, SizeLimit)]

    def fits(trial: float) -> bool:
        widths = {place.name: _stage_width(state, place, trial) for place in places}
        units = sum(widths.get(place.name, place.width) for place in state.places)
        return all(limit.admits(*state.size_at(widths), units) for limit in limits)

    if not limits or fits(factor):
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
    """Widen a place for a stage of growth: by units of the method, and random ones in place of those it lacks.

    The random units have no effect at first (their outgoing weights are 0); whether the stage pays is measured.
    """
    count = width - place.width
    if count < 1 or refusal(state.how, state.model, place):
        return None
    how: Any = state.how
    counted = "count" in getattr(how, "__dataclass_fields__", ())
    asked = min(count, MAX_FOLDS) if isinstance(how, Fold) else count  # more would answer the same errors
    proposal = state.call_method(state.model, place, replace(how, count=asked) if counted else how)
    proposal = _fit_budget(state, state.model, proposal, count)
    if state.untrained and isinstance(how, Auto) and proposal.method == "random":
        proposal = _usual_weights(proposal, width)
    missing = count - proposal.count
    if not proposal.count:
        why = proposal.explanation.get("reason", "")
        note: dict[str, Any] = {"asked": proposal.method, "instead": why}
        proposal, missing = state.call_method(state.model, place, filler(missing)), 0
        proposal = replace(proposal, explanation={**proposal.explanation, **note})
    elif missing:
        note = {"supplied": proposal.count, "filled": missing}
        proposal = replace(proposal, explanation={**proposal.explanation, **note})
    return _record_step(state, "grow", proposal, [], partial(_add_units, state, proposal, missing))


def _usual_weights(proposal: Proposal, width: int) -> Proposal:
    """Return random units of which the outgoing weights are as large as in an untrained network of a width.

    Otherwise networks that began with fewer units would learn more slowly than those that began with more.
    """
    explanation = proposal.explanation
    size = math.sqrt(proposal.place.width / width)  # relative to those of the existing units
    scaled = proposal.scale(1.0, size / explanation["fan_out"])
    return replace(scaled, gain=0.0, explanation={**explanation, "fan_out": size, "gain": 0.0})


def _add_units(state: State, proposal: Proposal, missing: int) -> None:
    """Add the proposed units, and random ones without effect in place of those that the method did not supply."""
    place = apply(proposal, state.model, optimizer=state.optimizer).place
    if missing:
        assert place is not None
        random = state.call_method(state.model, place, filler(missing))
        apply(random, state.model, optimizer=state.optimizer)


def insert_layer(state: State, proposal: DepthProposal) -> Record:
    """Insert a proposed layer, which leaves the function as it is, and record it."""
    edit = partial(apply, proposal, state.model, optimizer=state.optimizer, data=state.samples.example())
    return _record_step(state, "deepen", proposal, [], edit)


def revive_layer(state: State) -> Record | None:
    """Reinitialise the units of a dead layer, at most three times in a row: nothing behind it can learn or grow."""
    batches, _ = state.evidence.draw(MAX_SAMPLES)
    row = takewhile(lambda record: record.action == "revive", reversed(state.history.records))
    tried = Counter(record.place for record in row)
    for place in state.places:
        if (
            len(dead_units(state.model, place, first_samples(batches))) < place.width
        ):  # most layers are active on a few samples
            continue
        units = dead_units(state.model, place, batches)
        if len(units) < place.width or tried[place.name] >= 3:
            continue
        explanation = {"method": "revive", "place": place.name, "reason": "", "units": len(units)}
        nothing = torch.zeros(0)
        proposal = Proposal("revive", place, nothing, nothing, {}, 0.0, explanation)
        edit = partial(revive_units, state.model, place, batches, units, state.evidence.seed)
        return _record_step(state, "revive", proposal, units, edit)
    return None


def _fit_budget(state: State, model: nn.Module, proposal: Proposal, max_units: int) -> Proposal:
    """Return as many of the proposed units as fit."""
    if proposal.count <= max_units:
        return proposal
    how: Any = state.how
    fewer = first_units(proposal, max_units)
    if fewer.count > max_units and "count" in getattr(how, "__dataclass_fields__", ()):  # changes existing weights
        fewer = state.call_method(model, proposal.place, replace(how, count=max_units))
    return fewer if fewer.count <= max_units else first_units(fewer, 0)


def _record_step(
    state: State, action: str, proposal: Proposal | DepthProposal, removed: list[int], edit: Callable[[], Any]
) -> Record:
    """Apply an edit and record it, with metrics on training samples before and after."""
    place, history = proposal.place, state.history
    name, old_width = (proposal.name, 0) if isinstance(proposal, DepthProposal) else (place.name, place.width)
    count = proposal.count + proposal.explanation.get("filled", 0)
    before, size = state.once("metrics", partial(_measure, state)), state.parameters
    if isinstance(proposal, DepthProposal):
        follow = state.followers.follow_layer(state.model, proposal, state.samples.example())
    else:
        follow = state.followers.follow(state.model, place, [] if action == "revive" else removed, count)
    with follow:
        edit()
        ranks.broadcast(list(state.model.state_dict().values()))
    after, width = _measure(state), count_outputs(state.model.get_submodule(name))
    record = Record(
        number=len(history.records) + 1,
        action=action,
        epoch=len(history.epochs),
        steps=history.steps,
        place=name,
        method=proposal.method,
        units=list(range(old_width - len(removed), width)) if proposal.count else removed,
        removed=removed,
        width=(old_width, width),
        parameters=(size, state.parameters),
        predicted=proposal.gain,
        before=before.numbers,
        after=after.numbers,
        changed=_changed_decisions(before, after),
        weights=_weights(proposal),
        explanation={
            **proposal.explanation,
            **({"unit": place.width - len(removed)} if "unit" in proposal.explanation else {}),
        },
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


def _weights(proposal: Proposal | DepthProposal) -> dict[str, Any]:
    """Return the new units' weights as nested lists; none of a new layer, which is the identity, or of large units."""
    if isinstance(proposal, DepthProposal) or proposal.fan_in.numel() > MAX_WEIGHTS:
        return {}

    def plain(values: Tensor) -> Any:
        return values.detach().double().cpu().tolist()

    fan_out = {path: plain(columns) for path, columns in proposal.fan_out.items()}
    return {"fan_in": plain(proposal.fan_in), "bias": plain(proposal.bias), "fan_out": fan_out}
