"""The document of a model of a table: is it good, what does it do, what is certain about it, in sections.

Every voice renders these: reports and the studio's export as HTML, ``creases fit`` as text, notebooks as cards.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from creases._document import Document, Section, facts, group_sections, table
from creases._text import format_number, plural
from creases.show._viewer._run import score_name
from creases.show.report._charts import column_charts, pair_chart
from creases.show.report._page import write_sections
from creases.show.report._quality import (
    confidence_sections,
    error_sections,
    format_score,
    losses,
    scores_section,
)
from creases.tables import (
    LevelGraph,
    NumberGraph,
    PairGraph,
    RowExplanation,
    TableModel,
    certify_model,
    count_rows,
    describe_stages,
    explain_row,
    has_scores,
    load_fit,
    model_baselines,
    model_graphs,
    model_words,
    scored_model,
    short_names,
    ways_to_improve,
)

if TYPE_CHECKING:
    from creases.tables import GrownModel


# The section about what is certain: the sum is the network, and what is proved about it.

#: Seconds for each proof.
PROOF_SECONDS = 2.0

#: Rows on which the sum of parts is compared with the network.
COMPARED = 2000


def proved_section(model: TableModel) -> Section:
    """Return the facts about a model of curves that are proved for all rows within the ranges of its table."""
    assert model.data is not None
    sentences = [_what_there_is(model), *certify_model(model, budget=PROOF_SECONDS).sentences()]
    return {"title": "Facts", "text": "\n".join(sentences), "size": "full"}


def _what_there_is(model: TableModel) -> str:
    """Say that the parts are the model; of one with pairs or units, how far rounding takes the network from them."""
    assert model.data is not None
    if not model.function.planes and model.function.units is None:
        whole = "sum" if model.function.link == "identity" else "product"
        return f"The curves are all there is: a prediction is their {whole}."
    X = model.data.problem.X[:COMPARED]
    gap = float(np.abs(model.function.run_layers(X) - model.function.outputs(X)).max(initial=0.0))
    return (
        "The curves, pairs and units are all there is: their sum is the network (compared on "
        f"{plural(len(X), 'row')}; largest difference {gap:.1g})."
    )


# Sections about rows of a model of curves: some predictions explained, and the largest errors.

#: Effects of a row that are listed, and rows with the largest errors.
EFFECTS, WORST = 3, 4


def row_sections(model: TableModel) -> list[Section]:
    """Return the explanations of a few test rows: the lowest and the highest prediction."""
    assert model.data is not None
    rows = model.data.test if len(model.data.test) else model.data.train
    outputs = model.function.outputs(model.data.problem.X[rows])
    order = rows[np.argsort(outputs[:, -1], kind="stable")]
    return [_row_section(_explain(model, row), model.classes or ()) for row in dict.fromkeys(order[[0, -1]].tolist())]


def error_section(model: TableModel) -> Section:
    """Return the test rows with the largest errors, each with what moved it most."""
    assert model.data is not None
    rows, loss = model.data.test, losses(model, model_baselines(model)[0].predictions)
    cells = []
    for row in rows[np.argsort(-loss[rows], kind="stable")[:WORST]]:
        answer = _explain(model, int(row))
        moved = ", ".join(f"{each.name} {each.cell}".strip() for each in answer.effects[:2])
        about = f"{answer.name}: true {answer.truth}, predicted {answer.predicted}"
        cells.append([_shorten(about, model.classes or ()), moved])
    text = "The test rows with the highest loss" + ("." if model.classes is None else "; some may be decided rightly.")
    return table("Largest errors", ["", "moved most by"], cells, text=text) if cells else {}


def _explain(model: TableModel, row: int) -> RowExplanation:
    assert model.data is not None
    problem = model.data.problem
    number = row if problem.rows is None else int(problem.rows[row])
    y = problem.y[row]
    truth = _amount(float(y)) if problem.classes is None else problem.classes[int(y)]
    return explain_row(model, problem.X[row], name=f"row {number}", truth=truth)


def _row_section(answer: RowExplanation, classes: Sequence[str]) -> Section:
    """Return a row's prediction as a sum: that of the average row, and what each column adds."""
    has_amounts = bool(np.isfinite(answer.total))
    shown, rest = answer.effects[:EFFECTS], answer.effects[EFFECTS:]
    unit = answer.unit
    head = f"probability of {answer.explained}" if answer.probabilities else answer.target or "prediction"
    if has_amounts:
        start, total = f"{_amount(answer.start)}{unit}", f"{_amount(answer.total)}{unit}"
        amounts, left = [each.amount for each in shown], sum(each.amount for each in rest)
        cells = [_signed(amount) for amount in amounts]
        more = _signed(left)
    else:
        start, total = f"{100 * answer.start_probability:.1f} %", f"{100 * answer.probability:.1f} %"
        cells = [f"{100 * each.share:+.1f} %" for each in shown]
        more = f"{100 * sum(each.share for each in rest):+.1f} %"
    rows = [["average row", start]]
    rows += [[f"{each.name} {each.cell}".strip(), cell] for each, cell in zip(shown, cells, strict=True)]
    rows += [[plural(len(rest), "smaller effect"), more]] if rest else []
    rows.append(["this row", total])
    points = " Ten points double the odds." if has_amounts and answer.probabilities else ""
    text = _shorten(f"{answer.about[0].upper()}{answer.about[1:]}.{points}", classes)
    what = head if not has_amounts or not answer.probabilities else f"{answer.explained}"
    return table(answer.title, ["", what], rows, text=text, size="narrow")


def _shorten(text: str, classes: Sequence[str]) -> str:
    """Return a text with long names of classes without what they have in brackets."""
    for name, short in zip(classes, short_names(classes), strict=True):
        text = text.replace(name, short)
    return text


def _amount(value: float) -> str:
    """Return a number with three digits, and all before the point with commas."""
    return f"{value:,.0f}" if 999.5 <= abs(value) < 1e9 else format_number(value)


def _signed(value: float) -> str:
    return f"{'−' if value < 0 else '+'}{_amount(abs(value))}"


# Sections about a model of curves: its words, its curves, its planes, and what each stage brought.

Graph = NumberGraph | LevelGraph | PairGraph

#: Columns that have a chart, and pairs that have a map or a table.
MAX_CHARTS, MAX_MAPS = 24, 6


def words_section(model: TableModel | GrownModel) -> Section:
    """Return the model in words, a line for each column, and its notes."""
    words = model_words(model)
    section = facts("In words", words.entries, text=words.opening, size="full")
    return section | {"note": "\n".join(words.notes)} if words.notes else section


def curve_sections(graphs: Sequence[NumberGraph | LevelGraph]) -> list[Section]:
    """Return the charts of what each column adds."""
    if not graphs:
        return []
    first = graphs[0]
    what = "points" if first.unit == "points" else first.unit or first.outputs[0]
    of = f" for {first.outputs[0]}" if first.unit == "points" and len(first.outputs) == 1 else ""
    text = (
        f"What each column adds to the prediction for the average row, in {what}{of}, the most important first. A "
        "curve is straight between its knots (dots). Gray at the bottom: where the rows are. "
    )
    bands = "Bands and thin lines: two standard errors of the curve, the others fixed."
    text += "Each class has its color." if len(first.outputs) > 1 else bands
    section: Section = {"title": "Curves", "text": text, "charts": column_charts(graphs[:MAX_CHARTS]), "size": "full"}
    if len(graphs) > MAX_CHARTS:
        section["note"] = f"{plural(len(graphs) - MAX_CHARTS, 'column')} with smaller effects left out."
    return [section]


def pair_sections(model: TableModel, pairs: Sequence[PairGraph]) -> list[Section]:
    """Return charts of what pairs of columns add together, and a word about units."""
    sections: list[Section] = []
    if pairs:
        mixed = [pair for pair in pairs if bool(pair.first.levels) != bool(pair.second.levels)]
        whole = [pair for pair in pairs if pair not in mixed]
        charts = [pair_chart(pair) for pair in [*mixed, *whole[:MAX_MAPS]]]
        text = "What two columns add together, beyond what each adds alone."
        if any(not pair.first.levels for pair in whole):
            text += " Maps are exact: between the creases (lines) the value is linear in both columns. Dots are rows."
        if len(pairs[0].outputs) > 1:
            text += " Each chart is of the class that the pair moves most."
        section: Section = {"title": "Pairs of columns", "text": text, "charts": charts, "size": "full"}
        if len(whole) > MAX_MAPS:
            section["note"] = f"{plural(len(whole) - MAX_MAPS, 'pair')} with smaller effects left out."
        sections.append(section)
    if model.function.units is not None:
        text = (
            f"{plural(len(model.function.units.biases), 'hidden unit')} of several columns add what curves and "
            "pairs cannot show; the part that they add is listed with each row below."
        )
        if model.function.units.reasons:
            text += " Each grew for rows that were mispredicted before: its line above says where it bends, and why."
        sections.append({"title": "Units", "text": text, "size": "full"})
    return sections


def stage_section(model: TableModel) -> Section:
    """Return what each stage brought, a line for each."""
    lines = "\n".join(describe_stages(model.function))
    text = (
        "All stages were judged on the same held-out folds of the rows fitted. One is kept if it is better than the "
        "stages before by more than a standard error.\n"
    )
    return {"title": "Stages", "text": text + lines, "size": "full"}


#: What a reader asks, in this order.
QUESTIONS = GOOD, DOES, GREW, ROWS, WRONG, CERTAIN, USE = (
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
    model, settings = load_fit(folder)
    name = folder.resolve().name
    again = f"{settings.command(name)}\n{shlex.join(['creases', 'report', name, '--out', 'report.html'])}"
    write_model_report(model, path, model_name=name, again=again)
    data = scored_model(model).data
    assert data is not None
    return len(data.problem.X)


def write_model_report(model: TableModel, path: str | Path, *, model_name: str, again: str) -> Path:
    """Write the report of a model that has its rows.

    ``model_name`` is its folder, for the instructions how to load it; ``again`` are commands or code that repeat the
    fit.
    """
    assert model.data is not None
    graphs, document = model_graphs(model), table_document(model)
    curves = [graph for graph in graphs if not isinstance(graph, PairGraph)]
    pairs = [graph for graph in graphs if isinstance(graph, PairGraph)]
    on_page = [
        *group_sections(DOES, [*curve_sections(curves), *pair_sections(model, pairs)]),
        *group_sections(ROWS, row_sections(model)),
        *group_sections(WRONG, [error_section(model)]),
        *group_sections(CERTAIN, [proved_section(model)]),
        *group_sections(USE, [_loading(model, model_name), {"title": "Reproduce it", "code": again}]),
    ]
    sections = sorted([*document.sections, *on_page], key=lambda section: QUESTIONS.index(section["group"]))
    return write_sections(Path(path), document.title, document.lead, sections)


def table_document(model: TableModel) -> Document:
    """Return what is said of a model of a table in words and numbers; a loaded one has the scores that it remembers.

    Narrow views leave out its errors on the test rows.
    """
    data = scored_model(model).data
    sections = [
        *group_sections(GOOD, [_scores(model)]),
        *group_sections(DOES, [words_section(model)]),
        *group_sections(GREW, [stage_section(model)]),
    ]
    if data is not None and data.source is not None and len(data.test):
        scored = model_baselines(model)[0]
        errors = [*error_sections(data, scored.predictions), *confidence_sections(data, scored)]
        sections += [section | {"detail": True} for section in group_sections(WRONG, errors)]
    title = "Model of a table" if model.data is None else model.data.problem.name
    return Document(title, _lead(model), sections)


def _lead(model: TableModel) -> str:
    """Return what the model predicts and how well, in a sentence."""
    what = f"Predicts ‘{model.schema.target}’" if model.schema.target else "A model"
    columns, size = plural(len(set(model.schema.columns)), "column"), plural(model.function.n_bends, "bend")
    rows = f" of {plural(count_rows(model)['train'], 'row')}" if model.data is not None else ""
    about = f"{what} from {columns}{rows}, with {size}"
    if not has_scores(model):
        return f"{about}."
    scores, name = model.scores, score_name(model.schema.task)
    if "test" not in scores or not np.isfinite(scores["test"].iloc[0]):
        return f"{about}: {name} {format_score(scores['train'].iloc[0])} on all rows."
    others = ", ".join(f"{other} {format_score(score)}" for other, score in scores["test"].iloc[1:].items())
    return f"{about}: test {name} {format_score(scores['test'].iloc[0])} ({others})."


def _scores(model: TableModel) -> Section:
    """Return the scores beside those of simpler models, and how they compare; of a loaded model as it stores them."""
    data = scored_model(model).data
    if not has_scores(model):
        return {}
    if data is None:
        rows = [[str(name), *map(format_score, row)] for name, row in model.scores.iterrows()]
        return table("Scores", [score_name(model.schema.task), *model.scores.columns], rows, size="full")
    n_fitted = count_rows(scored_model(model))["train"]
    return scores_section(data, model_baselines(model), n_fitted=n_fitted, ways=ways_to_improve(model))


def _loading(model: TableModel, name: str) -> Section:
    code = f"import creases\nmodel = creases.load({json.dumps(name, ensure_ascii=False)})\nmodel.predict(rows)"
    more = "\nmodel.predict_proba(rows)" if model.classes is not None else ""
    text = "rows: a file, a DataFrame, or a mapping from column names to cells, as in the table."
    return {"title": "Load it", "text": text, "code": f"{code}{more}\nmodel.explain(rows)"}
