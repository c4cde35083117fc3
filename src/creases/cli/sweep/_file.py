"""The definition of a sweep in a TOML file: function, jobs and folder."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from creases.errors import FileError, InputError

if TYPE_CHECKING:
    from creases.lab import Sweep

#: A sweep that runs as it is.
EXAMPLE = """\
# Which sizes of network learn a classification problem?
# Run it, or resume it after an interruption, with: creases sweep sizes.toml

function = "creases.cli.sweep.example:train_networks"  # module:function; the module may be in the folder of this file
out = "out/sizes"  # folder for the results, relative to the working directory
seed = 0  # every job has its own seed, derived from this one and its parameters

[grid]  # all combinations are jobs; a single value is a list of one
problem = "xor"
width = [2, 3, 4, 6, 8]
depth = [1, 2, 3]
leak = [0.0, 0.1]
trials = 50
epochs = 500
# run = { from = 1, to = 10 }  # is short for [1, 2, ..., 10]

# Instead of a grid, a list of jobs:
# [[jobs]]
# problem = "moons"
# width = 4
"""

_KNOWN = ("function", "out", "seed", "grid", "jobs")


def read_sweep(path: Path, out: Path | None) -> Sweep:
    """Return the sweep that a file defines, with another folder if ``out`` is not None."""
    from creases.lab import Sweep

    settings = _read(path)
    unknown = [name for name in settings if name not in _KNOWN]
    if unknown:
        raise InputError(path.name, f"have the settings {', '.join(_KNOWN)}", repr(unknown[0]))
    if "function" not in settings:
        raise InputError(path.name, 'have a setting function = "module:function"', "none")
    if ("grid" in settings) == ("jobs" in settings):
        raise InputError(
            path.name, "have either a [grid] or [[jobs]]", hint="'creases sweep example' prints an example"
        )
    folder = out or settings.get("out")
    if not isinstance(folder, str | Path):
        raise InputError(
            path.name, 'have a setting out = "DIR", the folder for the results', "none", "or give --out DIR"
        )
    sys.path.insert(0, str(path.parent.resolve()))  # a module in the folder of the file
    jobs = _grid(settings["grid"], path.name) if "grid" in settings else settings["jobs"]
    return Sweep(settings["function"], jobs, folder, seed=settings.get("seed", 0))


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise FileError(f"cannot read {path}: it is not TOML: {error}") from None


def _grid(grid: Any, name: str) -> dict[str, Any]:
    if not isinstance(grid, Mapping):
        raise InputError(name, "have a [grid] of names and lists", repr(grid))
    return {parameter: _values(parameter, values) for parameter, values in grid.items()}


def _values(parameter: str, values: Any) -> Any:
    """Return the values of a parameter; { from = 1, to = 10, step = 1 } is a range of integers, both ends included."""
    if not isinstance(values, Mapping):
        return values
    if not {"from", "to"} <= set(values) <= {"from", "to", "step"} or any(type(v) is not int for v in values.values()):
        raise InputError(f"grid.{parameter}", "be a list or { from = 1, to = 10, step = 1 }", f"{values}")
    if values.get("step", 1) < 1:
        raise InputError(f"grid.{parameter}.step", "be at least 1", f"{values['step']}")
    return list(range(values["from"], values["to"] + 1, values.get("step", 1)))
