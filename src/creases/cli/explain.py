"""``creases explain``: the piece that decides one input."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from creases._typing import Floats
from creases.cli import _arguments as arguments
from creases.cli import _model as model
from creases.cli._console import out, print_json, print_table, show_progress

if TYPE_CHECKING:
    from creases.regions import Cell

SHOWN = 8

# Facets and the bounding box take a linear program for each row and each input: seconds up to here, hours for images.
MOST_INPUTS, MOST_ROWS = 64, 2_000


def explain_input(
    model_: Annotated[str, typer.Argument(metavar="MODEL", help=model.HELP, show_default=False)],
    input_: Annotated[
        str, typer.Argument(metavar="INPUT", help="Comma-separated numbers, or an .npy file.", show_default=False)
    ],
    input_shape: Annotated[str | None, typer.Option(metavar="C,H,W", help="Shape of one input.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the explanation as JSON.")] = False,
) -> None:
    """Show the piece that decides an input: coefficients, region, nearest crease and boundary, units that matter."""
    with show_progress(2) as begin:
        begin("reading the network")
        x = arguments.read_input(input_)
        net = model.load_model(model_, arguments.parse_shape(input_shape) or arguments.input_shape_of(x))
        begin("finding the region")
        from creases.regions import cell

        explanation = explain_cell(cell(net, x))
    if as_json:
        print_json(explanation)
    else:
        _print(explanation)


def explain_cell(cell: Cell) -> dict[str, Any]:
    """Everything ``creases explain`` tells about a region and its input, ready for JSON."""
    z = cell.J @ cell.x + cell.y
    own, other, weights = _decision(z)
    return {
        "network": repr(cell.net),
        "class": own,
        "runner_up": other,
        "outputs": z.tolist(),
        "margin": float(weights @ z),
        "offset": float(weights @ cell.y),
        "inputs": _inputs(cell, weights @ cell.J),
        "region": _region(cell),
        "nearest_crease": _nearest_crease(cell),
        "nearest_boundary": _nearest_boundary(cell),
        "units": _units(cell, weights),
    }


def _decision(z: Floats) -> tuple[int, int, Floats]:
    """The class, the runner-up, and the weights w (m,) with margin ``w . z``; one output decides by its sign."""
    if len(z) == 1:
        own = int(z[0] > 0)
        return own, 1 - own, np.array([1.0 if own else -1.0])
    own, other = (int(i) for i in np.argsort(-z, kind="stable")[:2])
    weights = np.zeros(len(z))
    weights[own], weights[other] = 1.0, -1.0
    return own, other, weights


def _inputs(cell: Cell, slope: Floats) -> list[dict[str, Any]]:
    """The inputs, largest contribution to the margin first."""
    shape, contribution = cell.net.input_shape, slope * cell.x
    order = np.argsort(-np.abs(contribution), kind="stable")
    return [
        {
            "input": [int(i) for i in np.unravel_index(j, shape)],
            "value": float(cell.x[j]),
            "coefficient": float(slope[j]),
            "contribution": float(contribution[j]),
        }
        for j in order
    ]


def _region(cell: Cell) -> dict[str, Any]:
    detailed = len(cell.x) <= MOST_INPUTS and len(cell.p) <= MOST_ROWS
    return {
        "radius": _finite(cell.radius) if detailed else None,
        "unbounded": bool(np.isinf(cell.bounding_box).any()) if detailed else None,
        "bounding_box": [[_finite(end) for end in ends] for ends in cell.bounding_box] if detailed else None,
        "facets": [_unit(cell, int(cell.units[row])) for row in cell.facets] if detailed else None,
    }


def _nearest_crease(cell: Cell) -> dict[str, Any] | None:
    nearest = cell.nearest_crease
    return None if nearest is None else {**_unit(cell, nearest.unit), "distance": nearest.distance}


def _nearest_boundary(cell: Cell) -> dict[str, Any] | None:
    nearest = cell.nearest_boundary
    if nearest is None:
        return None
    return {"class": nearest.classes[1], "distance": nearest.distance, "point": nearest.point.tolist()}


def _units(cell: Cell, weights: Floats) -> list[dict[str, Any]]:
    """The units that contribute to the margin, largest first."""
    from creases.network.program import unit_contributions

    contribution = unit_contributions(cell.net, cell.x, weights)
    order = np.argsort(-np.abs(contribution), kind="stable")
    order = order[contribution[order] != 0]
    return [{**_unit(cell, int(u)), "contribution": float(contribution[u])} for u in order]


def _unit(cell: Cell, index: int) -> dict[str, Any]:
    return {"unit": index, "name": str(cell.net.unit(index))}


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None  # JSON has no infinity


# -- for people -------------------------------------------------------------------------------------------------------


def _print(e: dict[str, Any]) -> None:
    crease, boundary, region = e["nearest_crease"], e["nearest_boundary"], e["region"]
    rows: list[tuple[str, ...]] = [
        ("network", e["network"]),
        ("decision", f"class {e['class']}, ahead of class {e['runner_up']} by {e['margin']:.6g}"),
        ("nearest crease", f"{crease['distance']:.4g} away, unit {crease['name']}" if crease else "none"),
        ("nearest boundary", _boundary_text(boundary)),
        ("region", _region_text(region)),
    ]
    if region["facets"] is not None:
        rows.append(("bounded by", _facets_text([facet["name"] for facet in region["facets"]])))
    print_table("The piece that decides this input", rows)
    out.print()
    _print_inputs(e)
    if e["units"]:
        out.print()
        _print_units(e["units"])


def _boundary_text(boundary: dict[str, Any] | None) -> str:
    if boundary is None:
        return "does not pass through this region"
    return f"{boundary['distance']:.4g} away, a tie with class {boundary['class']}"


def _region_text(region: dict[str, Any]) -> str:
    if region["facets"] is None:
        return f"its size is computed up to {MOST_INPUTS} inputs and {MOST_ROWS:,} rows"
    ball = "balls of every size" if region["radius"] is None else f"a largest ball of radius {region['radius']:.4g}"
    return f"{'unbounded' if region['unbounded'] else 'bounded'}, holds {ball}"


def _facets_text(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{len(names)} creases: {', '.join(names[:SHOWN])}{more}" if names else "no crease"


def _print_inputs(e: dict[str, Any]) -> None:
    box, rows = e["region"]["bounding_box"], []
    for row in e["inputs"][:SHOWN]:
        index = ", ".join(map(str, row["input"]))
        numbers = (f"{row[key]:.4g}" for key in ("value", "coefficient", "contribution"))
        ends = "" if box is None or len(row["input"]) > 1 else _interval(box[row["input"][0]])
        rows.append((f"x[{index}]", *numbers, ends))
    heads = ("input", "value", "coefficient", "contribution", "in the region")
    print_table(f"Margin = {e['offset']:+.6g} {_rest(e['inputs'])}", rows, heads)


def _rest(inputs: list[dict[str, Any]]) -> str:
    hidden = inputs[SHOWN:]
    if not hidden:
        return "and these contributions"
    return (
        f"and these contributions, and {sum(row['contribution'] for row in hidden):+.4g} from {len(hidden)} more inputs"
    )


def _interval(ends: list[float | None]) -> str:
    low, high = ends
    return f"{'-inf' if low is None else format(low, '.4g')} to {'inf' if high is None else format(high, '.4g')}"


def _print_units(units: list[dict[str, Any]]) -> None:
    title = f"Units that matter: {min(SHOWN, len(units))} of {len(units)} that contribute to the margin"
    print_table(title, [(row["name"], f"{row['contribution']:.4g}") for row in units[:SHOWN]], ("unit", "contribution"))
