"""A model of a table in the studio: its curves and planes, changed by hand, and what the changes do."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import numpy as np

from creases._text import plural
from creases._typing import Floats
from creases.errors import RequestError
from creases.problems import Problem
from creases.show._viewer import problem_json, to_json
from creases.show._viewer._run import score_name
from creases.show.report._curve_charts import column_charts, line_chart
from creases.show.report._page import run_without_growth
from creases.show.report._pair_pictures import pair_picture
from creases.show.studio._exports import Export
from creases.show.studio._limits import Limits, scratch_folder
from creases.show.studio._problem_input import check_integer, check_real, check_text
from creases.tables import (
    CurveConfig,
    FitSettings,
    LevelGraph,
    NumberGraph,
    PairGraph,
    TableModel,
    describe_model,
    fit_problem,
    load,
    model_graphs,
)

#: Columns with a chart, pairs with a picture, rows that are listed, and rows whose cells the page gets.
MAX_CURVES, MAX_PAIRS, MAX_ROWS, MAX_SENT = 40, 12, 6, 200

#: Points of one unit of log-odds: ten points double the odds.
POINTS = 10 / log(2)


class TableView:
    """A model of curves with its rows, and all models that changes by hand have made of it."""

    def __init__(self, model: TableModel, name: str, limits: Limits, sign: Callable[[], None] = lambda: None) -> None:
        self.name, self._limits, self._sign = name, limits, sign
        self._models = [model]
        self._labels: list[str] = []  #: what each change did
        self._pictures: dict[str, dict[str, str]] = {}  #: of planes, by name: no change moves a plane
        self._scores = {0: _scores(model)}  #: by number of changes

    @classmethod
    def from_folder(cls, folder: str, limits: Limits, sign: Callable[[], None]) -> TableView:
        """Open a folder of ``creases fit``, whose data file is read again."""
        data = FitSettings.load(Path(folder)).load_split()  # a folder of creases grow is refused
        model = load(folder)
        assert isinstance(model, TableModel)
        return cls(replace(model, data=data), Path(folder).resolve().name, limits, sign)

    @classmethod
    def from_problem(cls, problem: Problem, limits: Limits, sign: Callable[[], None]) -> TableView:
        """Fit a table."""
        return cls(fit_problem(problem, CurveConfig()), problem.name, limits, sign)

    @property
    def model(self) -> TableModel:
        """The model after all changes."""
        return self._models[-1]

    @property
    def summary(self) -> str:
        """What is shown, in a sentence."""
        return f"{self.name}: {plural(len(set(self.model.columns)), 'column')}, drag a knot to change the model."

    def to_json(self) -> dict[str, Any]:
        """Return the viewer's JSON of a run without growth, with the table."""
        rows = np.arange(min(MAX_SENT, len(self.model.problem.X)))
        content = run_without_growth(problem_json(self.model.problem, rows=rows), [])
        return {**to_json(content), "measure": score_name(self.model.task), "moments": [], "table": self.table_json()}

    def table_json(self) -> dict[str, Any]:
        """Return the curves and planes, in the order of importance, and what the changes did."""
        model = self.model
        graphs = model_graphs(model)
        columns = [graph for graph in graphs if not isinstance(graph, PairGraph)][:MAX_CURVES]
        charts = column_charts(columns)
        pairs = [graph for graph in graphs if isinstance(graph, PairGraph)][:MAX_PAIRS]
        opening, *lines = describe_model(model)
        first = graphs[0] if graphs else None
        content = {
            "name": self.name,
            "unit": "" if first is None else first.unit or first.outputs[0],
            "opening": opening,
            "words": lines,
            "curves": [_curve_json(*pair) for pair in zip(columns, charts, strict=True)],
            "planes": [self._plane_json(pair) for pair in pairs],
            "changes": self._labels,
            "effect": self._effect_json(),
        }
        return dict(to_json(content))

    def _plane_json(self, pair: PairGraph) -> dict[str, Any]:
        self._sign()
        names = [self.model.columns[int(side.inputs[0])] for side in (pair.first, pair.second)]
        if bool(pair.first.levels) != bool(pair.second.levels):
            return {"columns": names, "chart": line_chart(pair)}
        if pair.name not in self._pictures:
            self._pictures[pair.name] = pair_picture(pair)
        return {"columns": names, "picture": self._pictures[pair.name]}

    # -- changes ------------------------------------------------------------------------------------------------------

    def edit(self, request: Mapping[str, Any]) -> None:
        """Change the model as a page asks: move or remove a knot, flatten a column, or forbid a plane."""
        kind = request.get("change")
        if not isinstance(kind, str) or kind not in _CHANGES:
            raise RequestError("the page sent a change that the studio does not know; reload the page")
        if len(self._labels) >= self._limits.marks:
            raise RequestError(f"{self._limits.marks} changes are the limit of the studio; save the model and open it")
        options, label = _CHANGES[kind](self, request)
        changed = self.model.edit(**options)
        self._models.append(changed.model)
        self._labels.append(label)
        self._scores[len(self._labels)] = _after(changed.scores)

    def undo(self) -> None:
        """Take back the last change."""
        if not self._labels:
            raise RequestError("there is no change to undo")
        self._models.pop()
        self._labels.pop()

    def _move(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        name, k, output = self._knot(request)
        curve = self.model.curves[name]
        x = check_real(request.get("x"), "x", -1e300, 1e300)
        y = check_real(request.get("y"), "y", -1e300, 1e300)
        before = float(curve.knots[k])
        values = curve.values[k].copy()
        values[output] += (y - self._displayed(values)[output]) / (1.0 if self.model.classes is None else POINTS)
        place = f"{before:.6g}" if x == before else f"{x:.6g} instead of {before:.6g}"
        label = f"{name}: {y:+.3g} at {place}"
        return {"move": {name: {before: (x, tuple(values))}}}, label

    def _remove(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        name, k, _ = self._knot(request)
        knot = float(self.model.curves[name].knots[k])
        return {"remove": {name: [knot]}}, f"{name}: no knot at {knot:.6g}"

    def _flatten(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        name = check_text(request.get("column"), "column", 1000)
        return {"flatten": [name]}, f"{name}: flat"

    def _forbid(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        pair = request.get("columns")
        if not isinstance(pair, list) or len(pair) != 2:
            raise RequestError("the page sent a plane without its two columns; reload the page")
        first, second = (check_text(name, "columns", 1000) for name in pair)
        return {"forbid": [(first, second)]}, f"{first} and {second}: no plane"

    def _knot(self, request: Mapping[str, Any]) -> tuple[str, int, int]:
        """Return the input, the number of the knot and that of the class that a page means."""
        name = check_text(request.get("input"), "input", 1000)
        if name not in self.model.curves:
            raise RequestError(f"the model has no curve of {name!r}; reload the page")
        curve = self.model.curves[name]
        knot = check_integer(request.get("knot"), "knot", 0, len(curve.knots) - 1)
        return name, knot, check_integer(request.get("output", 0), "output", 0, curve.values.shape[1] - 1)

    def _displayed(self, values: Floats) -> Floats:
        """Return values of a curve (m,) as they are drawn: with classes as points, of several above their mean."""
        if self.model.classes is None:
            return values
        return POINTS * (values if len(values) == 1 else values - values.mean())

    def _effect_json(self) -> dict[str, Any]:
        """Return what all changes do together: scores before and after, rows that are decided otherwise."""
        first, last, problem = self._models[0], self.model, self.model.problem
        scores = [
            {"part": part, "before": before, "after": self._scores[len(self._labels)].get(part)}
            for part, before in self._scores[0].items()
        ]
        moved = np.abs(last.outputs(problem.X) - first.outputs(problem.X)).max(axis=1)
        effect: dict[str, Any] = {"scores": scores, "rows": len(problem.X), "flips": None, "examples": []}
        if first.classes is None:
            return effect | {
                "moved": int((moved > 1e-9 * max(1.0, np.ptp(problem.y))).sum()),
                "most": float(moved.max()),
            }
        before, after = (each.classes_of(problem.X) for each in (first, last))
        rows = np.flatnonzero(before != after)
        examples = [
            {
                "row": int(row if problem.rows is None else problem.rows[row]),
                "before": first.classes[before[row]],
                "after": first.classes[after[row]],
                "truth": first.classes[int(problem.y[row])],
            }
            for row in rows[:MAX_ROWS]
        ]
        right = int((after[rows] == problem.y[rows]).sum()), int((before[rows] == problem.y[rows]).sum())
        return effect | {"flips": len(rows), "righted": right[0], "wronged": right[1], "examples": examples}

    # -- files --------------------------------------------------------------------------------------------------------

    def export(self, what: Any, name: Any) -> Export:
        """Return the model as a file: its folder as a ZIP file, ONNX, or its report."""
        wanted = check_text(self.name if name is None else name, "name", 100)
        stem = re.sub(r"[^\w-]+", "_", wanted).strip("_")[:60] or "model"
        if not isinstance(what, str) or what not in _FILES:
            raise RequestError(f"a model of a table is saved as {', '.join(_FILES)}")
        suffix, media, make = _FILES[what]
        self._sign()
        with scratch_folder() as folder:
            return Export(f"{stem}{suffix}", media, make(self.model, folder, stem))


def _curve_json(graph: NumberGraph | LevelGraph, chart: dict[str, Any]) -> dict[str, Any]:
    knots = graph.input if isinstance(graph, NumberGraph) else ""
    return {"column": graph.column, "input": knots, "outputs": list(graph.outputs), "size": graph.size, "chart": chart}


def _scores(model: TableModel) -> dict[str, float]:
    return _after(model.edit().scores)


def _after(scores: Any) -> dict[str, float]:
    """Return the scores after a change on each part of the rows, except those that are not a number."""
    return {str(part): float(value) for part, value in scores["after"].items() if np.isfinite(value)}


def _zip_model(model: TableModel, folder: Path, stem: str) -> bytes:
    model.save(folder / stem)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((folder / stem).iterdir()):
            archive.write(path, f"{stem}/{path.name}")
    return content.getvalue()


def _to_onnx(model: TableModel, folder: Path, stem: str) -> bytes:
    return model.export(folder / f"{stem}.onnx").path.read_bytes()


def _to_report(model: TableModel, folder: Path, stem: str) -> bytes:
    from creases.show.report._table_model import write_model_report

    again = "The model was changed by hand in the studio."
    return write_model_report(model, folder / f"{stem}.html", model_name=stem, again=again).read_bytes()


_CHANGES: Mapping[str, Callable[[TableView, Mapping[str, Any]], tuple[dict[str, Any], str]]] = {
    "move": TableView._move,
    "remove": TableView._remove,
    "flatten": TableView._flatten,
    "forbid": TableView._forbid,
}

#: By name: the suffix of the file, its media type, and the function that makes it.
_FILES: Mapping[str, tuple[str, str, Callable[[TableModel, Path, str], bytes]]] = {
    "folder": (".zip", "application/zip", _zip_model),
    "onnx": (".onnx", "application/octet-stream", _to_onnx),
    "report": (".html", "text/html", _to_report),
}
