"""Results drawn and as HTML, each by the function of its kind: what ``result.plot()`` and notebooks call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from creases._text import plural
from creases._typing import Floats
from creases.certify import Change
from creases.compare import Difference, Similarity
from creases.errors import InputError
from creases.growth import History
from creases.network import Network, Piece
from creases.problems import Problem
from creases.regions import Cell, LinePartition, PlanePartition, SpacePartition
from creases.show._figures._growth import plot_growth_curves
from creases.show._figures._line import plot_line
from creases.show._figures._plane import plot_plane
from creases.show._figures._regions import plot_cell, plot_space
from creases.show._figures._table_model import plot_curves
from creases.show._style import class_color
from creases.show.notebook import _card as card
from creases.show.notebook._card import draw, draw_figure
from creases.show.report._quality import scores_section
from creases.show.report._subject import count_parameters
from creases.show.report._table_model import table_document, words_section
from creases.tables import GrownModel, TableModel, describe_step, model_baselines, model_graphs

# Networks and pieces in a notebook.

#: Rows and columns of coefficients that are shown.
MATRIX = 8


def network_html(net: Network) -> str:
    """Return a network's shapes, and its bends in order with the number of their units."""
    parameters = count_parameters(net)
    rows = []
    for k, i in enumerate(net.bends):
        step = net.steps[i]
        kind = "ReLU" if step.op == "relu" else f"choice among {net.candidates[k]}"
        if step.op == "relu" and "leak" in step.tensors:
            kind = "leaky ReLU"
        units = int(net.unit_starts[k + 1] - net.unit_starts[k])
        rows.append((k, step.path, kind, "×".join(map(str, step.shape)), units))
    about = [
        ("inputs", "×".join(map(str, net.input_shape)) or "1"),
        ("outputs", "×".join(map(str, net.output_shape)) or "1"),
        ("units", card.number(net.n_units)),
        ("parameters", card.number(parameters)),
        ("precision", str(net.dtype).removeprefix("torch.") + ("" if net.device.type == "cpu" else f", {net.device}")),
    ]
    heads = ("bend", "place", "kind", "shape", "units")
    bends = (
        card.table(heads, rows) if rows else card.paragraph("No nonlinearities: a single affine function.", faint=True)
    )
    return card.card("Network", card.beside(card.facts(about), bends))


def piece_html(piece: Piece) -> str:
    """Return the coefficients ``J x + y`` as a table; of a batch the shapes and the first."""
    J, y = (_array(part) for part in piece)
    note = ""
    if J.ndim > 2:
        count = int(np.prod(J.shape[:-2]))
        shapes = f"J {'×'.join(map(str, J.shape))}, y {'×'.join(map(str, y.shape))}"
        note = card.paragraph(f"{plural(count, 'affine function')} ({shapes})" + ("; the first:" if count else "."))
        if not count:
            return card.card("Piece", note)
        J, y = J.reshape(-1, *J.shape[-2:])[0], y.reshape(-1, y.shape[-1])[0]
    return card.card("Piece: J x + y", note, coefficient_table(J, y))


def coefficient_table(J: Any, y: Any) -> str:
    """Return J (m, n) and y (m,) as a table with a row for each output; many inputs are cut."""
    J, y = np.atleast_2d(J), np.atleast_1d(y)
    shown = min(J.shape[1], MATRIX)
    rest = ["…"] if J.shape[1] > shown else []
    heads = ["", *(f"x{i}" for i in range(shown)), *rest, "offset"]
    rows = [
        [f"output {k}", *map(float, row[:shown]), *rest, float(offset)]
        for k, (row, offset) in enumerate(zip(J, y, strict=True))
    ]
    return card.table(heads, rows, limit=MATRIX)


def _array(value: Any) -> Any:
    return value.detach().cpu().numpy() if hasattr(value, "detach") else np.asarray(value)


# Problems and nearest changes of decision in a notebook.

#: Rows and columns of a problem, and inputs of a change, that are shown.
ROWS, COLUMNS, INPUTS = 5, 8, 12


def problem_html(problem: Problem) -> str:
    """Return what a problem is about, and its first rows."""
    n, d = problem.X.shape
    kind = "regression" if problem.classes is None else f"{len(problem.classes)} classes"
    about = [("rows", card.number(n)), ("inputs", card.number(d)), ("kind", kind)]
    if problem.target:
        about.append(("target", problem.target))
    rest = ["…"] if d > COLUMNS else []
    heads = [*problem.features[:COLUMNS], *rest, problem.target or "target"]
    targets = problem.y[:ROWS]
    names = targets if problem.classes is None else [problem.classes[int(k)] for k in targets]
    rows = [
        [*map(card.number, x[:COLUMNS]), *rest, card.number(y) if problem.classes is None else y]
        for x, y in zip(problem.X[:ROWS], names, strict=True)
    ]
    note = card.paragraph(problem.description) if problem.description else ""
    return card.card(problem.name, note, card.facts(about), card.table(heads, rows))


def change_html(change: Change) -> str:
    """Return how far the decision is from changing, and the inputs that change most."""
    state = "proved" if change.proved else f"not proved: between {change.lower_bound:.4g} and {change.distance:.4g}"
    if change.point is None or change.change is None:
        reach = "exists" if np.isinf(change.lower_bound) else f"is within {change.lower_bound:.4g}"
        return card.card("Nearest change", card.paragraph(f"No other decision {reach} ({state})."))
    about = [
        ("decision", f"{change.predicted} to {change.reached}"),
        (f"{change.norm} distance", card.number(change.distance)),
        ("proof", state),
    ]
    moved = np.argsort(-np.abs(change.change), kind="stable")
    moved = moved[change.change[moved] != 0]
    rows = [(int(k), *map(card.number, (change.x[k], change.point[k], change.change[k]))) for k in moved[:INPUTS]]
    more = len(moved) - len(rows)
    note = card.paragraph(f"and {plural(more, 'smaller change')}", faint=True) if more > 0 else ""
    return card.card("Nearest change", card.facts(about), card.table(("input", "from", "to", "change"), rows), note)


# Comparisons of networks in a notebook.

#: Networks of a comparison that are shown.
NETWORKS = 12


def difference_html(difference: Difference) -> str:
    """Return what the difference of two networks is, in words and by decisions at samples."""
    lines = [card.paragraph(line) for line in str(difference).splitlines()]
    samples, counts = difference.samples, ""
    if samples is not None and len(samples.differ):
        confusion = samples.confusion()
        pairs = [(int(i), int(j), int(confusion[i, j])) for i, j in np.argwhere(confusion) if i != j]
        pairs.sort(key=lambda pair: -pair[2])
        counts = card.table(("a predicts", "b predicts", "samples"), pairs)
    verdict = "the same everywhere compared" if difference.empty else "the networks differ"
    return card.card(f"Difference: {verdict}", *lines, counts)


def similarity_html(similarity: Similarity) -> str:
    """Return agreement and CKA of all pairs of networks."""
    parts = [
        card.paragraph(f"{len(similarity.names)} networks at {similarity.samples:,} samples", faint=True),
        card.beside(
            _matrix("same decisions", similarity.agreement, similarity),
            _matrix("CKA of coefficients", similarity.cka, similarity),
        ),
    ]
    if similarity.accuracy is not None:
        rows = [(name, float(value)) for name, value in zip(similarity.names, similarity.accuracy, strict=True)]
        parts.append(card.table(("network", "accuracy"), rows))
    return card.card("Similarity", *parts)


def _matrix(title: str, values: Floats, similarity: Similarity) -> str:
    names = similarity.names[:NETWORKS]
    rows = [(name, *(f"{value:.3g}" for value in row[: len(names)])) for name, row in zip(names, values, strict=False)]
    return card.paragraph(title) + card.table(("", *names), rows, limit=NETWORKS)


# Regions in a notebook: one cell, and partitions of lines, planes and spaces with a picture.

#: Regions up to which a partition is drawn: more would take seconds, and could not be seen.
DRAWN = 20_000

#: Solids up to which a space is drawn.
SOLIDS = 500

#: Inputs and rows up to which the shape of a cell is computed.
CELL_INPUTS, CELL_ROWS = 50, 500


def line_html(partition: LinePartition) -> str:
    """Return a line's regions with the network along it."""
    outer = "all t" if partition.infinite else "t from 0 to 1"
    about = [
        ("regions", card.number(partition.count)),
        ("breakpoints", card.number(len(partition.breakpoints))),
        ("line", f"x = a + t (b − a), {outer}"),
        ("inputs, outputs", f"{partition.net.n_in}, {partition.net.n_out}"),
    ]
    picture = _picture(partition.count, lambda ax: plot_line(partition, ax=ax), 4.6, 2.6)
    return card.card("LinePartition", card.beside(card.facts(about), picture))


def plane_html(partition: PlanePartition) -> str:
    """Return a plane's regions with their picture."""
    (left, right), (low, high) = partition.box
    areas = partition.areas()
    about = [
        ("regions", card.number(partition.count)),
        ("vertices, edges", f"{card.number(len(partition.vertices))}, {card.number(len(partition.edges))}"),
        ("box", f"[{left:.4g}, {right:.4g}] × [{low:.4g}, {high:.4g}]"),
        ("largest, smallest area", f"{areas.max():.4g}, {areas.min():.4g}"),
        ("inputs, outputs", f"{partition.net.n_in}, {partition.net.n_out}"),
    ]

    def plot(ax: Any) -> None:
        plot_plane(partition, ax=ax, color="class" if partition.net.n_out > 1 else "regions")
        sides = np.diff(partition.box, axis=1).ravel()
        if not 0.4 <= sides[0] / sides[1] <= 2.5:  # inputs of different kinds: proportions have no meaning
            ax.set_aspect("auto")

    return card.card("PlanePartition", card.beside(card.facts(about), _picture(partition.count, plot)))


def space_html(partition: SpacePartition) -> str:
    """Return a space's regions, in three dimensions with their picture."""
    dimensions = len(partition.box)
    about = [
        ("regions", card.number(partition.count) + ("" if partition.complete else f", incomplete: {partition.ended}")),
        ("dimensions", card.number(dimensions)),
        ("vertices", card.number(len(partition.vertices)) if len(partition.vertices) else "not computed"),
        ("pairs of neighbors", card.number(len(partition.pairs))),
        ("inputs, outputs", f"{partition.net.n_in}, {partition.net.n_out}"),
    ]
    picture = ""
    if dimensions == 3 and len(partition.vertices) and partition.count <= SOLIDS:
        picture = _picture(partition.count, lambda ax: plot_space(partition, ax=ax), solid=True)
    return card.card("SpacePartition", card.beside(card.facts(about), picture))


def cell_html(cell: Cell) -> str:
    """Return a region: where it is, what the network is on it, what bounds it."""
    d, is_small = len(cell.x), len(cell.x) <= CELL_INPUTS and len(cell.p) <= CELL_ROWS
    at = ", ".join(f"{value:.4g}" for value in cell.x[:6]) + (", …" if d > 6 else "")
    about = [("at", f"({at})"), ("units", card.number(cell.net.n_units))]
    if is_small:
        about.append(("sides", plural(len(cell.facets), "facet")))
        about.append(("largest ball", f"radius {card.number(cell.radius)}"))
    if cell.nearest_crease is not None:
        unit = cell.net.unit(cell.nearest_crease.unit)
        about.append(("nearest crease", f"{card.number(cell.nearest_crease.distance)}, of {unit}"))
    if is_small:
        boundary = cell.nearest_boundary
        found = "does not pass through" if boundary is None else card.number(boundary.distance)
        about.append(("nearest boundary", found))
    picture = ""
    if d == 2 and is_small and np.isfinite(cell.bounding_box).all():
        picture = _picture(1, lambda ax: _plot_cell(cell, ax))
    coefficients = card.paragraph("In this region the network is J x + y:", faint=True)
    coefficients += coefficient_table(cell.J, cell.y)
    return card.card("Cell", card.beside(card.facts(about) + coefficients, picture))


def _plot_cell(cell: Cell, ax: Any) -> None:
    plot_cell(cell, ax=ax)
    ax.set_aspect("equal", adjustable="datalim")  # a thin region leaves no empty paper
    ax.get_legend().remove()  # the table beside it names what is near


def _picture(
    count: int, plot: Callable[[Any], Any], width: float = 3.4, height: float = 3.2, *, solid: bool = False
) -> str:
    """Return the picture of a partition, or why there is none."""
    if count > DRAWN:
        return card.paragraph(f"More than {DRAWN:,} regions; call plot() to draw them.", faint=True)
    return card.image(draw(plot, width, height, solid=solid), plural(count, "region"))


# Growth in a notebook: histories, and estimators with theirs.

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
    grown = [history_parts(estimator.history_)] if hasattr(estimator, "history_") else _table_parts(estimator.model_)
    return card.card(title, card.facts(about), settings if changed else "", *grown)


def table_html(model: TableModel) -> str:
    """Return the model of a table: its scores beside simpler models, the model in words, its curves, its stages."""
    return card.card("Model of a table", *_table_parts(model))


def grown_html(model: GrownModel) -> str:
    """Return a grown network of a table: what it predicts, its scores beside simpler models, and its history."""
    classes = "" if model.classes is None else f": {', '.join(model.classes)}"
    about = [("predicts", (model.schema.target or "y") + classes), ("bends", str(model.network.n_units))]
    parts = [card.facts(about)]
    if model.data is not None and model.data.source is not None:
        parts.append(card.section(scores_section(model.data, model_baselines(model))))
    parts.append(card.section(words_section(model)))
    return card.card("Grown network of a table", *parts, *([history_parts(model.history)] if model.history else []))


def _table_parts(model: TableModel) -> list[str]:
    """Return what is said of a model, with its most important curves."""
    document = table_document(model)
    *said, stages = map(card.section, document.summary)
    return [card.paragraph(document.lead), *said, _small_curves(model), stages]


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


_KINDS: dict[type, Callable[[Any], str]] = {
    Network: network_html,
    Piece: piece_html,
    Cell: cell_html,
    LinePartition: line_html,
    PlanePartition: plane_html,
    SpacePartition: space_html,
    History: history_html,
    TableModel: table_html,
    GrownModel: grown_html,
    Difference: difference_html,
    Similarity: similarity_html,
    Problem: problem_html,
    Change: change_html,
}


def to_html(result: Any) -> str:
    """Return a result as the HTML that notebooks show for it, with a picture where it has one.

    Names in it are escaped, it has no scripts and loads nothing; it takes the page's own text color.

    Parameters
    ----------
    result
        A network, a piece, a cell, a partition, a history, a difference, a similarity, a problem, a nearest
        change or an estimator.

    Examples
    --------
    >>> import creases
    >>> from creases.show.notebook._display import to_html
    >>> net = creases.read([([[1.0], [2.0]], [0.0, 1.0]), ([[1.0, -1.0]], [0.5])])
    >>> to_html(net).startswith('<div class="creases-card">')
    True
    """
    for kind, render in _KINDS.items():
        if isinstance(result, kind):
            return render(result)
    if hasattr(result, "get_params") and hasattr(result, "kinds"):
        return estimator_html(result)
    kinds = ", ".join(kind.__name__ for kind in _KINDS)
    raise InputError("result", f"be a {kinds} or an estimator of creases", type(result).__name__)


# Plots of results by their kind: what ``result.plot()`` and notebooks call.


def plot(result: Any, **options: Any) -> Any:
    """Plot a result by the function of its kind; return its axes, or the figure of a history."""
    return next(draw for kind, draw in _PLOTS.items() if isinstance(result, kind))(result, **options)


def _plot_history(history: History, **options: Any) -> Any:
    return plot_growth_curves(history, kept_epoch=history.kept, score=history.measure, **options)[0].figure


_PLOTS: dict[type, Callable[..., Any]] = {
    Cell: plot_cell,
    LinePartition: plot_line,
    PlanePartition: plot_plane,
    SpacePartition: plot_space,
    History: _plot_history,
}
