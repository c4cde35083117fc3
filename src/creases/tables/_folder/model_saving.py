"""Write a model of a table into a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from creases._files import write_json
from creases.tables._folder.folder import RunFile
from creases.tables._scores.stored import save_baselines

if TYPE_CHECKING:
    from creases.tables._model.table_model import TableModel

_VERSION = 1


def save_model(model: TableModel, folder: Path) -> Path:
    """Write the description of a model, its encoding and a grown network's weights; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if model.additive is None:
        model.network.save(folder / RunFile.MODEL)
    if model.encoding is not None:
        write_json(model.encoding.to_dict(), folder / RunFile.ENCODING)
    write_json(model_to_dict(model), folder / RunFile.DESCRIPTION)
    data = model.scored.data
    if data is not None and data.source is not None and model.additive is not None:
        save_baselines(model.baselines, data, folder / RunFile.BASELINES, always=model.scored is not model)
    return folder


def model_to_dict(model: TableModel) -> dict[str, Any]:
    """Return all of a model but its encoding and the weights of a grown network, as plain data for JSON."""
    is_grown = model.additive is None
    classes = None if model.classes is None else list(model.classes)
    description: dict[str, Any] = {
        "creases-model": _VERSION,
        "kind": "network" if is_grown else "curves",
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
    if is_grown:
        return description | {"units": model.network.n_units, "regions": dict(model.regions), "same": dict(model.same)}
    assert model.additive is not None
    return description | {"importance": model.importance, "parts": model.additive.to_dict()}
