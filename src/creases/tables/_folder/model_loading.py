"""Loading a model with the names of its table; files that do not match each other are refused."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from creases._files import parse_json, read_text
from creases._schema import COUNT, check_entries, dict_of, expect
from creases._text import plural
from creases.errors import FileError
from creases.tables._encoding.encoding import TableEncoding
from creases.tables._folder.folder import RunFile
from creases.tables._folder.records import read_record
from creases.tables._model.row_model import RowModel
from creases.tables._model.schema import Facts, RowSchema
from creases.tables._model.table_model import TableModel
from creases.tables._stages.model import CurveModel

if TYPE_CHECKING:
    from creases.tables._folder.settings import FitSettings
    from creases.tables._model.grown_model import GrownModel


def load(folder: str | Path) -> TableModel | GrownModel:
    """Load what ``creases fit``, ``creases grow`` or ``save`` wrote into a folder, to predict and explain rows.

    The data file is not needed, and for the model of a table numpy and pandas are enough.

    Examples
    --------
    >>> import creases
    >>> model = creases.load("run")  # doctest: +SKIP
    >>> model.predict("new.csv")  # doctest: +SKIP
    """
    folder = Path(folder)
    path = folder / RunFile.DESCRIPTION
    description = _load_json(path, folder)
    encoding = _load_encoding(folder)
    try:
        kind = description["kind"]
        expect(kind in ("curves", "network"), f"there is no kind {kind!r}")
        model: TableModel | GrownModel
        if kind == "network":
            model = _make_grown_model(description, encoding, folder)
        else:
            function = CurveModel.from_dict(description["parts"])
            model = TableModel(function=function, **_shared(description, encoding, folder, len(function.curves)))
        _check_table(model, description["task"])
        names, effects = model._terms().parts, model._facts.effects
        is_known = effects is not None or isinstance(model, TableModel)  # a network of many inputs may have none
        effects = effects or {}
        if is_known and (sorted(effects) != sorted(names) or not np.isfinite(list(effects.values())).all()):
            raise ValueError(f"effects must be those of {', '.join(names)}, each finite")
        return model
    except KeyError as problem:
        raise FileError(f"{path} is damaged or of another version: there is no {problem}; {_hint(folder)}") from None
    except (TypeError, ValueError, AttributeError, OverflowError) as problem:
        raise FileError(f"{path} is damaged or of another version ({problem}); {_hint(folder)}") from None


def load_fit(folder: str | Path) -> tuple[TableModel, FitSettings]:
    """Load the model in a folder of ``creases fit`` with the rows that it was fitted to, which are read again."""
    from creases.tables._folder.settings import FitSettings

    settings = FitSettings.load(Path(folder))  # a folder of creases grow is refused
    model, data = load(folder), settings.load_split()
    assert isinstance(model, TableModel)
    if tuple(data.problem.features) != model.schema.features or data.problem.classes != model.classes:
        raise FileError(f"the model in {folder} does not belong to its data; start another run")
    scored = replace(model, data=data)
    if not settings.config.refit:
        return scored, settings
    return replace(model, data=data.without_test(), _scored=scored), settings


def _make_grown_model(description: dict[str, Any], encoding: TableEncoding | None, folder: Path) -> GrownModel:
    from creases.network import read  # imports torch
    from creases.tables._model.grown_model import GrownModel

    net = read(folder / RunFile.MODEL)
    regions = {name: description.get(name, {}) for name in ("regions", "same")}
    model = GrownModel(function=net, **regions, **_shared(description, encoding, folder, net.n_in))
    expect(description["units"] == net.n_units, f"{description['units']} units, {net.n_units} of the network")
    length = 2 * net.pattern(model.schema.center).shape[-1]
    check_entries(model, "the model", regions=dict_of(COUNT))
    for pattern, count in model.regions.items():
        fits = len(pattern) == length and count
        expect(bool(fits), f"region {pattern!r} with {count!r} rows, for a network with {plural(net.n_units, 'unit')}")
    for pattern, lead in model.same.items():
        fits = len(pattern) == length and lead in model.regions
        expect(fits, f"region {pattern!r} with the function of {lead!r}, which is not listed")
    return model


def _shared(description: dict[str, Any], encoding: TableEncoding | None, folder: Path, n_in: int) -> dict[str, Any]:
    """Return what every model has, by name; inputs that are not those of the function are refused."""
    target, threshold, labels = description["target"], description["threshold"], description.get("labels")
    entries = {
        "features": description["inputs"],
        "classes": description["classes"],
        "targets": target if isinstance(target, list) else [target],
        "encoding": encoding,
        **description["trained_with"],
        "ranges": description["ranges"],
        "threshold": 0.5 if threshold is None else threshold,
    }
    d = len(description["inputs"])
    expect(d == n_in, f"{plural(d, 'input')} of the table, {n_in} of the network")
    schema = read_record(RowSchema, entries, "the model")
    schema = replace(schema, labels=None if labels is None else np.asarray(labels))
    return {"schema": schema, "_facts": read_record(Facts, description, "the model"), "_folder": folder}


def _check_table(model: RowModel, task: str) -> None:
    """Refuse a target and classes that are not those of the function, and columns that are not the encoding's."""
    schema, n_out = model.schema, model._outputs(model.schema.center[None]).shape[1]
    expect(task == schema.task, f"the task is {task!r}")
    count = plural(len(schema.targets), "target") if schema.classes is None else f"{len(schema.classes)} classes"
    expect(len(schema.classes or schema.targets) == n_out, f"{count}, {plural(n_out, 'output')} of the network")
    if schema.encoding is None:
        return
    encoded = tuple(feature.name for feature in schema.encoding.features)
    pairs = {
        "inputs": (schema.features, encoded),
        "classes": (schema.classes or (), schema.encoding.classes or ()),
        "target": (schema.targets[:1], (schema.encoding.target,)),
    }
    for what, (described, expected) in pairs.items():
        for ours, theirs in zip_longest(described, expected):
            expect(ours == theirs, f"{what}: {ours!r}, but {theirs!r} in {RunFile.ENCODING}")


def _load_encoding(folder: Path) -> TableEncoding | None:
    """Return how the table was encoded; None for a built-in problem, whose folder has no such file."""
    path = folder / RunFile.ENCODING
    if not os.path.lexists(path):  # a link to nothing is no folder without one
        return None
    encoding = _load_json(path, folder)
    try:
        return TableEncoding.from_dict(encoding)
    except FileError as problem:
        raise FileError(f"{path}: {problem}; {_hint(folder)}") from None


def _load_json(path: Path, folder: Path) -> Any:
    try:
        return parse_json(read_text(path))
    except FileNotFoundError:
        if not folder.exists():
            raise FileError(f"there is no folder {folder}") from None
        hint = f"; resume it: creases grow --resume {folder}" if (folder / RunFile.SETTINGS).exists() else ""
        raise FileError(f"{folder} holds no finished model (there is no {path.name} in it){hint}") from None
    except OSError as problem:
        raise FileError(f"cannot read {path}: {problem.strerror}; {_hint(folder)}") from None
    except ValueError as problem:
        raise FileError(f"{path} is damaged ({problem}); {_hint(folder)}") from None


def _hint(folder: Path) -> str:
    return f"write it again: run creases fit or creases grow with --out {folder} --force"
