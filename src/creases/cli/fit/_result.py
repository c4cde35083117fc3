"""Fit a table by curves, planes and units into a folder, and print the model."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.markup import escape

from creases._files import parse_json, read_text, write_atomically, write_json
from creases.cli._sections import print_readings, section_parts, write_text
from creases.cli.console import command, note, out, print_next
from creases.errors import ColumnWarning, InputError, RequestError
from creases.tables import (
    Comparison,
    FitSettings,
    RunFile,
    TableModel,
    TableSplit,
    baseline_warnings,
    compare_models,
    count_rows,
    fit_settings,
    lock_folder,
    metrics_summary,
    model_baselines,
    prepare_folder,
    scored_model,
)


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted table."""

    settings: FitSettings
    model: TableModel
    comparisons: list[Comparison]


def scored_rows(model: TableModel) -> TableSplit:
    """Return the rows that the scores of a model are on."""
    data = scored_model(model).data
    assert data is not None
    return data


def fit_into(
    settings: FitSettings, home: Path, *, force: bool, show_columns: bool = False
) -> tuple[Fit, dict[str, Path]]:
    """Fit a table and write all files; return the model and the files by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)  # said below, and in the text
        model = fit_settings(settings)  # refuses what cannot be fitted before anything is written
    if show_columns and model.schema.encoding is not None:
        print_readings(model.schema.encoding)
    fit = Fit(settings, model, compare_models(model_baselines(model), scored_rows(model)))
    with lock_folder(home):
        prepare_folder(home, force=force)
        settings.save(home)
        return fit, _write(fit, home)


def _write(fit: Fit, folder: Path) -> dict[str, Path]:
    """Write the model, its measures and its text; return the files by name."""
    model = fit.model
    model.save(folder)
    files = {"model": folder / RunFile.DESCRIPTION}
    if model.schema.encoding is not None:
        files["table encoding"] = folder / RunFile.ENCODING
    table = scored_rows(model).source if fit.settings.find_files() is None else None
    if table is not None and (stored := fit.settings.store_rows(table, folder)) is not None:
        files["rows"] = stored
    metrics = metrics_summary(model_baselines(model), scored_rows(model), model.schema.threshold)
    files["metrics"] = write_json(metrics, folder / RunFile.METRICS)
    if find_spec("onnx") is not None:
        try:
            files["ONNX"] = model.export(folder / RunFile.ONNX).path
        except (InputError, RequestError) as refused:  # the model stands without it
            note(f"no ONNX file: {refused}")
    files["text"] = folder / RunFile.REPORT
    with write_atomically(files["text"]) as temporary:
        temporary.write_text(write_text(_parts(fit, full=True)), encoding="utf-8")  # with errors on the test rows
    return files


def summarize(fit: Fit, files: dict[str, Path]) -> dict[str, Any]:
    """Return the content of the report as JSON."""
    model = fit.model
    assert model.data is not None
    compared = [asdict(each) | {"verdict": each.verdict} for each in fit.comparisons]
    steps = [asdict(step) for step in model.function.steps]
    return {
        **parse_json(read_text(files["model"])),
        "rows": count_rows(model),
        "steps": steps,
        "bends": model.function.n_bends,
        "comparisons": compared,
        "files": {name: str(path) for name, path in files.items()},
    }


def print_result(fit: Fit, files: dict[str, Path]) -> None:
    """Print the scores, the model and what each stage brought, and which files to open."""
    for part in _parts(fit):
        out.print(part)
    folder = files["model"].parent
    out.print(f"\n[dim]Written to {escape(str(folder))}: {', '.join(path.name for path in files.values())}[/]")
    out.print(f'In Python: creases.load("{folder}").predict(rows)', soft_wrap=True)
    out.print(f"New rows:  {command('predict', folder, 'new.csv', '--out', 'predictions.csv')}", soft_wrap=True)
    print_next(command("explain", folder, "--row", "0"), "why a row gets its prediction")


def _parts(fit: Fit, *, full: bool = False) -> Iterator[RenderableType]:
    assert fit.model.data is not None
    problem = fit.model.data.problem
    yield f"[bold]{escape(problem.name)}: {escape(problem.description)}[/]"
    document = fit.model.describe()
    yield escape(document.lead)
    yield from section_parts(document.sections, full=full)
    models = model_baselines(fit.model)
    if advice := baseline_warnings(models, scored_rows(fit.model)).get(models[-1].name):  # a constant
        yield ""
        yield escape(advice)
