"""A sweep's file: TOML that names the function, the jobs and the folder."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from creases.errors import FileError, InputError

if TYPE_CHECKING:
    from creases.lab import Sweep

#: A sweep to begin with: it runs as it is.
EXAMPLE = """\
# Which sizes of network learn to tell two classes apart?
# Run, and run again after an interruption, with: creases sweep sizes.toml

function = "creases.cli.sweep.example:success"  # module:function, also of a module beside this file
out = "out/sizes"  # folder for the results, from where the command is run
seed = 0  # every job has a seed of its own, made of this one and its parameters

[grid]  # all combinations are jobs; a single value is a list of one
problem = "xor"
width = [2, 3, 4, 6, 8]
depth = [1, 2, 3]
leak = [0.0, 0.1]
trials = 50
epochs = 500
# run = { from = 1, to = 10 }  # is short for [1, 2, ..., 10]

# Instead of a grid, jobs one by one:
# [[jobs]]
# problem = "moons"
# width = 4
"""

_KNOWN = ("function", "out", "seed", "grid", "jobs")


def read_sweep(path: Path, out: Path | None) -> Sweep:
    """The sweep that a file defines, with another folder if one is given."""
    from creases.lab import Sweep

    found = _read(path)
    unknown = [name for name in found if name not in _KNOWN]
    if unknown:
        raise InputError(f"{path.name}: there is no setting {unknown[0]!r}; there are {', '.join(_KNOWN)}")
    if "function" not in found:
        raise InputError(f'{path.name}: the function is missing; say function = "module:function"')
    if ("grid" in found) == ("jobs" in found):
        raise InputError(f"{path.name}: expected either a [grid] or [[jobs]]; creases sweep example prints an example")
    folder = out or found.get("out")
    if not isinstance(folder, str | Path):
        raise InputError(f'{path.name}: the folder for the results is missing; say out = "DIR" in it, or --out DIR')
    sys.path.insert(0, str(path.parent.resolve()))  # a module beside the file
    jobs = _grid(found["grid"], path.name) if "grid" in found else found["jobs"]
    return Sweep(found["function"], jobs, folder, seed=found.get("seed", 0))


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise FileError(f"file: {path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise FileError(f"file: {path} is not TOML: {error}") from None


def _grid(grid: Any, name: str) -> dict[str, Any]:
    if not isinstance(grid, Mapping):
        raise InputError(f"{name}: expected [grid] to be a table of names and lists, got {grid!r}")
    return {parameter: _values(parameter, values) for parameter, values in grid.items()}


def _values(parameter: str, values: Any) -> Any:
    """Values of a parameter; { from = 1, to = 10, step = 1 } is a range of whole numbers, both ends included."""
    if not isinstance(values, Mapping):
        return values
    if not {"from", "to"} <= set(values) <= {"from", "to", "step"} or any(type(v) is not int for v in values.values()):
        raise InputError(f"grid: expected a list for {parameter!r}, or {{ from = 1, to = 10, step = 1 }}, got {values}")
    if values.get("step", 1) < 1:
        raise InputError(f"grid: the step of {parameter!r} must be at least 1, got {values['step']}")
    return list(range(values["from"], values["to"] + 1, values.get("step", 1)))
