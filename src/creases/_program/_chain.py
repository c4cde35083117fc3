"""Chains: programs of linear layers and (leaky) ReLUs, one after another."""

from __future__ import annotations

from collections.abc import Sequence

from creases._program._step import Step
from creases.errors import InputError


def find_chain_break(steps: Sequence[Step]) -> int | None:
    """Return the number of the first step that is not a linear layer or (leaky) ReLU of the value before it.

    None for a chain: a multilayer perceptron, whose values are vectors.
    """
    for number, step in enumerate(steps):
        if step.op not in ("linear", "relu") or step.inputs != (number,) or len(step.shape) != 1:
            return number
    return None


def check_chain(steps: Sequence[Step], name: str, hint: str) -> None:
    """Raise an InputError about the argument ``name`` unless steps are a chain; ``hint`` says what to use instead."""
    number = find_chain_break(steps)
    if number is None:
        return
    step = steps[number]
    raise InputError(
        name,
        "be a chain of linear layers and (leaky) ReLUs",
        f"{step.op} with output {step.shape} at step {number} ({step.path or 'no path'})",
        hint,
    )
