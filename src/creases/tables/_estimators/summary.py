"""The growth of an estimator, in words and as a table."""

from __future__ import annotations

from typing import Any

from creases._text import plural
from creases.growth import History, Record


def explain_history(history: History, names: dict[str, Any], architecture: str) -> str:
    """Explain a run and each growth step of it; ``architecture`` are the network's widths, such as 4-5-3."""
    steps = [_step(record, history, names) for record in history.records]
    return "\n\n".join([_overview(history, architecture), *steps])


def summary_table(history: History) -> str:
    """Return the growth steps as lines of text; losses and scores are those before the next step."""
    held = bool(history.epochs) and history.epochs[0]["validation_loss"] is not None
    head = ["step", "epoch", "action", "layer", "width", "parameters", "loss", "score"]
    head += ["validation loss", "validation score"] if held else []
    start = history.records[0].epoch if history.records else len(history.epochs)
    lines = [["start", "0", "", *_size(history), *_numbers(history.epochs[start - 1], held)]] if start else []
    for record in history.records:
        width = f"{record.width[0]} -> {record.width[1]}"
        when = [str(record.number), str(record.epoch), record.action + ", undone" * record.undone, record.place]
        lines.append([*when, width, str(record.parameters[1]), *_numbers(record.later, held)])
    sizes = [max(len(line[k]) for line in [head, *lines]) for k in range(len(head))]
    return "\n".join("  ".join(map(str.rjust, line, sizes)) for line in [head, *lines])


def _size(history: History) -> list[str]:
    """Return the layers, widths and parameters at the start."""
    first = history.epochs[0]
    return [", ".join(first["widths"]), ", ".join(map(str, first["widths"].values())), str(first["parameters"])]


def _numbers(values: Any, held: bool) -> list[str]:
    names = ("loss", "score", "validation_loss", "validation_score")[: 4 if held else 2]
    return ["" if values.get(name) is None else f"{values[name]:.4g}" for name in names]


def _overview(history: History, architecture: str) -> str:
    """Summarise the run in a sentence or two."""
    epochs = len(history.epochs)
    best = history.best_epoch
    at = history.epochs[best - 1] if best else {"score": None, "validation_score": None}  # the start was not measured
    run = f"{plural(epochs, 'epoch')} and {plural(len(history.records), 'growth step')}"
    text = f"The network is {architecture} (inputs, hidden units, outputs) after {run}."
    kinds = (("score", "training"), ("validation_score", "validation"))
    scores = [f"{at[name]:.3g} on {rows} rows" for name, rows in kinds if at[name] is not None]
    measure = history.measure[0].upper() + history.measure[1:]
    text += f" {measure}: {', '.join(scores)}." if scores else ""
    return text + (f" Stopped: {history.ended}." if history.ended else "")


def _step(record: Record, history: History, names: dict[str, Any]) -> str:
    text = record.explain(**names)
    if not record.undone and not history.keeps(record):
        text += " It did not lower the validation loss and is not in the final network."
    return text
