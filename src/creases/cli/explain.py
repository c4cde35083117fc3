"""``creases explain``: the piece that decides one input."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from creases.cli import _arguments as arguments
from creases.cli import _model as model
from creases.cli.console import out, print_json, print_table, show_progress

if TYPE_CHECKING:
    from creases.regions import Cell, Explanation

SHOWN = 8


def explain_input(
    model_: Annotated[str, typer.Argument(metavar="MODEL", help=model.HELP, show_default=False)],
    input_: Annotated[
        str, typer.Argument(metavar="INPUT", help="Comma-separated numbers, or an .npy file.", show_default=False)
    ],
    input_shape: Annotated[str | None, typer.Option(metavar="C,H,W", help="Shape of one input.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the explanation as JSON.")] = False,
) -> None:
    """Explain what a network does at one input.

    Shows the piece that holds there: coefficients, region, nearest crease and boundary, units that matter.
    """
    with show_progress(2) as begin:
        begin("reading the network")
        x = arguments.read_input(input_)
        net = model.load_model(model_, arguments.parse_shape(input_shape) or arguments.input_shape_of(x))
        begin("finding the region")
        from creases.regions import cell

        region = cell(net, x)
        explanation = as_json_data(region, region.explain())
    if as_json:
        print_json(explanation)
    else:
        _print(explanation)


def as_json_data(cell: Cell, why: Explanation) -> dict[str, Any]:
    """Return the explanation of a region and its input as plain data, ready for JSON."""
    crease, boundary, box = why.nearest_crease, why.nearest_boundary, why.bounding_box

    def unit(index: int) -> dict[str, Any]:
        return {"unit": index, "name": str(cell.net.unit(index))}

    return {
        "network": repr(cell.net),
        "class": why.predicted,
        "runner_up": why.runner_up,
        "outputs": why.outputs.tolist(),
        "margin": why.margin,
        "offset": why.offset,
        "inputs": [
            {
                "input": [int(i) for i in np.unravel_index(j, cell.net.input_shape)],
                "value": float(cell.x[j]),
                "coefficient": float(why.coefficients[j]),
                "input_times_gradient": float(why.input_times_gradient[j]),
            }
            for j in why.ranked_inputs
        ],
        "region": {
            "radius": None if why.radius is None else _finite(why.radius),
            "unbounded": None if box is None else bool(np.isinf(box).any()),
            "bounding_box": None if box is None else [[_finite(end) for end in ends] for ends in box],
            "facets": None if why.facet_units is None else [unit(int(u)) for u in why.facet_units],
        },
        "nearest_crease": None if crease is None else {**unit(crease.unit), "distance": crease.distance},
        "nearest_boundary": None
        if boundary is None
        else {"class": boundary.classes[1], "distance": boundary.distance, "point": boundary.point.tolist()},
        "units": [
            {**unit(int(u)), "activation_times_gradient": float(why.activation_times_gradient[u])}
            for u in why.ranked_units
        ],
    }


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
    from creases.regions import Explanation

    if region["facets"] is None:
        return f"its size is computed up to {Explanation.MAX_INPUTS} inputs and {Explanation.MAX_ROWS:,} rows"
    ball = "balls of every size" if region["radius"] is None else f"a largest ball of radius {region['radius']:.4g}"
    return f"{'unbounded' if region['unbounded'] else 'bounded'}, holds {ball}"


def _facets_text(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{len(names)} creases: {', '.join(names[:SHOWN])}{more}" if names else "no crease"


def _print_inputs(e: dict[str, Any]) -> None:
    box, rows = e["region"]["bounding_box"], []
    for row in e["inputs"][:SHOWN]:
        index = ", ".join(map(str, row["input"]))
        numbers = (f"{row[key]:.4g}" for key in ("value", "coefficient", "input_times_gradient"))
        ends = "" if box is None or len(row["input"]) > 1 else _interval(box[row["input"][0]])
        rows.append((f"x[{index}]", *numbers, ends))
    heads = ("input", "value", "coefficient", "input × gradient", "in the region")
    print_table(f"Margin = {e['offset']:+.6g} {_rest(e['inputs'])}", rows, heads)


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
    title = f"Units that matter: {min(SHOWN, len(units))} of {len(units)} that the margin depends on"
    rows: list[tuple[str, ...]] = [(row["name"], f"{row['activation_times_gradient']:.4g}") for row in units[:SHOWN]]
    print_table(title, rows, ("unit", "activation × gradient"))
