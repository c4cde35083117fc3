"""How large the terms are that a value is the sum of: the yardstick of the tolerance policy.

A pre-activation is a sum of products of the outputs of earlier bends with weights. Running the same affine steps with
the magnitudes of weights and values gives the sum of the magnitudes of those terms, for any graph of steps.
"""

from __future__ import annotations

from dataclasses import replace

from creases.network.network import Network
from creases.network.step import Step


def absolute(net: Network) -> Network:
    """The network with the magnitude of every weight: its affine steps map magnitudes of values to those of sums."""
    return Network([_absolute(step) for step in net.steps], net.input_shape)


def _absolute(step: Step) -> Step:
    tensors = {key: t.abs() if t.is_floating_point() else t for key, t in step.tensors.items()}
    options = dict(step.options)
    if step.op == "add":
        options["signs"] = [1 for _ in options["signs"]]
    return replace(step, tensors=tensors, options=options)
