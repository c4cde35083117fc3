"""The linear region of one input: what is explained, as plain data, and as tables for people."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from creases._document import Document, Section, facts, table
from creases._typing import Floats
from creases.cli import _arguments as arguments
from creases.cli import _model as model
from creases.cli.console import note
from creases.errors import InputError

if TYPE_CHECKING:
    from creases.network import Network
    from creases.regions import Explanation


@dataclass(frozen=True, eq=False)
class Subject:
    """A network at one input; of a growth run with the names and units of its table."""

    net: Network
    x: Floats  #: in the network's input shape, or flattened
    names: tuple[str, ...]  #: (d,) of the inputs
    weights: Floats  #: (d,) what a change of an input counts: in standard deviations, of a category 1 in all
    unit: str  #: what distances are measured in
    classes: tuple[str, ...] | None = None
    number: str = ""  #: of a table's model that predicts a number: what the network puts out

    def class_name(self, number: int) -> str:
        """Return what a class is called."""
        return f"class {number}" if self.classes is None else self.classes[number]


def load_subject(model_: str, input_: str | None, row: int | None, input_shape: str | None) -> Subject:
    """Return what the arguments name: a growth run and a row of its table, or a network and an input."""
    if (input_ is None) == (row is None):
        raise InputError("input", "be given, or --row for a growth run, but not both")
    if Path(model_).is_dir():
        return _of_run(Path(model_), input_, row)
    if row is not None:
        raise InputError("row", "come with the folder of a growth run", f"the network {model_}", "give its numbers")
    x = arguments.read_input(input_ or "")
    content, sizes = model.parse_onnx(model_)
    if not sizes or x.size in sizes:
        net = model.load_model(model_, arguments.parse_shape(input_shape) or arguments.input_shape_of(x), content)
        sizes = (net.n_in,)
    if x.size not in sizes:
        raise InputError("input", f"have {sizes[0]} numbers, one for each input of the network", f"{x.size}")
    names = tuple(f"x[{', '.join(map(str, index))}]" for index in np.ndindex(*net.input_shape))
    return Subject(net, x, names, np.ones(net.n_in), "the units of the inputs")


def _of_run(folder: Path, input_: str | None, row: int | None) -> Subject:
    from creases.tables import load

    table = load(folder)
    ((x, *_),), _ = read_row(table, folder, input_, row)
    schema = table.schema
    weights = np.where([each.is_level for each in schema.encoder.features], np.sqrt(0.5), 1 / schema.spread)
    names, net = tuple(each.name for each in schema.encoder.features), schema.decision_network(table.network)
    number = "logarithm of the prediction" if getattr(table.function, "link", "") == "log" else "prediction"
    return Subject(net, x, names, weights, "standard deviations", schema.classes, "" if schema.classes else number)


def read_row(model: Any, folder: Path, input_: str | None, row: int | None) -> tuple[list[tuple[Any, str, str]], Any]:
    """Return an encoded row, what to call it, its true class or value, and the table's rows if they are there.

    A row whose target is missing was not fitted, but can be explained.
    """
    from creases.tables import load_settings

    if input_ is not None:
        return [(arguments.read_input(input_).reshape(-1), "this row", "")], None
    settings = load_settings(folder)
    problem = settings.load_problem()
    numbers = list(range(len(problem.X))) if problem.rows is None else problem.rows.tolist()
    if row in numbers:
        value = problem.y[numbers.index(row)]
        truth = f"{value:,.6g}" if problem.classes is None else problem.classes[int(value)]
        return [(problem.X[numbers.index(row)], f"row {row}", truth)], problem.X
    if settings.stored is not None and problem.rows is not None:
        expected = f"be a row with {model.schema.target!r}: {settings.data}, which has the others, is not there"
        raise InputError("row", expected, f"{row}", "explain rows of a file with {0}", [("rows", "FILE")])
    X = problem.X if problem.rows is None else model.encode(settings.data, header=settings.header).X
    if row is None or not 0 <= row < len(X):
        raise InputError("row", f"be a row of the table, from 0 to {len(X) - 1}", f"{row}")
    return [(X[row], f"row {row}", "")], problem.X


# The piece that decides one input: as plain data, and as tables for people.

SHOWN = 8


def explain_subject(subject: Subject, budget: float, begin: Callable[..., None]) -> dict[str, Any]:
    """Return what decides an input as plain data, ready for JSON."""
    from creases.regions import cell

    region = cell(subject.net, subject.x, progress=lambda what, done, total: begin("finding the region", done, total))
    why = region.explain()
    begin(f"finding the nearest change of decision (at most {budget:g} s)")
    change = None
    try:
        change = _nearest_change(subject, budget, why)
    except KeyboardInterrupt:
        note("Interrupted: the nearest change of decision was not searched to its end.")
    named: dict[str, Any] = {"inputs": subject.names, "classes": subject.classes, "is_regression": bool(subject.number)}
    return why.to_dict(**named) | {"nearest_change": change, "number": subject.number or "prediction"}


def _nearest_change(subject: Subject, budget: float, why: Explanation) -> dict[str, Any] | None:
    """Return the nearest change of decision anywhere, with the state of its proof; None where it cannot be searched.

    What is known of the region bounds it too: within the nearest crease nothing but the region's boundary changes it.
    """
    from creases.certify import nearest

    if subject.number:
        return None
    try:
        answer = nearest(subject.net, subject.x.reshape(-1), weights=subject.weights, budget=budget)
    except InputError as error:
        if error.param == "net":  # too large
            return None
        raise
    distance, reached, point, lower = answer.distance, answer.reached, answer.point, answer.lower_bound
    if not answer.proved:
        near, crease = why.nearest_boundary, why.nearest_crease
        inside = min(part.distance for part in (near, crease) if part) if near or crease else 0.0
        lower = max(lower, float(subject.weights.min()) * inside * (1 - 1e-9))  # rounding
        if near and (length := float(np.linalg.norm(subject.weights * (near.point - subject.x.ravel())))) < distance:
            distance, reached, point = length, near.classes[1], near.point
    return {
        "class": None if reached is None else subject.class_name(reached),
        "distance": distance if math.isfinite(distance) else None,  # JSON has no infinity
        "lower_bound": lower if math.isfinite(lower) else None,
        "proved": answer.proved,
        "unit": subject.unit,
        "point": None if point is None else point.tolist(),
    }


def describe_region(e: dict[str, Any]) -> Document:
    """Return what decides an input as sections: the region, the inputs and the units that matter most."""
    crease, region, names, units = e["nearest_crease"], e["region"], e["names"], e["units"]
    rows = [("network", e["network"])]
    if names is None:
        rows.append((e["number"], f"{e['margin']:.6g}"))
    else:
        boundary, at = e["boundary_in_region"], "does not cross this region"
        if boundary is not None:
            at = f"{boundary['distance']:.4g} away in the inputs' units, to {boundary['class']}; others may be nearer"
        rows.append(("decision", f"{names[0]}, ahead of {names[1]} by {e['margin']:.6g}"))
        rows.append(("nearest change of decision", _nearest_text(e["nearest_change"])))
        rows.append(("boundary in this region", at))
    near = f"{crease['distance']:.4g} away in the inputs' units, unit {crease['name']}" if crease else "none"
    rows += [("nearest crease", near), ("region", _region_text(region))]
    if region["facets"] is not None:
        creases = [facet["name"] for facet in region["facets"]]
        more = f" and {len(creases) - SHOWN} more" if len(creases) > SHOWN else ""
        listed = f"{len(creases)} creases: {', '.join(creases[:SHOWN])}{more}"
        rows.append(("bounded by", listed if creases else "no crease"))
    sections = [facts("The linear region of this input", rows), _input_section(e)]
    if units:
        title = f"Most important units ({min(SHOWN, len(units))} of {len(units)} that affect the margin)"
        cells = [(row["name"], f"{row['activation_times_gradient']:.4g}") for row in units[:SHOWN]]
        sections.append(table(title, ("unit", "activation × gradient"), cells))
    return Document("Explanation", "", sections, e)


def _nearest_text(change: dict[str, Any] | None) -> str:
    """Return the nearest change of decision over all regions, and what is proved about it."""
    if change is None:
        return "not searched: interrupted, or the network is too large"
    distance, bound, unit = change["distance"], change["lower_bound"], change["unit"]
    if distance is None:
        if change["proved"]:
            return "none exists (proved)"
        known = f"; there is none within {bound:.4g} in {unit}" if bound else ""
        return f"none found in the time limit{known}"
    if change["proved"]:
        return f"{distance:.4g} away in {unit}, to {change['class']}; nothing is nearer (proved)"
    return f"at most {distance:.4g} and at least {bound:.4g} away in {unit}, to {change['class']} (out of time)"


def _region_text(region: dict[str, Any]) -> str:
    from creases.regions import Explanation

    if region["facets"] is None:
        return f"size not computed (more than {Explanation.MAX_INPUTS} inputs or {Explanation.MAX_ROWS:,} rows)"
    ball = "no largest ball" if region["radius"] is None else f"largest ball inside has radius {region['radius']:.4g}"
    return f"{'unbounded' if region['unbounded'] else 'bounded'}, {ball}"


def _input_section(e: dict[str, Any]) -> Section:
    """Return the inputs with the largest products; of the others their sum."""
    box, rows, hidden = e["region"]["bounding_box"], [], e["inputs"][SHOWN:]
    for row in e["inputs"][:SHOWN]:
        numbers = (f"{row[key]:.4g}" for key in ("value", "coefficient", "input_times_gradient"))
        low, high = (None, None) if box is None else box[row["input"][0]]
        ends = f"{'-inf' if low is None else format(low, '.4g')} to {'inf' if high is None else format(high, '.4g')}"
        rows.append((row["name"], *numbers, "" if box is None or len(row["input"]) > 1 else ends))
    total = sum(row["input_times_gradient"] for row in hidden)
    more = f", and {total:+.4g} from {len(hidden)} more inputs" if hidden else ""
    title = f"{'Margin' if e['names'] else e['number'].capitalize()} = {e['offset']:+.6g} and these products{more}"
    return table(title, ("input", "value", "coefficient", "input × gradient", "in the region"), rows)
