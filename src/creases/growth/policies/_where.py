"""Where to grow: the places of a model in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from creases.errors import InputError
from creases.growth._proposal import Proposal
from creases.growth._state import State
from creases.network.surgery import Place

#: From a run's state to places, the best first; the first that gets units is grown.
Where = Callable[[State], Sequence[Place]]


@dataclass(frozen=True)
class LargestBottleneck:
    """The place behind which the layers lack most expressivity (TINY, eq. 2) first."""

    def __call__(self, state: State) -> Sequence[Place]:
        return sorted(state.places, key=state.bottleneck, reverse=True)


@dataclass(frozen=True)
class RoundRobin:
    """Each place in its turn."""

    def __call__(self, state: State) -> Sequence[Place]:
        names = [place.name for place in state.places]
        grown = [record.place for record in state.history.records if record.place in names]
        start = names.index(grown[-1]) + 1 if grown else 0
        return [*state.places[start:], *state.places[:start]]


@dataclass(frozen=True)
class At:
    """One place and no other, or several, the first first."""

    names: str | tuple[str, ...]

    def __call__(self, state: State) -> Sequence[Place]:
        by_name = {place.name: place for place in state.places}
        wanted = (self.names,) if isinstance(self.names, str) else self.names
        for name in wanted:
            if name not in by_name:
                raise InputError(f"where: the model has no place {name!r} that can grow; it has {list(by_name)}")
        return [by_name[name] for name in wanted]


@dataclass(frozen=True)
class GainPerParameter:
    """The place with the largest predicted gain for the parameters that it costs first.

    Methods that change nothing at once (gradmax, split) predict no gain; the squared gradient that their units get
    stands for it where it is known.
    """

    def __call__(self, state: State) -> Sequence[Place]:
        def worth(place: Place) -> float:
            proposal = state.propose(place)
            return proposal_worth(proposal) / max(place.cost * proposal.count, 1)

        return sorted(state.places, key=worth, reverse=True)


def proposal_worth(proposal: Proposal) -> float:
    """The predicted gain, or the squared gradient of units that start without one."""
    return proposal.gain or float(proposal.explanation.get("gradient", 0.0))


WHERE_POLICIES: Mapping[str, Where] = {
    "bottleneck": LargestBottleneck(),
    "round robin": RoundRobin(),
    "gain": GainPerParameter(),
}


def resolve_where(where: str | Where) -> Where:
    """The policy of that name; any other name is that of a place."""
    if callable(where) and not isinstance(where, type):
        return where
    if not isinstance(where, str):
        raise InputError(
            f"where: expected one of {list(WHERE_POLICIES)}, a place's name, or a function of the state to places (for several "
            f"places At(('0', '2'))), got {where!r}"
        )
    return WHERE_POLICIES.get(where, At(where))
