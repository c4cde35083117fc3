"""Pages without a viewer: a history alone, an estimator, a network of many inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from creases._text import plural
from creases._validation import check_box
from creases.errors import InputError
from creases.growth import History
from creases.network import Network
from creases.regions import line, plane
from creases.show._figures._growth import plot_growth
from creases.show.report._formatting import Section, format_float, format_integer
from creases.show.report._maps import write_partition_report
from creases.show.report._rendering import render_themes
from creases.show.report._sections import network_sections
from creases.show.report._static_pages import write_sections
from creases.tables import describe_step

#: The box of a network that is reported on, where none is given.
BOX = (-1.0, 1.0)


def write_history_page(history: History, out: Path, *, estimator: Any = None) -> None:
    """Write the curves and growth steps of a run, with the names that an estimator knows."""
    if not history.epochs:
        raise InputError("history", "have at least one epoch", "none")
    kept = history.epochs[history.best_epoch - 1] if history.best_epoch else history.epochs[0]
    score = history.measure
    rows = [
        ["epochs", format_integer(len(history.epochs))],
        ["network", f"from epoch {history.best_epoch}" if history.best_epoch else "the linear model at the start"],
        ["parameters", f"{history.epochs[0]['parameters']} → {kept['parameters']}"],
    ]
    if history.best_epoch:
        rows += [
            [name, format_float(kept[key])]
            for name, key in ((score, "score"), (f"{score}, validation", "validation_score"))
            if kept[key] is not None
        ]
    ends = [f"Growth stopped: {history.growth_ended}."] if history.growth_ended else []
    ends += filter(None, [history.explain_size()])
    ends += [f"Training stopped: {history.ended}."] if history.ended else ["The run is not finished."]
    picture = render_themes(lambda: plot_growth(history, kept_epoch=history.kept, score=score), dpi=110)
    text = history.explain() if estimator is None else estimator.summary().rpartition("\n\n")[0]  # the table is above
    sections: list[Section] = [
        {"title": "Overview", "text": " ".join(ends), "table": {"columns": ["", ""], "rows": rows}},
        {"title": "Curves", "picture": picture, "note": "Each mark above a curve is a growth step.", "size": "wide"},
        *([{"title": "Growth steps", "table": _ledger(history)}] if history.records else []),
        {"title": "In words", "text": text, "size": "full"},
    ]
    name = "Growth" if estimator is None else type(estimator).__name__
    title = f"{name}: {plural(len(history.records), 'growth step')}"
    write_sections(out, title, " ".join(ends), sections)


def write_network_page(net: Network, out: Path, box: Any) -> None:
    """Write the map of a network of one or two inputs, or the statistics of one with more, in a box."""
    limits = check_box(BOX if box is None else box, net.n_in)
    if net.n_in == 1:
        write_partition_report(line(net, limits[:, 0], limits[:, 1]), out, name="network")
    elif net.n_in == 2:
        write_partition_report(plane(net, limits), out, name="network")
    else:
        lead = f"In the box {BOX} of every input." if box is None else "In the given box of inputs."
        title = f"network: {plural(net.n_in, 'input')}, {plural(net.n_units, 'unit')}"
        write_sections(out, title, lead, network_sections(net, box=limits))


def _ledger(history: History) -> dict[str, Any]:
    rows = [
        [
            f"{record.number}, after epoch {record.epoch}",
            describe_step(record) + ("; undone" if record.undone else ""),
            record.place,
            f"{record.width[0]} → {record.width[1]}",
            *("–" if part["loss"] is None else format_float(part["loss"]) for part in (record.before, record.after)),
        ]
        for record in history.records
    ]
    return {"columns": ["step", "what", "place", "width", "loss before", "loss after"], "rows": rows}
