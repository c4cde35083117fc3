"""Batches of networks with one input, trained together by gradient descent."""

from creases.splines.batches._batches import gradient_descent, squared_errors, stack_networks, unstack_network

__all__ = [
    "gradient_descent",
    "squared_errors",
    "stack_networks",
    "unstack_network",
]
