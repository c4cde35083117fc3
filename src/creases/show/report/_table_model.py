"""Reports of models of tables: is it good, what does it do, and what is certain about it, as one HTML file."""

from __future__ import annotations

import json
import shlex
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from creases._text import format_number, plural, short_names
from creases._typing import Floats
from creases.errors import FileError
from creases.problems import Problem
from creases.show._figures._table_model import plot_term, term_height
from creases.show._style import new_figure
from creases.show._viewer._run import score_name
from creases.show.report._curve_charts import column_charts, line_chart
from creases.show.report._page import Section, pluralize, render_themes, write_sections
from creases.show.report._proved import proved_section
from creases.show.report._quality import format_score, quality_sections
from creases.tables import (
    Baseline,
    FitSettings,
    LevelGraph,
    NumberGraph,
    PairGraph,
    RowExplanation,
    TableModel,
    TableSplit,
    compare_models,
    describe_model,
    describe_stage,
    explain_row,
    importance,
    load,
    model_graphs,
)

if TYPE_CHECKING:
    from creases.network import Network


# Sections about rows of a model of curves: some predictions explained, and the largest errors.

#: Effects of a row that are listed, and rows with the largest errors.
EFFECTS, WORST = 3, 4


def row_sections(model: TableModel) -> list[Section]:
    """Return the explanations of a few test rows: the lowest and the highest prediction."""
    assert model.data is not None
    rows = _choose_rows(model)
    return [_row_section(_explain(model, int(row)), model.classes or ()) for row in rows]


def error_section(model: TableModel) -> Section:
    """Return the test rows with the largest errors, each with what moved it most."""
    assert model.data is not None
    rows, size = model.data.test, _losses(model)
    worst = rows[np.argsort(-size[rows], kind="stable")[:WORST]]
    table = []
    for row in worst:
        answer = _explain(model, int(row))
        moved = ", ".join(f"{each.name} {each.cell}".strip() for each in answer.effects[:2])
        about = f"{answer.name}: true {answer.truth}, predicted {answer.predicted}"
        table.append([_shorten(about, model.classes or ()), moved])
    if not table:
        return {}
    text = "The test rows with the highest loss" + ("." if model.classes is None else "; some may be decided rightly.")
    columns = ["", "moved most by"]
    return {"title": "Largest errors", "text": text, "table": {"columns": columns, "rows": table}}


def _choose_rows(model: TableModel) -> list[int]:
    assert model.data is not None
    rows = model.data.test if len(model.data.test) else model.data.train
    outputs = model.outputs(model.data.problem.X[rows])
    order = rows[np.argsort(outputs[:, -1], kind="stable")]
    return list(dict.fromkeys(int(order[k]) for k in (0, len(order) - 1)))


def _explain(model: TableModel, row: int) -> RowExplanation:
    assert model.data is not None
    problem = model.data.problem
    number = row if problem.rows is None else int(problem.rows[row])
    y = problem.y[row]
    truth = format_number(float(y)) if problem.classes is None else problem.classes[int(y)]
    return explain_row(model, problem.X[row], name=f"row {number}", truth=truth)


def _row_section(answer: RowExplanation, classes: Sequence[str]) -> Section:
    """Return a row's prediction as a sum: that of the average row, and what each column adds."""
    heading, *_ = answer.lines()
    has_amounts = bool(np.isfinite(answer.total))
    shown, rest = answer.effects[:EFFECTS], answer.effects[EFFECTS:]
    unit = answer.unit
    head = f"probability of {answer.explained}" if answer.probabilities else answer.target or "prediction"
    if has_amounts:
        start, total = f"{answer.start:.3g}{unit}", f"{answer.total:.3g}{unit}"
        amounts, left = [each.amount for each in shown], sum(each.amount for each in rest)
        cells = [_signed(amount) for amount in amounts]
        more = _signed(left)
    else:
        start, total = f"{100 * answer.start_probability:.1f} %", f"{100 * answer.probability:.1f} %"
        cells = [f"{100 * each.share:+.1f} %" for each in shown]
        more = f"{100 * sum(each.share for each in rest):+.1f} %"
    table = [["average row", start]]
    table += [[f"{each.name} {each.cell}".strip(), cell] for each, cell in zip(shown, cells, strict=True)]
    table += [[plural(len(rest), "smaller effect"), more]] if rest else []
    table.append(["this row", total])
    name, _, about = heading.partition(": ")
    points = " Ten points double the odds." if has_amounts and answer.probabilities else ""
    text = _shorten(f"{about[0].upper()}{about[1:]}.{points}", classes)
    what = head if not has_amounts or not answer.probabilities else f"{answer.explained}"
    return {"title": name, "text": text, "table": {"columns": ["", what], "rows": table}, "size": "narrow"}


def _shorten(text: str, classes: Sequence[str]) -> str:
    """Return a text with long names of classes without what they have in brackets."""
    for name, short in zip(classes, short_names(classes), strict=True):
        text = text.replace(name, short)
    return text


def _signed(value: float) -> str:
    text = format_number(abs(value))
    return f"{'−' if value < 0 else '+'}{text}"


def _losses(model: TableModel) -> Floats:
    """Return the loss (n,) of each row: cross-entropy, or the absolute error."""
    assert model.data is not None
    problem = model.data.problem
    outputs = model.outputs(problem.X)
    if problem.classes is None:
        return np.asarray(np.abs(outputs[:, 0] - problem.y))
    highest = outputs.max(axis=1, keepdims=True)
    total = np.log(np.exp(outputs - highest).sum(axis=1)) + highest[:, 0]
    return np.asarray(total - outputs[np.arange(len(outputs)), problem.y])


# Sections about a model of curves: its words, its curves, its planes, and what each stage brought.

Graph = NumberGraph | LevelGraph | PairGraph

#: Columns that have a chart, and columns that have a line.
MAX_CHARTS, MAX_LINES = 24, 16

#: Pairs that have a picture, and inches of its width.
MAX_PICTURES, WIDTH = 6, 3.4

#: Pixels for an inch of a picture.
DPI = 190


def words_section(model: TableModel) -> Section:
    """Return the model in words, a line for each column."""
    opening, *lines = describe_model(model)
    rows = [list(line.split(": ", 1)) for line in lines]
    return {
        "title": "In words",
        "text": opening[0].upper() + opening[1:],
        "table": {"columns": ["", ""], "rows": rows},
        "size": "full",
    }


def curve_sections(model: TableModel) -> list[Section]:
    """Return the charts of what each column adds."""
    graphs = [graph for graph in _graphs(model) if not isinstance(graph, PairGraph)]
    if not graphs:
        return []
    first = graphs[0]
    what = "points" if first.unit == "points" else first.unit or first.outputs[0]
    of = f" for {first.outputs[0]}" if first.unit == "points" and len(first.outputs) == 1 else ""
    text = (
        f"What each column adds to the prediction for the average row, in {what}{of}, the most important first. A "
        "curve is straight between its knots (dots). Gray at the bottom: where the rows are. "
    )
    text += "Each class has its color." if len(first.outputs) > 1 else "Bands and thin lines: two standard errors."
    section: Section = {"title": "Curves", "text": text, "charts": column_charts(graphs[:MAX_CHARTS]), "size": "full"}
    if len(graphs) > MAX_CHARTS:
        section["note"] = f"{pluralize(len(graphs) - MAX_CHARTS, 'column')} with smaller effects left out."
    return [section]


def pair_sections(model: TableModel) -> list[Section]:
    """Return charts and pictures of what pairs of columns add together, and a word about units."""
    pairs = [graph for graph in _graphs(model) if isinstance(graph, PairGraph)]
    sections: list[Section] = []
    if pairs:
        text = (
            "What two columns add together, beyond what each adds alone. Maps are exact: between the creases (lines) "
            "the value is linear in both columns. Dots are rows."
        )
        mixed = [pair for pair in pairs if bool(pair.first.levels) != bool(pair.second.levels)]
        maps = [pair for pair in pairs if pair not in mixed][:MAX_PICTURES]
        section: Section = {"title": "Pairs of columns", "text": text, "size": "full"}
        if mixed:
            section["charts"] = [line_chart(pair) for pair in mixed]
        if maps:
            section["pictures"] = [
                {"title": pair.name, **render_themes(partial(draw_pair, pair), dpi=DPI)} for pair in maps
            ]
        sections.append(section)
    if model.units is not None:
        text = (
            f"{pluralize(len(model.units.biases), 'hidden unit')} of several columns add what curves and pairs cannot "
            "show; the part that they add is listed with each row below."
        )
        if model.units.reasons:
            text += " Each grew for rows that were mispredicted before: its line above says where it bends, and why."
        sections.append({"title": "Units", "text": text, "size": "full"})
    return sections


def stage_section(model: TableModel) -> Section:
    """Return what each stage brought, a line for each."""
    lines = "\n".join(describe_stage(step, model.task) for step in model.steps)
    text = (
        "All stages were judged on the same held-out folds of the rows fitted. One is kept if it is better than the "
        "stages before by more than a standard error.\n"
    )
    return {"title": "Stages", "text": text + lines, "size": "full"}


def _graphs(model: TableModel) -> list[Graph]:
    return model_graphs(model)


def draw_pair(graph: PairGraph) -> Figure:
    """Draw what two columns add together, on a figure of its own."""
    figure, (ax,) = new_figure(WIDTH, term_height(graph))
    plot_term(graph, ax=ax)
    return figure


#: What a reader asks, in this order.
GOOD, DOES, GREW, ROWS, WRONG, CERTAIN, USE = (
    "Is it good?",
    "What does it do?",
    "What did each stage bring?",
    "Why these predictions?",
    "Where is it wrong?",
    "What is certain?",
    "Use it, reproduce it",
)


def write_table_report(folder: Path, path: str | Path) -> int:
    """Write the report of the model in a folder of ``creases fit``, whose data file is read again.

    Returns the number of its rows.
    """
    settings = FitSettings.load(folder)
    model, data = load(folder), settings.load_split()
    assert isinstance(model, TableModel)
    if tuple(data.problem.features) != model.features or data.problem.classes != model.classes:
        raise FileError(f"the model in {folder} does not belong to its data; start another run")
    name = folder.resolve().name
    scored = replace(model, data=data)
    model = scored
    if settings.config.refit:
        model = replace(model, data=data.without_test(), facts={**model.facts, "scored": scored})
    write_model_report(model, path, model_name=name, again=_commands(settings, name))
    return len(data.problem.X)


def write_model_report(model: TableModel, path: str | Path, *, model_name: str, again: str) -> Path:
    """Write the report of a model that has its rows.

    Parameters
    ----------
    model_name
        The folder of the model, for the instructions how to load it.
    again
        Commands or code that repeat the fit.
    """
    assert model.data is not None
    models = model.baselines
    sections = [
        *_group(GOOD, [_scores(model, models)]),
        *_group(DOES, [words_section(model), *curve_sections(model), *pair_sections(model)]),
        *_group(GREW, [stage_section(model)]),
        *_group(ROWS, row_sections(model)),
        *_group(WRONG, [*_errors(model, models), error_section(model)]),
        *_group(CERTAIN, [proved_section(model)]),
        *_group(USE, [_loading(model, model_name), {"title": "Reproduce it", "code": again}]),
    ]
    title = model.data.problem.name
    return write_sections(Path(path), title, _lead(model, models), [section for section in sections if section])


def _group(question: str, sections: Sequence[Section]) -> list[Section]:
    return [{**section, "group": question} for section in sections if section]


def _lead(model: TableModel, models: Sequence[Baseline]) -> str:
    """Return the answer to the first question in a sentence."""
    others = ", ".join(f"{each.name} {format_score(each.test)}" for each in models[1:])
    what = f"Predicts ‘{model.target}’" if model.target else "A model"
    size = pluralize(model.function.n_bends, "bend")
    columns = pluralize(len(set(model.columns)), "column")
    if not len(model.scored.data.test):  # type: ignore[union-attr]
        return (
            f"{what} from {columns}, with {size}: {score_name(model.task)} {format_score(models[0].train)} on all rows."
        )
    return (
        f"{what} from {columns}, with {size}: test {score_name(model.task)} {format_score(models[0].test)} ({others})."
    )


def _scores(model: TableModel, models: Sequence[Baseline]) -> Section:
    data = model.scored.data
    assert data is not None
    verdicts = [str(each) for each in compare_models(models, data)]
    if any(text.startswith("Worse") for text in verdicts):
        verdicts.append("To try: more rows, or creases grow, which grows units of many columns.")
    name, is_tested = score_name(model.task), len(data.test) > 0
    second = "RMSE" if model.classes is None else "log loss"
    bars = [
        {
            "name": "this model" if not k else each.name,
            "share": max(0.0, each.test if is_tested else each.train),
            "text": f"{format_score(each.test)}, {second} {_second_score(each)}"
            if is_tested
            else format_score(each.train),
            "main": not k,
        }
        for k, each in enumerate(models)
    ]
    held = (
        f"{pluralize(len(data.test), 'test row')} that no model has seen"
        if is_tested
        else "the rows fitted: none is held out"
    )
    return {
        "title": "Scores",
        "text": f"{name[0].upper()}{name[1:]} on {held}. " + " ".join(verdicts),
        "bars": bars,
        "note": f"On the rows fitted this model has {name} {format_score(models[0].train)}. The others are models of "
        "scikit-learn, fitted to the same rows.",
        "size": "full",
    }


def _second_score(model: Baseline) -> str:
    value = model.error if model.error is not None else getattr(model.metrics, "log_loss", None)
    return "–" if value is None else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _errors(model: TableModel, models: Sequence[Baseline]) -> list[Section]:
    """Return the residuals or the confusion matrix on the test rows."""
    data = model.scored.data
    assert data is not None
    if not len(data.test):
        return []
    sections = quality_sections(data, models)[1:2]  # of many classes there is no confusion matrix
    return [section | ({"charts": section["charts"][:1]} if "charts" in section else {}) for section in sections]


def _loading(model: TableModel, name: str) -> Section:
    code = f"import creases\nmodel = creases.load({json.dumps(name, ensure_ascii=False)})\nmodel.predict(rows)"
    more = "\nmodel.predict_proba(rows)" if model.classes is not None else ""
    text = "rows: a file, a DataFrame, or a mapping from column names to cells, as in the table."
    return {"title": "Load it", "text": text, "code": f"{code}{more}\nmodel.explain(rows)"}


def _commands(settings: FitSettings, name: str) -> str:
    return f"{settings.command(name)}\n{shlex.join(['creases', 'report', name, '--out', 'report.html'])}"


# The columns of a table behind the inputs of its network: numbers, and categories of several 0-1 inputs.


@dataclass(frozen=True, eq=False)
class Category:
    """A column of categories: some inputs of 0 and 1, or one input with two values."""

    name: str
    inputs: tuple[int, ...]  #: positions of its k inputs
    levels: tuple[str, ...]  #: its L categories
    codes: Floats  #: (L, k) values of the inputs in each category
    counts: tuple[int, ...]  #: rows in each category

    @property
    def most_frequent(self) -> int:
        """Number of the most frequent category."""
        return int(np.argmax(self.counts))

    def level_of(self, x: Floats) -> str:
        """Return the category of an input (d,)."""
        return self.levels[int(np.abs(self.codes - x[list(self.inputs)]).sum(axis=1).argmin())]


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table: positions of numeric inputs, and categories."""

    numeric: tuple[int, ...]
    categories: tuple[Category, ...]


def find_columns(problem: Problem) -> Columns:
    r"""Return the numeric and the categorical columns of a problem.

    Inputs named ``column=category`` that hold 0 and 1 are one column of categories; an input with at most two
    different values is a column of two categories.

    Examples
    --------
    >>> from creases.tables import parse_table
    >>> table = "size,color,kind\n1,red,a\n2,blue,b\n3,red,a\n4,red,b\n"
    >>> found = find_columns(parse_table(table))
    >>> found.numeric, [(column.name, column.levels, column.counts) for column in found.categories]
    ((0,), [('color', ('blue', 'red'), (1, 3))])
    """
    groups: dict[str, list[int]] = defaultdict(list)
    numeric: list[int] = []
    categories: dict[int, Category] = {}
    for position, name in enumerate(problem.features):
        column, separator, _ = name.partition("=")
        values = np.unique(problem.X[:, position])
        if separator and set(values.tolist()) <= {0.0, 1.0}:
            groups[column].append(position)
        elif len(values) <= 2:
            counts = tuple(int((problem.X[:, position] == value).sum()) for value in values)
            levels = tuple(f"{value:g}" for value in values)
            categories[position] = Category(name, (position,), levels, values[:, None], counts)
        else:
            numeric.append(position)
    for column, inputs in groups.items():
        categories[inputs[0]] = _one_hot(problem, column, inputs)
    return Columns(tuple(numeric), tuple(categories[position] for position in sorted(categories)))


def column_weights(net: Network, data: TableSplit) -> dict[str, float]:
    """Return the importance of each column at the training rows, largest first: see :func:`creases.tables.importance`.

    That is the mean size of the coefficient times the standard deviation of the column.
    """
    problem = data.problem
    found = importance(
        net, problem.X[data.train], names=problem.features, classes=problem.classes, target=problem.target or None
    )
    return dict(zip(found.columns, found.values.tolist(), strict=True))


def _one_hot(problem: Problem, column: str, inputs: list[int]) -> Category:
    levels = [problem.features[position].partition("=")[2] for position in inputs]
    kind = next((one.kind for one in problem.encoding.inputs if one.name == column), None) if problem.encoding else None
    no = kind.words[0] if kind is not None and kind.words else f"not {levels[0]}"  # yes/no columns have one input
    codes, counts = np.eye(len(inputs)), problem.X[:, inputs].sum(axis=0).astype(int).tolist()
    rest = int((problem.X[:, inputs].sum(axis=1) == 0).sum())
    if rest:  # rows in none of the categories that have an input
        levels, counts = [*levels, no if len(levels) == 1 else "other"], [*counts, rest]
        codes = np.concatenate([codes, np.zeros((1, len(inputs)))])
    return Category(column, tuple(inputs), tuple(levels), codes, tuple(counts))
