"""Policies for the place of growth: the places of a model in the order in which to try them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from creases.errors import InputError
from creases.growth._proposal import Proposal
from creases.growth._state import State
from creases.network.surgery import Place

#: From a run's state to places, the best first; the first that gets units grows.
Where = Callable[[State], Sequence[Place]]


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


def proposal_worth(proposal: Proposal) -> float:
    """Return the predicted gain, or the squared gradient of units that start without one."""
    return proposal.gain or float(proposal.explanation.get("gradient", 0.0))


WHERE_POLICIES: Mapping[str, Where] = {
    "bottleneck": LargestBottleneck(),
    "round robin": RoundRobin(),
    "gain": GainPerParameter(),
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
