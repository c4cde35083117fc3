"""Exact pruning: units that are never active, unread, duplicates of others, or never bend are removed with a proof."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from numbers import Real
from typing import Any

import torch
from torch import Tensor, nn

from creases._arguments import check_arguments
from creases._schema import INTEGER, optional, sequence
from creases._validation import check_box, check_count, check_seed
from creases.certify.propagation import Interval, output_change_bound, tight_value_bounds, value_bounds
from creases.errors import InputError
from creases.network import Network, Place, places, read, remove
from creases.network.surgery import count_parameters
from creases.prune._evaluation import as_module
from creases.prune._reductions import Edit, constant, duplicate, linear, unread
from creases.prune._results import ExactResult, Reduction, Undecided
from creases.prune._site import Site

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
