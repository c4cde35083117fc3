"""Load what the MODEL argument names: a file, or a torch module in Python code."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from creases.errors import InputError

if TYPE_CHECKING:
    from creases.network import Network

HELP = (
    "A network: an .onnx file, a .safetensors file (Network.save), an .npz file with W0, b0, W1, b1, ... "
    "(and optionally a number 'leak'), or module:name or path.py:name of a torch module or a function that returns "
    "one. The last two run that code: use them only with code you trust."
)


#: The same, where a folder will do too.
HELP_OR_RUN = f"{HELP} Or the folder of a growth run."


def load_model(model: str, input_shape: Sequence[int] | None = None) -> Network:
    """Return the network that a MODEL argument names."""
    from creases.network import read

    if Path(model).is_dir():
        from creases.tables import load

        return load(model).network
    if Path(model).suffix in (".onnx", ".safetensors", ".npz"):
        return read(Path(model), input_shape)
    if ":" in model:
        return read(load_code(model), input_shape)
    raise InputError("model", "be an .onnx, .safetensors or .npz file, module:name or path.py:name", repr(model))


def load_code(model: str) -> Any:
    """Run the code that ``module:name`` or ``path.py:name`` names; return the model, or what the function returns."""
    source, _, name = model.rpartition(":")
    module = _load_file(Path(source)) if source.endswith(".py") else _import(source)
    value = getattr(module, name, None)
    if value is None:
        raise InputError("model", f"name something in {source}", repr(name))
    import torch

    return value() if callable(value) and not isinstance(value, torch.nn.Module) else value


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise InputError("model", "be an existing file", str(path))
    spec = importlib.util.spec_from_file_location(f"creases_model_{path.stem}", path)
    assert spec is not None  # the name ends in .py
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


def _import(name: str) -> ModuleType:
    if "" not in sys.path:
        sys.path.insert(0, "")  # a module in the working folder, as `python -m` finds it
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise InputError("model", "name a module that can be imported", f"{name!r}: {error}") from None
