"""What is said of results whose sections need this room: of a growth run here, of the others in ``report``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from creases._document import Document, Section, facts, table
from creases._text import format_number, format_value, plural

if TYPE_CHECKING:
    from creases.growth import History, Record

#: Where each kind of result is described, by the name of its class.
_HOMES = {
    "TableModel": "_table_model:table_document",
    "GrownModel": "_growth_sections:grown_document",
    "Similarity": "_comparisons:similarity_document",
    "Difference": "_comparisons:difference_document",
}


def describe(result: Any, **names: Any) -> Document:
    """Return what is said of a result; of a run with names as in :func:`creases.growth.explain`."""
    if not hasattr(result, "records"):
        home = next(_HOMES[kind.__name__] for kind in type(result).__mro__ if kind.__name__ in _HOMES)
        module, _, name = home.partition(":")
        document: Document = getattr(import_module(f"creases.show.report.{module}"), name)(result)
        return document
    title = f"Growth: {plural(len(result.records), 'growth step')}"
    if not result.epochs:
        return Document(title, "No epochs yet.")
    sections = [_overview(result)]
    sections += [_stages(result)] if result.stages else []
    sections += [_steps(result, names)] if result.records else []
    return Document(title, result.explain_end(), sections, _values(result, names))


def _values(history: History, names: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was spent, why the run ended, every stage and every growth step as plain values."""
    same = ("number", "epoch", "place", "action", "units", "removed", "undone")
    steps = [
        {
            **{name: getattr(record, name) for name in same},
            "width": list(record.width),
            "kept": history.keeps(record),
            "why": record.why(**names),
            "loss_before": record.before["loss"],
            "loss_after": record.later.get("loss"),
            "score_after": record.later.get("validation_score"),
        }
        for record in history.records
    ]
    return {
        "budget": history.setting.get("budget"),
        "spent": {name: history.last[name] for name in ("epochs", "seconds", "multiply_adds")},
        "epochs": round(history.last["epochs"], 6),  # of training, those of stages that were undone included
        "epochs_in_history": len(history.epochs),
        "kept_epoch": history.best_epoch,
        "stages": history.stages,
        "growth_ended": history.growth_ended,
        "ended": history.ending,
        "growth_steps": steps,
    }


def _overview(history: History) -> Section:
    """Return the size of the network before and after, its scores, and what the run has spent."""
    first, last, best = history.epochs[0], history.last, history.best_epoch
    network = history.epochs[best - 1] if best else first
    before, after = (_widths(epoch["widths"]) for epoch in (first, network))
    start = " (the linear model)" if history.records and history.records[0].is_linear else ""
    rows = [
        ("epochs", f"{len(history.epochs)}, {plural(history.steps, 'optimizer step')}"),
        ("growth steps", f"{len(history.records)}, {sum(map(history.keeps, history.records))} kept"),
        ("hidden units", f"{before}{start} → {after}"),
        ("parameters", f"{first['parameters']:,}{start} → {network['parameters']:,}"),
        ("network", f"from epoch {best}" if best else "the linear model at the start"),
    ]
    for name, key in ((history.measure, "score"), (f"{history.measure}, validation", "validation_score")):
        if best and network[key] is not None:
            rows.append((name, f"{network[key]:.4g}"))
    work, large = last["multiply_adds"], {1e12: " trillion", 1e9: " billion", 1e6: " million", 1: ""}
    size = next((size for size in large if work >= size), 1)
    spent = f"{format_value(last['epochs'], 4)} epochs, {format_number(last['seconds'])} s"
    rows += [("budget", history.setting["budget"])] if "budget" in history.setting else []
    rows.append(("spent", f"{spent}, {format_value(work / size, 3)}{large[size]} multiply-adds"))
    return facts("Overview", rows, text=history.explain_end())


def _widths(widths: Mapping[str, int]) -> str:
    """Return the widths of layers: ``4-8``."""
    return "-".join(map(str, widths.values()))


def _stages(history: History) -> Section:
    """Return a row for each stage of growth: the widths, both held-out losses, whether it pays."""
    text = (
        "In each stage a wider network is trained that begins as the others did. It is kept if its validation loss is "
        "below that of the best network so far by more than a standard error, and by enough for its size; otherwise it "
        "is undone."
    )
    rows = [
        [
            str(number),
            str(stage["epoch"]),
            _widths(stage["widths"]),
            *(_loss(stage[name]) for name in ("loss_grown", "loss_training_on")),
            f"{_loss(stage['gain'])} ± {_loss(stage['error'])}",
            history.stage_outcome(stage) or "yes",
        ]
        for number, stage in enumerate(history.stages, 1)
    ]
    heads = ("stage", "epoch", "hidden units", "loss", "loss before", "improvement", "kept")
    return table("Growth stages", heads, rows, text=text)


def _steps(history: History, names: Mapping[str, Any]) -> Section:
    """Return a row for each growth step: what, where, its effect, and why."""
    kinds = {"accuracy": "cross-entropy", "R²": "squared error"}
    kind = kinds.get(history.measure, "as given")
    if names.get("scaling") is not None and kind == "squared error":
        kind += ", 1: predicting the mean"
    text = (
        f"The training loss ({kind}) is given just before a step, right after it, and once trained, just before the "
        "next. Predictions changed are those of training rows that the step alone changed, before training."
    )
    scored = any(record.later.get("validation_score") is not None for record in history.records)
    heads = ["step", "epoch", "what", "where", "units", "loss before", "right after", "once trained"]
    heads += [f"validation {history.measure}"] if scored else []
    rows = [[*_step_cells(record, history, scored), record.why(**names)] for record in history.records]
    several = len({record.place for record in history.records}) > 1
    detail = (*(() if several else ("where",)), "right after", "predictions changed")
    return table("Growth steps", [*heads, "predictions changed", "why"], rows, detail=detail, text=text)


def _step_cells(record: Record, history: History, scored: bool) -> list[str]:
    outcome = history.outcome(record)
    before = history.epochs[record.epoch - 1]["validation_score"] if 0 < record.epoch <= len(history.epochs) else None
    scores = [record.before.get("validation_score", before), record.later.get("validation_score")]
    return [
        str(record.number),
        str(record.epoch),
        record.what + (f" ({outcome})" if outcome else ""),
        record.place,
        str(record.width[1]) if record.is_linear else f"{record.width[0]} → {record.width[1]}",
        *(_loss(part.get("loss")) for part in (record.before, record.after, record.later)),
        *([" → ".join("–" if score is None else f"{score:.3f}" for score in scores)] if scored else []),
        "–" if record.changed is None else str(record.changed),
    ]


def _loss(value: float | None) -> str:
    """Return a loss with four decimals, a tiny one with an exponent; a dash where it is not known."""
    return "–" if value is None else f"{value:.4f}" if abs(value) >= 1e-4 or not value else f"{value:.1e}"
