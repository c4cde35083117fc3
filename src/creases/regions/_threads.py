"""Work shared among threads: as many as torch uses.

``torch.set_num_threads(n)``, or the environment variable ``OMP_NUM_THREADS``, sets the number for matrix products and
for the compiled kernels alike; the default is one for each core. Process pools that limit torch (joblib, Ray) limit
both. Results do not depend on it, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")


def thread_count() -> int:
    """Return the number of threads to share work among."""
    return torch.get_num_threads()


def map_in_threads(function: Callable[[T], R], items: Iterable[T], threads: int) -> Iterator[R]:
    """Yield ``function(item)`` in order; when an exception or Ctrl-C ends it, what has not begun is dropped.

    ``function`` must release the GIL, and leave torch alone: its threads would multiply.
    """
    if threads == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            yield from pool.map(function, items)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
