"""Write a model of a table into a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from creases._files import write_json
from creases.tables._folder.folder import RunFile

if TYPE_CHECKING:
    from creases.tables._model.row_model import RowModel

_VERSION = 1


def save_model(model: RowModel, folder: Path) -> Path:
    """Write the description of a model, its encoding and its own files; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    model.write_files(folder)
    if model.encoding is not None:
        write_json(model.encoding.to_dict(), folder / RunFile.ENCODING)
    write_json(model_to_dict(model), folder / RunFile.DESCRIPTION)
    return folder


def model_to_dict(model: RowModel) -> dict[str, Any]:
    """Return all of a model but its encoding and the weights of a grown network, as plain data for JSON."""
    classes = None if model.classes is None else list(model.classes)
    description: dict[str, Any] = {
        "creases-model": _VERSION,
        "data": model.data.source.name if model.data is not None and model.data.source is not None else "",
        "task": model.task,
        "target": model.targets[0] if len(model.targets) == 1 else list(model.targets),
        "inputs": list(model.features),
        "classes": classes,
        "labels": None if model.labels is None else model.labels.tolist(),
        "outputs": "the target" if classes is None else "one for each class; the largest decides",
        "threshold": None if classes is None else model.threshold,
        "trained_with": {"center": model.center.tolist(), "spread": model.spread.tolist()},
        "measure": "r2" if classes is None else "accuracy",
        "ranges": model.ranges.tolist(),
    }
    if model.data is not None and model.data.source is not None:
        description["scores"] = {each.name: each.by_part for each in model.baselines}
    elif "scores" in model.facts:
        description["scores"] = model.facts["scores"]
    description |= {name: model.facts[name] for name in ("rows", "notes") if name in model.facts}
    return description | model.describe()
