"""A correct call of every public function, cheap to make, for tests that then change one of its arguments."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

import creases
from api_change_calls import boolean_calls, change_calls, problem_calls, show_calls, spline_calls
from api_objects import BOX, Call, X, Y, call, coefficients, line, model, net, plane, space
from creases import certify, compare, explain, regions, tables


def network_calls() -> dict[str, Callable[[], Call]]:
    first = model(2, 4, 3)
    sample = torch.from_numpy(X)
    return {
        "read": lambda: call(creases.read, model=model(2, 4, 3), input_shape=(2,), leak=0.0),
        "as_network": lambda: call(creases.network.as_network, model=model(2, 4, 3), input_shape=(2,)),
        "places": lambda: call(creases.places, model=first, input_shape=(2,), X=sample, refused=False),
        "widen": lambda: call(
            creases.widen, model=model(2, 4, 3), place="0", fan_in=np.ones((1, 2)), bias=[0.5], fan_out=np.ones((3, 1))
        ),
        "deepen": lambda: call(creases.deepen, model=model(2, 4, 3), place="0", X=sample),
        "remove": lambda: call(creases.remove, model=model(2, 4, 3), place="0", units=[1], X=sample),
        "Network.__call__": lambda: call(net().__call__, x=X),
        "Network.unit": lambda: call(net().unit, index=1),
        "Network.sides": lambda: call(net().sides, x=X),
        "Network.pattern": lambda: call(net().pattern, x=X),
        "Network.unpack": lambda: call(net().unpack, pattern=net().pattern(X)),
        "Network.piece": lambda: call(net().piece, x=X),
        "Network.from_bytes": lambda: call(creases.Network.from_bytes, data=net().to_bytes(), source="it"),
    }


def region_calls() -> dict[str, Callable[[], Call]]:
    points = np.zeros((2, 2))
    return {
        "bounds": lambda: call(creases.bounds, widths=[3, 3], d=2),
        "cell": lambda: call(creases.cell, net=net(), x=X[0], box=BOX, max_memory=1e9),
        "estimate_regions": lambda: call(
            regions.estimate_regions, net=net(), box=BOX, origin=X[0], basis=np.eye(2), exact=False
        ),
        "line": lambda: call(creases.line, net=net(), a=X[0], b=X[1], infinite=False, max_memory=1e9),
        "lines": lambda: call(regions.lines, net=net(), A=X[:2], B=X[2:4]),
        "plane": lambda: call(creases.plane, net=net(), box=BOX, origin=X[0], basis=np.eye(2), exact=False),
        "plane_through": lambda: call(
            creases.plane_through, net=net(), a=X[0], b=X[1], c=X[2], margin=0.25, exact=False
        ),
        "space": lambda: call(
            creases.space, net=net(), box=BOX, method="auto", n_jobs=1, max_regions=9, max_seconds=9.0
        ),
        "tropical": lambda: call(creases.tropical, net=net(2, 3, 1), prune=True, max_terms=100),
        "decision_polytopes": lambda: call(regions.decision_polytopes, net=net(), box=BOX, inside=1),
        "Cell.contains": lambda: call(creases.cell(net(), X[0]).contains, points=X),
        "Cell.neighbor": lambda: call(creases.cell(net(), X[0], box=BOX).neighbor, row=0),
        "LinePartition.units": lambda: call(line().units, i=0),
        "LinePartition.points": lambda: call(line().points, t=[0.0, 0.5]),
        "LinePartition.locate": lambda: call(line().locate, t=[0.0, 0.5]),
        "PlanePartition.polygon": lambda: call(plane().polygon, region=0),
        "PlanePartition.points": lambda: call(plane().points, t=points),
        "PlanePartition.locate": lambda: call(plane().locate, points=points),
        "SpacePartition.locate": lambda: call(space().locate, points=np.zeros((2, 3))),
    }


def certify_calls() -> dict[str, Callable[[], Call]]:
    here = {"net": net(), "box": BOX}
    return {
        "holds": lambda: call(certify.holds, **here, A=np.ones((1, 2)), b=[3.0], never=0, budget=1.0),
        "holds outputs": lambda: call(certify.holds, **here, outputs=(np.eye(3), [9.0] * 3)),
        "lipschitz": lambda: call(certify.lipschitz, **here, norm="l1", budget=1.0, tolerance=1e-6),
        "margins": lambda: call(certify.margins, net=net(), X=X[:2], norm="l2", budget=1.0),
        "monotone": lambda: call(
            certify.monotone,
            **here,
            column=0,
            output=0,
            direction="rising",
            A=np.ones((1, 2)),
            b=[3.0],
            tolerance=1e-6,
            budget=1.0,
        ),
        "nearest": lambda: call(
            certify.nearest,
            net=net(),
            x=X[0],
            target=0,
            norm="l2",
            box=BOX,
            fixed=[0],
            integer=[],
            one_hot=[],
            weights=[1.0, 1.0],
            rising=[1],
            falling=[],
            count=1,
            budget=1.0,
            tolerance=1e-6,
        ),
        "output_bounds": lambda: call(certify.output_bounds, **here, method="linear", max_regions=100),
        "unit_bounds": lambda: call(certify.unit_bounds, **here, method="linear", max_regions=100),
        "output_range": lambda: call(
            certify.output_range, **here, A=np.ones((1, 2)), b=[3.0], quantity="outputs", budget=1.0, tolerance=1e-6
        ),
        "safety_map": lambda: call(
            certify.safety_map, **here, origin=X[0], basis=np.eye(2), unit=[1.0, 1.0], resolution=8
        ),
        "decide_sides": lambda: call(certify.decide_sides, **here, X=X),
        "unit_facts": lambda: call(certify.unit_facts, **here, X=X, partition=plane()),
    }


def explain_calls() -> dict[str, Callable[[], Call]]:
    table = {"net": net(), "X": X, "names": ("a", "b"), "classes": ("u", "v", "w"), "target": "t"}
    return {
        "attributions": lambda: call(
            explain.attributions, net=net(), x=X[0], baseline=X[1], output=0, names=("a", "b")
        ),
        "effects": lambda: call(tables.effects, **table, column="a"),
        "importance": lambda: call(tables.importance, **table),
        "interactions": lambda: call(tables.interactions, **table, max_pairs=5, max_columns=2, seed=0),
    }


def compare_calls() -> dict[str, Callable[[], Call]]:
    C = coefficients()
    return {
        "cka": lambda: call(compare.cka, X=X, Y=X**2, unbiased=False),
        "coefficients": lambda: call(compare.coefficients, net=net(), X=X),
        "active_subspace": lambda: call(compare.active_subspace, C=C, j=0, n_directions=1),
        "compress": lambda: call(compare.compress, train=C, test=C, X=X, y=Y, k=(1, 2), seed=0, n_jobs=1),
        "count_regions": lambda: call(compare.count_regions, net=net(), X=X),
        "decisions": lambda: call(compare.decisions, values=torch.from_numpy(X)),
        "difference": lambda: call(compare.difference, a=net(), b=net(2, 3, 3), X=X, y=Y, through=X[:3], box=BOX),
        "section": lambda: call(
            compare.section,
            net=net(),
            a=X[0],
            b=X[1],
            c=X[2],
            grid=4,
            margin=0.25,
            part=1.0,
            about="middle",
            tolerance=1e-6,
        ),
        "section_of_partition": lambda: call(
            compare.section_of_partition, partition=plane(), points=np.zeros((3, 2)), grid=4, tolerance=1e-6
        ),
        "similarity": lambda: call(compare.similarity, networks={"a": net(), "b": net(2, 3, 3)}, X=X, y=Y, train=X),
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
