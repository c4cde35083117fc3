"""Loading a model with the names of its table; files that do not match each other are refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from creases._files import parse_json, read_text
from creases._schema import COUNT, STRING, check_entries, dict_of, finite, list_of, sequence
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
        if (kind := description["kind"]) not in _MAKERS:
            raise ValueError(f"there is no kind {kind!r}")
        model = _MAKERS[kind](description, encoding, folder)
        _check_outputs(model)
        _check_encoding(model, description["task"])
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


def _make_table_model(description: dict[str, Any], encoding: TableEncoding | None, folder: Path) -> TableModel:
    function = CurveModel.from_dict(description["parts"])
    model = TableModel(function=function, **_shared(description, encoding, folder))
    _check_inputs(model, len(function.curves))
    return model


def _make_grown_model(description: dict[str, Any], encoding: TableEncoding | None, folder: Path) -> GrownModel:
    from creases.network import read  # imports torch
    from creases.tables._model.grown_model import GrownModel

    net = read(folder / RunFile.MODEL)
    regions = {name: description.get(name, {}) for name in ("regions", "same")}
    model = GrownModel(function=net, **regions, **_shared(description, encoding, folder))
    _check_inputs(model, net.n_in)
    _check_regions(model, description["units"])
    return model


#: By the kind that a description names.
_MAKERS: dict[str, Callable[[dict[str, Any], TableEncoding | None, Path], TableModel | GrownModel]] = {
    "curves": _make_table_model,
    "network": _make_grown_model,
}


def _shared(description: dict[str, Any], encoding: TableEncoding | None, folder: Path) -> dict[str, Any]:
    """Return what every model has, by name."""
    trained, classes, target = description["trained_with"], description["classes"], description["target"]
    labels = description.get("labels")
    schema = RowSchema(
        features=_as_names(description["inputs"], "inputs"),
        classes=None if classes is None else _as_names(classes, "classes"),
        targets=_as_names(target, "targets") if isinstance(target, list) else (target,),
        encoding=encoding,
        center=np.asarray(trained["center"], np.float64),
        spread=np.asarray(trained["spread"], np.float64),
        ranges=np.asarray(description["ranges"], np.float64),
        threshold=0.5 if (threshold := description["threshold"]) is None else threshold,
        labels=None if labels is None else np.asarray(labels),
    )
    return {"schema": schema, "_facts": read_record(Facts, description, "the model"), "_folder": folder}


def _check_inputs(model: RowModel, inside: int) -> None:
    """Refuse inputs that are not those of the network, or whose numbers are not finite."""
    d = len(model.schema.features)
    if d != inside:
        raise ValueError(f"{plural(d, 'input')} of the table, {inside} of the network")
    check_entries(model.schema, "the model", center=finite(d), spread=finite(d), ranges=finite(d, 2))
    if not (model.schema.spread > 0).all() or not (model.schema.ranges[:, 0] <= model.schema.ranges[:, 1]).all():
        raise ValueError("spread must be above 0, and ranges from the least to the largest value")


def _check_outputs(model: RowModel) -> None:
    """Refuse a target and classes that are not those of the network."""
    threshold = model.schema.threshold
    n_out = model._outputs(model.schema.center[None]).shape[1]
    check_entries(model.schema, "the model", targets=sequence(STRING))
    if model.classes is None and n_out != len(model.schema.targets):
        raise ValueError(f"{plural(len(model.schema.targets), 'target')}, {plural(n_out, 'output')} of the network")
    if model.classes is not None and len(model.classes) != n_out:
        raise ValueError(f"{len(model.classes)} classes, {plural(n_out, 'output')} of the network")
    if isinstance(threshold, bool) or not 0 < threshold < 1:
        raise ValueError(f"threshold {threshold}")


def _check_regions(model: GrownModel, units: int) -> None:
    """Refuse regions that are not of a network with as many units."""
    net = model.network
    if units != net.n_units:
        raise ValueError(f"{units} units, {net.n_units} of the network")
    length = 2 * net.pattern(model.schema.center).shape[-1]
    check_entries(model, "the model", regions=dict_of(COUNT))
    for pattern, count in model.regions.items():
        if len(pattern) != length or not count:
            raise ValueError(f"region {pattern!r} with {count!r} rows, for a network with {plural(units, 'unit')}")
    for pattern, lead in model.same.items():
        if len(pattern) != length or lead not in model.regions:
            raise ValueError(f"region {pattern!r} with the function of {lead!r}, which is not listed")


def _check_encoding(model: RowModel, task: str) -> None:
    """Refuse a description of another table than the encoding's."""
    if task != ("regression" if model.classes is None else "classification"):
        raise ValueError(f"the task is {task!r}")
    if model.schema.encoding is None:
        return
    encoded = tuple(feature.name for feature in model.schema.encoding.features)
    pairs = {
        "inputs": (model.schema.features, encoded),
        "classes": (model.classes or (), model.schema.encoding.classes or ()),
        "target": (model.schema.targets[:1], (model.schema.encoding.target,)),
    }
    for what, (described, expected) in pairs.items():
        for ours, theirs in zip_longest(described, expected):
            if ours != theirs:
                raise ValueError(f"{what}: {ours!r}, but {theirs!r} in {RunFile.ENCODING}")


def _as_names(values: Any, what: str) -> tuple[str, ...]:
    check_entries({what: values}, "the model", **{what: list_of(STRING)})
    return tuple(values)


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
