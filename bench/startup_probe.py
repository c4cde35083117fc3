"""Run a command or a script and write what it spent on imports and on numba, for ``bench/startup.py``.

    python bench/startup_probe.py COSTS.json map net.onnx      the words after ``creases``
    python bench/startup_probe.py COSTS.json block.py          a script

``imports`` are the CPU-seconds in the outermost imports, ``compilation`` those in which numba compiles a kernel or
loads it from its cache.
"""

from __future__ import annotations

import atexit
import builtins
import importlib
import json
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

spent = {"imports": 0.0, "compilation": 0.0}


def time_outermost(name: str, function: Callable[..., Any], depth: list[int]) -> Callable[..., Any]:
    """Return a function that adds its CPU-seconds to ``spent``; calls inside of calls are counted once."""

    def timed(*arguments: Any, **options: Any) -> Any:
        depth[0] += 1
        start = process_time()
        try:
            return function(*arguments, **options)
        finally:
            depth[0] -= 1
            if not depth[0]:
                spent[name] += process_time() - start

    return timed


def watch_numba() -> None:
    """Time what numba compiles or loads, once it is imported."""
    from numba.core.dispatcher import Dispatcher

    Dispatcher.compile = time_outermost("compilation", Dispatcher.compile, [0])


def main() -> None:
    """Run what the command line names."""
    target, *sys.argv = sys.argv[1:]
    depth = [0]
    real = builtins.__import__

    def import_and_watch(name: str, *arguments: Any, **options: Any) -> Any:
        known = "numba" in sys.modules
        module = real(name, *arguments, **options)
        if not known and "numba" in sys.modules and hasattr(sys.modules["numba"], "njit") and not depth[0] - 1:
            watch_numba()
        return module

    builtins.__import__ = time_outermost("imports", import_and_watch, depth)
    importlib.import_module = time_outermost("imports", importlib.import_module, depth)
    atexit.register(lambda: Path(target).write_text(json.dumps(spent), encoding="utf-8"))
    if sys.argv[0].endswith(".py"):
        runpy.run_path(sys.argv[0], run_name="__main__")
    else:
        from creases.cli import app

        sys.argv = ["creases", *sys.argv]
        app()


if __name__ == "__main__":
    main()
