"""Class numbers that match the outputs of an existing network."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from creases._arguments import check_arguments
from creases._schema import instance
from creases._validation import check_count
from creases.errors import InputError
from creases.problems._problem import Problem


@check_arguments(problem=instance("Problem"))
def match_outputs(problem: Problem, outputs: int) -> Problem:
    """Renumber the classes of a problem as the outputs of a network, which may have more.

    Classes that are named 0, 1, ... are those outputs, even if the problem does not have all of them. Others (names, or
    numbers beyond the outputs) are numbered in their order, as ``tables.read_table`` does. One output separates two
    classes. A regression problem is returned unchanged.

    Examples
    --------
    >>> from creases.problems import Problem
    >>> some = Problem("some", [[0.0], [1.0]], [0, 1], features=("x",), classes=("1", "3"))
    >>> match_outputs(some, 4).y.tolist(), match_outputs(some, 4).classes
    ([1, 3], ('0', '1', '2', '3'))
    """
    names, count = problem.classes, max(2, check_count(outputs, "outputs"))
    if names is None:
        return problem
    if len(names) > count:
        raise InputError("data", f"have at most {count} classes, as the network", f"{len(names)} in {problem.name}")
    if all(name.isdigit() and int(name) < count for name in names):
        number: NDArray[np.int64] = np.array([int(name) for name in names], np.int64)
        every = tuple(map(str, range(count)))
    else:
        number = np.arange(len(names))
        every = (*names, *(f"class {k}" for k in range(len(names), count)))
    return replace(problem, y=number[problem.y], classes=every)
