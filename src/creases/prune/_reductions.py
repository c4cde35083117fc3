"""The four reductions that preserve the function: the edits each makes, and bounds of their rounding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from creases.certify.propagation import Interval
from creases.prune._site import Reader, Site

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
