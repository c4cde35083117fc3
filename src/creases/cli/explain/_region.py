"""The linear region of one input: what is explained, as plain data, and as tables for people."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from creases._typing import Floats
from creases.cli import _arguments as arguments
from creases.cli import _model as model
from creases.cli.console import note, out, print_table
from creases.errors import InputError
from creases.tables import Columns

if TYPE_CHECKING:
    from creases.network import Network
    from creases.regions import Cell, Explanation
    from creases.tables import TableSplit


@dataclass(frozen=True, eq=False)
class Subject:
    """A network at one input; of a growth run with the names and units of its table."""

    net: Network
    x: Floats  #: in the network's input shape, or flattened
    columns: Columns
    classes: tuple[str, ...] | None = None
    regression: bool = False  #: a growth run that predicts a number
    title: str = "this input"

    def class_name(self, number: int) -> str:
        """Return what a class is called."""
        return f"class {number}" if self.classes is None else self.classes[number]

    def input_name(self, number: int) -> str:
        """Return what an input is called."""
        return self.columns.names[number]

    @property
    def unit(self) -> str:
        """What distances are measured in."""
        return "standard deviations" if self.columns.count else "the units of the inputs"


def load_subject(model_: str, input_: str | None, row: int | None, input_shape: str | None) -> Subject:
    """Return what the arguments name: a growth run and a row of its table, or a network and an input."""
    if (input_ is None) == (row is None):
        raise InputError("input", "be given, or --row for a growth run, but not both")
    if Path(model_).is_dir():
        return _of_run(Path(model_), input_, row)
    if row is not None:
        raise InputError("row", "come with the folder of a growth run", f"the network {model_}", "give its numbers")
    x = arguments.read_input(input_ or "")
    net = model.load_model(model_, arguments.parse_shape(input_shape) or arguments.input_shape_of(x))
    if x.size != net.n_in:
        raise InputError("input", f"have {net.n_in} numbers, one for each input of the network", f"{x.size}")
    names = [f"x[{', '.join(map(str, index))}]" for index in np.ndindex(*net.input_shape)]
    return Subject(net, x, Columns.unknown(names))


def _of_run(folder: Path, input_: str | None, row: int | None) -> Subject:
    from creases.tables import load, load_settings

    table, data = load(folder), load_settings(folder).load_split()
    problem = data.problem
    number = None if row is None else _find_row(data, row)
    x = arguments.read_input(input_ or "") if number is None else problem.X[number]
    return Subject(
        table.schema.decision_network(table.network),
        x,
        Columns.from_data(problem.X, problem.features),
        problem.classes,
        problem.classes is None,
        "this input" if row is None else f"{data.names['instance']} {row}",
    )


def _find_row(data: TableSplit, row: int) -> int:
    """Return the sample that is a row of the table, numbered from 0 as in every report."""
    problem = data.problem
    numbers = np.arange(len(problem.X)) if problem.rows is None else problem.rows
    matches = np.flatnonzero(numbers == row)
    if not len(matches):
        raise InputError("row", f"be a row of the table, from {numbers.min()} to {numbers.max()}", f"{row}")
    return int(matches[0])


# The piece that decides one input: as plain data, and as tables for people.

SHOWN = 8


def finite(number: float) -> float | None:
    """Return a number, or None where it is infinite: JSON has no infinity."""
    return float(number) if math.isfinite(number) else None


def explain_subject(subject: Subject, budget: float, begin: Callable[..., None]) -> dict[str, Any]:
    """Return what decides an input as plain data, ready for JSON."""
    from creases.regions import cell

    region = cell(subject.net, subject.x, progress=lambda what, done, total: begin("finding the region", done, total))
    why = region.explain()
    begin(f"finding the nearest change of decision (at most {budget:g} s)")
    change = None
    try:
        change = _nearest_change(subject, budget)
    except KeyboardInterrupt:
        note("Interrupted: the nearest change of decision was not searched to its end.")
    return as_json_data(subject, region, why) | {"nearest_change": change}


def _nearest_change(subject: Subject, budget: float) -> dict[str, Any] | None:
    """Return the nearest change of decision anywhere, with the state of its proof; None where it cannot be searched."""
    from creases.certify import nearest

    if subject.regression:
        return None
    weights = subject.columns.weights("l2")
    try:
        answer = nearest(subject.net, subject.x.reshape(-1), weights=weights, budget=budget)
    except InputError as error:
        if error.param == "net":  # too large
            return None
        raise
    return {
        "class": None if answer.reached is None else subject.class_name(answer.reached),
        "distance": finite(answer.distance),
        "lower_bound": finite(answer.lower_bound),
        "proved": answer.proved,
        "unit": subject.unit,
        "point": None if answer.point is None else answer.point.tolist(),
    }


def as_json_data(subject: Subject, cell: Cell, why: Explanation) -> dict[str, Any]:
    """Return the explanation of a region and its input as plain data, ready for JSON."""
    crease, boundary, box = why.nearest_crease, why.nearest_boundary, why.bounding_box
    sign = -1.0 if subject.regression and why.predicted == 0 else 1.0  # the margin of a number is the number itself

    def unit(index: int) -> dict[str, Any]:
        return {"unit": index, "name": str(cell.net.unit(index))}

    return {
        "network": repr(cell.net),
        "class": why.predicted,
        "runner_up": why.runner_up,
        "names": None if subject.regression else [subject.class_name(k) for k in (why.predicted, why.runner_up)],
        "outputs": why.outputs.tolist(),
        "margin": sign * why.margin,
        "offset": sign * why.offset,
        "inputs": [
            {
                "input": [int(i) for i in np.unravel_index(j, cell.net.input_shape)],
                "name": subject.input_name(int(j)),
                "value": float(cell.x[j]),
                "coefficient": sign * float(why.coefficients[j]),
                "input_times_gradient": sign * float(why.input_times_gradient[j]),
            }
            for j in why.ranked_inputs
        ],
        "region": {
            "radius": None if why.radius is None else finite(why.radius),
            "unbounded": None if box is None else bool(np.isinf(box).any()),
            "bounding_box": None if box is None else [[finite(end) for end in ends] for ends in box],
            "facets": None if why.facet_units is None else [unit(int(u)) for u in why.facet_units],
        },
        "nearest_crease": None if crease is None else {**unit(crease.unit), "distance": crease.distance},
        "boundary_in_region": None
        if boundary is None or subject.regression
        else {
            "class": subject.class_name(boundary.classes[1]),
            "distance": boundary.distance,
            "point": boundary.point.tolist(),
        },
        "units": [
            {**unit(int(u)), "activation_times_gradient": sign * float(why.activation_times_gradient[u])}
            for u in why.ranked_units
        ],
    }


# -- for people -------------------------------------------------------------------------------------------------------


def print_explanation(e: dict[str, Any]) -> None:
    """Print an explanation as tables."""
    crease, region, names = e["nearest_crease"], e["region"], e["names"]
    rows: list[tuple[str, ...]] = [("network", e["network"])]
    if names is None:
        rows.append(("prediction", f"{e['margin']:.6g}"))
    else:
        rows.append(("decision", f"{names[0]}, ahead of {names[1]} by {e['margin']:.6g}"))
        rows.append(("nearest change of decision", _nearest_text(e["nearest_change"])))
        rows.append(("boundary in this region", _boundary_text(e["boundary_in_region"])))
    rows.append(
        (
            "nearest crease",
            f"{crease['distance']:.4g} away in the inputs' units, unit {crease['name']}" if crease else "none",
        )
    )
    rows.append(("region", _region_text(region)))
    if region["facets"] is not None:
        rows.append(("bounded by", _facets_text([facet["name"] for facet in region["facets"]])))
    print_table("The linear region of this input", rows)
    out.print()
    _print_inputs(e)
    if e["units"]:
        out.print()
        _print_units(e["units"])


def _nearest_text(change: dict[str, Any] | None) -> str:
    """Return the nearest change of decision over all regions, and what is proved about it."""
    if change is None:
        return "not searched: interrupted, or the network is too large"
    distance, bound, unit = change["distance"], change["lower_bound"], change["unit"]
    if distance is None:
        if change["proved"]:
            return "none exists (proved)"
        known = f"; there is none within {bound:.4g} in {unit} (proved)" if bound else ""
        return f"none found in the time limit{known}"
    if change["proved"]:
        return f"{distance:.4g} away in {unit}, to {change['class']}; nothing is nearer (proved)"
    return f"at most {distance:.4g} and at least {bound:.4g} away in {unit}, to {change['class']} (out of time)"


def _boundary_text(boundary: dict[str, Any] | None) -> str:
    if boundary is None:
        return "does not cross this region"
    return f"{boundary['distance']:.4g} away in the inputs' units, to {boundary['class']}; others may be nearer"


def _region_text(region: dict[str, Any]) -> str:
    from creases.regions import Explanation

    if region["facets"] is None:
        return f"size not computed (more than {Explanation.MAX_INPUTS} inputs or {Explanation.MAX_ROWS:,} rows)"
    ball = "no largest ball" if region["radius"] is None else f"largest ball inside has radius {region['radius']:.4g}"
    return f"{'unbounded' if region['unbounded'] else 'bounded'}, {ball}"


def _facets_text(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{len(names)} creases: {', '.join(names[:SHOWN])}{more}" if names else "no crease"


def _print_inputs(e: dict[str, Any]) -> None:
    box, rows = e["region"]["bounding_box"], []
    for row in e["inputs"][:SHOWN]:
        numbers = (f"{row[key]:.4g}" for key in ("value", "coefficient", "input_times_gradient"))
        ends = "" if box is None or len(row["input"]) > 1 else _interval(box[row["input"][0]])
        rows.append((row["name"], *numbers, ends))
    heads = ("input", "value", "coefficient", "input × gradient", "in the region")
    print_table(f"{'Margin' if e['names'] else 'Prediction'} = {e['offset']:+.6g} {_rest(e['inputs'])}", rows, heads)


def _rest(inputs: list[dict[str, Any]]) -> str:
    hidden = inputs[SHOWN:]
    if not hidden:
        return "and these products"
    total = sum(row["input_times_gradient"] for row in hidden)
    return f"and these products, and {total:+.4g} from {len(hidden)} more inputs"


def _interval(ends: list[float | None]) -> str:
    low, high = ends
    return f"{'-inf' if low is None else format(low, '.4g')} to {'inf' if high is None else format(high, '.4g')}"


def _print_units(units: list[dict[str, Any]]) -> None:
    title = f"Most important units ({min(SHOWN, len(units))} of {len(units)} that affect the margin)"
    rows: list[tuple[str, ...]] = [(row["name"], f"{row['activation_times_gradient']:.4g}") for row in units[:SHOWN]]
    print_table(title, rows, ("unit", "activation × gradient"))
