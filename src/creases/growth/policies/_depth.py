"""Width or depth: units at a place, or a new layer, by what either gains on held-out samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from creases.errors import InputError, ReadError
from creases.growth._proposal import DepthProposal
from creases.growth._state import State
from creases.growth.integrations import _ranks as ranks
from creases.growth.methods._depth import propose_depth
from creases.growth.methods._first_order.statistics import sample_size, statistics
from creases.growth.methods._tiny.bottleneck import bottleneck
from creases.growth.methods._tiny.tiny import Tiny, enough_samples
from creases.network import Place


@dataclass(frozen=True)
class WidthOrDepth:
    """Add units or a new layer, whichever lowers the held-out loss most per multiply-add.

    The layer that lowers it most (``propose_depth``) is compared with as many of TINY's
    units as cost the same, at every place: the first units of a place gain more than the later ones, so that a single
    unit would win against most layers.
    """

    def __call__(self, state: State) -> Sequence[Place | DepthProposal]:
        """Return places and new layers in the order in which to try them."""
        layers = [layer for place in state.places if (layer := new_layer(state, place)) is not None]
        if not layers:
            return largest_bottleneck(state)
        layers.sort(key=lambda layer: layer.gain / max(layer.multiply_adds, 1), reverse=True)
        counts = {place.name: _count_at_cost(state, place, layers[0].multiply_adds) for place in state.places}
        gains = {place.name: held_out_gain(state, place, counts[place.name]) for place in state.places}
        widths = sorted(state.places, key=lambda place: gains[place.name], reverse=True)
        name, gain = widths[0].name, gains[widths[0].name]
        best = {"place": name, "units": counts[name], "gain": gain}
        layers = [replace(layer, explanation={**layer.explanation, "width": best}) for layer in layers]
        return [layers[0], *widths, *layers[1:]] if layers[0].gain > gain else [*widths, *layers]


def largest_bottleneck(state: State) -> Sequence[Place]:
    """Return the places by their expressivity bottleneck (the TINY paper, eq. 2), the largest first.

    A bottleneck that is not defined counts as 0.
    """
    if len(state.places) == 1:
        return state.places
    sizes = {
        place.name: state.once(("bottleneck", place.name), partial(_measure_bottleneck, state, place))
        for place in state.places
    }
    return sorted(state.places, key=lambda place: sizes[place.name], reverse=True)


def new_layer(state: State, place: Place) -> DepthProposal | None:
    """Return a new layer after a place's nonlinearity; None where none lowers the held-out loss."""

    def propose() -> DepthProposal | None:
        batches, validation = state.evidence.draw(enough_samples(state.model, place))
        try:
            layer = propose_depth(state.model, place, batches, state.objective.loss, validation=validation)
        except (InputError, ReadError):
            return ranks.from_first([None])[0]
        return ranks.from_first([layer if layer.gain > 0 else None])[0]

    return state.once(("layer", place.name), propose)


def held_out_gain(state: State, place: Place, units: int) -> float:
    """Return by how much so many of TINY's units at a place lower the mean loss on held-out samples at once."""

    def measure() -> float:
        how = replace(state.how if isinstance(state.how, Tiny) else Tiny(), count=units)
        search = state.call_method(state.model, place, how).explanation.get("line_search", {})
        return float(search.get("gain", 0.0))

    return state.once(("gain", place.name, units), measure)


def _measure_bottleneck(state: State, place: Place) -> float:
    try:
        batches, _ = state.evidence.draw(sample_size(state.model, place))
        return ranks.from_first(bottleneck(statistics(state.model, place, batches, state.objective.loss)))
    except (InputError, ReadError):
        return 0.0


def _count_at_cost(state: State, place: Place, multiply_adds: int) -> int:
    """Return how many units at a place cost so many multiply-adds for one sample, at least 1."""
    return max(1, round(2 * multiply_adds / max(state.flops_per_unit(place), 1)))  # two flops each
