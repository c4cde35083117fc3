"""What is true of XNG's Theorem 2: deep networks of two and more inputs written with few hidden layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

import creases
from creases_reproduction.claim import Numbers
from creases_reproduction.experiment import Scale
from creases_reproduction.splines import theory
from creases_reproduction.xng.networks import BOX, by_scale, random_network

SHAPES = ([2, 6, 6, 1], [2, 5, 5, 5, 2], [2, 4, 4, 4, 4, 1])

#: Networks with more inputs, for each number of inputs: more hidden layers than the construction needs.
SPACE_SHAPES = {3: ([3, 4, 4, 4, 1], [3, 3, 3, 3, 3, 2]), 4: ([4, 4, 3, 3, 3, 1], [4, 4, 3, 3, 3, 3, 1])}


def measure_construction(scale: Scale) -> Numbers:
    """Measure the difference of deep networks and their shallow forms, with two and with more inputs."""
    spaces = {str(n): measure_spaces(scale, shapes) for n, shapes in SPACE_SHAPES.items()}
    return {**measure_planes(scale), "several inputs": spaces}


def measure_planes(scale: Scale) -> Numbers:
    """Measure the difference of networks of two inputs and their shallow forms, on all regions and at points."""
    rng, on_regions, at_points, regions, widths = np.random.default_rng(0), 0.0, 0.0, [], []
    for seed in range(by_scale(scale, 3, 60)):
        model = random_network(SHAPES[seed % len(SHAPES)], seed)
        net, shallow = creases.read(model), theory.to_shallow_plane(model, BOX)
        values, deviation = compare_at_points(model, shallow.module, np.array(BOX), rng)
        size = np.abs(values).max()
        on_regions = max(on_regions, shallow.deviation / size)
        at_points = max(at_points, deviation / size)
        regions.append(creases.plane(net, BOX).count)
        widths.append(shallow.widths)
    return {
        "cases": len(regions),
        "on all regions": on_regions,
        "at random points": at_points,
        "regions": regions,
        "widths": widths,
    }


def measure_spaces(scale: Scale, shapes: tuple[list[int], ...]) -> Numbers:
    """Measure the proved and the float64 differences of networks of more inputs and their shallow forms."""
    rng, gap, at_points, rows = np.random.default_rng(0), 0.0, 0.0, []
    for seed in range(by_scale(scale, 1, 20)):
        model = random_network(shapes[seed % len(shapes)], seed)
        shallow = theory.to_shallow_space(model, BOX[0])
        values, deviation = compare_at_points(model, shallow.module, shallow.box, rng)
        size = np.abs(values).max()
        gap, at_points = max(gap, shallow.gap / size), max(at_points, shallow.deviation / size, deviation / size)
        rows.append({"regions": shallow.regions, "simplices": shallow.simplices, "widths": list(shallow.widths)})
    return {"cases": len(rows), "proved": gap, "at points": at_points, "networks": rows}


def compare_at_points(
    model: nn.Module, shallow: nn.Module, box: np.ndarray[Any, Any], rng: np.random.Generator
) -> tuple[np.ndarray[Any, Any], float]:
    """Return values of a network at 1000 random points, and its largest difference from the shallow one there."""
    x = torch.from_numpy(rng.uniform(box[:, 0], box[:, 1], size=(1000, len(box))))
    with torch.no_grad():
        values = model(x).numpy()
        return values, float(np.abs(shallow(x).numpy() - values).max())


def describe_construction(numbers: Numbers) -> str:
    """Describe how well few hidden layers replicate deep networks."""
    worst = max(numbers["on all regions"], numbers["at random points"])
    first, second = np.median(np.array(numbers["widths"]), axis=0)
    words = (
        f"{numbers['cases']} networks of two inputs with 2 to 4 hidden layers, written with two hidden layers and "
        f"finite weights, deviate by {worst:.1g} on all regions of a box; medians: "
        f"{np.median(numbers['regions']):.0f} regions, {first:.0f} and {second:.0f} units"
    )
    for n, found in numbers["several inputs"].items():
        words += "; " + describe_spaces(int(n), found)
    return words


def describe_spaces(n: int, found: Numbers) -> str:
    """Describe the networks of n inputs: differences, hidden layers before and after, sizes."""
    before = [len(shape) - 2 for shape in SPACE_SHAPES[n]]
    after = max(len(row["widths"]) for row in found["networks"])
    regions = np.median([row["regions"] for row in found["networks"]])
    units = np.median([sum(row["widths"]) for row in found["networks"]])
    return (
        f"{found['cases']} networks of {n} inputs with {min(before)} or {max(before)} hidden layers, written with at "
        f"most {after}: proved equal in integer arithmetic up to {found['proved']:.1g}, and in float64 up to "
        f"{found['at points']:.1g}; medians: {regions:.0f} regions, {units:.0f} units in all"
    )
