"""A model of a table in the studio: its curves and planes, changed by hand, and what the changes do."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from creases._text import format_change, format_value, plural
from creases._typing import Floats
from creases.errors import RequestError
from creases.problems import Problem
from creases.show._viewer._run import problem_json, score_name, to_json
from creases.show.report._charts import column_charts, pair_chart
from creases.show.report._page import run_without_growth
from creases.show.studio._exports import Export, Formats, make_export
from creases.show.studio._limits import Limits
from creases.show.studio._page_input import check_integer, check_real, check_text
from creases.tables import (
    POINTS,
    LevelGraph,
    NumberGraph,
    PairGraph,
    TableModel,
    TableSplit,
    fit_table,
    load_fit,
    model_graphs,
    model_words,
)

#: Columns with a chart, pairs with a picture, rows that are listed, and rows whose cells the page gets.
MAX_CURVES, MAX_PAIRS, MAX_ROWS, MAX_SENT = 40, 12, 6, 200

#: Values of a category without a bar or a curve that are named.
MAX_NAMES = 30


class TableView:
    """A model of curves with its rows, and all models that changes by hand have made of it."""

    def __init__(self, model: TableModel, name: str, limits: Limits, sign: Callable[[], None] = lambda: None) -> None:
        self.name, self._limits, self._sign = name, limits, sign
        self._models = [model]
        self._labels: list[str] = []  #: what each change did
        self._planes: dict[str, dict[str, Any]] = {}  #: charts by name: no change moves a plane
        self._first = model_graphs(model)  #: as they were before the changes
        assert model.data is not None
        self._data, self._judges = model.data, split_judges(model.data)
        self._scores = [_after(replace(model, data=self._judges).edit().scores)]  #: after each number of changes

    @classmethod
    def from_folder(cls, folder: str, limits: Limits, sign: Callable[[], None]) -> TableView:
        """Open a folder of ``creases fit``, whose data file is read again."""
        model, _ = load_fit(folder)
        return cls(model, Path(folder).resolve().name, limits, sign)

    @classmethod
    def from_problem(cls, problem: Problem, limits: Limits, sign: Callable[[], None]) -> TableView:
        """Fit a table."""
        return cls(fit_table(problem), problem.name, limits, sign)

    @property
    def model(self) -> TableModel:
        """The model after all changes."""
        return self._models[-1]

    @property
    def problem(self) -> Problem:
        """The table as numbers."""
        assert self.model.data is not None
        return self.model.data.problem

    @property
    def summary(self) -> str:
        """What is shown, in a sentence."""
        return f"{self.name}: {plural(len(set(self.model.schema.columns)), 'column')}, drag a knot to change the model."

    def to_json(self) -> dict[str, Any]:
        """Return the viewer's JSON of a run without growth, with the table."""
        rows = np.arange(min(MAX_SENT, len(self.problem.X)))
        content = to_json(run_without_growth(problem_json(self.problem, rows=rows), []))
        return {**content, "measure": score_name(self.model.schema.task), "table": self.table_json()}

    def table_json(self) -> dict[str, Any]:
        """Return the curves and planes, in the order of importance before the changes, and what these did."""
        model, graphs = self.model, self._graphs()
        columns = [graph for graph in graphs if not isinstance(graph, PairGraph)][:MAX_CURVES]
        charts = column_charts(columns)
        pairs = [graph for graph in graphs if isinstance(graph, PairGraph)][:MAX_PAIRS]
        opening, *lines = model_words(model).lines()
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

    def _graphs(self) -> list[NumberGraph | LevelGraph | PairGraph]:
        """Return what columns and planes add, each where it was at first: no change moves what is being dragged."""
        places = {_key(graph): k for k, graph in enumerate(self._first)}
        graphs = sorted(model_graphs(self.model), key=lambda graph: places.get(_key(graph), len(places)))
        return [self._sort_levels(graph) if isinstance(graph, LevelGraph) else graph for graph in graphs]

    def _sort_levels(self, graph: LevelGraph) -> LevelGraph:
        first = next((each for each in self._first if _key(each) == _key(graph)), graph)
        assert isinstance(first, LevelGraph)
        order = [graph.levels.index(level) for level in first.levels]
        values, errors, counts = graph.values[order], graph.errors[order], graph.counts[order]
        return replace(graph, levels=first.levels, values=values, errors=errors, counts=counts)

    def _plane_json(self, pair: PairGraph) -> dict[str, Any]:
        self._sign()
        features = self.model.schema.encoder.features
        names = [features[int(side.inputs[0])].variable for side in (pair.first, pair.second)]
        if pair.name not in self._planes:
            self._planes[pair.name] = pair_chart(pair)
        chart = self._planes[pair.name]
        drawn = {series["name"] for series in chart.get("series", ())}
        left = [level for level in pair.first.levels or pair.second.levels if drawn and level not in drawn]
        return {"columns": names, "chart": chart, "left_out": left[:MAX_NAMES]}

    # -- changes ------------------------------------------------------------------------------------------------------

    def edit(self, request: Mapping[str, Any]) -> None:
        """Change the model as a page asks: move or remove a knot, flatten a column, or forbid a plane."""
        change = getattr(self, f"change_{request.get('change')}", None)
        if change is None:
            raise RequestError("the page sent a change that the studio does not know; reload the page")
        if len(self._labels) >= self._limits.marks:
            raise RequestError(f"{self._limits.marks} changes are the limit of the studio; save the model and open it")
        options, label = change(request)
        changed = replace(self.model, data=self._judges).edit(**options)
        self._models.append(replace(changed.model, data=self._data))
        self._labels.append(label)
        self._scores.append(_after(changed.scores))

    def undo(self) -> None:
        """Take back the last change."""
        if not self._labels:
            raise RequestError("there is no change to undo")
        for past in (self._models, self._labels, self._scores):
            past.pop()

    def change_move(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        name, k, output = self._knot(request)
        curve = self.model.curves[name]
        x = check_real(request.get("x"), "x", -1e300, 1e300)
        y = check_real(request.get("y"), "value", -1e300, 1e300)
        before = float(curve.knots[k])
        values = self._raise(curve.values[k], output, y - self._displayed(curve.values[k])[output])
        place = format_value(x) + ("" if x == before else f" instead of {format_value(before)}")
        label = f"{name}: {format_change(y, 3)} at {place}"
        return {"move": {name: {before: (x, tuple(values))}}}, label

    def change_level(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        column, level = (check_text(request.get(name), name, 1000) for name in ("column", "level"))
        graphs = [graph for graph in self._graphs() if isinstance(graph, LevelGraph) and graph.column == column]
        if not graphs or level not in graphs[0].levels:
            raise RequestError(f"the model has no bar of {level!r} in {column!r}; reload the page")
        output = check_integer(request.get("output", 0), "output", 0, len(graphs[0].outputs) - 1)
        y = check_real(request.get("y"), "value", -1e300, 1e300)
        name, knot = graphs[0].knots[graphs[0].levels.index(level)]
        shown = float(graphs[0].values[graphs[0].levels.index(level), output])
        before = self.model.curves[name](np.array([knot]))[0]
        return {
            "move": {name: {knot: (knot, tuple(self._raise(before, output, y - shown)))}}
        }, f"{column}: {format_change(y, 3)} for {level}"

    def change_remove(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        name, k, _ = self._knot(request)
        knot = float(self.model.curves[name].knots[k])
        return {"remove": {name: [knot]}}, f"{name}: no knot at {format_value(knot)}"

    def change_flatten(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        name = check_text(request.get("column"), "column", 1000)
        return {"flatten": [name]}, f"{name}: flat"

    def change_forbid(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
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

    def _raise(self, values: Floats, output: int, change: float) -> Floats:
        """Return values of a curve (m,) that are drawn higher by a change for an output.

        Several classes are drawn above their mean: that of the output rises more than it is drawn to.
        """
        raised = values.copy()
        scale = 1.0 if self.model.classes is None else POINTS * (1 - 1 / len(values) if len(values) > 1 else 1.0)
        raised[output] += change / scale
        return raised

    def _displayed(self, values: Floats) -> Floats:
        """Return values of a curve (m,) as they are drawn: with classes as points, of several above their mean."""
        if self.model.classes is None:
            return values
        return POINTS * (values if len(values) == 1 else values - values.mean())

    def _effect_json(self) -> dict[str, Any]:
        """Return what all changes do together: scores before and after, rows that are decided otherwise.

        The test rows only have scores: which of them a change mends is not told.
        """
        first, last, problem = self._models[0], self.model, self.problem
        judges = self._judges
        counts = {"held-out": len(judges.validation), "train": len(judges.train), "test": len(judges.test)}
        scores = [
            {
                "part": part,
                "rows": counts.get(part),
                "before": self._scores[0][part],
                "after": self._scores[-1].get(part),
            }
            for part in _PARTS.values()
            if part in self._scores[0]
        ]
        rows = np.setdiff1d(np.arange(len(problem.X)), self._judges.test)
        X, y = problem.X[rows], problem.y[rows]
        effect: dict[str, Any] = {"scores": scores, "rows": len(rows), "flips": None, "examples": []}
        if first.classes is None:
            moved = np.abs(last.function.outputs(X) - first.function.outputs(X)).max(axis=1)
            return effect | {"moved": int((moved > 1e-9 * max(1.0, np.ptp(y))).sum()), "most": float(moved.max())}
        before, after = (each.schema.class_numbers(each.function.outputs(X)) for each in (first, last))
        changed = np.flatnonzero(before != after)
        examples = [
            {
                "row": int(rows[k] if problem.rows is None else problem.rows[rows[k]]),
                "before": first.classes[before[k]],
                "after": first.classes[after[k]],
                "truth": first.classes[int(y[k])],
            }
            for k in changed[:MAX_ROWS].tolist()
        ]
        right = int((after == y)[changed].sum()), int((before == y)[changed].sum())
        return effect | {"flips": len(changed), "righted": right[0], "wronged": right[1], "examples": examples}

    # -- files --------------------------------------------------------------------------------------------------------

    def export(self, what: Any, name: Any) -> Export:
        """Return the model as a file: its folder as a ZIP file, ONNX, or its report."""
        self._sign()
        return make_export(_FORMATS, what, check_text(self.name if name is None else name, "name", 100), self.model)


def _key(graph: NumberGraph | LevelGraph | PairGraph) -> tuple[bool, str]:
    return isinstance(graph, PairGraph), graph.name


def _curve_json(graph: NumberGraph | LevelGraph, chart: dict[str, Any]) -> dict[str, Any]:
    content = {"column": graph.column, "outputs": list(graph.outputs), "size": graph.size, "chart": chart}
    if isinstance(graph, NumberGraph):
        return content | {"input": graph.input}
    by_label = {f"{level} ({count:,})": level for level, count in zip(graph.levels, graph.counts, strict=True)}
    levels = [by_label[bar["name"]] for bar in chart["levels"]]
    left = [level for level in graph.levels if level not in levels]
    return content | {"input": "", "levels": levels, "left_out": left[:MAX_NAMES]}


#: By the name in a model's scores: what the studio calls a part of the rows, in the order of the page.
_PARTS = {"validation": "held-out", "train": "train", "test": "test", "test_rmse": "test_rmse"}


def split_judges(data: TableSplit) -> TableSplit:
    """Return the split with half of the rows that no model was fitted to as validation rows, which judge changes.

    A test counts once. The rows are dealt in the order of the target, so that both halves are alike.
    """
    train, validation, test = data.parts
    order = test[np.argsort(data.rows.y[test, 0], kind="stable")]
    fitted = np.sort(np.concatenate([train, validation]))
    return replace(data, parts=(fitted, np.sort(order[::2]), np.sort(order[1::2])))


def _after(scores: Any) -> dict[str, float]:
    """Return the scores after a change on each part of the rows, except those that are not a number."""
    return {_PARTS[str(part)]: float(value) for part, value in scores["after"].items() if np.isfinite(value)}


def _write_folder(path: Path, model: TableModel) -> None:
    model.save(path.with_suffix(""))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(path.with_suffix("").iterdir()):
            archive.write(file, f"{path.stem}/{file.name}")


def _write_report(path: Path, model: TableModel) -> None:
    from creases.show.report._table_model import write_model_report

    write_model_report(model, path, model_name=path.stem, again="The model was changed by hand in the studio.")


_FORMATS: Formats = {
    "folder": (".zip", "application/zip", _write_folder),
    "onnx": (".onnx", "application/octet-stream", lambda path, model: model.export(path)),
    "report": (".html", "text/html", _write_report),
}
