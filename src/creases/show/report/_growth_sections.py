"""The sections of the report of a growth run."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from creases._document import Document, Section, group_sections, table
from creases._text import format_number, plural
from creases._typing import Floats, Ints
from creases._versions import version
from creases.errors import InputError
from creases.show.report._network_sections import network_sections
from creases.show.report._page import series
from creases.show.report._quality import confidence_sections, hardest_section, headline, quality_sections
from creases.show.report._slices import column_weights, names_of, table_rows
from creases.show.report._table_model import DOES, GOOD, USE, WRONG, words_section
from creases.tables import (
    Baseline,
    CategoryEffect,
    GrownModel,
    NumberEffect,
    RowChanges,
    SavedRun,
    data_box,
    effects,
    find_changes,
    interactions,
    model_baselines,
)

if TYPE_CHECKING:
    from creases.regions import LinePartition, PlanePartition


# What a network does to the rows of a table: columns that matter, exact effects.

#: Largest number of columns with a bar, and with a chart; of pairs; of rows whose own curves are drawn.
MAX_BARS, CHARTS, PAIRS, CURVES = 15, 6, 8, 25

#: Largest number of rows to compute effects at, of knots of a curve drawn, and of breakpoints marked.
MAX_EFFECT_ROWS, KNOTS, MARKS = 1000, 150, 25

#: Largest number of outputs whose effects are drawn.
MAX_OUTPUTS = 10


def _unit(run: SavedRun) -> str:
    problem = run.data.problem
    return f"in the units of {problem.target or 'the target'}" if problem.classes is None else "in log-odds"


def _importance(run: SavedRun, weights: Mapping[str, float]) -> Section:
    """Return a bar for each column: the mean size of its coefficient times its standard deviation."""
    listed = list(weights.items())
    text = (
        f"How far a typical change of the column moves the prediction, {_unit(run)}: the mean absolute "
        "coefficient over the training rows times the standard deviation of the column."
    )
    if len(listed) > MAX_BARS:
        text += f" The {MAX_BARS} most important of {plural(len(listed), 'column')}."
    bars = _bars(listed[:MAX_BARS], main=2)
    return {"title": "Most important columns", "text": text, "bars": bars}


def _bars(sizes: Sequence[tuple[str, float]], main: int = 0) -> list[dict[str, Any]]:
    """Return bars of names with their sizes, the largest first; the main ones stand out."""
    top = sizes[0][1] or 1.0
    return [
        {"name": name, "share": size / top, "text": format_number(size), "main": k < main}
        for k, (name, size) in enumerate(sizes)
    ]


def _interactions(run: SavedRun) -> list[Section]:
    """Return a bar for each of the pairs of columns that interact most."""
    problem = run.data.problem
    found = interactions(run.net, problem.X[run.data.train], **names_of(run.data.problem))
    pairs = [*found.head(PAIRS).itertuples(index=False, name=None)]
    if not pairs:
        return []
    text = f"Pairs of columns where the effect of one depends on the value of the other, {_unit(run)}."
    bars = _bars([(f"{a} × {b}", size) for a, b, size in pairs])
    return [{"title": "Interactions", "text": text, "bars": bars}]


def _effect_charts(run: SavedRun, weights: Mapping[str, float]) -> Section:
    """Return a chart of the exact effect of each of the most important columns."""
    problem, charts = run.data.problem, []
    X = problem.X[:: -(-len(problem.X) // MAX_EFFECT_ROWS)]
    for name in list(weights)[:CHARTS]:
        try:
            effect = effects(run.net, X, name, **names_of(run.data.problem))
        except InputError:  # a column that does not vary over these rows
            continue
        charts.append(_chart(effect))
    text = (
        f"How the prediction ({_unit(run)}) changes with one column while the others keep their values: the exact mean "
        f"over {plural(len(X), 'row')} (partial dependence)."
    )
    is_single = run.data.n_outputs <= 2
    text += " Thin lines are single rows." if is_single else " Scores are relative to the mean of all classes."
    if any(line.get("marks") for chart in charts for line in chart["series"]):
        text += " Circles mark breakpoints."
    return {"title": "Effect of each column", "text": text, "charts": charts, "size": "full"}


def _chart(effect: NumberEffect | CategoryEffect) -> dict[str, Any]:
    """Return the chart of an effect: curves over numbers, bars or points over categories and over two values."""
    if isinstance(effect, NumberEffect) and len(np.unique(effect.values)) == 2:
        effect = _two_categories(effect)
    one = len(effect.outputs) == 1
    names: list[dict[str, Any]] = [{} if one else {"name": name} for name in effect.outputs]
    title, axis, drawn = effect.column, dict[str, Any](name=effect.column), list[dict[str, Any]]()
    if isinstance(effect, CategoryEffect):
        count, kind = len(effect.categories), "bars" if one else "points"
        axis |= {"range": [-0.6, count - 0.4], "labels": list(effect.categories)}
        drawn += [series(kind, range(count), effect.mean[:, k], k, **name) for k, name in enumerate(names)]
    else:
        for row in _spread(len(effect.starts) - 1, CURVES) if one else ():
            x, y = effect.curve(int(row))
            inner = _spread(len(x), KNOTS)
            drawn.append(series("line", x[inner], y[inner, 0], faint=True))
        kept, marks = _spread(len(effect.grid), KNOTS), len(effect.grid) <= MARKS
        for k, name in enumerate(names):
            drawn.append(series("line", effect.grid[kept], effect.mean[kept, k], k, marks=marks, **name))
        title += f" ({plural(len(effect.grid) - 2, 'breakpoint')})"
    return {"title": title, "x": axis, "y": {"name": effect.outputs[0] if one else "class score"}, "series": drawn}


def _spread(count: int, most: int) -> Ints:
    """Return at most so many of the numbers below a count, evenly spread from the first to the last."""
    return np.unique(np.linspace(0, count - 1, min(most, count)).astype(int))


def _two_categories(effect: NumberEffect) -> CategoryEffect:
    """Return the effect of a column of two values, such as 0 and 1, at these values: between them there is no row."""
    values, counts = np.unique(effect.values, return_counts=True)
    ends = np.stack([effect.heights[effect.starts[:-1]], effect.heights[effect.starts[1:] - 1]], axis=1)
    low, high = map(format_number, values.tolist())
    return CategoryEffect(effect.column, effect.outputs, (low, high), counts, ends)


# The smallest changes that would change the decisions that are closest to another one.

#: Rows that are looked at, and seconds for each.
CLOSEST, SECONDS = 8, 0.5

#: Largest network whose rows are looked at: inputs and units.
MAX_INPUTS, MAX_UNITS = 64, 256


def change_sections(model: GrownModel) -> list[Section]:
    """Return a table of the rows with the smallest margins, and for each the smallest change of its decision."""
    data, net = model.data, model.network
    if data is None or model.classes is None or net.n_in > MAX_INPUTS or net.n_units > MAX_UNITS:
        return []
    problem = data.problem
    outputs = np.sort(net(problem.X), axis=1)
    parts = {"test": data.test, "validation": data.validation, "training": data.train}
    part = next(name for name, rows in parts.items() if len(rows))
    closest = parts[part][np.argsort((outputs[:, -1] - outputs[:, -2])[parts[part]], kind="stable")[:CLOSEST]]
    answers = [find_changes(model, problem.X[row], budget=SECONDS) for row in closest]
    numbers = table_rows(data)
    predicted = model.schema.class_numbers(net(problem.X[closest]))
    sizes = [answer.answers[0].size if answer.answers else float("inf") for answer in answers]
    cells = [
        [str(numbers[row]), model.classes[problem.y[row]], model.classes[predicted[k]], *_cells(answers[k])]
        for k, row in sorted(enumerate(closest.tolist()), key=lambda pair: sizes[pair[0]])
    ]
    instance, complete = data.names["instance"], sum(answer.complete for answer in answers)
    text = (
        f"The {len(cells)} {part} {instance}s closest to the decision boundary, and for each the smallest "
        "change within the range of the data that flips its prediction. The size is, for each column, 0.1 and its "
        f"change in standard deviations. For {complete} of {len(answers)} all smaller changes were searched."
    )
    heads = [instance, problem.target or "class", "predicted", "if", "becomes", "size", "smallest?"]
    return [table("What would flip a prediction", heads, cells, text=text)]


def _cells(changes: RowChanges) -> list[str]:
    """Return the change in words, what is predicted then, its size and whether it is the smallest."""
    if not changes.answers:
        return ["no change within the range of the data flips it", "–", "–", "yes" if changes.complete else "not found"]
    answer = changes.answers[0]
    state = "yes" if changes.complete else f"size ≥ {changes.lower_bound:.3g}"
    return [str(answer), answer.prediction, f"{answer.size:.3g}", state]


#: What a reader asks of a network that grew, beside what one asks of every model.
GREW, SURE, DETAILS = "Why did it grow?", "How confident is it?", "The network in detail"

#: Largest number of rows for the change of the function.
MAX_ROWS = 5000


def grown_document(model: GrownModel) -> Document:
    """Return what is said of a grown network of a table in words and numbers, its history included if it is known."""
    sections, scores = [], []
    if model.data is not None and model.data.source is not None:
        scores = model_baselines(model)
        sections += group_sections(GOOD, quality_sections(model.data, scores))
    if model.network.n_in <= MAX_INPUTS:
        sections += group_sections(DOES, [words_section(model)])
    if model.history is not None and model.data is not None:
        sections += group_sections(GREW, model.history.describe(**model.data.names).sections)
    lead = headline(model.schema.target, len(model.schema.features), model.schema.task, scores)
    return Document("Grown network of a table", lead, sections)


def growth_sections(
    run: SavedRun, models: Sequence[Baseline], partition: LinePartition | PlanePartition, model: str, again: str
) -> list[Section]:
    """Return all sections by the questions that they answer, one of them the place of the viewer.

    ``models`` are the scores of the network and of the baselines, ``partition`` is one of the kept network, ``model``
    its file, ``again`` are the commands that repeat the run.
    """
    problem, net = run.data.problem, run.net
    weights = column_weights(net, run.data)
    of_network = network_sections(
        net,
        box=data_box(problem.X),
        X=problem.X,
        y=problem.y,
        features=problem.features,
        classes=problem.classes,
        partition=partition,
    )
    effects_of_columns = [_importance(run, weights)]
    if run.data.n_outputs <= MAX_OUTPUTS:
        effects_of_columns += [*_interactions(run), _effect_charts(run, weights)]
    viewer: Section = {"title": "", "viewer": True, "group": DOES}
    good = group_sections(GOOD, quality_sections(run.data, models))
    is_table = run.data.names["instance"] == "row"
    return [
        *([*good, viewer] if is_table else [viewer, *good]),
        *group_sections(DOES, effects_of_columns if is_table else []),
        *group_sections(GREW, history_sections(run)),
        *group_sections(WRONG, [hardest_section(run.model, models[0].predictions)]),
        *group_sections(
            SURE,
            [*confidence_sections(run.data, models[0]), *change_sections(run.model)],
        ),
        *group_sections(USE, [_loading(run, model), _reproduction(run, again)]),
        *group_sections(DETAILS, of_network),
    ]


def history_sections(run: SavedRun) -> list[Section]:
    """Return what the history says of itself; growth steps with the largest change of an output beside each."""
    data, (overview, *others) = run.data, run.history.describe(**run.data.names).sections
    parts = f"{len(data.train):,} training, {len(data.validation):,} validation, {len(data.test):,} held-out test"
    about = [["rows", parts], ["inputs", str(data.problem.X.shape[1])]]
    rows = [*about, *overview["table"]["rows"]]
    sections = [overview | {"table": overview["table"] | {"rows": rows}}, *others]
    if run.history.records:
        steps, changes = sections.pop(), _changes(run)
        columns, cells = steps["table"]["columns"], steps["table"]["rows"]
        columns = [*columns[:-1], "largest change", columns[-1]]
        cells = [[*row[:-1], changes.get(int(row[0]), "–"), row[-1]] for row in cells]
        text = (
            f"{steps['text']} The largest change is that of an output over {len(_inspected_inputs(run)):,} rows, "
            "between the network before the step and the one kept right after it. Creases in the map have the numbers "
            "of their steps."
        )
        sections.append(steps | {"text": text, "table": {"columns": columns, "rows": cells}})
    return sections


def _changes(run: SavedRun) -> dict[int, str]:
    """Return the largest immediate change of an output by growth step, if both its networks were kept."""
    X = _inspected_inputs(run)
    before = {moment.epoch: moment.net for moment in run.snapshots if moment.kind == "before"}
    changes = {}
    for moment in run.snapshots:
        if moment.record is not None and moment.epoch in before:
            difference = np.asarray(moment.net(X)) - np.asarray(before[moment.epoch](X))
            changes[moment.record] = format_number(float(np.abs(difference).max()))
    return changes


def _inspected_inputs(run: SavedRun) -> Floats:
    """Return all inputs (n, d), or a regular subset of very many."""
    X = run.data.problem.X
    return X[:: -(-len(X) // MAX_ROWS)]


def _loading(run: SavedRun, model: str) -> Section:
    names = run.data.problem.features
    listing = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    title = "Load the network"
    if not run.history.ended:
        return {"title": title, "text": f"When the run finishes, its network is in {model}."}
    gives = "one score per class; the largest is the prediction" if run.data.problem.classes else "the prediction"
    code = f"import creases\nnet = creases.read({json.dumps(model, ensure_ascii=False)})\nnet(X)"
    text = f"X has shape (n, {len(names)}), with columns in the original units: {listing}. The result is {gives}."
    return {"title": title, "text": text, "code": code}


def _reproduction(run: SavedRun, again: str) -> Section:
    """Return the commands, the settings, the digest of the data and the versions."""
    chosen = run.settings.to_dict() | {"data": Path(run.settings.data).name}
    texts = ((name, ",".join(map(str, each)) if isinstance(each, tuple) else each) for name, each in chosen.items())
    settings = [[name, str(text)] for name, text in texts if text not in (None, "")]
    packages = ("creases", "torch", "numpy", "scikit-learn")
    versions = [[name, version(name)] for name in packages]
    about = [["data, sha256", run.digest]] if run.digest else []
    rows = [*settings, *about, ["python", platform.python_version()], *versions]
    text = "The same seed gives the same network, bit for bit on the same type of machine."
    text += " Run these commands in the folder of the data file." if run.settings.is_file else ""
    return table("Reproduce it", ["setting", "value"], rows, text=text, code=again)
