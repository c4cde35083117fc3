"""The outcome of growth steps, once the network has been trained on."""

from __future__ import annotations

from creases.growth._records import Record
from creases.growth._state import State
from creases.growth.methods._registry import reviewer
from creases.network.surgery import copy_sharing_parameters

#: Numbers of the last epoch that a record holds.
_NUMBERS = ("epoch", "loss", "score", "validation_loss", "validation_score")


def note_outcomes(state: State) -> None:
    """Note the outcome of the last growth steps so far: one for each place of those that came at once and are kept."""
    last, places = state.history.epochs[-1:], set[str]()
    records = [record for record in state.history.records if not record.explanation.get("dead")]
    narrowed = {record.place for record in state.history.records if record.explanation.get("dead")}
    for record in reversed(records):
        if last and record.epoch == records[-1].epoch and not record.undone and record.place not in places:
            places.add(record.place)
            record.later = {name: last[0][name] for name in _NUMBERS if last[0][name] is not None}
            if record.place not in narrowed:  # where units have other numbers now
                _review(state, record)


def _review(state: State, record: Record) -> None:
    """Let the method of a growth step add the outcome to its explanation."""
    if (method := reviewer(state.how, record.method)) is not None:
        model = copy_sharing_parameters(state.model)
        record.explanation = dict(method.review(record.explanation, record.units, model, state.evidence))
