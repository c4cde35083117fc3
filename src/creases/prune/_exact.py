"""Smaller models of the same function: units that are never on, that do nothing, that double others, or never bend."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from creases._validation import check_box
from creases.certify.propagation import Interval, output_change_bound, tight_value_bounds, value_bounds
from creases.errors import InputError
from creases.network import Network, places, read, remove
from creases.network.surgery import Place, count_parameters, unwrap_module
from creases.prune._reductions import Edit, constant, duplicate, linear, unread
from creases.prune._results import ExactResult, Reduction, Undecided
from creases.prune._site import Site

#: Bytes that the values of some samples may take.
BLOCK = 2**27

#: Half the side of the box that samples are drawn from when all inputs count.
REACH = 10.0


def exact(
    model: nn.Module,
    box: Any = None,
    *,
    input_shape: Sequence[int] | None = None,
    tolerance: float = 1e-6,
    samples: int = 1000,
    seed: int = 0,
) -> ExactResult:
    """Take away all units that a network does not need to be the same function on a box, with a proof for each.

    The model itself is left alone; the result is a smaller torch module of the same kind (not one with masks). At each
    place (an inner width, :func:`creases.places`), again and again until nothing changes:

    - *unread*: no layer reads the unit: its columns are zero;
    - *constant*: the unit has one value in the whole box: never on (0), or without weights. Another value than 0 goes
      into the biases of the layers that read it (not behind padding, where the border sees other values);
    - *duplicate*: its weights are a positive multiple of another unit's, and what lies between the layers keeps
      multiples (ReLU, leaky ReLU, pooling; with other bends only equal units): the columns are added up;
    - *linear*: k units between two linear layers that never change side in the box are together an affine map
      ``A h + c`` of what enters the layer. A layer has no way around its bend, so they cannot all go; but as many units
      as A has rank carry it, each lifted by its bias until it is on in all of the box. So k > rank A units become
      rank A: one, if a single unit reads them.

    Bounds of the units over the box are exact for the first layer (interval arithmetic). Behind bends, intervals decide
    most; what they leave open is decided by the partition of the box (at most 4 inputs, 20,000 regions), or by linear
    programs (plain layers, at most 200 units), else it stays, listed in ``undecided`` if samples make it look spare. A
    layer is never removed whole; one unit stays at every place.

    Parameters
    ----------
    model
        A torch module that :func:`creases.read` understands; in eval mode is meant, running averages are constants.
    box
        ``(lo, hi)`` for every input, flattened; or one pair for all; None means all inputs there are: then only what is
        never on or on at all is found, and no linear units are joined.
    input_shape
        Shape of one input, for models that do not begin with a linear layer.
    tolerance
        Largest proved change of any output over all edits, as a share of the largest output on the samples: for
        weights that are rounded when they are added up. An edit that might change more is not made.
    samples, seed
        Inputs drawn from the box to measure the change with, and to look for units without a proof.

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
    model = unwrap_module(model)
    if not tolerance >= 0:
        raise InputError(f"tolerance: expected a share of the largest output, at least 0, got {tolerance!r}")
    if samples < 1:
        raise InputError(f"samples: expected at least 1, got {samples!r}")
    work = copy.deepcopy(model).eval().cpu()
    net = read(work, input_shape)
    limits = _limits(box, net.n_in)
    inputs = _drawn(limits, net.n_in, samples, seed)
    before = net(inputs)
    scale = float(before.abs().max()) if before.numel() else 0.0
    if not before.isfinite().all():
        raise InputError("model: gives NaN or infinite outputs; there is no function to keep")
    reducer = _Reducer(work, net.input_shape, limits, tolerance * scale, inputs)
    reducer.run()
    _as_trained(work, model)
    device = next((p.device for p in model.parameters()), torch.device("cpu"))
    return ExactResult(
        model=work.to(device),
        reductions=tuple(reducer.made),
        undecided=tuple(reducer.undecided()),
        parameters_before=count_parameters(model),
        parameters_after=count_parameters(work),
        change=float((reducer.net(inputs) - before).abs().max()) if before.numel() else 0.0,
        bound=sum(step.bound for step in reducer.made),
        scale=scale,
    )


class _Reducer:
    """A model in the making, with what is known of it."""

    def __init__(
        self, model: nn.Module, shape: tuple[int, ...], box: Tensor | None, room: float, inputs: Tensor
    ) -> None:
        self.model, self.shape, self.box, self.inputs = model, shape, box, inputs
        self.room = room  #: change of the outputs that is still allowed
        self.made: list[Reduction] = []
        self.is_exact = False  #: whether all bounds are, not only those in front of the first bend
        self._look()

    def _look(self, known: dict[int, Interval] | None = None) -> None:
        """Read the model as it is; where better bounds than those of intervals are not known, find them."""
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
        """Until nothing changes: each kind of reduction, at each place."""
        kinds: list[Callable[[Site], Iterator[Edit]]] = [unread, constant, duplicate, linear]
        again = True
        while again:
            again = False
            for kind in kinds:
                for name in [place.name for place in self.places]:
                    again |= self._tried(name, kind)

    def _tried(self, name: str, kind: Callable[[Site], Iterator[Edit]]) -> bool:
        """Make the first edit that one kind of reduction finds at a place and that is proved, if there is one."""
        place = next(place for place in self.places if place.name == name)
        site = Site.found(self.model, self.net, self.ranges, place)
        if site is None:
            return False
        bounded = ((edit, output_change_bound(self.net, edit.changes)) for edit in kind(site))
        edit, bound = next((pair for pair in bounded if pair[1] <= self.room), (None, 0.0))
        if edit is None:
            return False
        self.room -= bound
        with torch.no_grad():
            for parameter, value in edit.values:
                parameter.copy_(value)
            for layer, bias in edit.biases:
                _set_bias(layer, bias)
        done = remove(self.model, place, edit.units)
        self.made.append(
            Reduction(kind.__name__, place.name, edit.units, done.old_width, done.new_width, bound, edit.reason)
        )
        self._look(None if bound or kind is linear else self._carried(site, edit))
        return True

    def _carried(self, site: Site, edit: Edit) -> dict[int, Interval]:
        """Bounds of what enters bends, for the same values without some units: they cost more to find than to keep."""
        stay = torch.tensor([unit for unit in range(site.place.width) if unit not in set(edit.units)])
        known = {}
        for number in {self.net.steps[i].inputs[0] for i in self.net.bends}:
            low, high = self.ranges[number]
            if number == site.own:
                low, high = low.index_select(site.axis, stay), high.index_select(site.axis, stay)
            known[number] = Interval(low, high)
        return known

    def undecided(self) -> list[Undecided]:
        """Units that are spare on the samples."""
        every = [Site.found(self.model, self.net, self.ranges, place) for place in self.places if place.width > 1]
        behind = self.net.bends[0] if self.net.bends else 0  # bounds before it are exact: nothing is open there
        sites = [site for site in every if site is not None and site.own > behind and not self.is_exact]
        flags: dict[str, tuple[Tensor, Tensor]] = {}
        for values in _values(self.net, self.inputs):
            for site in sites:
                new = site.zero_at(values), site.one_sided_at(values)
                old = flags.get(site.place.name, new)
                flags[site.place.name] = old[0] & new[0], old[1] & new[1]
        found = []
        for site in sites:
            (dead, fixed), (on, off) = flags[site.place.name], site.one_sided()
            found.append(Undecided(site.place.name, _numbers(dead), _numbers(fixed & ~dead & ~on & ~off)))
        return [one for one in found if one.dead or one.linear]


def _values(net: Network, inputs: Tensor) -> Iterator[list[Tensor]]:
    """All values of a network at inputs (n, n_in), some inputs at a time."""
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


def _limits(box: Any, n: int) -> Tensor | None:
    if box is None:
        return None
    try:
        one = len(box) == 2 and all(isinstance(end, int | float) for end in box)
    except TypeError:
        one = False
    return torch.from_numpy(check_box([tuple(box)] * n if one else box, n))


def _drawn(box: Tensor | None, n: int, count: int, seed: int) -> Tensor:
    share = torch.rand(count, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    if box is None:
        return REACH * (2 * share - 1)
    return box[:, 0] + share * (box[:, 1] - box[:, 0])


def _as_trained(work: nn.Module, model: nn.Module) -> None:
    """Each module in the mode that it had."""
    for name, module in model.named_modules():
        work.get_submodule(name).training = module.training
