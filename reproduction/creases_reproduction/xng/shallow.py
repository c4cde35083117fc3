"""Theorem 2 of XNG made constructive: deep networks of two inputs written with two hidden layers."""

from __future__ import annotations

import numpy as np

import creases
from creases import splines
from creases_reproduction.claim import Claim, Judgement, Numbers
from creases_reproduction.experiment import Scale
from creases_reproduction.xng.networks import BOX, by_scale, random_network

SHAPES = ([2, 6, 6, 1], [2, 5, 5, 5, 2], [2, 4, 4, 4, 4, 1])


def measure_shallow_planes(scale: Scale) -> Numbers:
    """Measure the difference of deep networks and their shallow forms, on all regions and at random points."""
    rng, on_regions, at_points, regions, widths = np.random.default_rng(0), 0.0, 0.0, [], []
    for seed in range(by_scale(scale, 3, 60)):
        model = random_network(SHAPES[seed % len(SHAPES)], seed)
        net, shallow = creases.read(model), splines.to_shallow_plane(model, BOX)
        x = rng.uniform(shallow.box[:, 0], shallow.box[:, 1], size=(1000, 2))
        values = net(x)
        size = np.abs(values).max()
        on_regions = max(on_regions, shallow.deviation / size)
        at_points = max(at_points, float(np.abs(creases.read(shallow.module)(x) - values).max() / size))
        regions.append(creases.plane(net, BOX).count)
        widths.append(shallow.widths)
    return {
        "cases": len(regions),
        "on all regions": on_regions,
        "at random points": at_points,
        "regions": regions,
        "widths": widths,
    }


def judge_shallow_planes(numbers: Numbers) -> Judgement:
    """Judge whether two hidden layers replicate deep networks of two inputs."""
    worst = max(numbers["on all regions"], numbers["at random points"])
    first, second = np.median(np.array(numbers["widths"]), axis=0)
    words = (
        f"{numbers['cases']} networks of two inputs with 2 to 4 hidden layers, written with two hidden layers and "
        f"finite weights, deviate by {worst:.1g} on all regions of a box; medians: "
        f"{np.median(numbers['regions']):.0f} regions, {first:.0f} and {second:.0f} units"
    )
    if worst > 1e-9:
        return Judgement("disagrees", words)
    return Judgement("agrees in kind", f"{words}. A single hidden layer, as printed, is not enough: xng/theorem-2")


CLAIMS = [
    Claim(
        "xng/theorem-2-construction",
        "Theorem 2, slide 11 (Villani and Schoots)",
        "Deep ReLU networks can be rewritten as shallow ones: the construction, for two inputs.",
        measure=measure_shallow_planes,
        judge=judge_shallow_planes,
        full="a minute",
    ),
]
