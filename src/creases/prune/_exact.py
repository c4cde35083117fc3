"""Exact pruning: units that are never active, unread, duplicates of others, or never bend are removed with a proof."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from creases._program import Step
from creases._schema import INTEGER, optional, sequence
from creases._validation import check_arguments, check_box, check_count, check_number, check_seed
from creases.certify import decide_sides
from creases.certify.proofs import Proof
from creases.certify.propagation import Interval, output_change_bound, value_bounds
from creases.errors import InputError
from creases.network import Network, Place, places, read, remove
from creases.network.surgery import Link, count_parameters, get_layer, input_tensors, output_tensors
from creases.prune._evaluation import as_module
from creases.prune._results import ExactResult, Reduction, Undecided

#: Operators with rows and columns.
LAYERS = ("linear", "conv", "conv_transpose")


@dataclass(frozen=True, eq=False)
class Reader:
    """A layer that reads the units of a place."""

    link: Link
    layer: nn.Module
    value: int  #: number of the value that enters it
    output: int  #: number of its output value
    entering: Interval  #: bounds of its input
    axis: int  #: axis of its input that counts columns
    columns: Tensor  #: (width, per_unit) of each unit

    @property
    def parameter(self) -> Tensor:
        """The weight as the layer has it."""
        return self.layer.get_parameter("weight")

    @property
    def weight(self) -> Tensor:
        """The weight in float64, columns first: (columns, out, *kernel)."""
        return self.read(self.parameter)

    def read(self, stored: Tensor) -> Tensor:
        """Return a weight of the layer's own shape in the order of :attr:`weight`, in float64."""
        return _double(stored).movedim(input_tensors(self.layer).weight_axis, 0)

    def stored(self, weight: Tensor) -> Tensor:
        """Return a weight in the order of :attr:`weight` in the layer's own shape and precision."""
        return weight.movedim(0, input_tensors(self.layer).weight_axis).to(self.parameter)

    def by_unit(self, value: Tensor) -> Tensor:
        """Return the entries of an input, (*shape) or (n, *shape), by unit: (width, per_unit, positions)."""
        batch = value.ndim - self.entering.low.ndim
        return value.movedim(batch + self.axis, 0).reshape(self.link.size, -1)[self.columns]

    def change(self, by_output: Tensor) -> Tensor:
        """Return a change of each channel (out,), the same at all positions, in the shape of the layer's output."""
        behind = self.entering.low.ndim - 1 - self.axis
        return by_output.reshape(-1, *[1] * behind)


class Between(NamedTuple):
    """What lies between the units and their readers."""

    same: Literal["multiples", "equal", "nothing"]  #: which relation of two units is preserved
    factor: Tensor  #: (width,) of a batch norm before the bend; ones without
    shift: Tensor  #: (width,) of that batch norm; zeros without
    slopes: Tensor  #: (width, 1) slopes of bends on the negative side: they must agree in duplicate units
    gain: float  #: largest factor by which a difference of two units grows


@dataclass(frozen=True, eq=False)
class Site:
    """A place with its layers, their weights and bounds."""

    place: Place
    producer: nn.Module
    entering: Interval  #: bounds of the producer's input
    before: Interval  #: bounds of the producer's output
    value: int  #: number of the producer's output value
    axis: int  #: axis of that value that counts units
    readers: tuple[Reader, ...]
    between: Between
    bend: Step | None  #: the only thing between two linear layers, a bend with two sides; else None

    @classmethod
    def from_place(cls, model: nn.Module, net: Network, bounds: list[Interval], place: Place) -> Site | None:
        """Find a place in a network; None if its layers are not single steps of it."""
        layers: dict[str, list[int]] = {}
        for i, step in enumerate(net.steps):
            if step.op in LAYERS:
                layers.setdefault(step.path, []).append(i)
        paths = [place.name, *(link.path for link in place.consumers)]
        if any(len(layers.get(path, [])) != 1 for path in paths):
            return None
        (i,) = layers[place.name]
        step = net.steps[i]
        readers = []
        for link in place.consumers:
            end = layers[link.path][0]
            value = net.steps[end].inputs[0]
            axis, columns = _axis(net.steps[end], net.shapes[value]), link.columns(place.width)
            readers.append(Reader(link, get_layer(model, link.path), value, end + 1, bounds[value], axis, columns))
        return cls(
            place=place,
            producer=get_layer(model, place.name),
            entering=bounds[step.inputs[0]],
            before=bounds[i + 1],
            value=i + 1,
            axis=_axis(step, step.shape),
            readers=tuple(readers),
            between=_between(net, i + 1, readers, place),
            bend=_only_bend(net, i + 1, readers, place.width),
        )

    def rows(self) -> Tensor:
        """Return each unit's weights and bias before its bend, batch norm included: (width, inputs + 1), float64."""
        weight = _double(self.producer.get_parameter("weight")).movedim(output_tensors(self.producer).weight_axis, 0)
        both = torch.cat([weight.flatten(1), _bias(self.producer)[:, None]], dim=1) * self.between.factor[:, None]
        both[:, -1] += self.between.shift
        return both

    def row_sizes(self) -> Tensor:
        """Return the largest magnitude (inputs,) of the input of each weight of a row, in the order of :meth:`rows`."""
        size = self.entering.size
        if isinstance(self.producer, nn.Linear):
            return size.flatten(0, -2).amax(0) if size.ndim > 1 else size
        channels = size.flatten(1).amax(1)
        kernel = self.producer.weight[0, 0].numel()  # type: ignore[index]
        return channels.repeat_interleave(kernel)

    def one_sided(self) -> tuple[Tensor, Tensor]:
        """Return which units (width,) are proved active in all of the box, and which are proved inactive."""
        low, high = (end.movedim(self.axis, 0).reshape(self.place.width, -1) for end in self.before)
        return (low >= 0).all(1), (high <= 0).all(1)


def _axis(step: Step, shape: tuple[int, ...]) -> int:
    return len(shape) - 1 if step.op == "linear" else 0


def _between(net: Network, producer: int, readers: Sequence[Reader], place: Place) -> Between:
    width = place.width
    factor, shift = torch.ones(width, dtype=torch.float64), torch.zeros(width, dtype=torch.float64)
    same: Literal["multiples", "equal", "nothing"] = "multiples"
    slopes, gain, bent, inside = [torch.zeros(width, 1, dtype=torch.float64)], 1.0, False, {producer}
    ends = {reader.output for reader in readers}
    norms = {link.path: link for link in place.carriers}
    for i, step in enumerate(net.steps):
        if i + 1 in ends or not inside & set(step.inputs):
            continue
        inside.add(i + 1)
        bent |= step.is_bend
        if step.op == "scale" and step.path in norms and norms[step.path].per_unit == 1 and not bent:
            entries = norms[step.path].columns(width)[:, 0]
            part = step.tensors["factor"].reshape(-1)[entries]
            offset = step.offset
            added = torch.zeros_like(part) if offset is None else offset.reshape(-1)[entries]
            factor, shift = factor * part, shift * part + added
            continue
        scalar = step.op not in ("linear", "matmul", *LAYERS) and all(t.numel() == 1 for t in step.tensors.values())
        is_uniform = step.is_bend or step.operation.preserves_multiples or (step.op == "scale" and scalar)
        if not is_uniform or step.offset is not None:
            same = "equal" if scalar and same != "nothing" else "nothing"
        if not step.is_bend:
            ones = [torch.ones(1, *net.shapes[value], dtype=torch.float64) for value in step.inputs]
            gain *= max(1.0, float(step.linear_magnitude(ones).max()))
        if step.leak is not None:
            if step.path in norms:  # a PReLU with a slope for each unit
                slopes.append(step.leak.reshape(-1)[norms[step.path].columns(width)].reshape(width, -1))
            elif step.leak.numel() > 1:
                same = "nothing"
            gain *= max(1.0, float(step.leak.abs().max()))
    return Between(same, factor, shift, torch.cat(slopes, dim=1), gain)


def _only_bend(net: Network, producer: int, readers: Sequence[Reader], width: int) -> Step | None:
    """Return the bend between two linear layers, if nothing else lies between them."""
    users = [i for i, step in enumerate(net.steps) if producer in step.inputs]
    if len(users) != 1 or net.steps[users[0]].op != "relu" or len(readers) != 1:
        return None
    (reader,) = readers
    plain = net.steps[producer - 1].op == net.steps[reader.output - 1].op == "linear" and len(net.shapes[producer]) == 1
    return net.steps[users[0]] if plain and reader.value == users[0] + 1 and reader.link.size == width else None


def _double(tensor: Tensor) -> Tensor:
    return tensor.detach().double().cpu()


def _bias(layer: nn.Module) -> Tensor:
    if isinstance(layer.bias, Tensor):
        return _double(layer.bias)
    return torch.zeros(int(getattr(layer, output_tensors(layer).counter)), dtype=torch.float64)


#: Unit rows that differ by less are tried as duplicates; the proved bound decides.
TOLERANCE = 1e-5

#: Singular values below this fraction of the largest are rounding; the proved bound includes them.
RANK = 1e-12

#: Units that compute an affine map stay above zero by this fraction of their range.
LIFT = 1e-3


@dataclass(frozen=True, eq=False)
class Edit:
    """New values of parameters, and units to remove afterwards."""

    units: tuple[int, ...]
    reason: str
    values: list[tuple[Tensor, Tensor]] = field(default_factory=list)  #: parameters and what they become
    biases: list[tuple[nn.Module, Tensor]] = field(default_factory=list)  #: layers and their new biases
    changes: dict[int, Tensor] = field(default_factory=dict)  #: bounds of the change, by number of the value


def unread(site: Site) -> Iterator[Edit]:
    """Propose to remove units that no layer reads."""
    parts = [(reader.weight[reader.columns] == 0).flatten(1).all(1) for reader in site.readers]
    if removed := _removable_units(torch.stack(parts).all(0)):
        yield Edit(removed, "no layer reads them: their columns are zero")


def constant(site: Site) -> Iterator[Edit]:
    """Propose to remove units that have one value in the whole box; it is added to the biases of their readers."""
    units = list(_removable_units(torch.stack([_constant_units(reader) for reader in site.readers]).all(0)))
    if not units:
        return
    biases, changes, zero = [], {}, True
    for reader in site.readers:
        value = reader.by_unit(reader.entering.low)[units].mean(-1)  # (k, per_unit): equal at all positions
        if not bool((value != 0).any()):
            continue
        zero = False
        weight = reader.weight[reader.columns[units]]  # (k, per_unit, out, *kernel)
        new = _bias(reader.layer) + torch.einsum("kp,kpo...->o", value, weight)
        stored = new.to(reader.parameter.dtype)
        biases.append((reader.layer, stored))
        changes[reader.output] = reader.change((stored.double() - new).abs())
    reason = "no input in the box activates them" if zero else "they are constant over the box"
    yield Edit(tuple(units), reason, biases=biases, changes=changes)


def duplicate(site: Site) -> Iterator[Edit]:
    """Propose to merge units whose weights are multiples of another's: all together, then each pair."""
    if site.between.same == "nothing":
        return
    rows = site.rows()
    length = rows.norm(dim=1)
    pairs = _pairs(site, rows, length)
    if pairs:
        yield _merge(site, rows, length, pairs)
    if len(pairs) > 1:
        for unit, other in pairs.items():
            yield _merge(site, rows, length, {unit: other})


def _merge(site: Site, rows: Tensor, length: Tensor, pairs: dict[int, int]) -> Edit:
    """Return the edit that merges units (keys) into others (values), to which their columns are added."""
    removed, targets = (torch.tensor(list(part)) for part in (pairs.keys(), pairs.values()))
    factor = length[removed] / length[targets]
    error = rows[removed] - factor[:, None] * rows[targets]
    bound = _products(error[:, :-1].abs(), site.row_sizes()) + error[:, -1].abs()
    bound *= site.between.gain  # how much a unit differs from the multiple of the one that replaces it
    values, changes = [], {}
    for reader in site.readers:
        weight = reader.weight
        new = weight.clone()
        for unit, other, multiple in zip(removed.tolist(), targets.tolist(), factor.tolist(), strict=True):
            new[reader.columns[other]] += multiple * weight[reader.columns[unit]]
        stored = reader.stored(new)
        rounded = (reader.read(stored) - new)[reader.columns[targets]].abs()  # (k, per_unit, out, *kernel)
        sizes = reader.by_unit(reader.entering.size)[targets].amax(2)  # (k, per_unit)
        out = _per_output(rounded, sizes) + _per_output(weight[reader.columns[removed]].abs(), bound[:, None])
        values.append((reader.parameter, stored))
        changes[reader.output] = reader.change(out)
    others = ", ".join(map(str, targets.tolist()))
    reason = f"their weights are multiples of those of {others}, to which their columns are added"
    return Edit(tuple(removed.tolist()), reason, values=values, changes=changes)


def linear(site: Site) -> Iterator[Edit]:
    """Propose to replace units that never change side, which compute an affine map, by as many as its rank."""
    if site.bend is None or not site.entering.size.isfinite().all():
        return
    on, off = site.one_sided()
    width = site.place.width
    leak = torch.zeros(width, dtype=torch.float64) if site.bend.leak is None else site.bend.leak.expand(width)
    slope = torch.where(on, 1.0, leak)
    group = (on | (off & (leak != 0))).nonzero().flatten()
    if len(group) < 2:
        return
    (reader,) = site.readers
    rows = site.rows()[group] * slope[group, None]
    V = reader.weight[group].T  # (out, k)
    A, c = V @ rows[:, :-1], V @ rows[:, -1]
    U, sizes, P = torch.linalg.svd(A, full_matrices=False)
    rank = max(1, int((sizes > RANK * sizes[0]).sum())) if sizes[0] > 0 else 1
    if rank >= len(group):
        return
    carriers = group[:rank]
    P, M = P[:rank], U[:, :rank] * sizes[:rank]
    low, high = _range(P, site.entering)
    lift = LIFT * (high - low) - low  # so that P h + lift, read by M, is above 0 in the box
    weight, bias = site.producer.get_parameter("weight"), site.producer.bias
    if not isinstance(bias, Tensor):
        return
    rows, offsets = weight.detach().clone(), bias.detach().clone()
    rows[carriers], offsets[carriers] = P.to(rows), lift.to(offsets)
    columns = reader.weight.clone()
    columns[group] = 0.0
    columns[carriers] = M.T
    stored = reader.stored(columns)
    P, lift = rows[carriers].double().cpu(), offsets[carriers].double().cpu()
    M = reader.read(stored)[carriers].T
    if bool((_range(P, site.entering)[0] + lift < 0).any()):
        return
    offset = _bias(reader.layer) + c - M @ lift
    last = offset.to(reader.parameter.dtype)
    change = _products((A - M @ P).abs(), site.entering.size) + (last.double() - offset).abs()
    reason = (
        f"{len(group)} units never change side in the box and compute an affine map of rank {rank}, "
        f"for which {rank} of them suffice"
    )
    values = [(weight, rows), (bias, offsets), (reader.parameter, stored)]
    changes = {reader.output: reader.change(change)}
    yield Edit(tuple(group[rank:].tolist()), reason, values, [(reader.layer, last)], changes)


def _constant_units(reader: Reader) -> Tensor:
    """Return which units (width,) enter a layer with one value: 0, or any if the layer has no padding."""
    low, high = map(reader.by_unit, reader.entering)
    zero = ((low == 0) & (high == 0)).flatten(1).all(1)
    same = (low.amin(2) == high.amax(2)).all(1) & low.isfinite().flatten(1).all(1)
    padding = getattr(reader.layer, "padding", ())  # a linear layer has none
    padded = type(reader.layer).__name__.startswith("ConvTranspose") or (padding != "valid" and any(padding))
    return zero if padded else same


def _pairs(site: Site, rows: Tensor, length: Tensor) -> dict[int, int]:
    """Return duplicate units, each with the earlier unit that it is a multiple of."""
    unit = rows / length.clamp(min=1e-300)[:, None]
    pairs: dict[int, int] = {}
    first: list[int] = []
    for u in range(len(rows)):
        if length[u] == 0:
            continue
        if first:
            before = torch.tensor(first)
            near = (unit[before] - unit[u]).abs().amax(1) <= TOLERANCE
            near &= (site.between.slopes[before] == site.between.slopes[u]).all(1)
            if site.between.same == "equal":
                near &= (rows[before] == rows[u]).all(1)
            if near.any():
                pairs[u] = first[int(near.nonzero()[0])]
                continue
        first.append(u)
    return pairs


def _products(magnitudes: Tensor, sizes: Tensor) -> Tensor:
    """Return ``magnitudes @ sizes`` where sizes may be infinite: zero times infinity is zero."""
    infinite = sizes.isinf()
    total = magnitudes @ torch.where(infinite, 0.0, sizes)
    return torch.where((magnitudes[:, infinite] > 0).any(1), torch.inf, total)


def _per_output(weights: Tensor, sizes: Tensor) -> Tensor:
    """Sum weights (k, p, out, *kernel) times sizes (k, p) over units, columns and kernel: (out,)."""
    flat = weights.reshape(*weights.shape[:3], -1).sum(3).flatten(0, 1).T  # (out, k p)
    return _products(flat, sizes.expand(weights.shape[:2]).flatten())


def _range(P: Tensor, h: Interval) -> tuple[Tensor, Tensor]:
    up, down = P.clamp(min=0), (-P).clamp(min=0)
    return up @ h.low - down @ h.high, up @ h.high - down @ h.low


def _removable_units(redundant: Tensor) -> tuple[int, ...]:
    """Return the numbers of redundant units; if all are, without the first."""
    numbers = _numbers(redundant)
    return numbers[1:] if len(numbers) == len(redundant) else numbers


#: Bytes that the values of some samples may take.
BLOCK = 2**27

#: Half the side of the box that samples are drawn from when there is no box.
REACH = 10.0


@check_arguments(input_shape=optional(sequence(INTEGER)))
def exact(
    model: Any,
    box: Any = None,
    *,
    input_shape: Sequence[int] | None = None,
    tolerance: float = 1e-6,
    n_samples: int = 1000,
    seed: int = 0,
) -> ExactResult:
    """Remove units that provably cannot affect the output anywhere in a box.

    The original model is left unchanged; the result is a smaller torch module of the same kind (not one with masks).
    Four reductions are repeated at each place (an inner width, :func:`creases.places`) until nothing changes:

    - *unread*: no layer reads the unit: its columns are zero;
    - *constant*: the unit has one value in the whole box: never active (0), or without weights. A value other than 0
      is added to the biases of the layers that read it (not behind padding, where the border sees other values);
    - *duplicate*: its weights are a positive multiple of another unit's, and what lies between the layers preserves
      multiples (ReLU, leaky ReLU, pooling; with other bends only equal units): the columns are summed;
    - *linear*: k units between two linear layers that never change side in the box compute together an affine map
      ``A h + c`` of the layer's input. Not all of them can be removed, as every unit has a bend; but rank A units
      compute the map, each with a bias that keeps it active in all of the box. So k units become rank A: one, if a
      single unit reads them.

    Bounds of the units over the box hold in real arithmetic. Behind bends linear bounds decide most units; those that
    look redundant on samples are decided by branch and bound in networks of at most 1,024 units. Units that remain
    undecided stay, and are listed in ``undecided``. A layer is never removed completely; one unit stays at every place.
    The result has a ``proof`` of the units of the model that never change side, which ``creases check`` verifies.

    Parameters
    ----------
    model
        A torch module that :func:`creases.read` can read (in eval mode: running averages are constants), a
        :class:`creases.Network` or a file name, which is rebuilt as a module.
    box
        ``(lo, hi)`` for all inputs, or a pair for each; None means all of input space: then fewer units are provably
        constant, and no linear units are merged.
    input_shape
        Shape of one input, for models that do not start with a linear layer.
    tolerance
        Largest proved change of any output over all edits, relative to the largest output on the samples: summed
        weights are rounded. An edit that might change more is not made.
    n_samples, seed
        Number of inputs drawn from the box, to measure the change and to look for undecided units, and their seed.

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(1, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> with torch.no_grad():
    ...     _ = model[0].weight.copy_(torch.tensor([[1.0], [2.0], [1.0]]))
    ...     _ = model[0].bias.copy_(torch.tensor([0.0, 0.0, -5.0]))
    >>> smaller = exact(model, box=[(-1, 1)])
    >>> [(step.kind, step.units) for step in smaller.reductions], smaller.model[0].out_features
    ([('constant', (2,)), ('duplicate', (1,))], 1)
    """
    module, input_shape = as_module(model, input_shape)
    check_number(tolerance, "tolerance", least=0)
    check_count(n_samples, "n_samples")
    check_seed(seed)
    work = copy.deepcopy(module).eval().cpu()
    net = read(work, input_shape)
    limits = None if box is None else torch.from_numpy(check_box(box, net.n_in))
    inputs = torch.rand(n_samples, net.n_in, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    low, high = (-REACH, REACH) if limits is None else limits.T
    inputs = low + inputs * (high - low)
    before = net(inputs)
    scale = float(before.abs().max()) if before.numel() else 0.0
    if not before.isfinite().all():
        raise InputError("model", "have finite outputs", "NaN or infinite ones")
    reducer = _Reducer(work, net.input_shape, limits, tolerance * scale, inputs)
    reducer.run()
    for name, part in module.named_modules():
        work.get_submodule(name).training = part.training
    device = next((p.device for p in module.parameters()), torch.device("cpu"))
    return ExactResult(
        model=work.to(device),
        reductions=tuple(reducer.reductions),
        undecided=tuple(reducer.undecided()),
        parameters_before=count_parameters(module),
        parameters_after=count_parameters(work),
        change=float((reducer.net(inputs) - before).abs().max()) if before.numel() else 0.0,
        bound=sum(step.bound for step in reducer.reductions),
        scale=scale,
        proof=reducer.proof,
    )


class _Reducer:
    """A model that is being reduced, with the bounds of its values."""

    def __init__(
        self, model: nn.Module, shape: tuple[int, ...], box: Tensor | None, allowance: float, inputs: Tensor
    ) -> None:
        self.model, self.shape, self.box, self.inputs = model, shape, box, inputs
        self.allowance = allowance  #: change of the outputs that is still allowed
        self.reductions: list[Reduction] = []
        self.proof: Proof | None = None  #: of the sides of units of the model as it was
        self._update()

    def _update(self, known: dict[int, Interval] | None = None) -> None:
        """Read the model again and bound its values, better than by intervals if ``known`` does not tell."""
        self.net: Network = read(self.model, self.shape)
        self.places: list[Place] = places(self.model, self.shape)
        if self.box is None:
            self.ranges = value_bounds(self.net, None)
        elif known is None:
            sides = decide_sides(self.net, self.box.numpy(), self.inputs.numpy())
            self.ranges = value_bounds(self.net, self.box, sides.bounds)
            if not self.reductions:
                self.proof = sides.proof
        else:
            same = {number: part for number, part in known.items() if part.low.shape == self.net.shapes[number]}
            self.ranges = value_bounds(self.net, self.box, same)

    def run(self) -> None:
        """Apply each kind of reduction at each place until nothing changes."""
        kinds: list[Callable[[Site], Iterator[Edit]]] = [unread, constant, duplicate, linear]
        again = True
        while again:
            again = False
            for kind in kinds:
                for name in [place.name for place in self.places]:
                    again |= self._try_reduction(name, kind)

    def _try_reduction(self, name: str, kind: Callable[[Site], Iterator[Edit]]) -> bool:
        """Make the first proved edit of one kind of reduction at a place, if there is one."""
        place = next(place for place in self.places if place.name == name)
        site = Site.from_place(self.model, self.net, self.ranges, place)
        if site is None:
            return False
        bounded = ((edit, output_change_bound(self.net, edit.changes)) for edit in kind(site))
        edit, bound = next((pair for pair in bounded if pair[1] <= self.allowance), (None, 0.0))
        if edit is None:
            return False
        self.allowance -= bound
        with torch.no_grad():
            for parameter, value in edit.values:
                parameter.copy_(value)
            for layer, bias in edit.biases:
                if isinstance(layer.bias, Tensor):
                    layer.bias.copy_(bias)
                else:
                    weight = layer.get_parameter("weight")
                    layer.bias = nn.Parameter(bias.to(weight), requires_grad=weight.requires_grad)
        done = remove(self.model, place, edit.units)
        self.reductions.append(
            Reduction(kind.__name__, place.name, edit.units, done.old_width, done.new_width, bound, edit.reason)
        )
        self._update(None if bound or kind is linear else self._remaining_bounds(site, edit))
        return True

    def _remaining_bounds(self, site: Site, edit: Edit) -> dict[int, Interval]:
        """Return the known bounds of what enters bends, without those of the removed units."""
        stay = torch.tensor([unit for unit in range(site.place.width) if unit not in set(edit.units)])
        known = {}
        for number in {self.net.steps[i].inputs[0] for i in self.net.bends}:
            low, high = self.ranges[number]
            if number == site.value:
                low, high = low.index_select(site.axis, stay), high.index_select(site.axis, stay)
            known[number] = Interval(low, high)
        return known

    def undecided(self) -> list[Undecided]:
        """Return the units that look redundant on the samples."""
        every = [Site.from_place(self.model, self.net, self.ranges, place) for place in self.places if place.width > 1]
        behind = self.net.bends[0] if self.net.bends else 0  # bounds before it are exact: nothing is undecided there
        sites = [site for site in every if site is not None and site.value > behind]
        flags: dict[str, tuple[Tensor, Tensor]] = {}
        block = max(1, BLOCK // (8 * sum(self.net.sizes)))
        for inputs in torch.split(self.inputs, block):
            values = [inputs.reshape(-1, *self.net.input_shape)]
            for step in self.net.steps:
                values.append(step.apply([values[number] for number in step.inputs]))
            for site in sites:
                read = [(reader.by_unit(values[reader.value]) == 0).flatten(1).all(1) for reader in site.readers]
                z = values[site.value].movedim(site.axis + 1, 0).reshape(site.place.width, -1)
                one_sided = ((z >= 0).all(1) | (z <= 0).all(1)) & (site.bend is not None)
                new = torch.stack(read).all(0), one_sided
                old = flags.get(site.place.name, new)
                flags[site.place.name] = old[0] & new[0], old[1] & new[1]
        undecided = []
        for site in sites:
            (dead, fixed), (on, off) = flags[site.place.name], site.one_sided()
            undecided.append(Undecided(site.place.name, _numbers(dead), _numbers(fixed & ~dead & ~on & ~off)))
        return [units for units in undecided if units.dead or units.linear]


def _numbers(which: Tensor) -> tuple[int, ...]:
    return tuple(which.nonzero().flatten().tolist())
