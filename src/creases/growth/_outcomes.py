"""The outcome of growth steps, once the network has been trained on."""

from __future__ import annotations

from typing import Any

from creases.growth._records import Record
from creases.growth._state import State
from creases.growth.methods._evidence import drop_unweighted
from creases.growth.methods._fold.explanation import fold_entries
from creases.growth.methods._fold.fold import Fold
from creases.growth.methods._fold.outcome import fold_outcome
from creases.network.surgery import copy_sharing_parameters, find_place

#: Numbers of the last epoch that a record holds.
_NUMBERS = ("epoch", "loss", "score", "validation_loss", "validation_score")


def note_outcomes(state: State, reviewed: int) -> None:
    """Note the outcome of the last growth steps so far: of all those that came at once and were not undone.

    The first ``reviewed`` growth steps were made for other samples, so the outcome of their folds is not measured.
    """
    records, last = state.history.records, state.history.epochs[-1:]
    for record in records:
        if last and record.epoch == records[-1].epoch and not record.undone:
            record.later = {name: last[0][name] for name in _NUMBERS if last[0][name] is not None}
            if record.number > reviewed and record.method == "fold" and fold_entries(record.explanation):
                record.explanation = _fold_outcome(state, record)


def _fold_outcome(state: State, record: Record) -> dict[str, Any]:
    """Return the explanation of a fold with its outcome, on the samples it was made for."""
    example = state.samples.example()
    how = Fold(max_samples=getattr(state.how, "max_samples", Fold.max_samples))
    place = find_place(state.model, record.place, X=example)
    sample = drop_unweighted(state.samples.arrays(how.sample_limit(state.model, place)))
    options: dict[str, Any] = {
        "units": record.units,
        "rows": None if sample.rows is None else sample.rows.numpy(),
        "input_shape": example.shape[1:],
        "weight": sample.weight,
    }
    return fold_outcome(record.explanation, copy_sharing_parameters(state.model), sample.X, sample.y, **options)
