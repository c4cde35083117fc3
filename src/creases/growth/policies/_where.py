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
class LargestBottleneck:
    """Growth at the place with the largest expressivity bottleneck (the TINY paper, eq. 2)."""

    def __call__(self, state: State) -> Sequence[Place]:
        """Return the places in the order in which to try them."""
        if len(state.places) == 1:
            return state.places
        return sorted(state.places, key=state.bottleneck, reverse=True)


@dataclass(frozen=True)
class RoundRobin:
    """Growth at each place in turn."""

    def __call__(self, state: State) -> Sequence[Place]:
        """Return the places in the order in which to try them."""
        names = [place.name for place in state.places]
        history = [record.place for record in state.history.records if record.place in names]
        start = names.index(history[-1]) + 1 if history else 0
        return [*state.places[start:], *state.places[:start]]


@dataclass(frozen=True)
class At:
    """Growth at one place only, or at several, tried in this order."""

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
    """Growth at the place with the largest predicted gain per parameter.

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
    """Growth by more units or by a new layer, whichever lowers the held-out loss most per multiply-add.

    For units it is the decrease at once (:meth:`creases.growth.State.held_out_gain`), for a layer that along its best
    move (:func:`creases.growth.methods.propose_depth`), while all other weights stay as they are.
    """

    def __call__(self, state: State) -> Sequence[Place | DepthProposal]:
        """Return places and new layers in the order in which to try them."""
        options: list[_Option] = [(_gain_by_width(state, place), place) for place in state.places]
        best = max(options, key=_rate, default=None)
        for layer in map(state.propose_depth, state.places):
            if layer is not None:
                numbers = {"gain": layer.gain, "multiply_adds": layer.multiply_adds}
                options.append((numbers, layer if best is None else _add_alternative(layer, *best)))
        return [candidate for _, candidate in sorted(options, key=_rate, reverse=True)]


#: A place or a layer, with its ``gain`` and ``multiply_adds``.
_Option = tuple[dict[str, float], Place | DepthProposal]


def _gain_by_width(state: State, place: Place) -> dict[str, float]:
    """Return the held-out gain of the units proposed for a place, and their multiply-adds for one sample."""
    units = state.propose(place).count
    flops = state.flops_per_unit(place) * units  # two for each multiply-add
    return {"units": units, "gain": state.held_out_gain(place), "multiply_adds": flops // 2}


def _rate(option: _Option) -> float:
    """Return the gain per multiply-add."""
    return option[0]["gain"] / max(option[0]["multiply_adds"], 1)


def _add_alternative(layer: DepthProposal, numbers: dict[str, float], place: Place | DepthProposal) -> DepthProposal:
    """Return a proposed layer whose explanation says what the best place for units gains."""
    return replace(layer, explanation={**layer.explanation, "width": {"place": place.name, **numbers}})


def proposal_worth(proposal: Proposal | DepthProposal) -> float:
    """Return the predicted gain, or the squared gradient of units that start without one."""
    return proposal.gain or float(proposal.explanation.get("gradient", 0.0))


WHERE_POLICIES: Mapping[str, Where] = {
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
