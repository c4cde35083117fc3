"""Reports of models of tables: is it good, what does it do, and what is certain about it, as one HTML file."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from creases.errors import FileError
from creases.show._viewer._run import score_name
from creases.show.report._curve_sections import curve_sections, pair_sections, stage_section, words_section
from creases.show.report._formatting import Section, pluralize
from creases.show.report._proved import proved_section
from creases.show.report._quality import format_score, quality_sections
from creases.show.report._row_sections import error_section, row_sections
from creases.show.report._static_pages import write_sections
from creases.tables import Baseline, FitSettings, TableModel, compare_models, load

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
    n_sampled, n_fitted = len(data.train) + len(data.validation), model.scored.n_rows["train"]
    same = "the same rows" if n_fitted <= n_sampled else f"a sample of {n_sampled:,} of the {n_fitted:,} rows fitted"
    return {
        "title": "Scores",
        "text": f"{name[0].upper()}{name[1:]} on {held}. " + " ".join(verdicts),
        "bars": bars,
        "note": f"On the rows fitted this model has {name} {format_score(models[0].train)}. The others are models of "
        f"scikit-learn, fitted to {same}.",
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
