"""Compile the search over boxes before a time limit counts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace

import numpy as np

from creases.certify._boxes.chain import read_chain
from creases.certify._boxes.search import search_cases
from creases.network import read


def compile_search(announce: Callable[[], None]) -> bool:
    """Load the compiled search, or compile it, which takes seconds once on a machine; return whether it did.

    Parameters
    ----------
    announce
        Called before kernels are compiled; not where numba's cache holds them.
    """
    from creases._compiled import has_compiled, is_cached
    from creases.certify._boxes import kernel

    if not is_cached(kernel):
        announce()
    _search_once()
    return has_compiled(kernel)


@cache
def _search_once() -> None:
    """Search a small network: numba compiles on first use."""
    chain = read_chain(read([([[1.0]], [0.0]), ([[1.0]], [0.0])]))
    assert chain is not None
    one, none = np.ones((1, 1)), np.zeros((1, 1))
    case = SimpleNamespace(box=np.array([[0.0, 1.0]]), A=one[:0], b=np.zeros(0), C=-one, D=none, d=np.array([-2.0]))
    search_cases(chain, [case], until=0.0)
