"""Exact pruning: units that are never active, unread, duplicates of others, or never bend are removed with a proof."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import torch
from torch import Tensor, nn

from creases._schema import INTEGER, optional, sequence
from creases._validation import check_arguments, check_box, check_count, check_seed
from creases.certify.propagation import Interval, output_change_bound, tight_value_bounds, value_bounds
from creases.errors import InputError
from creases.network import Network, Place, places, read, remove
from creases.network.surgery import count_parameters
from creases.prune._evaluation import as_module
from creases.prune._results import ExactResult, Reduction, Undecided
from creases.prune._site import Reader, Site

# The four reductions that preserve the function: the edits each makes, and bounds of their rounding.

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
    removed = _removable_units(torch.stack(parts).all(0))
    if removed:
        yield Edit(removed, "no layer reads them: their columns are zero")


def constant(site: Site) -> Iterator[Edit]:
    """Propose to remove units that have one value in the whole box; it is added to the biases of their readers."""
    fixed = torch.stack([_constant_units(reader) for reader in site.readers]).all(0)
    removed = _removable_units(fixed)
    if not removed:
        return
    units = list(removed)
    biases, changes, zero = [], {}, True
    for reader in site.readers:
        value = reader.by_unit(reader.entering.low)[units].mean(-1)  # (k, per_unit): equal at all positions
        if not bool((value != 0).any()):
            continue
        zero = False
        weight = _sum_kernel(reader.weight[reader.columns[units]])
        new = reader.bias + torch.einsum("kp,kpo->o", value, weight)
        stored = _stored_bias(reader, new)
        biases.append((reader.layer, stored))
        changes[reader.output] = reader.change((stored.double() - new).abs())
    reason = "no input in the box activates them" if zero else "they are constant over the box"
    yield Edit(removed, reason, biases=biases, changes=changes)


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
        rounded = (_read_weight(reader, stored) - new)[reader.columns[targets]].abs()  # (k, per_unit, out, *kernel)
        sizes = reader.by_unit(reader.entering.size)[targets].amax(2)  # (k, per_unit)
        out = _per_output(rounded, sizes) + _per_output(weight[reader.columns[removed]].abs(), bound[:, None])
        values.append((_parameter(reader), stored))
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
    lift = LIFT * (high - low) - low  # so that P h + lift is above 0 in the box
    edit = _replace_group(site, reader, group, carriers, (P, lift, M), (A, c))
    if edit is not None:
        yield edit


def _replace_group(
    site: Site,
    reader: Reader,
    group: Tensor,
    carriers: Tensor,
    new: tuple[Tensor, Tensor, Tensor],
    map_: tuple[Tensor, Tensor],
) -> Edit | None:
    """Return the edit that replaces a group that computes A h + c by units P h + lift, read by M."""
    (P, lift, M), (A, c) = new, map_
    weight, bias = site.producer.weight, site.producer.bias
    assert isinstance(weight, Tensor)
    if not isinstance(bias, Tensor):
        return None
    rows, offsets = weight.detach().clone(), bias.detach().clone()
    rows[carriers], offsets[carriers] = P.to(rows), lift.to(offsets)
    columns = reader.weight.clone()
    columns[group] = 0.0
    columns[carriers] = M.T
    stored = reader.stored(columns)
    P, lift = rows[carriers].double().cpu(), offsets[carriers].double().cpu()
    M = _read_weight(reader, stored)[carriers].T
    if bool((_range(P, site.entering)[0] + lift < 0).any()):
        return None
    constant_ = reader.bias + c - M @ lift
    last = _stored_bias(reader, constant_)
    error = A - M @ P
    change = _products(error.abs(), site.entering.size) + (last.double() - constant_).abs()
    removed = group[len(carriers) :]
    reason = (
        f"{len(group)} units never change side in the box and compute an affine map of rank {len(carriers)}, "
        f"for which {len(carriers)} of them suffice"
    )
    values = [(weight, rows), (bias, offsets), (_parameter(reader), stored)]
    return Edit(tuple(removed.tolist()), reason, values, [(reader.layer, last)], {reader.output: reader.change(change)})


def _constant_units(reader: Reader) -> Tensor:
    """Return which units (width,) enter a layer with one value: 0, or any if the layer has no padding."""
    low, high = map(reader.by_unit, reader.entering)
    zero = ((low == 0) & (high == 0)).flatten(1).all(1)
    same = (low.amin(2) == high.amax(2)).all(1) & low.isfinite().flatten(1).all(1)
    padded = not isinstance(reader.layer, nn.Linear) and (
        type(reader.layer).__name__.startswith("ConvTranspose") or any(_padding(reader.layer))
    )
    return zero if padded else same


def _padding(layer: nn.Module) -> tuple[int, ...]:
    padding = layer.padding
    if isinstance(padding, str):
        return (0 if padding == "valid" else 1,)
    assert isinstance(padding, tuple)
    return padding


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


def _sum_kernel(weights: Tensor) -> Tensor:
    """Sum weights (k, p, out, *kernel) over the kernel: (k, p, out)."""
    return weights.flatten(3).sum(3) if weights.ndim > 3 else weights


def _per_output(weights: Tensor, sizes: Tensor) -> Tensor:
    """Sum weights (k, p, out, *kernel) times sizes (k, p) over units, columns and kernel: (out,)."""
    summed = _sum_kernel(weights)
    out = summed.shape[2]
    flat = summed.reshape(-1, out).T  # (out, k p)
    return _products(flat, sizes.expand(summed.shape[:2]).reshape(-1))


def _range(P: Tensor, h: Interval) -> tuple[Tensor, Tensor]:
    up, down = P.clamp(min=0), (-P).clamp(min=0)
    return up @ h.low - down @ h.high, up @ h.high - down @ h.low


def _removable_units(redundant: Tensor) -> tuple[int, ...]:
    """Return the numbers of redundant units; if all are, without the first."""
    numbers = redundant.nonzero().flatten().tolist()
    return tuple(numbers[1:] if len(numbers) == len(redundant) else numbers)


def _stored_bias(reader: Reader, bias: Tensor) -> Tensor:
    weight = reader.layer.weight
    assert isinstance(weight, Tensor)
    return bias.to(weight.dtype).cpu()


def _read_weight(reader: Reader, stored: Tensor) -> Tensor:
    """Return a stored weight in the order of :attr:`Reader.weight`."""
    from creases.network.surgery import input_tensors

    return stored.detach().double().cpu().movedim(input_tensors(reader.layer).weight_axis, 0)


def _parameter(reader: Reader) -> Tensor:
    weight = reader.layer.weight
    assert isinstance(weight, Tensor)
    return weight


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

    Bounds of the units over the box are exact for the first layer (interval arithmetic). Behind bends, intervals decide
    most cases; the others are decided by the partition of the box (at most 4 inputs, 20,000 regions) or by linear
    programs (plain layers, at most 200 units). Units that remain undecided stay, and are listed in ``undecided`` if
    they look redundant on samples. A layer is never removed completely; one unit stays at every place.

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
    if not isinstance(tolerance, Real) or not tolerance >= 0:
        raise InputError("tolerance", "be at least 0, relative to the largest output", repr(tolerance))
    check_count(n_samples, "n_samples")
    check_seed(seed)
    work = copy.deepcopy(module).eval().cpu()
    net = read(work, input_shape)
    limits = None if box is None else torch.from_numpy(check_box(box, net.n_in))
    inputs = _draw_inputs(limits, net.n_in, n_samples, seed)
    before = net(inputs)
    scale = float(before.abs().max()) if before.numel() else 0.0
    if not before.isfinite().all():
        raise InputError("model", "have finite outputs", "NaN or infinite ones")
    reducer = _Reducer(work, net.input_shape, limits, tolerance * scale, inputs)
    reducer.run()
    _restore_modes(work, module)
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
    )


class _Reducer:
    """A model that is being reduced, with the bounds of its values."""

    def __init__(
        self, model: nn.Module, shape: tuple[int, ...], box: Tensor | None, allowance: float, inputs: Tensor
    ) -> None:
        self.model, self.shape, self.box, self.inputs = model, shape, box, inputs
        self.allowance = allowance  #: change of the outputs that is still allowed
        self.reductions: list[Reduction] = []
        self.is_exact = False  #: whether all bounds are exact, not only those before the first bend
        self._update()

    def _update(self, known: dict[int, Interval] | None = None) -> None:
        """Read the model again and bound its values, better than by intervals if ``known`` does not tell."""
        self.net: Network = read(self.model, self.shape)
        self.places: list[Place] = places(self.model, self.shape)
        if self.box is None:
            self.ranges = value_bounds(self.net, None)
        elif known is None:
            self.ranges, self.is_exact = tight_value_bounds(self.net, self.box)
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
                _set_bias(layer, bias)
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
        sites = [site for site in every if site is not None and site.value > behind and not self.is_exact]
        flags: dict[str, tuple[Tensor, Tensor]] = {}
        for values in _values(self.net, self.inputs):
            for site in sites:
                new = site.zero_at(values), site.one_sided_at(values)
                old = flags.get(site.place.name, new)
                flags[site.place.name] = old[0] & new[0], old[1] & new[1]
        undecided = []
        for site in sites:
            (dead, fixed), (on, off) = flags[site.place.name], site.one_sided()
            undecided.append(Undecided(site.place.name, _numbers(dead), _numbers(fixed & ~dead & ~on & ~off)))
        return [units for units in undecided if units.dead or units.linear]


def _values(net: Network, inputs: Tensor) -> Iterator[list[Tensor]]:
    """Yield all values of a network at inputs (n, n_in), block by block."""
    block = max(1, BLOCK // (8 * sum(net.sizes)))
    for start in range(0, len(inputs), block):
        values = [inputs[start : start + block].reshape(-1, *net.input_shape)]
        for step in net.steps:
            values.append(step.apply([values[number] for number in step.inputs]))
        yield values


def _numbers(which: Tensor) -> tuple[int, ...]:
    return tuple(which.nonzero().flatten().tolist())


def _set_bias(layer: nn.Module, bias: Tensor) -> None:
    if layer.bias is None:
        weight = layer.weight
        assert isinstance(weight, Tensor)
        layer.bias = nn.Parameter(bias.to(weight.device, weight.dtype), requires_grad=weight.requires_grad)
    else:
        assert isinstance(layer.bias, Tensor)
        layer.bias.copy_(bias)


def _draw_inputs(box: Tensor | None, n: int, count: int, seed: int) -> Tensor:
    uniform = torch.rand(count, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    if box is None:
        return REACH * (2 * uniform - 1)
    return box[:, 0] + uniform * (box[:, 1] - box[:, 0])


def _restore_modes(work: nn.Module, model: nn.Module) -> None:
    """Put each module into the mode that it had in the original model."""
    for name, module in model.named_modules():
        work.get_submodule(name).training = module.training
