"""The transposes of affine steps: coefficients of a step's output as coefficients of its inputs."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from creases._program import Step

Shapes = Sequence[tuple[int, ...]]


def transpose_step(step: Step, shapes: Shapes, G: Tensor) -> list[Tensor]:
    """Apply the transpose of an affine step's linear part to rows (b, k, *shape): for each input (b, k, *its shape).

    Steps of perceptrons are products and movements of numbers; for the others torch computes the transpose.
    """
    rows, shape = G.shape[:2], shapes[0]
    if step.op == "linear":
        return [G @ step.tensors["weight"]]
    if step.op == "matmul":
        return [step.tensors["matrix"].T @ G]
    if step.op == "reshape":
        return [G.reshape(*rows, *shape)]
    if step.op == "permute":
        dims = step.options["dims"]
        return [G.permute(0, 1, *(2 + dims.index(d) for d in range(len(dims))))]
    if step.op == "pad":
        return [F.pad(G, [-n for n in step.options["pads"]])]
    if step.op == "scale" and shape == step.shape:
        return [G * step.tensors["factor"]]
    if step.op == "add" and all(part == step.shape for part in shapes):
        return [G if sign == 1 else -G for sign in step.options["signs"]]
    if step.op == "concat":
        dim = step.options["dim"]
        return list(torch.split(G, [part[dim] for part in shapes], dim=dim + 2))
    return _transpose_by_torch(step, shapes, G)


def _transpose_by_torch(step: Step, shapes: Shapes, G: Tensor) -> list[Tensor]:
    flat = G.flatten(0, 1)
    with torch.enable_grad():
        xs = [torch.zeros(len(flat), *shape, dtype=G.dtype, requires_grad=True) for shape in shapes]
        parts = torch.autograd.grad(step.linear(xs), xs, flat)
    return [part.reshape(*G.shape[:2], *part.shape[1:]) for part in parts]
