"""Load what MODEL and DATA name: a network, from a file or Python code, and samples as it takes them."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from contextlib import suppress
from math import prod
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from creases.errors import CreasesError, FileError, InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from creases._typing import Floats
    from creases.network import Network


def load_model(model: str, input_shape: Sequence[int] | None = None, content: Any = None) -> Network:
    """Return the network that a MODEL argument names; ``content`` is that of an ONNX file, if it is parsed."""
    from creases.network import read

    if Path(model).is_dir():
        from creases.tables import load

        return load(model).network
    if content is not None:
        with suppress(CreasesError):  # raised again below, in words that name the file
            return read(content, input_shape)
    if Path(model).suffix in (".onnx", ".safetensors", ".npz"):
        return read(Path(model), input_shape)
    if ":" in model:
        return read(load_code(model), input_shape)
    raise InputError("model", "be an .onnx, .safetensors or .npz file, module:name or path.py:name", repr(model))


def parse_onnx(model: str) -> tuple[Any, tuple[int, ...]]:
    """Return the content of an ONNX file and how many numbers an input may have, () if unknown, without torch.

    The content of any other model is None.
    """
    if Path(model).suffix != ".onnx":
        return None, ()
    try:
        import onnx

        content = onnx.load(model)
    except Exception:  # reading the network says what is wrong
        return None, ()
    weights = {tensor.name for tensor in content.graph.initializer}
    shapes = [value.type.tensor_type.shape.dim for value in content.graph.input if value.name not in weights]
    batch, *axes = [max(0, axis.dim_value) for shape in shapes[:1] for axis in shape] or [0]
    size = prod(axes) if axes else batch
    return content, (size, size * batch) if size else ()  # the first axis need not be the batch


def load_code(model: str) -> Any:
    """Run the code that ``module:name`` or ``path.py:name`` names; return the model, or what the function returns."""
    source, _, name = model.rpartition(":")
    if source.endswith(".py"):
        module = _load_file(Path(source))
    else:
        if "" not in sys.path:
            sys.path.insert(0, "")  # a module in the working folder, as `python -m` finds it
        try:
            module = importlib.import_module(source)
        except ModuleNotFoundError as error:
            raise InputError("model", "name a module that can be imported", f"{source!r}: {error}") from None
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


class Points(NamedTuple):
    """Inputs of a network, and their classes where they are known."""

    X: Floats  #: (n, d)
    y: NDArray[np.int64] | None  #: (n,)


def read_points(path: Path, target: str | None, n_in: int, outputs: int) -> Points:
    """Read points (n, n_in) for a network from a file, and their classes (n,) where it has them.

    An ``.npz`` file holds X and perhaps y. A table has as many columns as the network has inputs, or one more to
    predict: the last, or the target. Where this is no class, it is left out.
    """
    if not path.is_file():
        raise InputError("data", "be an existing file", str(path))
    if path.suffix == ".npz" and target is None:
        return _read_npz(path, n_in)
    import numpy as np

    from creases.problems import match_outputs
    from creases.tables import read_columns, read_table

    columns = read_columns(path, None)
    if target is None and len(columns) == n_in and not any(column.is_text for column in columns):
        points = np.stack([np.asarray(column.values, np.float64) for column in columns], axis=1)
        if not np.isfinite(points).all():
            raise InputError("data", "be finite", f"missing or infinite values in {path.name}", "drop those rows")
        return Points(points, None)
    inputs = list(range(n_in)) if target is None and len(columns) == n_in + 1 else None
    problem = read_table(path, target, inputs=inputs)
    if problem.X.shape[1] != n_in:
        got = f"{problem.X.shape[1]} beside {problem.target!r}"
        raise InputError("data", f"have {n_in} input columns, as the network", got)
    problem = match_outputs(problem, outputs)
    return Points(problem.X, None if problem.classes is None else problem.y)


def _read_npz(path: Path, n_in: int) -> Points:
    import numpy as np

    from creases._files import open_npz

    try:
        with open_npz(path) as arrays:
            if "X" not in arrays:
                raise FileError(f"cannot read {path}: it has no array X of points")
            points, classes = np.asarray(arrays["X"], np.float64), np.asarray(arrays["y"]) if "y" in arrays else None
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read {path} as an .npz file of numbers: {error}") from None
    fits = points.ndim > 0 and prod(points.shape[1:]) == n_in
    if not fits or (classes is not None and classes.shape != points.shape[:1]):
        shapes = f"X {points.shape}" + ("" if classes is None else f", y {classes.shape}")
        raise InputError("data", f"hold points X (n, {n_in}) and perhaps classes y (n,)", f"{shapes} in {path}")
    if classes is not None and not (classes.dtype.kind in "iubf" and (classes == np.round(classes)).all()):
        raise InputError("data", "hold integers as classes y", f"{classes[:1].tolist()[0]!r} in {path}")
    return Points(points.reshape(-1, n_in), None if classes is None else classes.astype(np.int64))
