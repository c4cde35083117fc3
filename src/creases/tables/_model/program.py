"""A model of a table as steps of plain arithmetic on its cells, from which every other language is written.

How a column's cell is read its codec says: as the table itself is read, or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import isfinite, log
from typing import Any

import numpy as np

from creases._typing import Floats
from creases.tables._columns.nodes import If, Input, Interpolate, Name, Node, Operation
from creases.tables._model.schema import RowFunction
from creases.tables._reading.columns import MARKS, NONE, Marks
from creases.tables._stages.families import log_odds


@dataclass(frozen=True)
class Exp(Node):
    """The exponential of a value."""

    value: Any


@dataclass(frozen=True, eq=False)
class Dot(Node):
    """A sum of steps times weights, and a constant; with ``is_positive`` 0 where it is negative."""

    names: tuple[str, ...]
    weights: Floats
    constant: float
    is_positive: bool = False


@dataclass(frozen=True)
class Largest(Node):
    """The largest of earlier steps."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Decide(Node):
    """The label of the first of earlier steps that is the largest, or of one step by whether it is above a limit."""

    names: tuple[str, ...]
    labels: tuple[Any, ...]  #: a text, a number or a truth value of each class
    largest: str = ""  #: the step that is the largest; "" for two labels
    limit: float = 0.0


@dataclass(frozen=True, eq=False)
class Program:
    """Steps in stages: each reads columns and steps of earlier stages. The names of steps are ours, never a table's."""

    inputs: tuple[Input, ...]
    stages: tuple[Mapping[str, Any], ...]
    unread: Mapping[str, int]  #: steps that are 1 where a cell cannot be read, with the number of its column
    outputs: Mapping[str, str]  #: steps that are predicted values or probabilities, with what they are called
    target: str
    labels: tuple[Any, ...] = ()  #: of the classes; the step ``decision`` is one of them
    is_array: bool = False  #: whether rows have no table, but are of an array

    @property
    def titles(self) -> dict[str, str]:
        """What steps are called that a row is answered with: the decision, if there are classes, and the outputs."""
        return ({"decision": f"predicted {self.target}"} if self.labels else {}) | dict(self.outputs)


def make_program(model: RowFunction) -> Program:
    """Return the steps of a model."""
    encoding, inputs = model.schema.encoder, []
    stages: list[dict[str, Any]] = [{}, {}, {}, {}, {}]
    names = tuple(f"x{j}" for j in range(len(model.schema.features)))
    hidden, scores = _curve_stages(model, names) if hasattr(model, "curves") else _layer_stages(model, names)
    read: set[str] = set()  # the steps that others read
    nodes = [node for stage in [*hidden, scores] for node in stage.values()]
    for node in nodes:  # grows
        nodes += [each for each in vars(node).values() if isinstance(each, Node)]
        read |= {node.name} if isinstance(node, Name | Interpolate) else set(getattr(node, "names", ()))
    encoded: dict[str, Any] = {}
    for k, column in enumerate(encoding.inputs):
        codec = column.kind.codec
        cells, part = codec.input(column), column.kind.part
        about = cells.about if part is None else f"{cells.about}: {part.describe()}"
        inputs.append(replace(cells, about=about, gaps=gap_texts(column.kind.marks)))
        places = [f"x{j}" for j, feature in enumerate(encoding.features) if feature.column == column.name]
        if read.intersection(places):
            steps, nodes = codec.program(column, inputs[k], k, encoding.missing)
            stages = [stage | more for stage, more in zip(stages, steps, strict=True)]
            encoded |= {name: node for name, node in zip(places, nodes, strict=True) if name in read}
    outputs, decision = _predict(model, tuple(scores))
    unread = {name: int(name.removeprefix("unread")) for name in stages[4]}
    stages[4] |= encoded
    return Program(
        tuple(inputs),
        tuple(stage for stage in [*stages, *hidden, scores, *decision] if stage),
        unread,
        outputs,
        model.schema.target or "class",
        () if model.classes is None else tuple(model.schema.label_values.tolist()),
        is_array=model.schema.encoding is None,
    )


def gap_texts(marks: Marks) -> tuple[str, ...]:
    """Return the texts that stand for a missing value: those of a user, or the usual ones in any case."""
    cases = {"".join(letters) for mark in MARKS for letters in product(*({x, x.upper()} for x in mark))}
    return ("", NONE, *sorted(cases)) if marks is None else ("", *marks)


# -- scores -----------------------------------------------------------------------------------------------------------
def _curve_stages(model: Any, inputs: Sequence[str]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the curves, with the network of planes and units beside them, and the scores."""
    from creases.tables._stages.model import to_layers

    function = model.function
    m = len(function.intercept)
    steps: dict[str, Any] = {}
    hidden: list[dict[str, Any]] = []
    terms: list[dict[str, float]] = [{} for _ in range(m)]
    constant = function.intercept.astype(np.float64).copy()
    for j, curve in enumerate(function.curves):
        for k in range(m):
            values = curve.values[:, k]
            if not curve.is_number or not np.ptp(values):  # of what is 0 or 1, or constant
                constant[k] += values[0]
                terms[k] |= {inputs[j]: float(values[-1] - values[0])} if np.ptp(values) else {}
                continue
            steps[f"curve{j}_{k}"] = Interpolate(inputs[j], curve.knots, values)
            terms[k][f"curve{j}_{k}"] = 1.0
    clips: dict[str, Any] = {}
    if function.planes or function.units is not None:
        flat = tuple(replace(curve, values=0 * curve.values, errors=0 * curve.errors) for curve in function.curves)
        layers = to_layers(replace(function, n_classes=0, family="normal", intercept=np.zeros(m), curves=flat))
        near = list(inputs)
        for j, curve in enumerate(function.curves):  # beyond the knots nothing changes but what rounding makes of it
            knots = -layers[0][1][layers[0][0][:, j] != 0]
            if curve.is_number and knots.size:
                near[j] = f"near{j}"
                least = Operation("max", Name(inputs[j]), float(knots.min()))
                clips[near[j]] = Operation("min", least, float(knots.max()))
        hidden, last = _network_steps(layers, near)
        steps |= hidden.pop(0)
        for k, node in enumerate(last):
            terms[k] |= dict(zip(node.names, node.weights.tolist(), strict=True))
            constant[k] += node.constant
    scores = {
        f"score{k}": Dot(tuple(terms[k]), np.array(list(terms[k].values())), float(constant[k])) for k in range(m)
    }
    return [clips, steps, *hidden], scores


def _layer_stages(model: Any, inputs: Sequence[str]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the units of a network of layers, and the scores: of two classes the difference of their logits."""
    *layers, (weight, bias) = ((np.asarray(W, np.float64), np.asarray(b, np.float64)) for W, b in model._layers())
    if model.classes is not None and len(bias) == 2:
        weight, bias = weight[1:] - weight[:1], bias[1:] - bias[:1]
    hidden, last = _network_steps([*layers, (weight, bias)], inputs)
    return hidden, {f"score{k}": node for k, node in enumerate(last)}


def _network_steps(
    layers: Sequence[tuple[Floats, Floats]], inputs: Sequence[str]
) -> tuple[list[dict[str, Any]], list[Dot]]:
    """Return the units of a network as steps, a stage for each layer, and its outputs."""
    names, stages = list(inputs), []
    for depth, (weight, bias) in enumerate(layers):
        is_last = depth == len(layers) - 1
        nodes = []
        for row, constant in zip(weight, bias, strict=True):
            used = np.flatnonzero(row)
            nodes.append(Dot(tuple(names[j] for j in used), row[used], float(constant), not is_last))
        if not is_last:
            names = [f"unit{depth}_{k}" for k in range(len(nodes))]
            stages.append(dict(zip(names, nodes, strict=True)))
    return stages, nodes


def _predict(model: RowFunction, scores: tuple[str, ...]) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Return the steps that are predictions, with what they are called, and the stages that make them of scores."""
    if model.classes is None:
        values: dict[str, Any] = {f"value{k}": Name(score) for k, score in enumerate(scores)}
        if (most := model._largest) is not None:  # scores are logarithms
            capped = {k: v if not isfinite(most) else Operation("min", v, log(most)) for k, v in values.items()}
            values = {name: Exp(score) for name, score in capped.items()}
        return dict(zip(values, (f"predicted {name}" for name in model.schema.targets), strict=True)), [values]
    labels = tuple(model.schema.label_values.tolist())
    titles = {f"chance{k}": f"probability {name}" for k, name in enumerate(model.classes)}
    if len(labels) == 2:
        score, power = Name(scores[0]), Name("power")
        small, large = power / (power + 1), Operation("/", 1, power + 1)
        chances: dict[str, Any] = {"chance0": If(score < 0, large, small), "chance1": If(score < 0, small, large)}
        limit = float(log_odds(model.schema.threshold)) if model.schema.threshold != 0.5 else 0.0
        size = Operation("max", score, score * -1.0)  # exp of a negative number cannot overflow
        return titles, [{"power": Exp(size * -1.0)}, {**chances, "decision": Decide(scores, labels, limit=limit)}]
    powers = {f"power{k}": Exp(Name(name) - Name("largest")) for k, name in enumerate(scores)}
    total = Dot(tuple(powers), np.ones(len(powers)), 0.0)
    chances = {f"chance{k}": Name(f"power{k}") / Name("total") for k in range(len(scores))}
    decision = Decide(scores, labels, "largest")
    return titles, [{"largest": Largest(scores)}, powers, {"total": total}, {**chances, "decision": decision}]
