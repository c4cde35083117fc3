"""A traced tensor: a real tensor of example values that writes down what a model does with it.

Torch hands every operation on a tensor subclass to ``__torch_function__``. There the operation is run as the model
would run it, and at the same time translated into steps; the two results must agree, so a wrong translation
cannot pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from creases.errors import ReadError
from creases.network._reading.builder import Tape, Value
from creases.network._reading.operators import (
    CONDITIONS,
    DENSE,
    HANDLERS,
    IDENTITY_FUNCTIONS,
    MOVES,
    QUERIES,
    REFUSED,
    refusal,
)

Function = Callable[..., Any]

#: Largest disagreement between steps and the operation they stand for, relative to the largest number in sight.
AGREEMENT = 1e-11


@dataclass(frozen=True)
class Unreadable:
    """A tensor that is not a piecewise-linear function of the input: an error if the model goes on to use it."""

    name: str  #: the operation that made it
    path: str  #: the module it is in
    place: str  #: the same for messages
    why: str


class Traced(Tensor):
    """Example values (batch, *shape) of a network's value while its model runs."""

    value: Value | Unreadable
    version: int  #: torch counts in-place changes of a tensor and all its views
    recorder: Recorder

    @classmethod
    def __torch_function__(
        cls, func: Function, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        traced = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Traced)]
        if not traced or not hasattr(traced[0], "recorder"):  # torch itself is making the tensor
            return _original(func, args, kwargs)
        return traced[0].recorder.operation(func, tuple(args), kwargs, traced)


class Recorder:
    """Translates the operations of one run of a model and writes them to a tape."""

    def __init__(self, example: Tensor) -> None:
        self.tape = Tape(example)
        self.module = ""  #: path of the module being run
        self.place = "model"  #: the same for messages, e.g. "blocks.2.act (GELU)"
        self.inside = False  #: whether that module is one of torch's own
        self._names: dict[str, int] = {}

    def start(self) -> Traced:
        """The model's input."""
        return self.wrap(self.tape.input.example.clone(), self.tape.input)

    def wrap(self, data: Tensor, value: Value | Unreadable) -> Traced:
        """Example values as a traced tensor."""
        with torch._C.DisableTorchFunctionSubclass():
            out = data.as_subclass(Traced)
            out.value, out.recorder, out.version = value, self, data._version
        return out

    def name(self, path: str) -> str:
        """A path that no earlier operation has: the second ``act`` is ``act_1``."""
        count = self._names.get(path, 0)
        self._names[path] = count + 1
        return f"{path}_{count}" if count else path

    # -- one operation ------------------------------------------------------------------------------------------------

    def operation(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any], traced: list[Traced]) -> Any:
        """What a torch function gives on traced tensors, its steps written down; an error for what cannot be read."""
        name = function_name(func)
        if name in QUERIES:
            return _original(func, args, kwargs)
        self._check_versions(traced, name)
        if name in IDENTITY_FUNCTIONS:
            return self._identity(name, args, kwargs)
        if name in CONDITIONS:
            raise self.error(name, refusal(name))
        unreadable = next((t.value for t in traced if isinstance(t.value, Unreadable)), None)
        if unreadable is not None:
            return self._refused(func, args, kwargs, unreadable, goes_on=name in MOVES or name in REFUSED)
        base = base_name(name)
        if not isinstance(args[0] if args else None, Traced) and base != name:
            raise self.error(
                name, "writes network values into a constant tensor in place; use torch.cat, stack or where"
            )
        with self._named(base.strip("_")):
            try:
                result = self._translated(func, base, args, kwargs)
            except ReadError as problem:
                refused = Unreadable(base, self.module, self.place, self._message(base, str(problem)))
                return self._refused(func, args, kwargs, refused, goes_on=base == name)
            return self._agree(base, result, _original(func, args, kwargs), args)

    def _translated(self, func: Function, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The operation's result as a value, or several."""
        args, kwargs = tree_map(lambda leaf: leaf.value if isinstance(leaf, Traced) else leaf, (args, kwargs))
        if name in MOVES or name in DENSE:

            def function(tensor: Tensor) -> Any:
                return func(*_replaced(args, tensor), **_replaced(kwargs, tensor))

            x = _only_value(args, kwargs)
            return self.tape.move(x, function) if name in MOVES else self.tape.dense(x, function)
        handler = HANDLERS.get(name)
        if handler is None:
            raise ReadError(refusal(name))
        try:
            signature(handler).bind(self.tape, *args, **kwargs)
        except TypeError as problem:
            raise ReadError(f"is called in a way that cannot be read ({problem})") from None
        return handler(self.tape, *args, **kwargs)

    def _refused(
        self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any], why: Unreadable, goes_on: bool
    ) -> Any:
        """The result of what cannot be read: an error only once it is used, as there may be more to say then."""
        out = _original(func, args, kwargs) if goes_on else None
        if not goes_on or not all(isinstance(leaf, Tensor) for leaf in tree_leaves(out)):
            raise ReadError(why.why)
        return tree_map(lambda leaf: self.wrap(leaf, why), out)

    def _identity(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
        x = next(leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Traced))
        targets = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.dtype)]
        if any(not target.is_floating_point for target in targets):
            raise self.error(name, "rounds network values to integers, which is not continuous")
        if name in ("requires_grad_", "detach_", "retain_grad"):
            return x
        return self.wrap(_original(torch.clone if name == "clone" else torch.detach, (x,), {}), x.value)

    # -- results ------------------------------------------------------------------------------------------------------

    def _agree(self, name: str, result: Any, original: Any, args: tuple[Any, ...]) -> Any:
        """The original's result, traced as the translated value, after checking that the two agree.

        The value goes on with the original's numbers, so that rounding does not add up from one check to the next.
        """
        if isinstance(original, Tensor):
            value = self._checked(name, result, original, args)
            for leaf in tree_leaves(args):
                if leaf is original and isinstance(leaf, Traced):  # in place
                    leaf.value, leaf.version = value, _version(leaf)
                    return leaf
            return self.wrap(original, value)
        wrapped = []
        for part, tensor in zip(result, original, strict=True):
            if part is None:
                why = self._message(name, "the positions of a maximum are not continuous")
                wrapped.append(self.wrap(tensor, Unreadable(name, self.module, self.place, why)))
            else:
                wrapped.append(self.wrap(tensor, self._checked(name, part, tensor, args)))
        return type(original)(wrapped)

    def _checked(self, name: str, value: Value, original: Tensor, args: tuple[Any, ...]) -> Value:
        with torch._C.DisableTorchFunctionSubclass():
            if value.example.shape != original.shape:
                raise self.error(
                    name, f"was read with shape {tuple(value.example.shape)} but gives {tuple(original.shape)}"
                )
            if torch.equal(value.example, original):
                return value
            operands = [leaf.value for leaf in tree_leaves(args) if isinstance(leaf, Traced)]
            sizes = [_largest(operand.example) for operand in operands if isinstance(operand, Value)]
            scale = max(_largest(original), _largest(value.example), *sizes)
            if _largest(value.example - original) <= AGREEMENT * scale:
                return Value(value.number, original.detach().clone())
        raise self.error(name, "was read as steps that give other values; please report this model")

    def _check_versions(self, traced: list[Traced], name: str) -> None:
        if any(t.version != _version(t) for t in traced):
            raise self.error(
                name,
                "uses a tensor that was changed in place through another view of it; use the out-of-place operation",
            )

    # -- places -------------------------------------------------------------------------------------------------------

    def error(self, name: str, why: str) -> ReadError:
        """Why an operation cannot be read, with its place in the model."""
        return ReadError(self._message(name, why))

    def _message(self, name: str, why: str) -> str:
        place = self.place if self.inside else f"{self.place}, {name}()"
        return f"{place}: {why}"

    @contextmanager
    def _named(self, name: str) -> Iterator[None]:
        """Names the steps of one operation: after its module if that is one of torch's own, else after the function."""
        outer = self.tape.path
        if not self.inside:
            self.tape.path = self.name(f"{outer}.{name}" if outer else name)
        try:
            yield
        finally:
            self.tape.path = outer


def function_name(func: Function) -> str:
    """``add`` for torch.add, Tensor.add and Tensor.__add__; the property's name for a property."""
    name: str = getattr(func, "__name__", repr(func))
    if name == "__get__":
        return str(func.__self__.__name__)  # type: ignore[attr-defined]
    return "unfold_axis" if func is Tensor.unfold else name  # not torch.nn.functional.unfold


def base_name(name: str) -> str:
    """The out-of-place operation's name: ``add`` for ``add_`` and ``__iadd__``."""
    if name in ("__iadd__", "__isub__", "__imul__", "__itruediv__", "__idiv__"):
        return {"truediv": "div"}.get(name[3:-2], name[3:-2])
    if name.endswith("_") and not name.endswith("__"):
        return name[:-1]
    return name


def _original(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    with torch._C.DisableTorchFunctionSubclass():
        return func(*args, **kwargs)


def _only_value(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Value:
    values = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Value)]
    if len(values) > 1:
        raise ReadError("combines two network values; only sums, concatenations and maxima of them can be read")
    return values[0]


def _replaced(tree: Any, tensor: Tensor) -> Any:
    return tree_map(lambda leaf: tensor if isinstance(leaf, Value) else leaf, tree)


def _version(tensor: Tensor) -> int:
    with torch._C.DisableTorchFunctionSubclass():
        return tensor._version


def _largest(tensor: Tensor) -> float:
    return float(torch.linalg.vector_norm(tensor, torch.inf)) if tensor.numel() else 0.0
