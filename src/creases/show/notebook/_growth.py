"""Growth in a notebook: histories, and estimators with theirs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from creases._text import plural
from creases.growth import History
from creases.show._figures._table_model import plot_curves
from creases.show._style import class_color
from creases.show.notebook import _card as card
from creases.show.notebook._picture import draw_figure
from creases.tables import (
    GrownModel,
    RowModel,
    TableModel,
    describe_model,
    describe_stage,
    describe_step,
    fitted_rows,
    model_graphs,
)

#: Columns and planes that are drawn.
CURVES = 6


def history_html(history: History) -> str:
    """Return a run's curves and growth steps."""
    return card.card("History", history_parts(history))


def history_parts(history: History) -> str:
    """Return what is said about a run: its end, its curves, its growth steps."""
    if not history.epochs:
        return card.paragraph("No epochs yet.")
    epochs, last = history.epochs, history.epochs[-1]
    measure = history.measure
    kept = epochs[history.best_epoch - 1] if history.best_epoch else None
    about: list[tuple[str, Any]] = [
        ("epochs", f"{len(epochs)}, {plural(history.steps, 'optimizer step')}"),
        ("growth steps", f"{len(history.records)}, {sum(map(history.keeps, history.records))} kept"),
        ("parameters", f"{epochs[0]['parameters']:,} → {(kept or epochs[0])['parameters']:,}"),
        ("network kept", f"epoch {history.best_epoch}" if kept else "the linear model at the start"),
    ]
    for name, key in ((measure, "score"), (f"{measure}, validation", "validation_score")):
        if kept is not None and kept[key] is not None:
            about.append((name, card.number(kept[key])))
    about += [("run ended", history.ended)] if history.ended else [("state", f"running, epoch {last['epoch']}")]
    marks = [record.epoch - 1 for record in history.records]
    drawn = [_curve(history, key, marks) for key in ("loss", "score")]
    return card.beside(card.facts(about), *drawn) + _step_table(history)


def estimator_html(estimator: Any) -> str:
    """Return an estimator: the parameters that were changed and, when it is fitted, its network and its history."""
    parameters = estimator.get_params(deep=False)
    defaults = type(estimator)().get_params(deep=False)
    changed = [(name, repr(value)) for name, value in parameters.items() if repr(value) != repr(defaults[name])]
    title = type(estimator).__name__
    settings = card.facts(changed) if changed else card.paragraph("Default parameters.", faint=True)
    if not hasattr(estimator, "model_"):
        return card.card(f"{title}, not fitted", settings)
    net = estimator.network_
    widths = [net.n_in, *(layer.out_features for layer in net.module() if hasattr(layer, "out_features"))]
    about: list[tuple[str, Any]] = [("network", "-".join(map(str, widths)) + " (inputs, hidden units, outputs)")]
    if hasattr(estimator, "classes_"):
        about.append(("classes", ", ".join(map(str, estimator.classes_))))
    if hasattr(estimator, "feature_names_in_"):
        about.append(("inputs", ", ".join(map(str, estimator.feature_names_in_))))
    grown = [history_parts(estimator.history_)] if hasattr(estimator, "history_") else _words(estimator.model_)
    return card.card(title, card.facts(about), settings if changed else "", *grown)


def table_html(model: TableModel) -> str:
    """Return the model of a table: its columns, its scores beside simpler models, and the model in words."""
    return card.card("Model of a table", *_facts(model), *_words(model))


def grown_html(model: GrownModel) -> str:
    """Return a grown network of a table: its columns, its scores beside simpler models, and its history."""
    history = model.history
    return card.card("Grown network of a table", *_facts(model), *([] if history is None else [history_parts(history)]))


def _facts(model: RowModel) -> list[str]:
    """Return what a model predicts, from how many rows, and its scores."""
    classes = "" if model.classes is None else f": {', '.join(model.classes)}"
    about: list[tuple[str, Any]] = [("predicts", (model.target or "y") + classes)]
    if model.data is not None:
        data = model.data
        rows = f"{len(data.train):,}, {len(data.validation):,}, {len(data.test):,}"
        about += [("rows: training, validation, test", rows)]
    about.append(("bends", str(model.network.n_units)))
    has_scores = "scores" in model.facts or (model.data is not None and model.data.source is not None)
    scores = model.scores if has_scores else None
    measure = "R²" if model.classes is None else "accuracy"
    table = "" if scores is None else card.table((measure, *scores.columns), list(scores.itertuples()))
    return [card.beside(card.facts(about), table)]


def _words(model: TableModel) -> list[str]:
    """Return the model in words, and what each stage brought."""
    opening, *lines = describe_model(model, X=fitted_rows(model))
    words = card.table(("column", "what it adds"), [line.split(": ", 1) for line in lines])
    stages = card.table(("stages",), [(describe_stage(step, model.task),) for step in model.steps])
    return [card.paragraph(opening), words, _small_curves(model), stages]


def _small_curves(model: TableModel) -> str:
    """Return the most important columns as small pictures; "" if nothing changes the prediction."""
    if not model_graphs(model):
        return ""
    figure = partial(plot_curves, model, max_terms=CURVES, columns=CURVES // 2)
    return card.image(draw_figure(figure), "What the most important columns add")


def _curve(history: History, key: str, marks: Sequence[float]) -> str:
    name = "loss" if key == "loss" else history.measure
    series = [
        (f"{name}{kind}", [epoch[prefix + key] for epoch in history.epochs], class_color(k))
        for k, (kind, prefix) in enumerate((("", ""), (", validation", "validation_")))
    ]
    return card.curves([line for line in series if any(value is not None for value in line[1])], marks)


def _step_table(history: History) -> str:
    rows = [
        (
            record.number,
            record.epoch,
            describe_step(record) + ("; undone" if record.undone else ""),
            record.place,
            f"{record.width[0]} → {record.width[1]}",
            card.number(record.before["loss"]),
            card.number(record.after["loss"]),
            record.why(),
        )
        for record in history.records
    ]
    heads = ("step", "epoch", "what", "place", "width", "loss before", "after", "why")
    return card.table(heads, rows) if rows else card.paragraph("No growth steps.", faint=True)
