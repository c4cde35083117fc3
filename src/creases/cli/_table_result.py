"""A model of a table in its folder, fitted or grown: its files, and what came of it as text and as JSON."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import RenderableType
from rich.markup import escape

from creases._files import parse_json, read_text, write_atomically, write_json
from creases._text import format_number, plural
from creases.cli._sections import print_columns, print_readings, section_parts, write_text
from creases.cli.console import command, load_kernels, note, out, print_next
from creases.errors import ColumnWarning, InputError, RequestError
from creases.tables import (
    FitSettings,
    RunFile,
    RunSettings,
    TableModel,
    TableSplit,
    baseline_warnings,
    compare_models,
    count_rows,
    data_box,
    fit_settings,
    load_settings,
    lock_folder,
    metrics_summary,
    model_baselines,
    prepare_folder,
    scored_model,
)

if TYPE_CHECKING:
    from creases.network import Network
    from creases.regions import LinePartition, PlanePartition
    from creases.show import GrowthView
    from creases.tables import GrownModel  # imports torch

Files = dict[str, Path]


def find_earlier_run(settings: FitSettings | RunSettings, home: Path) -> str:
    """Return whether a folder has a "finished" or an "interrupted" run, "" for none; refuse one of other settings."""
    if not (home / RunFile.SETTINGS).exists():
        return ""
    if load_settings(home) != settings:
        prepare_folder(home, force=False)
    return "finished" if (home / RunFile.DESCRIPTION).exists() else "interrupted"


def fit_into(settings: FitSettings, home: Path, *, force: bool, show_columns: bool = False) -> tuple[TableModel, Files]:
    """Fit a table and write all files; return the model and the files by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)  # said below, and in the text
        model = fit_settings(settings)  # refuses what cannot be fitted before anything is written
    if show_columns and model.schema.encoding is not None:
        print_readings(model.schema.encoding)
    with lock_folder(home):
        prepare_folder(home, force=force)
        settings.save(home)
        files = _write_model(model, home, "model")
        table = scored_rows(model).source if settings.find_files() is None else None
        if table is not None and (stored := settings.store_rows(table, home)) is not None:
            files["rows"] = stored
        if find_spec("onnx") is not None:
            try:
                files["ONNX"] = model.export(home / RunFile.ONNX).path
            except (InputError, RequestError) as refused:  # the model stands without it
                note(f"no ONNX file: {refused}")
        return model, files | {"text": _write_text(model, home)}


def grow_into(
    settings: RunSettings, home: Path, *, force: bool, fresh: bool, show_columns: bool = False
) -> tuple[GrownModel, Files]:
    """Start or resume a run, and write all its files; return the model and the files by name."""
    from creases.show import plot_growth, save_figure
    from creases.tables import Experiment

    problem = settings.load_problem()
    if show_columns and problem.encoding is not None:
        print_columns(problem.encoding)
    data = TableSplit.from_problem(problem, settings.config)
    Experiment(data, settings.config, fit=False)  # refuses what cannot start before writing anything
    with lock_folder(home):
        if fresh:
            prepare_folder(home, force=force)
        settings.save(home)
        if problem.encoding is not None:
            write_json(problem.encoding.to_dict(), home / RunFile.ENCODING)
            settings.store_rows(problem, home)
        experiment = Experiment(data, settings.config, folder=home)
        history = experiment.run(on_start=lambda run: note(f"The loop: {run.history.loop}."))
        model = experiment.table_model()
        files = {"picture": home / RunFile.PICTURE, "report": _write_text(model, home), "network": home / RunFile.MODEL}
        files |= _write_model(model, home, "description")
        if find_spec("onnx") is not None:
            files["ONNX"] = model.network.save(home / RunFile.ONNX)
        named = {"features": problem.features, "classes": problem.classes, "scaling": data.scaling.to_dict()}
        files["history"] = replace(history, setting=history.setting | named).save(home / RunFile.HISTORY)
        before = None if experiment.snapshots is None else experiment.snapshots.before_growth
        save_figure(plot_growth(history, view=_view(model, before), score=history.measure), files["picture"], dpi=160)
        return model, files


def scored_rows(model: TableModel | GrownModel) -> TableSplit:
    """Return the rows that the scores of a model are on."""
    data = scored_model(model).data if isinstance(model, TableModel) else model.data
    assert data is not None
    return data


def _write_model(model: TableModel | GrownModel, folder: Path, description: str) -> Files:
    """Write a model, how its columns are read, and its measures; return the files by name."""
    files = {description: model.save(folder) / RunFile.DESCRIPTION}
    if model.schema.encoding is not None:
        files["table encoding"] = folder / RunFile.ENCODING
    metrics = metrics_summary(model_baselines(model), scored_rows(model), model.schema.threshold)
    return files | {"metrics": write_json(metrics, folder / RunFile.METRICS)}


def _write_text(model: TableModel | GrownModel, folder: Path) -> Path:
    """Write all that is said of a model; of a grown one every growth step in full."""
    parts = [*_parts(model, full=True)]
    if not isinstance(model, TableModel) and model.history is not None and model.data is not None:
        steps = (escape(record.explain(**model.data.names)) + "\n" for record in model.history.records)
        parts += ["", "[bold]The growth steps in full[/]", "", *steps]
    with write_atomically(folder / RunFile.REPORT) as temporary:
        temporary.write_text(write_text(parts), encoding="utf-8")
    return folder / RunFile.REPORT


def _view(model: GrownModel, before: Network | None) -> GrowthView | None:
    """Return the network on its one or two inputs, and as it was before growth; None if it has more."""
    from creases.show import GrowthView

    assert model.data is not None
    problem = model.data.problem
    inputs = problem.X.shape[1]
    if inputs > 2 or (inputs == 1 and problem.classes is not None):
        return None
    around = data_box(problem.X)
    first = None if before is None else _partition(before, around)
    after = _partition(model.network, around)
    return GrowthView(first, after, problem.X, problem.y, problem.features, problem.classes)


def _partition(net: Network, around: list[tuple[float, float]]) -> LinePartition | PlanePartition:
    from creases.regions import line, plane

    if len(around) == 1:
        ((low, high),) = around
        return line(net, [low], [high])
    load_kernels()
    return plane(net, around)


def summarize_fit(model: TableModel, files: Files) -> dict[str, Any]:
    """Return a fitted model as JSON: its description, its steps, how it compares with simpler models."""
    compared = compare_models(model_baselines(model), scored_rows(model))
    return {
        **parse_json(read_text(files["model"])),
        "rows": count_rows(model),
        "steps": [asdict(step) for step in model.function.steps],
        "bends": model.function.n_bends,
        "comparisons": [asdict(each) | {"verdict": each.verdict} for each in compared],
        "files": {name: str(path) for name, path in files.items()},
    }


def summarize_growth(model: GrownModel, settings: RunSettings, files: Files) -> dict[str, Any]:
    """Return a run as JSON: the description of its model, what was spent, every stage and growth step."""
    history, data, net = model.history, model.data, model.network
    assert history is not None
    assert data is not None
    return {
        **parse_json(read_text(files["description"])),
        "widths": [int(width) for width in net.unit_starts[1:] - net.unit_starts[:-1]],
        "parameters": sum(tensor.numel() for step in net.steps for tensor in step.tensors.values()),
        "rows": {"train": len(data.train), "validation": len(data.validation), "test": len(data.test)},
        "how": settings.config.how,
        **history.describe(**data.names).values,
        "files": {name: str(path) for name, path in files.items()},
    }


def print_result(model: TableModel | GrownModel, files: Files) -> None:
    """Print what is said of a model, which files there are, and what to do with them."""
    for part in _parts(model):
        out.print(part)
    is_grown = not isinstance(model, TableModel)
    folder = files["network" if is_grown else "model"].parent
    out.print()
    listing = ", ".join(path.name for path in files.values())
    out.print(f"[dim]Written to {escape(str(folder))}: {listing}[/]")
    out.print(f'In Python: creases.load("{folder}").predict(rows)', soft_wrap=True)
    out.print(f"New rows:  {command('predict', folder, 'new.csv', '--out', 'predictions.csv')}", soft_wrap=True)
    if is_grown:
        print_next(command("report", folder, "--out", "report.html"), "explore every growth step in a browser")
    else:
        print_next(command("explain", folder, "--row", "0"), "why a row gets its prediction")


def _parts(model: TableModel | GrownModel, *, full: bool = False) -> Iterator[RenderableType]:
    """Yield what is said of a model and its rows, for a file in full."""
    assert model.data is not None
    problem, document, is_grown = model.data.problem, model.describe(), not isinstance(model, TableModel)
    yield f"[bold]{escape(problem.name)}: {escape(problem.description)}[/]"
    yield from map(escape, _row_lines(model.data) if is_grown else ())
    yield escape(document.lead)
    yield from section_parts(document.sections, full=full)
    if not isinstance(model, TableModel) and model.history is not None:
        history = model.history
        has_seen = history.joined is not None or history.kept == 0  # of the validation rows: their scores say little
        models = "The network and the other models were" if has_seen else "The other models were"
        yield f"[dim]{models} fitted on training and validation rows.[/]"
    baselines = model_baselines(model)
    for name, text in baseline_warnings(baselines, scored_rows(model)).items():
        if is_grown or name == baselines[-1].name:  # a constant; the section of scores says how others compare
            yield ""
            yield f"[bold yellow]Warning:[/] {escape(text)}"


def _row_lines(data: TableSplit) -> Iterator[str]:
    """Yield how many rows there are of each class, or what range the values have, and what the rows are for."""
    problem = data.problem
    if problem.classes is not None:
        counts = np.bincount(problem.y, minlength=len(problem.classes))
        labels = [f"{name} {count}" for name, count in zip(problem.classes, counts, strict=True)]
        yield f"classes: {', '.join(labels[:10])}{', ...' if len(labels) > 10 else ''}"
    else:
        low, high, mean = map(format_number, (problem.y.min(), problem.y.max(), problem.y.mean()))
        yield f"values from {low} to {high}, mean {mean}"
    inputs = plural(len(problem.features), "input")
    if problem.encoding is not None:
        columns = len({feature.column for feature in problem.encoding.features})
        inputs += f" (from {plural(columns, 'column')})" if columns < len(problem.features) else ""
    yield (
        f"{inputs}; {plural(len(data.train), 'training row')}, {plural(len(data.validation), 'validation row')}, "
        f"{plural(len(data.test), 'held-out test row')}"
    )
