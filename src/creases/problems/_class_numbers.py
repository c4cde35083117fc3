"""Classes as a network that is there already numbers them: by its outputs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from creases.errors import InputError
from creases.problems._problem import Problem


def match_outputs(problem: Problem, outputs: int) -> Problem:
    """The problem with its classes numbered as a network's outputs, of which it may have more.

    Classes that are named 0, 1, ... are those outputs, also where a table has not all of them. Others (names, or
    numbers beyond the outputs) are numbered in their order, as ``creases grow`` and ``problems.read_table`` do. One
    output tells two classes apart. A regression stays as it is.

    Examples
    --------
    >>> from creases.problems import Problem
    >>> some = Problem("some", [[0.0], [1.0]], [0, 1], features=("x",), classes=("1", "3"))
    >>> match_outputs(some, 4).y.tolist(), match_outputs(some, 4).classes
    ([1, 3], ('0', '1', '2', '3'))
    """
    names, count = problem.classes, max(2, outputs)
    if names is None:
        return problem
    if len(names) > count:
        raise InputError(f"data: {problem.name} has {len(names)} classes, the network tells {count} apart")
    if all(name.isdigit() and int(name) < count for name in names):
        place: NDArray[np.int64] = np.array([int(name) for name in names], np.int64)
        every = tuple(map(str, range(count)))
    else:
        place = np.arange(len(names))
        every = (*names, *(f"class {k}" for k in range(len(names), count)))
    return replace(problem, y=place[problem.y], classes=every)
