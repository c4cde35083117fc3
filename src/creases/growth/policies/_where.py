"""Policies for the place of growth: the places of a model in the order in which to try them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from creases.errors import InputError
from creases.growth._proposal import DepthProposal, Proposal
from creases.growth._state import State
from creases.growth.policies._depth import WidthOrDepth
from creases.network import Place

#: From a run's state to places and proposed layers, the best first; the first that is worth adding and fits is added.
Where = Callable[[State], Sequence[Place | DepthProposal]]


@dataclass(frozen=True)
class EveryPlace:
    """Grow every place at the same time."""

    def __call__(self, state: State) -> Sequence[Place]:
        """Return all places."""
        return state.places


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


def grows_together(state: State) -> bool:
    """Return whether a stage changes the widths of all places that the policy ``where`` names."""
    return isinstance(state.where, EveryPlace | At)


def proposal_worth(proposal: Proposal | DepthProposal) -> float:
    """Return the predicted gain, or the squared gradient of units that start without one."""
    return proposal.gain or float(proposal.explanation.get("gradient", 0.0))


WHERE_POLICIES: Mapping[str, Where] = {"all": EveryPlace(), "width or depth": WidthOrDepth()}


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
