"""Explanations of what a network computes, exact because it is piecewise linear.

``attributions`` divides the difference of an output between two inputs among the columns: integrated gradients, summed
over the regions between them instead of sampled. What needs the columns of a table is in :mod:`creases.tables`.

>>> import creases
>>> from creases.explain import attributions
>>> net = creases.read([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])  # relu(x0) + relu(x1)
>>> attributions(net, [2.0, 1.0], baseline=[-1.0, 0.0]).values.round(12).tolist()
[2.0, 1.0]
"""

from creases.explain._attributions import attributions

__all__ = ["attributions"]
