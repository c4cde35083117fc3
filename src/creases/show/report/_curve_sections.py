"""Sections about a model of curves: its words, its curves, its planes, and what each stage brought."""

from __future__ import annotations

from functools import partial

from matplotlib.figure import Figure

from creases.show._figures._table_model import plot_term, term_height
from creases.show._style import new_figure
from creases.show.report._curve_charts import column_charts, line_chart
from creases.show.report._formatting import Section, pluralize
from creases.show.report._rendering import render_themes
from creases.tables import (
    LevelGraph,
    NumberGraph,
    PairGraph,
    TableModel,
    describe_model,
    describe_stage,
    fitted_rows,
    model_graphs,
)

Graph = NumberGraph | LevelGraph | PairGraph

#: Columns that have a chart, and columns that have a line.
MAX_CHARTS, MAX_LINES = 24, 16

#: Pairs that have a picture, and inches of its width.
MAX_PICTURES, WIDTH = 6, 3.4

#: Pixels for an inch of a picture.
DPI = 190


def words_section(model: TableModel) -> Section:
    """Return the model in words, a line for each column."""
    opening, *lines = describe_model(model, X=fitted_rows(model), max_lines=MAX_LINES)
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
    return model_graphs(model, X=fitted_rows(model))


def draw_pair(graph: PairGraph) -> Figure:
    """Draw what two columns add together, on a figure of its own."""
    figure, (ax,) = new_figure(WIDTH, term_height(graph))
    plot_term(graph, ax=ax)
    return figure
