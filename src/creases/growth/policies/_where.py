"""Policies for the place of growth: the places of a model in the order in which to try them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from creases.errors import InputError
from creases.growth._proposal import DepthProposal, Proposal
from creases.growth._state import State
from creases.network.surgery import Place

#: From a run's state to places and proposed layers, the best first; the first that is worth adding and fits is added.
Where = Callable[[State], Sequence[Place | DepthProposal]]


@dataclass(frozen=True)
class EveryPlace:
    """Grow every place at the same time."""

    def __call__(self, state: State) -> Sequence[Place]:
        """Return all places."""
        return state.places


@dataclass(frozen=True)
class LargestBottleneck:
    """Grow the place with the largest expressivity bottleneck (the TINY paper, eq. 2)."""

    def __call__(self, state: State) -> Sequence[Place]:
        """Return the places in the order in which to try them."""
        if len(state.places) == 1:
            return state.places
        return sorted(state.places, key=state.bottleneck, reverse=True)


@dataclass(frozen=True)
class RoundRobin:
    """Grow each place in turn."""

    def __call__(self, state: State) -> Sequence[Place]:
        """Return the places in the order in which to try them."""
        names = [place.name for place in state.places]
        history = [record.place for record in state.history.records if record.place in names]
        start = names.index(history[-1]) + 1 if history else 0
        return [*state.places[start:], *state.places[:start]]


@dataclass(frozen=True)
class At:
    """Grow one place only, or several, tried in this order."""

    names: str | tuple[str, ...]

    def __call__(self, state: State) -> Sequence[Place]:
        """Return the places in the order in which to try them."""
        by_name = {place.name: place for place in state.places}
        names = (self.names,) if isinstance(self.names, str) else self.names
        for name in names:
            if name not in by_name:
                raise InputError("where", f"be a place of the model that can grow, one of {list(by_name)}", repr(name))
        return [by_name[name] for name in names]


@dataclass(frozen=True)
class GainPerParameter:
    """Grow the place with the largest predicted gain per parameter.

    Methods that change nothing at once (gradmax, split) predict no gain; the squared gradient of their units is used
    instead where it is known.
    """

    def __call__(self, state: State) -> Sequence[Place]:
        """Return the places in the order in which to try them."""

        def worth(place: Place) -> float:
            proposal = state.propose(place)
            return proposal_worth(proposal) / max(place.cost * proposal.count, 1)

        return sorted(state.places, key=worth, reverse=True)


@dataclass(frozen=True)
class WidthOrDepth:
    """Add units or a new layer, whichever lowers the held-out loss most per multiply-add.

    The layer that lowers it most (:func:`creases.growth.methods.propose_depth`) is compared with as many of TINY's
    units as cost the same, at every place: the first units of a place gain more than the later ones, so that a single
    unit would win against most layers.
    """

    def __call__(self, state: State) -> Sequence[Place | DepthProposal]:
        """Return places and new layers in the order in which to try them."""
        layers = [layer for layer in map(state.propose_depth, state.places) if layer is not None]
        if not layers:
            return LargestBottleneck()(state)
        layers.sort(key=lambda layer: layer.gain / max(layer.multiply_adds, 1), reverse=True)
        counts = {place.name: _count_at_cost(state, place, layers[0].multiply_adds) for place in state.places}
        gains = {place.name: state.held_out_gain(place, counts[place.name]) for place in state.places}
        widths = sorted(state.places, key=lambda place: gains[place.name], reverse=True)
        name, gain = widths[0].name, gains[widths[0].name]
        best = {"place": name, "units": counts[name], "gain": gain}
        layers = [replace(layer, explanation={**layer.explanation, "width": best}) for layer in layers]
        return [layers[0], *widths, *layers[1:]] if layers[0].gain > gain else [*widths, *layers]


def _count_at_cost(state: State, place: Place, multiply_adds: int) -> int:
    """Return how many units at a place cost so many multiply-adds for one sample, at least 1."""
    return max(1, round(2 * multiply_adds / max(state.flops_per_unit(place), 1)))  # two flops each


def proposal_worth(proposal: Proposal | DepthProposal) -> float:
    """Return the predicted gain, or the squared gradient of units that start without one."""
    return proposal.gain or float(proposal.explanation.get("gradient", 0.0))


WHERE_POLICIES: Mapping[str, Where] = {
    "all": EveryPlace(),
    "bottleneck": LargestBottleneck(),
    "round robin": RoundRobin(),
    "gain": GainPerParameter(),
    "width or depth": WidthOrDepth(),
}


def resolve_where(where: str | Where) -> Where:
    """Return the policy of that name; any other name is that of a place."""
    if callable(where) and not isinstance(where, type):
        return where
    if not isinstance(where, str):
        raise InputError(
            "where",
            f"be one of {list(WHERE_POLICIES)}, a place's name, or a function of the state",
            repr(where),
            "for several places use At(('0', '2'))",
        )
    return WHERE_POLICIES.get(where, At(where))
