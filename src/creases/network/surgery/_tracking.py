"""Tracking units through a run of a model: every tensor entry is labelled with the unit behind it.

Torch passes every operation on a tensor subclass to ``__torch_function__``, which runs the operation and applies it to
the labels: rearrangements move labels like entries, elementwise functions keep them, pooling keeps those of a channel.
The labels of the next layer's columns then tell which unit each column reads, whatever code lies between. Units that
meet, as in a residual sum, are coupled: they can only be removed together, and their layers are no places.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd
from torch.utils._pytree import tree_leaves, tree_map

from creases.network._reading.modules import follow_modules, is_torch_layer
from creases.network._reading.operators.names import IDENTITY_FUNCTIONS, MOVES, PERMUTATIONS, QUERIES, words
from creases.network._reading.traced import RecordedTensor, as_subclass, base_name, function_name
from creases.network.surgery._place import AFFINE_LAYERS, CARRIER_LAYERS, count_outputs

# Names of torch functions, grouped by their effect on units.

#: Nonlinear functions of one entry, smooth ones included.
BEND_FUNCTIONS = words(
    """
    relu relu6 leaky_relu prelu rrelu hardtanh hardsigmoid hardswish threshold _threshold clamp clip clamp_min clamp_max
    abs absolute __abs__ elu selu celu gelu silu mish softplus softsign sigmoid tanh tanhshrink logsigmoid log_sigmoid
    softshrink hardshrink square sin cos exp sqrt expit
    """
)

#: Functions of one entry, or of the same entry of several tensors.
ELEMENTWISE = (
    BEND_FUNCTIONS
    | IDENTITY_FUNCTIONS
    | words(
        """
        add sub rsub mul div neg pow maximum minimum fmax fmin lerp where masked_fill addcmul addcdiv negative multiply
        subtract divide true_divide __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __rdiv__
        __neg__ __pow__ __rpow__ reciprocal rsqrt log log1p expm1 nan_to_num sign floor ceil round
        dropout dropout1d dropout2d dropout3d alpha_dropout feature_dropout feature_alpha_dropout
        """
    )
)

#: Functions of one channel's image at a time.
SPATIAL = (
    frozenset(
        f"{name}{axes}d{suffix}"
        for name in ("avg_pool", "adaptive_avg_pool", "max_pool", "adaptive_max_pool", "lp_pool", "fractional_max_pool")
        for axes in (1, 2, 3)
        for suffix in ("", "_with_indices")
    )
    | {f"_{name}" for name in ("max_pool1d", "max_pool2d", "max_pool3d", "adaptive_max_pool2d")}
    | words("interpolate upsample pad")
)

#: Functions of all entries along some axes.
REDUCTIONS = words("mean sum amax amin max min var std logsumexp nanmean")

#: Functions that join the entries of several tensors.
JOIN_FUNCTIONS = words("cat concat concatenate stack hstack vstack dstack")

#: Functions that rearrange the entries of a tensor.
MOVE_FUNCTIONS = MOVES | PERMUTATIONS

#: Functions that leave each entry as it is, wherever they put it.
PASSING_FUNCTIONS = MOVE_FUNCTIONS | IDENTITY_FUNCTIONS | JOIN_FUNCTIONS

#: Functions of layers, whose weights identify units.
LAYERS = words("linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d")


# What a run reveals: the layers that read units, the operations between, why some can be neither added nor removed.

Owners = frozenset[str]  # paths of the layers that produced some units


@dataclass(frozen=True)
class Passage:
    """An operation between a layer and the next."""

    op: str
    module: str  #: path of the torch module that runs it, "" in forward code


@dataclass
class Use:
    """How a run used a module."""

    calls: int
    like: Tensor  #: an empty tensor of its output's dtype and device
    shape: tuple[int, ...]  #: of its output, with the batch axis
    axis: int | None  #: axis of its output that counts units; None if they spread over several
    owners: Owners  #: the layers whose units it returned


Function = Callable[..., Any]

#: Why the last layer of a model keeps its width.
IS_OUTPUT = "its units are the model's output"


class TrackedTensor(RecordedTensor):
    """Example values, with the number of the unit behind each entry (0: none)."""

    units: Tensor
    owners: Owners  #: the layers that may have produced them


class UnitTracker:
    """Tracks the units of a run of a model, and the sets of units that can only be removed together."""

    def __init__(self, model: nn.Module) -> None:
        self.modules = dict(model.named_modules())
        self.within: list[str] = []  #: paths of the running modules, outermost first
        self.holders: dict[int, str] = {}  #: the layer of each weight or buffer, by the tensor's id
        self.first: dict[str, int] = {}  #: number of the first unit of each affine layer
        self.columns: dict[str, Tensor] = {}  #: for each layer the unit of each column (0: none)
        self.readers: dict[str, Owners] = {}  #: for each layer the producers of the units it reads
        self.positions: dict[str, int] = {}  #: how often each layer applies its weight for one input
        self.passages: dict[str, list[Passage]] = {}  #: by the layer that produced the units
        self.refused: dict[str, str] = {}  #: why the units of a layer are no place
        self.fixed: dict[int, str] = {}  #: why a unit cannot be removed
        self.uses: dict[str, Use] = {}  #: of torch's own modules
        self.outputs: list[Tensor] = []
        number = 1
        for path, module in self.modules.items():
            if isinstance(module, AFFINE_LAYERS):
                self.first[path] = number
                number += count_outputs(module)
            if isinstance(module, (*AFFINE_LAYERS, *CARRIER_LAYERS)):
                tensors = [*module._parameters.values(), *module._buffers.values()]
                self.holders.update({id(tensor): path for tensor in tensors if tensor is not None})
        self._parents = list(range(number))  # of coupled units, up to the one that stands for them

    def run(self, model: nn.Module, data: Tensor) -> UnitTracker:
        """Run the model on data (batch, *shape), which have no units."""
        with follow_modules(model, lambda path, _: self.within.append(path), self._leave):
            leaves = tree_leaves(model(self.wrap(data.clone(), None, frozenset())))
        attributes = [vars(leaf) for leaf in leaves if hasattr(leaf, "__dict__") and not isinstance(leaf, Tensor)]
        for leaf in [*leaves, *tree_leaves(attributes)]:  # outputs may be objects of the user's classes
            if isinstance(leaf, TrackedTensor):
                self.refuse(leaf.owners, IS_OUTPUT)
                with torch._C.DisableTorchFunctionSubclass():
                    self.outputs.append(as_subclass(leaf, Tensor).detach().clone())
        return self

    def wrap(self, data: Tensor, units: Tensor | None, owners: Owners) -> TrackedTensor:
        """Label values with units, by default none; a tensor changed in place remains the same object."""
        with torch._C.DisableTorchFunctionSubclass():
            out = data if isinstance(data, TrackedTensor) else as_subclass(data, TrackedTensor)
            units = torch.zeros((), dtype=torch.int32, device=data.device) if units is None else units
            out.units, out.owners, out.recorder = units.expand(data.shape), owners, self
        return out

    # -- what cannot change -------------------------------------------------------------------------------------------

    def output_units(self, path: str) -> range:
        """Return the units that a layer makes; none for one that is no affine layer."""
        first = self.first.get(path)
        return range(0) if first is None else range(first, first + count_outputs(self.modules[path]))

    def root(self, unit: int) -> int:
        """Return the unit that stands for all that a unit is coupled with."""
        while self._parents[unit] != unit:
            self._parents[unit] = self._parents[self._parents[unit]]
            unit = self._parents[unit]
        return unit

    def couple(self, sets: Iterable[Sequence[int]], why: str) -> None:
        """Couple the units of each set; those beside a column without unit (0) are fixed for this reason."""
        for units in sets:
            hidden = [unit for unit in units if unit > 0]
            for unit in hidden[1:]:
                self._parents[self.root(unit)] = self.root(hidden[0])
            if 0 in units:
                self.fix(hidden, why)

    def fix(self, units: Iterable[int], why: str) -> None:
        """Record why units cannot be removed; the first reason counts."""
        for unit in units:
            if unit > 0:
                self.fixed.setdefault(unit, why)

    def refuse_places(self, owners: Iterable[str], why: str) -> None:
        """Record why the units of these layers are no place; the first reason counts."""
        for owner in owners:
            self.refused.setdefault(owner, why)

    def refuse(self, owners: Owners, why: str) -> None:
        """Record why the units of these layers are no place and cannot be removed either."""
        self.refuse_places(owners, why)
        for owner in owners:
            self.fix(self.output_units(owner), why)

    # -- modules ------------------------------------------------------------------------------------------------------

    def _leave(self, path: str, module: nn.Module, out: Any) -> None:
        self.within.pop()
        if is_torch_layer(module) and isinstance(out, TrackedTensor):
            calls = self.uses[path].calls if path in self.uses else 0
            with torch._C.DisableTorchFunctionSubclass():
                like = as_subclass(out.new_empty(0), Tensor)
                convolved = any(not isinstance(self.modules[owner], nn.Linear) for owner in out.owners)
                axis = 1 if out.ndim == 2 or convolved else out.ndim - 1  # channels after a convolution, else features
                counts = out.ndim > 1 and along(out.units, axis) is not None
                self.uses[path] = Use(calls + 1, like, tuple(out.shape), axis if counts else None, out.owners)

    def _describe(self, op: str) -> str:
        """Return the name of an operation for messages: ``add in block.1``."""
        path = next((path for path in reversed(self.within) if path), "")
        return f"{op.strip('_')} in {path!r}" if path else op.strip("_")

    # -- one operation ------------------------------------------------------------------------------------------------

    def operation(
        self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any], tracked: list[TrackedTensor]
    ) -> Any:
        """Run an operation and label its results with units."""
        name = function_name(func)
        out = func(*args, **kwargs)
        if name in QUERIES:
            return out
        base = base_name(name)
        owners = frozenset[str]().union(*(x.owners for x in tracked))
        if "out" in kwargs or (base != name and not isinstance(args[0], TrackedTensor)):
            self.refuse(owners, f"{self._describe(name)} writes them into another tensor")
            return out
        if base in LAYERS:
            return self._layer(base, args, kwargs, out, owners)
        if base not in IDENTITY_FUNCTIONS:
            inside = self.within and is_torch_layer(self.modules[self.within[-1]])
            passage = Passage(base, self.within[-1] if inside else "")
            for owner in owners:
                self.passages.setdefault(owner, []).append(passage)
        if base in ("batch_norm", "prelu"):
            return self._carrier(base, args, kwargs, out, owners)
        units = self._units(func, base, args, kwargs, out, tracked)
        if units is None:
            self.refuse(owners, f"they enter {self._describe(base)}, which units cannot be tracked through")
            units = tree_map(lambda leaf: None, out)
        return self._label(out, units, owners)

    def _label(self, out: Any, units: Any, owners: Owners) -> Any:
        """Label results with their units; numbers and None stay as they are."""
        if isinstance(out, Tensor):
            if len(owners) > 1 and units is not None and out.numel():
                paths, starts = list(self.first), list(self.first.values())
                owners = frozenset(paths[bisect_right(starts, n) - 1] for n in units.unique().tolist() if n > 0)
            return self.wrap(out, units, owners)
        if isinstance(out, list | tuple):
            parts = units if isinstance(units, list | tuple) else [None] * len(out)
            return type(out)([self._label(part, unit, owners) for part, unit in zip(out, parts, strict=True)])
        return out

    def _units(self, func: Function, base: str, args: Any, kwargs: Any, out: Any, tracked: list[TrackedTensor]) -> Any:
        """Return the units of an operation's results, in the same structure; None if they cannot be determined."""
        x = args[0] if args else kwargs.get("input")
        if base in JOIN_FUNCTIONS:
            return _move_units(func, args, kwargs, zeros=True)
        if not isinstance(x, TrackedTensor):
            return self._combine_units(base, out, tracked) if base in ELEMENTWISE - IDENTITY_FUNCTIONS else None
        if base in IDENTITY_FUNCTIONS:
            return x.units
        if base in MOVE_FUNCTIONS:
            by_value = base in ("__getitem__", "index_select", "gather", "take", "take_along_dim") and len(tracked) > 1
            return None if by_value else _move_units(func, args, kwargs, zeros=False)
        if base in SPATIAL:
            channel = along(x.units, 1) if x.ndim > 2 else None
            if base == "pad" and channel is not None:
                widths, more = (args[1] if len(args) > 1 else kwargs["pad"]), out.shape[1] - len(channel)
                before = int(widths[2 * (x.ndim - 2)]) if more else 0
                channel = torch.nn.functional.pad(channel, (before, more - before))
            if channel is None or any(leaf.ndim < 2 or leaf.shape[1] != len(channel) for leaf in tree_leaves(out)):
                return None
            return tree_map(lambda leaf: spread(channel, 1, leaf.ndim), out)
        if base in REDUCTIONS and len(tracked) == 1:
            return self._reduce_units(base, args, kwargs, out, x)
        return self._combine_units(base, out, tracked) if base in ELEMENTWISE | REDUCTIONS else None

    def _reduce_units(self, base: str, args: Any, kwargs: Any, out: Any, x: TrackedTensor) -> Any:
        """Return the units after a reduction along axes, which must not mix units."""
        dim = kwargs.get("dim", kwargs.get("axis", args[1] if len(args) > 1 else None))
        if isinstance(dim, Tensor):  # max(x, constant)
            return x.units
        dim = tuple(range(x.units.ndim)) if dim is None else dim
        low, high = x.units.amin(dim), x.units.amax(dim)
        if not torch.equal(low, high):
            self.refuse(x.owners, f"{self._describe(base)} mixes them")
        return tree_map(lambda leaf: low.reshape(leaf.shape), out)

    def _combine_units(self, base: str, out: Any, tracked: list[TrackedTensor]) -> Any:
        """Return the units after an elementwise function; units that meet others or constants are tied to them."""
        if not isinstance(out, Tensor):
            return None
        units, owners = tracked[0].units, tracked[0].owners
        for x in tracked[1:]:
            if units is not x.units:
                self._tie_units(base, units, owners, x.units, x.owners)
                units, other = torch.broadcast_tensors(units, x.units)  # type: ignore[no-untyped-call]
                units, owners = torch.where(units > 0, units, other), owners | x.owners
        return units

    def _tie_units(self, base: str, units: Tensor, owners: Owners, others: Tensor, other_owners: Owners) -> None:
        """Couple units that meet entry by entry; fix those that meet several others, or values of a fixed width."""
        place = self._describe(base)
        ours, theirs = torch.broadcast_tensors(units, others)  # type: ignore[no-untyped-call]
        for axis in range(ours.ndim):
            if ours.stride(axis) == theirs.stride(axis) == 0:  # all entries are the first
                ours, theirs = ours[(slice(None),) * axis + (slice(1),)], theirs[(slice(None),) * axis + (slice(1),)]
        meet = (ours > 0) & (theirs > 0) & (ours != theirs)
        repeated = [small for small, large in ((units, others), (others, units)) if _is_broadcast(small, large)]
        for small in repeated:
            self.fix(_numbers(small), f"{place} combines each of them with several channels")
        if meet.any():
            for some, rest in ((owners, other_owners), (other_owners, owners)):
                named = ", ".join(repr(owner) for owner in sorted(rest))
                self.refuse_places(some, f"{place} combines them with those of {named}, as a residual sum does")
            pairs = _numbers((ours[meet].long() << 32) + theirs[meet]) if not repeated else []
            self.couple(((pair >> 32, pair & 0xFFFFFFFF) for pair in pairs), "")
        for some, a, b, shape in ((owners, ours, theirs, others.shape), (other_owners, theirs, ours, units.shape)):
            lonely = b == 0
            if some and lonely.any() and varies(a, shape):
                why = f"{place} combines them with values of a fixed width"
                if not repeated:
                    self.fix(_numbers(a[lonely]), f"{why}, such as padding")
                self.refuse_places(some, f"{why}, as a residual sum does")

    # -- layers -------------------------------------------------------------------------------------------------------

    def _layer(self, base: str, args: Any, kwargs: Any, out: Tensor, owners: Owners) -> Any:
        """Record the units that an affine layer reads, and label its output with its own."""
        x, weight = _argument(args, kwargs, 0, "input"), _argument(args, kwargs, 1, "weight")
        path = self.holders.get(id(weight))
        if path is None or not isinstance(x, TrackedTensor):
            self.refuse(owners, f"they enter {self._describe(base)}, whose weight does not belong to a torch layer")
            return self.wrap(out, None, frozenset())
        axis = out.ndim - 1 if base == "linear" else 1
        self._record_columns(path, x, -1 if base == "linear" else 1, owners)
        entries = x if base.startswith("conv_transpose") else out
        size = max(1, len(x) * entries.shape[axis])
        self.positions[path] = self.positions.get(path, 0) + entries.numel() // size
        layer = self.modules[path]
        if isinstance(layer, _ConvNd) and layer.groups > 1:
            self.refuse_places([path], f"it is a convolution in {layer.groups} groups")
            self.refuse_places(owners, f"they enter {path!r}, a convolution in {layer.groups} groups")
            read = self.columns[path].reshape(layer.groups, -1)
            made = torch.tensor(self.output_units(path)).reshape(layer.groups, -1)
            sets = [torch.cat([read, made], dim=1)] if removes_whole_groups(layer) else [read.T, made.T]
            self.couple((units for part in sets for units in part.tolist()), f"{path!r} {_WITH_FIXED}")
        numbers = torch.arange(out.shape[axis], dtype=torch.int32, device=out.device) + self.first[path]
        return self.wrap(out, spread(numbers, axis, out.ndim), frozenset([path]))

    def _carrier(self, base: str, args: Any, kwargs: Any, out: Tensor, owners: Owners) -> Any:
        """Record the units that a layer with entries per unit reads; its output keeps their labels."""
        x = _argument(args, kwargs, 0, "input")
        tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor) and not isinstance(t, TrackedTensor)]
        path = next((self.holders[id(tensor)] for tensor in tensors if id(tensor) in self.holders), None)
        shared = base == "prelu" and tensors and tensors[0].numel() == 1
        if tensors and not shared:
            if path is None or not isinstance(x, TrackedTensor):
                self.refuse(
                    owners, f"they enter {self._describe(base)}, whose parameters do not belong to a torch layer"
                )
            else:
                self._record_columns(path, x, 1, owners)
        return self.wrap(out, x.units if isinstance(x, TrackedTensor) else None, owners)

    def _record_columns(self, path: str, x: TrackedTensor, axis: int, owners: Owners) -> None:
        """Record the units that a layer reads along an axis; what several calls read at a column is coupled."""
        columns, before = along(x.units, axis), self.columns.get(path)
        if before is not None:
            self.refuse_places([path], "it is used more than once")
            self.refuse_places(owners | self.readers[path], f"they enter {path!r}, which is used more than once")
        if columns is None:
            self.refuse(owners, f"they do not lie along the axis that {path!r} reads")
            columns = torch.zeros(x.shape[axis], dtype=torch.int32)
        columns = columns.cpu()
        if before is not None:
            self.couple(torch.stack([before, columns], dim=1).tolist(), f"{path!r} {_WITH_FIXED}")
            columns = torch.where(before > 0, before, columns)
        self.columns[path] = columns
        self.readers[path] = self.readers.get(path, frozenset()) | owners


_WITH_FIXED = "couples them with values of a fixed width"


def removes_whole_groups(layer: nn.Module) -> bool:
    """Return whether a grouped convolution loses whole groups rather than positions in all of them.

    With small groups, each goes as a whole, inputs and outputs together (depthwise convolutions above all); with few
    large groups, the inputs at the same position of every group go together, and so do the outputs.
    """
    return isinstance(layer, _ConvNd) and 1 < layer.groups >= max(layer.in_channels, layer.out_channels) // layer.groups


def _is_broadcast(small: Tensor, large: Tensor) -> bool:
    """Return whether some units are repeated along an axis on which others vary."""
    if not (small > 0).any():
        return False
    shape = (1,) * (large.ndim - small.ndim) + tuple(small.shape)
    axes = [i for i in range(1, large.ndim + 1) if shape[-i] == 1 and large.shape[-i] > 1]
    return any(bool((large.amin(-i) != large.amax(-i)).any()) for i in axes)


def _numbers(units: Tensor) -> list[int]:
    return [unit for unit in units.unique().tolist() if unit > 0]  # type: ignore[no-untyped-call]


def along(units: Tensor, axis: int) -> Tensor | None:
    """Return the units along an axis if they are the same at all positions of the others, else None."""
    units = units.movedim(axis, 0)
    if not units.numel():
        return None
    first = units.as_strided((len(units),), units.stride()[:1])
    expanded = all(step == 0 or n == 1 for step, n in zip(units.stride()[1:], units.shape[1:], strict=True))
    return first if expanded or torch.equal(units, spread(first, 0, units.ndim).expand_as(units)) else None


def spread(numbers: Tensor, axis: int, ndim: int) -> Tensor:
    """Reshape a vector to lie along an axis of a tensor."""
    shape = [1] * ndim
    shape[axis] = len(numbers)
    return numbers.reshape(shape)


def _move_units(func: Function, args: Any, kwargs: Any, *, zeros: bool) -> Any:
    """Apply a rearrangement of entries to their units; with ``zeros`` constants have no units."""

    def units(leaf: Any) -> Any:
        if isinstance(leaf, TrackedTensor):
            return leaf.units.contiguous() if func is Tensor.view else leaf.units  # they may be expanded
        return torch.zeros_like(leaf, dtype=torch.int32) if zeros and isinstance(leaf, Tensor) else leaf

    try:
        return func(*tree_map(units, args), **tree_map(units, kwargs))
    except RuntimeError:  # an operation that torch has for floating point only
        return None


def varies(units: Tensor, shape: Sequence[int]) -> bool:
    """Return whether units vary along an axis on which another shape has more than one entry."""
    axes = range(1, min(units.ndim, len(shape)) + 1)
    return any(shape[-i] > 1 and bool((units.amin(-i) != units.amax(-i)).any()) for i in axes)


def _argument(args: Sequence[Any], kwargs: dict[str, Any], position: int, name: str) -> Any:
    return args[position] if len(args) > position else kwargs.get(name)
