"""Traced tensors: example values that record the operations of a model.

Torch passes every operation on a tensor subclass to ``__torch_function__``. There the operation runs as the model
would run it and is also translated into steps; the two results must agree, so a wrong translation is detected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import signature
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

from creases._program._program import LINKS
from creases.errors import ReadError
from creases.network._reading.builder import ProgramBuilder, Value
from creases.network._reading.operators import HANDLERS
from creases.network._reading.operators.bends import OF_MASKS, Mask
from creases.network._reading.operators.names import (
    ALONG_AXES,
    CONDITIONS,
    DENSE,
    IDENTITY_FUNCTIONS,
    INTEGER_CASTS,
    MOVES,
    PERMUTATIONS,
    QUERIES,
    REFUSED,
    refusal,
)

Function = Callable[..., Any]

Kind = TypeVar("Kind", bound=Tensor)

#: Largest difference between steps and the operation they translate, relative to the largest number involved.
_TOLERANCE = 1e-11

#: Operations whose constants have axes of their own: they do not broadcast against the value.
_OF_MATRICES = ("linear", "matmul", "__matmul__", "__rmatmul__", "mm", "addmm", "bmm", "baddbmm")

#: Operations after a link that keep all entries and their order.
_RESHAPES = ("squeeze", "unsqueeze", "flatten", "reshape", "view")


def as_subclass(data: Tensor, kind: type[Kind]) -> Kind:
    """Return a tensor as one of a subclass; torch 2.4 refuses that while something counts operations."""
    with torch._C._DisableTorchDispatch():
        return data.as_subclass(kind)


@dataclass(frozen=True)
class Unreadable:
    """A tensor that is not a piecewise-linear function of the input: an error if the model uses it further."""

    name: str  #: the operation that computed it
    path: str  #: the module it is in
    place: str  #: the same for messages
    why: str
    scores: Value | None = None  #: what a link such as softmax was applied to


@dataclass(frozen=True)
class Displaced:
    """A value whose batch axis is not the first of its tensor, as in recurrences or after ``reshape(-1, d)``."""

    value: Value
    numbers: Tensor  #: in the tensor's shape: sample * size + entry of the value
    why: str  #: the error if the batch axis never comes first again

    def front(self, tensor: Tensor) -> Tensor:
        """Return a tensor of this layout with the batch axis first."""
        if self._axis:
            return tensor.movedim(self._axis, 0)
        return tensor.reshape(len(self.value.example), -1, *tensor.shape[1:])

    def back(self, tensor: Tensor, missing: Iterable[int] = ()) -> Tensor:
        """Return a tensor with the batch axis first in this layout, some of whose axes may be missing from it."""
        before = self._axis - len([dim for dim in missing if dim < self._axis])
        return tensor.movedim(0, before) if self._axis else tensor.flatten(0, 1)

    def dim(self, dim: int) -> int:
        """Return the place of an axis of this layout in a tensor with the batch axis first."""
        dim %= self.numbers.ndim
        return 0 if dim == self._axis else dim + (dim < self._axis or not self._axis)

    @cached_property
    def _axis(self) -> int:
        """The batch axis; 0 if the first axis counts samples and, within each, an axis of theirs."""
        samples = self.numbers // max(self.value.size, 1)
        batch = len(self.value.example)
        for axis, n in enumerate(samples.shape):
            if axis and n == batch and (samples.movedim(axis, -1) == torch.arange(batch)).all():
                return axis
        if samples.ndim and len(samples) % batch == 0:
            expected = torch.arange(len(samples)) // (len(samples) // batch)
            if (samples == expected.reshape(-1, *(1,) * (samples.ndim - 1))).all():
                return 0
        raise ReadError(self.why)


class RecordedTensor(Tensor):
    """Example values whose operations a recorder runs: ``recorder.operation(func, args, kwargs, operands)``."""

    recorder: Any

    @classmethod
    def __torch_function__(
        cls, func: Function, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        recorded = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, RecordedTensor)]
        with torch._C.DisableTorchFunctionSubclass():
            if not recorded or not hasattr(recorded[0], "recorder"):  # torch is creating the tensor
                return func(*args, **kwargs)
            return recorded[0].recorder.operation(func, tuple(args), kwargs, recorded)


class TracedTensor(RecordedTensor):
    """Example values (batch, *shape) of a program's value while the model runs."""

    value: Value | Unreadable | Mask | Displaced
    version: int  #: torch counts in-place changes of a tensor and all its views


class DoublePrecision(TorchFunctionMode):
    """Computes with every floating-point tensor in float64, also with those that a model keeps or makes as float32."""

    def __torch_function__(
        self, func: Function, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        in_place = base_name(name := function_name(func)) != name
        args, kwargs = tree_map(lambda leaf: leaf if in_place else _as_double(leaf), (tuple(args), kwargs or {}))
        return tree_map(_as_double, func(*args, **kwargs))


def _as_double(leaf: Any) -> Any:
    """Return a constant tensor of low precision in float64, and anything else as it is."""
    low = type(leaf) is Tensor and leaf.dtype in (torch.float32, torch.float16, torch.bfloat16)
    return leaf.double() if low else leaf


class Recorder:
    """Translates the operations of a run of a model into steps of a builder."""

    def __init__(self, example: Tensor) -> None:
        self.builder = ProgramBuilder(example)
        self.module = ""  #: path of the running module
        self.place = "model"  #: the same for messages, e.g. "blocks.2.act (GELU)"
        self.inside = False  #: whether that module is a layer of torch
        self._names: dict[str, int] = {}

    def start(self) -> TracedTensor:
        """Return the model's input as a traced tensor."""
        return self.wrap(self.builder.input.example.clone(), self.builder.input)

    def wrap(self, data: Tensor, value: Value | Unreadable | Mask | Displaced) -> TracedTensor:
        """Return example values as a traced tensor."""
        out = as_subclass(data, TracedTensor)
        out.value, out.recorder, out.version = value, self, data._version
        return out

    def name(self, path: str) -> str:
        """Return a path that no earlier operation has: the second ``act`` is ``act_1``."""
        count = self._names.get(path, 0)
        self._names[path] = count + 1
        return f"{path}_{count}" if count else path

    # -- one operation ------------------------------------------------------------------------------------------------

    def operation(
        self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any], traced: list[TracedTensor]
    ) -> Any:
        """Run a torch function on traced tensors and record its steps; raise an error if it cannot be read."""
        name = function_name(func)
        if name in QUERIES:
            return func(*args, **kwargs)
        if name in ("expand_as", "view_as", "reshape_as"):  # of the other tensor only the shape counts
            x, other = [*args, *kwargs.values()]
            func, args, kwargs = getattr(Tensor, name.removesuffix("_as")), (x, other.shape), {}
            if not isinstance(x, TracedTensor):
                return func(*args)
            name, traced = function_name(func), [x]
        if any(t.version != t._version for t in traced):
            raise self.error(
                name,
                "uses a tensor that was changed in place through another view of it; use the out-of-place operation",
            )
        if name in IDENTITY_FUNCTIONS | INTEGER_CASTS:
            return self._identity(name, args, kwargs)
        if name in CONDITIONS:
            raise self.error(name, refusal(name))
        unreadable = next((t.value for t in traced if isinstance(t.value, Unreadable)), None)
        if unreadable is not None:
            if name not in _RESHAPES:
                unreadable = replace(unreadable, scores=None)
            return self._refuse(func, args, kwargs, unreadable, defer=name in MOVES or name in REFUSED)
        base = base_name(name)
        if not isinstance(args[0] if args else None, TracedTensor) and base != name:
            raise self.error(
                name, "writes network values into a constant tensor in place; use torch.cat, stack or where"
            )
        moves = len(traced) == 1 and (base in MOVES or base in PERMUTATIONS)
        displaced = next((t.value for t in traced if isinstance(t.value, Displaced)), None)
        if displaced is not None:
            return (self._displace if moves else self._operate_displaced)(func, args, kwargs, displaced)
        with self._named(base.strip("_")):
            try:
                if base not in OF_MASKS and any(isinstance(t.value, Mask) for t in traced):
                    raise ReadError(refusal("gt"))
                result = self._translate(func, base, args, kwargs)
            except ReadError as problem:
                why = self._message(base, str(problem))
                with suppress(ReadError):
                    # A list put before the batch axis, which files for a single sample join along it.
                    of_one = "cat" in base and self.builder.batch == 1 and {t.shape[1:2] for t in traced} == {(1,)}
                    if (base == "stack" or of_one) and all(isinstance(t.value, Value) for t in traced):
                        value = self._translate(func, base, (args[0] if args else kwargs["tensors"], 1), {})
                        func, args, kwargs = torch.transpose, (self.wrap(value.example, value), 0, 1), {}
                        moves, traced = True, [args[0]]
                    if moves and isinstance(value := traced[0].value, Value):
                        return self._displace(func, args, kwargs, Displaced(value, self.builder.numbers(value), why))
                refused = Unreadable(base, self.module, self.place, why, _scores(base, args, kwargs))
                return self._refuse(func, args, kwargs, refused, defer=base == name)
            return self._verify(base, result, func(*args, **kwargs), args)

    # -- values whose batch axis is not first --------------------------------------------------------------------------

    def _displace(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any], displaced: Displaced) -> Any:
        """Rearrange entries wherever the batch axis goes, if the samples stay side by side."""
        pair = tree_map(lambda leaf: displaced.numbers if isinstance(leaf, TracedTensor) else leaf, (args, kwargs))
        numbers, data = func(*pair[0], **pair[1]), func(*args, **kwargs)
        return tree_map(lambda part, entries: self._place(replace(displaced, numbers=part), entries), numbers, data)

    def _place(self, displaced: Displaced, data: Tensor) -> TracedTensor:
        """Return a displaced value, as an ordinary one if its batch axis is the first."""
        try:
            return self.wrap(data, self.builder.select(displaced.value, displaced.numbers))
        except ReadError:
            displaced.front(displaced.numbers)  # an error if samples do not lie side by side
            return self.wrap(data, displaced)

    def _operate_displaced(
        self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any], displaced: Displaced
    ) -> Any:
        """Apply an operation with the batch axis in front and put it back; that must be what the operation computes."""
        name = function_name(func)
        if base_name(name) != name:  # in place
            raise ReadError(displaced.why)
        dims: list[int] = []  # that it acts along

        def bring_forward(leaf: Any) -> Any:
            missing = displaced.numbers.ndim - leaf.ndim if isinstance(leaf, Tensor) else 0
            if not isinstance(leaf, TracedTensor):
                is_aligned = isinstance(leaf, Tensor) and not missing and name not in _OF_MATRICES
                return displaced.front(leaf) if is_aligned else leaf
            if isinstance(value := leaf.value, Displaced):
                entries = self.builder.select(value.value, displaced.front(value.numbers))
                return self.wrap(displaced.front(leaf), entries)
            if not isinstance(value, Value) or not 0 < missing == displaced._axis:
                return leaf
            shape = (*(1,) * missing, *value.shape)  # such as the mean of a list beside the list
            return self.wrap(leaf.reshape(len(leaf), *shape), self.builder.reshape(value, shape))

        def count_from_front(dim: Any) -> Any:
            if isinstance(dim, int):
                dims.append(dim % displaced.numbers.ndim)
            return displaced.dim(dim) if isinstance(dim, int) else dim

        def put_back(part: TracedTensor, expected: Tensor) -> TracedTensor:
            if isinstance(part.value, Unreadable):
                return self.wrap(expected, replace(part.value, scores=None))
            axes = dims if part.ndim < displaced.front(displaced.numbers).ndim else []
            data = displaced.back(part, axes)
            agrees = data.shape == expected.shape and _largest(data - expected) <= _TOLERANCE * _largest(expected)
            if not agrees or not isinstance(part.value, Value):
                raise ReadError(displaced.why)
            numbers = displaced.back(self.builder.numbers(part.value), axes)
            return self._place(Displaced(part.value, numbers, displaced.why), data)

        original = func(*args, **kwargs)
        if name in ALONG_AXES:
            kwargs = {"dim": 0, **kwargs} if "cat" in name and len(args) == 1 else kwargs  # its default
            args = (*args[:1], *tree_map(count_from_front, args[1:2]), *args[2:])
            kwargs = {key: tree_map(count_from_front, each) if key == "dim" else each for key, each in kwargs.items()}
        try:
            args, kwargs = tree_map(bring_forward, (args, kwargs))
            traced = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, TracedTensor)]
            return tree_map(put_back, self.operation(func, args, kwargs, traced), original)
        except (AttributeError, IndexError, ReadError, RuntimeError, ValueError):
            raise ReadError(displaced.why) from None

    # -- translation --------------------------------------------------------------------------------------------------

    def _translate(self, func: Function, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the operation's result as a value, or several."""
        args, kwargs = tree_map(lambda leaf: leaf.value if isinstance(leaf, TracedTensor) else leaf, (args, kwargs))
        if name in MOVES or name in DENSE:

            def function(tensor: Tensor) -> Any:
                pair = tree_map(lambda leaf: tensor if isinstance(leaf, Value) else leaf, (args, kwargs))
                return func(*pair[0], **pair[1])

            x, *others = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Value)]
            if others:
                raise ReadError("combines two network values; only sums, concatenations and maxima of them can be read")
            return self.builder.move(x, function) if name in MOVES else self.builder.dense(x, function)
        handler = HANDLERS.get(name)
        if handler is None:
            raise ReadError(refusal(name))
        try:
            signature(handler).bind(self.builder, *args, **kwargs)
        except TypeError as problem:
            raise ReadError(f"is called in a way that cannot be read ({problem})") from None
        return handler(self.builder, *args, **kwargs)

    def _refuse(
        self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any], why: Unreadable, defer: bool
    ) -> Any:
        """Return an unreadable result, an error only once it is used, as better advice may be possible then."""
        out = func(*args, **kwargs) if defer else None
        if not defer or not all(isinstance(leaf, Tensor) for leaf in tree_leaves(out)):
            raise ReadError(why.why)
        return tree_map(lambda leaf: self.wrap(leaf, why), out)

    def _identity(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TracedTensor:
        x = next(leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, TracedTensor))
        targets = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.dtype)]
        is_bool = name == "bool" or torch.bool in targets
        if isinstance(x.value, Mask) and not (is_bool and x.value.is_sign):
            return self.wrap(x.bool() if is_bool else x.double(), x.value)
        if name in INTEGER_CASTS or any(not target.is_floating_point for target in targets):
            raise self.error(name, "rounds network values to integers, which is not continuous")
        if name in ("requires_grad_", "detach_", "retain_grad"):
            return x
        copies: dict[str, Callable[..., Tensor]] = {"clone": torch.clone, "contiguous": Tensor.contiguous}
        return self.wrap(copies.get(name, torch.detach)(x), x.value)

    # -- results ------------------------------------------------------------------------------------------------------

    def _verify(self, name: str, result: Any, original: Any, args: tuple[Any, ...]) -> Any:
        """Check that the translated result agrees with the original, and return the original as a traced tensor.

        The value continues with the original's numbers, so that rounding does not accumulate over checks.
        """
        if isinstance(result, Mask):
            return self.wrap(original, result)
        if isinstance(original, Tensor):
            value = self._check_value(name, result, original, args)
            for leaf in tree_leaves(args):
                if leaf is original and isinstance(leaf, TracedTensor):  # in place
                    leaf.value, leaf.version = value, leaf._version
                    return leaf
            return self.wrap(original, value)
        wrapped = []
        for part, tensor in zip(result, original, strict=True):
            if part is None:
                why = self._message(name, "the positions of a maximum are not continuous")
                wrapped.append(self.wrap(tensor, Unreadable(name, self.module, self.place, why)))
            else:
                wrapped.append(self.wrap(tensor, self._check_value(name, part, tensor, args)))
        return type(original)(wrapped)

    def _check_value(self, name: str, value: Value, original: Tensor, args: tuple[Any, ...]) -> Value:
        if value.example.shape != original.shape:
            shapes = f"{tuple(value.example.shape)} but gives {tuple(original.shape)}"
            raise self.error(name, f"was read with shape {shapes}")
        if torch.equal(value.example, original):
            return value
        operands = [leaf.value for leaf in tree_leaves(args) if isinstance(leaf, TracedTensor)]
        sizes = [_largest(operand.example) for operand in operands if isinstance(operand, Value)]
        scale = max(_largest(original), _largest(value.example), *sizes)
        if _largest(value.example - original) <= _TOLERANCE * scale:
            return Value(value.number, original.detach().clone())
        raise self.error(name, "gives different values when translated into steps; please report this model")

    # -- places -------------------------------------------------------------------------------------------------------

    def error(self, name: str, why: str) -> ReadError:
        """Return an error that says why an operation cannot be read, with its place in the model."""
        return ReadError(self._message(name, why))

    def _message(self, name: str, why: str) -> str:
        place = self.place if self.inside else f"{self.place}, {name}()"
        return f"{place}: {why}"

    @contextmanager
    def _named(self, name: str) -> Iterator[None]:
        """Name the steps of an operation after its module if that is a layer of torch, else after the function."""
        outer = self.builder.path
        if not self.inside:
            self.builder.path = self.name(f"{outer}.{name}" if outer else name)
        try:
            yield
        finally:
            self.builder.path = outer


def function_name(func: Function) -> str:
    """Return the name of a torch function, method or property: ``add`` for torch.add and Tensor.add."""
    name: str = getattr(func, "__name__", repr(func))
    if name == "__get__":
        return str(func.__self__.__name__)  # type: ignore[attr-defined]
    return "unfold_axis" if func is Tensor.unfold else name  # not torch.nn.functional.unfold


def base_name(name: str) -> str:
    """Return the out-of-place operation's name: ``add`` for ``add_`` and ``__iadd__``."""
    if name in ("__iadd__", "__isub__", "__imul__", "__itruediv__", "__idiv__"):
        return {"truediv": "div"}.get(name[3:-2], name[3:-2])
    if name.endswith("_") and not name.endswith("__"):
        return name[:-1]
    return name


def _largest(tensor: Tensor) -> float:
    return float(torch.linalg.vector_norm(tensor, torch.inf)) if tensor.numel() else 0.0


def _scores(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Value | None:
    """Return what a link is applied to: one score, or all scores of a sample, (batch, m)."""
    x = args[0] if args and isinstance(args[0], TracedTensor) else None
    if name not in LINKS or x is None or not isinstance(x.value, Value) or x.ndim != 2:
        return None
    axis = kwargs.get("dim", args[1] if len(args) > 1 else None)
    return x.value if "softmax" not in name or axis in (1, -1) else None
