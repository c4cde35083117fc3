"""Chapter 4 of the dissertation, section 4.1: which polytopes n + 1 units enclose."""

from __future__ import annotations

from itertools import product
from math import sqrt

import numpy as np
import torch
from torch import nn

import creases
from creases.regions import DecisionPolytope, decision_polytopes
from creases_reproduction.claim import Claim, Curve, Judgement, Numbers, Picture
from creases_reproduction.experiment import Scale
from creases_reproduction.judges import count_failures, drawing, judge_cases, judge_rows, row, rows_picture
from creases_reproduction.linearity.chapter2_regions import judge_narrow, measure_bounded_decisions
from creases_reproduction.linearity.enclosures import (
    enclosure,
    expanded_simplex,
    face_counts,
    hyperoctahedron,
    intermediate_polytope,
)
from creases_reproduction.linearity.shells_kinds import kind_of


def enclosed(model: nn.Module, n: int) -> DecisionPolytope:
    """Return the one polytope where a network is negative."""
    (results,) = decision_polytopes(creases.read(model, (n,)), inside=0)
    return results


def measure_sufficient_width(scale: Scale) -> Numbers:
    """Measure whether networks of n + 1 units in one layer enclose a bounded set, for n = 1 to 4 (5).

    With and without leak.
    """
    cases = product(range(1, 6 if scale == "full" else 4), (hyperoctahedron, expanded_simplex), (0.0, 0.1))
    return count_failures(enclosed(make(n, leak=leak), n).extent == "bounded" for n, make, leak in cases)


def measure_one_dimension(scale: Scale) -> Numbers:
    """Measure Fig. 4.1: a network of one input and two units; its decision boundary, and hidden outputs on a grid."""
    model = hyperoctahedron(1)
    net = creases.read(model, (1,))
    x = np.linspace(-2, 2, 41)
    with torch.no_grad():
        hidden = model[1](model[0](torch.from_numpy(x)[:, None])).numpy()
        out = model(torch.from_numpy(x)[:, None]).numpy()[:, 0]
    places = creases.line(net, [-2.0], [2.0]).boundary().t * 4 - 2
    return {
        "units": 2,
        "boundary": places.tolist(),
        "x": x,
        "output": out,
        "unit 1": hidden[:, 0],
        "unit 2": hidden[:, 1],
    }


def judge_one_dimension(numbers: Numbers) -> Judgement:
    """Judge Figure 4.1."""
    places = numbers["boundary"]
    right = len(places) == 2
    return Judgement(
        "agrees" if right else "disagrees", f"the boundary is at {', '.join(f'{item:g}' for item in places)}"
    )


def picture_one_dimension(numbers: Numbers) -> Picture:
    """Picture Figure 4.1."""
    names = ("unit 1", "unit 2", "output")
    return Picture(curves=[Curve(name, numbers["x"], numbers[name]) for name in names], x="x", y="value")


def measure_polygons(scale: Scale) -> Numbers:
    """Measure bounded convex polygons that random networks of two inputs and three units enclose.

    How often so many corners.

    Weights out of the hidden layer are positive and its last unit is minus the others' sum, up to scale: else nothing
    is bounded.
    """
    trials, draw = (2000 if scale == "full" else 150), np.random.default_rng(0)
    counts: dict[str, int] = {}
    for _ in range(trials):
        W = draw.normal(size=(2, 2))
        W = np.vstack([W, -draw.uniform(0.2, 2, 2) @ W])
        layers = [(W, draw.normal(size=3)), (draw.uniform(0.2, 2, (1, 3)), -draw.uniform(0.5, 8, 1))]
        for polytope in decision_polytopes(creases.read(layers), [(-256.0, 256.0)] * 2, inside=0):
            if polytope.extent == "bounded":
                name = f"{len(polytope.vertices)} corners" if polytope.convex else "not convex"
                counts[name] = counts.get(name, 0) + 1
    return {"trials": trials, "counts": counts}


def judge_polygons(numbers: Numbers) -> Judgement:
    """Judge Figure 4.3, section 4.1.1."""
    counts = numbers["counts"]
    words = f"of {sum(counts.values())} bounded sets: " + ", ".join(f"{name} {n}" for name, n in sorted(counts.items()))
    right = set(counts) == {"4 corners", "6 corners"}
    return Judgement("agrees" if right else "disagrees", words)


def measure_ratios(scale: Scale) -> Numbers:
    """Measure outer over inner radius of the polytopes of exact decision boundaries.

    Beside (4.1) to (4.5) and (4.12).
    """
    listed = []
    for n in (2, 3, 4) if scale == "full" else (2, 3):
        for name, make, printed in (
            ("hyperoctahedron", hyperoctahedron, sqrt(n)),
            ("expanded simplex", expanded_simplex, sqrt((n * (n + 2) + 0.5 * (1 - (-1) ** n)) / (2 * (n + 1)))),
        ):
            inner, outer = enclosed(make(n), n).radii()
            listed.append(row(f"{name}, n = {n}", printed, outer / inner))
    return {"rows": listed}


def measure_solids(scale: Scale) -> Numbers:
    """Measure Fig. 4.5: vertices, edges and facets of what four units enclose in three dimensions."""
    results = {
        name: list(enclosed(make(3), 3).f_vector or ())
        for name, make in (("octahedron", hyperoctahedron), ("cuboctahedron", expanded_simplex))
    }
    edge = enclosure("expanded simplex", 3).vertices()
    lengths = np.linalg.norm(edge[:, None] - edge, axis=2)
    return {**results, "cuboctahedron: edge over circumradius": float(lengths[lengths > 1e-9].min())}


def judge_solids(numbers: Numbers) -> Judgement:
    """Judge Figure 4.5, section 4.1.2."""
    right = numbers["octahedron"] == [6, 12, 8] and numbers["cuboctahedron"] == [12, 24, 14]
    ratio = numbers["cuboctahedron: edge over circumradius"]
    words = f"octahedron {numbers['octahedron']}, cuboctahedron {numbers['cuboctahedron']} vertices, edges, facets; "
    return Judgement(
        "agrees" if right and abs(ratio - 1) < 1e-9 else "disagrees", f"{words}its edges are {ratio:g} long"
    )


def measure_hexagon(scale: Scale) -> Numbers:
    """Measure Fig. 4.4: sides of the hexagon around three lines, longest over shortest, as their triangle shrinks."""
    sizes = [1.0, 0.3, 0.1, 0.03, 0.0]
    collected = []
    for size in sizes:
        model = expanded_simplex(2)
        first = model[0]
        assert isinstance(first, nn.Linear)
        with torch.no_grad():
            first.bias.sub_(size / 4)  # all three lines move outward
        corners = enclosed(model, 2).vertices
        order = np.argsort(np.arctan2(*(corners - corners.mean(axis=0)).T))
        sides = np.linalg.norm(np.diff(corners[order], axis=0, append=corners[order][:1]), axis=1)
        collected.append([len(corners), float(sides.max() / sides.min())])
    return {
        "triangle": sizes,
        "corners": [n for n, _ in collected],
        "longest over shortest side": [r for _, r in collected],
    }


def judge_hexagon(numbers: Numbers) -> Judgement:
    """Judge Figure 4.4, section 4.1.1."""
    sides = numbers["longest over shortest side"]
    words = f"longest over shortest side as the triangle shrinks: {', '.join(f'{item:.3g}' for item in sides)}"
    right = set(numbers["corners"]) == {6} and abs(sides[-1] - 1) < 1e-9 and bool((np.diff(sides) < 0).all())
    return Judgement("agrees" if right else "disagrees", words)


def picture_hexagon(numbers: Numbers) -> Picture:
    """Picture Figure 4.4, section 4.1.1."""
    sides = numbers["longest over shortest side"]
    return Picture(
        curves=[Curve("sides", numbers["triangle"], sides)], x="size of the triangle", y="longest / shortest"
    )


def measure_other_shapes(scale: Scale) -> Numbers:
    """Measure vertices and facets of what n + 1 units can enclose, by how many of their weights are small.

    At n = 3 and 4.
    """
    results = {}
    for n in (3, 4) if scale == "full" else (3,):
        shapes = [enclosed(intermediate_polytope(n, small), n) for small in range(1, n + 2)]
        listed = [[len(polytope.vertices), len(polytope.normals), kind_of(polytope)] for polytope in shapes]
        assert [polytope[:2] for polytope in listed] == [list(face_counts(n, small)) for small in range(1, n + 2)]
        results[str(n)] = listed
    return results


def judge_other_shapes(numbers: Numbers) -> Judgement:
    """Judge sections 4.1.3 and 4.3."""
    more = [
        f"{v} vertices and {f} facets at n = {n}"
        for n, part in numbers.items()
        for v, f, kind in part
        if kind == "between"
    ]
    named = {kind for part in numbers.values() for *_, kind in part} - {"between"}
    if len(named) < 2:
        return Judgement("disagrees", f"of the two only {', '.join(sorted(named)) or 'none'} was found")
    if not more:
        return Judgement("agrees", "no other shape was found")
    return Judgement(
        "agrees in kind",
        f"both are enclosed by n + 1 units, and shapes between them as well: {', '.join(more)}; whether one of "
        "these is optimal too was not tried (training was never seen to end so)",
    )


CLAIMS = [
    Claim(
        "linearity/section-4-width",
        "chapter 4, section 4.3",
        "Networks of width n separate no bounded region of n dimensions.",
        measure=measure_bounded_decisions,
        judge=judge_narrow,
        full="half a minute",
    ),
    Claim(
        "linearity/section-4-sufficient",
        "chapter 4, section 4.3",
        "One hidden layer of width n + 1 suffices for a bounded region.",
        printed="n + 1",
        measure=measure_sufficient_width,
        judge=judge_cases("networks of n + 1 units, with and without leak"),
        full="a minute",
    ),
    Claim(
        "linearity/figure-4.1",
        "Figure 4.1",
        "Two units classify an interval: the boundary is two points.",
        printed="2 points",
        measure=measure_one_dimension,
        judge=judge_one_dimension,
        picture=picture_one_dimension,
    ),
    drawing("linearity/figure-4.2", "Figure 4.2", "The circle versus annulus problem."),
    Claim(
        "linearity/figure-4.3",
        "Figure 4.3, section 4.1.1",
        "What three units enclose in the plane is a convex quadrilateral or a hexagon.",
        printed="4 or 6 corners",
        measure=measure_polygons,
        judge=judge_polygons,
        full="a minute",
    ),
    Claim(
        "linearity/equation-4.1",
        "eqs. (4.1) to (4.5), (4.12)",
        (
            "Outer over inner radius: sqrt(2) for the square, 2 sqrt(3) / 3 for the hexagon, sqrt(3) and sqrt(2) in "
            "three dimensions, sqrt(n) and sqrt((n (n + 2) + [n odd]) / (2 (n + 1))) in n."
        ),
        printed="1.41, 1.15, 1.73, 1.41",
        measure=measure_ratios,
        judge=judge_rows(1e-9),
        picture=rows_picture("outer over inner radius"),
        full="seconds",
        misprints=("linearity/equation-4.2", "linearity/equation-4.3"),
    ),
    Claim(
        "linearity/figure-4.4",
        "Figure 4.4, section 4.1.1",
        "Expanding the triangle of three lines gives a hexagon, regular when they meet in a point at 120 degrees.",
        measure=measure_hexagon,
        judge=judge_hexagon,
        picture=picture_hexagon,
    ),
    Claim(
        "linearity/figure-4.5",
        "Figure 4.5, section 4.1.2",
        "In three dimensions these are the octahedron and the cuboctahedron, whose edges are as long as its radius.",
        measure=measure_solids,
        judge=judge_solids,
    ),
    Claim(
        "linearity/section-4.1.3-two",
        "sections 4.1.3 and 4.3",
        "In n dimensions n + 1 units have two possible optimal solutions: hyperoctahedron and expanded simplex.",
        printed="2",
        measure=measure_other_shapes,
        judge=judge_other_shapes,
        full="seconds",
    ),
]
