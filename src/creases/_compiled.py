"""Just-in-time compilation with numba, which is imported when a kernel is first called: it takes long."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, update_wrapper
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_is_plain: ContextVar[bool] = ContextVar("_is_plain", default=False)


#: Microseconds that a process spends on kernels in plain Python before it loads numba, which takes about a second.
PATIENCE = 250_000.0

_patience = [PATIENCE]


@contextmanager
def small_work(microseconds: float) -> Iterator[None]:
    """Run kernels as the Python that they are written in where that takes less time than to load compiled code.

    The results are the same, bit for bit. Once a process has done much small work, it loads compiled code for it.

    Parameters
    ----------
    microseconds
        About how long plain Python takes for the work.
    """
    if microseconds > _patience[0]:
        yield
        return
    import numpy as np

    _patience[0] -= microseconds
    token = _is_plain.set(True)
    try:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # as compiled code does
            yield
    finally:
        _is_plain.reset(token)


class Kernel:
    """A function that is compiled, or loaded from numba's cache, when it is first called.

    Compiled functions call it as they call a function of numba.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.py_func, self.options = function, options

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments) if _is_plain.get() else self.compiled(*arguments)

    @cached_property
    def compiled(self) -> Any:
        """The function of numba."""
        return _compile(self.py_func, **self.options)

    @property
    def _numba_type_(self) -> Any:
        """The type by which numba knows a function that another one calls."""
        return self.compiled._numba_type_


def jit(function: F) -> F:
    """Compile a function on its first call, cache it on disk and release the GIL while it runs.

    Loops over scalars compile quickly; array slices take seconds.
    """
    return Kernel(function, {"nogil": True})  # type: ignore[return-value]


def jit_internal(function: F) -> F:
    """Compile a function that only compiled functions call; without a Python wrapper it compiles faster."""
    return Kernel(function, {"no_cpython_wrapper": True, "error_model": "numpy"})  # type: ignore[return-value]


def _compile(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function with numba's cache; without it where neither the package's folder nor the home is writable."""
    import numba

    try:
        return _cache_by_room(numba.njit(cache=True, **options)(function), function)
    except RuntimeError as problem:
        if "no locator available" not in str(problem):
            raise
    warnings.warn(
        "compiled code cannot be cached, so every start compiles again; set NUMBA_CACHE_DIR to a folder that can be "
        "written",
        RuntimeWarning,
        stacklevel=4,
    )
    return numba.njit(**options)(function)


def _cache_by_room(dispatcher: Any, function: Callable[..., Any]) -> Any:
    """Make the cache of a compiled function depend on all source files of its room.

    By default numba checks only the file of the function itself and would reuse stale machine code of functions
    inlined from other files. It has no public way to change that, so this sets a private field; a test would notice if
    it were renamed.
    """
    dispatcher._cache._cache_file._source_stamp = source_stamp(function)
    return dispatcher


def source_stamp(function: Callable[..., Any]) -> tuple[tuple[str, int, int], ...]:
    """Return the name, modification time and size of every source file in the room of a function."""
    room = Path(inspect.getfile(function)).parent
    while room.parent != Path(__file__).parent and room != room.parent:
        room = room.parent
    sources = sorted(room.rglob("*.py")) if room != room.parent else [Path(inspect.getfile(function))]
    return tuple((path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in sources)


def is_cached(module: ModuleType) -> bool:
    """Return whether numba's cache on disk holds kernels of a module, so that their first call is quick."""
    folder = cache_folder(module)
    return folder is not None and any(folder.glob(f"{module.__name__.rpartition('.')[2]}.*.nbi"))


def has_compiled(module: ModuleType) -> bool:
    """Return whether this process compiled kernels of a module, which numba's cache did not hold as they are."""
    kernels = [each for each in vars(module).values() if isinstance(each, Kernel)]
    return any(sum(kernel.compiled.stats.cache_misses.values()) > 0 for kernel in kernels)


def cache_folder(module: ModuleType) -> Path | None:
    """Return the folder in which numba caches the kernels of a module; None if it cannot write to any."""
    kernel = next(each for each in vars(module).values() if isinstance(each, Kernel))
    path = kernel.compiled.stats.cache_path
    return None if path is None else Path(path)
