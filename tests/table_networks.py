"""Small networks and tables to explain."""

from itertools import pairwise

import numpy as np

import creases


def random_net(sizes, seed=0):
    rng = np.random.default_rng(seed)
    pairs = pairwise(sizes)
    layers = [(rng.normal(size=(b, a)) / np.sqrt(a), 0.5 * rng.normal(size=b)) for a, b in pairs]
    return creases.read(layers)


def table_rows(n=120, seed=1):
    """Rows of two numbers in unlike units and a category of three."""
    rng = np.random.default_rng(seed)
    colors = np.eye(3)[rng.integers(3, size=n)]
    return np.column_stack([rng.normal(size=n), rng.normal(size=n), colors])


NAMES = ["age", "dose", ("color", "red"), ("color", "green"), ("color", "blue")]
