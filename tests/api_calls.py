"""A correct call of every public function, cheap to make, for tests that then change one of its arguments."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

import creases
from api_change_calls import boolean_calls, change_calls, problem_calls, show_calls, spline_calls
from api_objects import BOX, Call, X, Y, coefficients, line, model, net, plane, space
from creases import certify, compare, explain, regions, tables


def network_calls() -> dict[str, Callable[[], Call]]:
    first = model(2, 4, 3)
    sample = torch.from_numpy(X)
    return {
        "read": lambda: Call(creases.read, {"model": model(2, 4, 3), "input_shape": (2,), "leak": 0.0}),
        "as_network": lambda: Call(creases.network.as_network, {"model": model(2, 4, 3), "input_shape": (2,)}),
        "places": lambda: Call(creases.places, {"model": first, "input_shape": (2,), "X": sample, "refused": False}),
        "widen": lambda: Call(
            creases.widen,
            {
                "model": model(2, 4, 3),
                "place": "0",
                "fan_in": np.ones((1, 2)),
                "bias": [0.5],
                "fan_out": np.ones((3, 1)),
            },
        ),
        "deepen": lambda: Call(creases.deepen, {"model": model(2, 4, 3), "place": "0", "X": sample}),
        "remove": lambda: Call(creases.remove, {"model": model(2, 4, 3), "place": "0", "units": [1], "X": sample}),
        "Network.__call__": lambda: Call(net().__call__, {"x": X}),
        "Network.unit": lambda: Call(net().unit, {"index": 1}),
        "Network.sides": lambda: Call(net().sides, {"x": X}),
        "Network.pattern": lambda: Call(net().pattern, {"x": X}),
        "Network.unpack": lambda: Call(net().unpack, {"pattern": net().pattern(X)}),
        "Network.piece": lambda: Call(net().piece, {"x": X}),
        "Network.from_bytes": lambda: Call(creases.Network.from_bytes, {"data": net().to_bytes(), "source": "it"}),
    }


def region_calls() -> dict[str, Callable[[], Call]]:
    points = np.zeros((2, 2))
    return {
        "bounds": lambda: Call(creases.bounds, {"widths": [3, 3], "d": 2}),
        "cell": lambda: Call(creases.cell, {"net": net(), "x": X[0], "box": BOX, "max_memory": 1e9}),
        "estimate_regions": lambda: Call(
            regions.estimate_regions, {"net": net(), "box": BOX, "origin": X[0], "basis": np.eye(2), "exact": False}
        ),
        "line": lambda: Call(creases.line, {"net": net(), "a": X[0], "b": X[1], "infinite": False, "max_memory": 1e9}),
        "lines": lambda: Call(regions.lines, {"net": net(), "A": X[:2], "B": X[2:4]}),
        "plane": lambda: Call(
            creases.plane, {"net": net(), "box": BOX, "origin": X[0], "basis": np.eye(2), "exact": False}
        ),
        "plane_through": lambda: Call(
            creases.plane_through, {"net": net(), "a": X[0], "b": X[1], "c": X[2], "margin": 0.25, "exact": False}
        ),
        "space": lambda: Call(
            creases.space,
            {"net": net(), "box": BOX, "method": "auto", "n_jobs": 1, "max_regions": 9, "max_seconds": 9.0},
        ),
        "tropical": lambda: Call(creases.tropical, {"net": net(2, 3, 1), "prune": True, "max_terms": 100}),
        "decision_polytopes": lambda: Call(regions.decision_polytopes, {"net": net(), "box": BOX, "inside": 1}),
        "Cell.contains": lambda: Call(creases.cell(net(), X[0]).contains, {"points": X}),
        "Cell.neighbor": lambda: Call(creases.cell(net(), X[0], box=BOX).neighbor, {"row": 0}),
        "LinePartition.units": lambda: Call(line().units, {"i": 0}),
        "LinePartition.points": lambda: Call(line().points, {"t": [0.0, 0.5]}),
        "LinePartition.locate": lambda: Call(line().locate, {"t": [0.0, 0.5]}),
        "PlanePartition.polygon": lambda: Call(plane().polygon, {"region": 0}),
        "PlanePartition.points": lambda: Call(plane().points, {"t": points}),
        "PlanePartition.locate": lambda: Call(plane().locate, {"points": points}),
        "SpacePartition.locate": lambda: Call(space().locate, {"points": np.zeros((2, 3))}),
    }


def certify_calls() -> dict[str, Callable[[], Call]]:
    here = {"net": net(), "box": BOX}
    return {
        "holds": lambda: Call(certify.holds, here | {"A": np.ones((1, 2)), "b": [3.0], "never": 0, "budget": 1.0}),
        "holds outputs": lambda: Call(certify.holds, here | {"outputs": (np.eye(3), [9.0] * 3)}),
        "margins": lambda: Call(certify.margins, {"net": net(), "X": X[:2], "norm": "l2", "budget": 1.0}),
        "monotone": lambda: Call(
            certify.monotone,
            here
            | {
                "column": 0,
                "output": 0,
                "direction": "rising",
                "A": np.ones((1, 2)),
                "b": [3.0],
                "tolerance": 1e-6,
                "budget": 1.0,
            },
        ),
        "nearest": lambda: Call(
            certify.nearest,
            {
                "net": net(),
                "x": X[0],
                "target": 0,
                "norm": "l2",
                "box": BOX,
                "fixed": [0],
                "integer": [],
                "one_hot": [],
                "weights": [1.0, 1.0],
                "rising": [1],
                "falling": [],
                "count": 1,
                "budget": 1.0,
                "tolerance": 1e-6,
            },
        ),
        "output_bounds": lambda: Call(certify.output_bounds, here | {"method": "linear", "max_regions": 100}),
        "unit_bounds": lambda: Call(certify.unit_bounds, here | {"method": "linear", "max_regions": 100}),
        "output_range": lambda: Call(
            certify.output_range,
            here | {"A": np.ones((1, 2)), "b": [3.0], "quantity": "outputs", "budget": 1.0, "tolerance": 1e-6},
        ),
        "safety_map": lambda: Call(
            certify.safety_map, here | {"origin": X[0], "basis": np.eye(2), "unit": [1.0, 1.0], "resolution": 8}
        ),
        "decide_sides": lambda: Call(certify.decide_sides, here | {"X": X}),
        "unit_facts": lambda: Call(certify.unit_facts, here | {"X": X, "partition": plane()}),
    }


def explain_calls() -> dict[str, Callable[[], Call]]:
    table = {"net": net(), "X": X, "names": ("a", "b"), "classes": ("u", "v", "w"), "target": "t"}
    return {
        "attributions": lambda: Call(
            explain.attributions, {"net": net(), "x": X[0], "baseline": X[1], "output": 0, "names": ("a", "b")}
        ),
        "effects": lambda: Call(tables.effects, table | {"column": "a"}),
        "importance": lambda: Call(tables.importance, table),
        "interactions": lambda: Call(tables.interactions, table | {"max_pairs": 5, "max_columns": 2, "seed": 0}),
    }


def compare_calls() -> dict[str, Callable[[], Call]]:
    C = coefficients()
    return {
        "cka": lambda: Call(compare.cka, {"X": X, "Y": X**2, "unbiased": False}),
        "coefficients": lambda: Call(compare.coefficients, {"net": net(), "X": X}),
        "active_subspace": lambda: Call(compare.active_subspace, {"C": C, "j": 0, "n_directions": 1}),
        "compress": lambda: Call(
            compare.compress, {"train": C, "test": C, "X": X, "y": Y, "k": (1, 2), "seed": 0, "n_jobs": 1}
        ),
        "count_regions": lambda: Call(compare.count_regions, {"net": net(), "X": X}),
        "decisions": lambda: Call(compare.decisions, {"values": torch.from_numpy(X)}),
        "difference": lambda: Call(
            compare.difference, {"a": net(), "b": net(2, 3, 3), "X": X, "y": Y, "through": X[:3], "box": BOX}
        ),
        "section": lambda: Call(
            compare.section,
            {
                "net": net(),
                "a": X[0],
                "b": X[1],
                "c": X[2],
                "grid": 4,
                "margin": 0.25,
                "part": 1.0,
                "about": "middle",
                "tolerance": 1e-6,
            },
        ),
        "section_of_partition": lambda: Call(
            compare.section_of_partition,
            {"partition": plane(), "points": np.zeros((3, 2)), "grid": 4, "tolerance": 1e-6},
        ),
        "similarity": lambda: Call(
            compare.similarity, {"networks": {"a": net(), "b": net(2, 3, 3)}, "X": X, "y": Y, "train": X}
        ),
    }


def all_calls() -> dict[str, Callable[[], Call]]:
    """Return for every function a builder of a correct call."""
    families = (
        network_calls,
        region_calls,
        certify_calls,
        explain_calls,
        compare_calls,
        change_calls,
        boolean_calls,
        problem_calls,
        spline_calls,
        show_calls,
    )
    return {name: build for family in families for name, build in family().items()}
