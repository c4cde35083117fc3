"""Which groups of channels to remove next: a Taylor score selects candidates, their exact losses decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Literal

import torch
from torch import Tensor, nn

from creases.errors import InputError
from creases.network.surgery import (
    ChannelGroup,
    count_multiply_adds,
    count_outputs,
    count_parameters,
    get_layer,
    saved_multiply_adds,
    saved_parameters,
)
from creases.prune._evaluation import evaluate, losses_without
from creases.prune._taylor import taylor_scores

#: Number of groups whose exact losses are always computed.
FEW = 64

#: Of more groups, the number of exact losses for each group to remove ...
CANDIDATES = 4

#: ... if the Taylor scores predict that the loss increases by more than this.
NEGLIGIBLE = 1e-3

#: With a target size a step removes one of this number of groups.
STEP = 32

#: How many groups compete by their exact losses.
Candidates = int | Literal["auto", "all"]


@dataclass(frozen=True, eq=False)
class Selection:
    """Chooses the groups of channels to remove in a step."""

    samples: tuple[Tensor, Tensor]  #: inputs and classes on which losses are computed
    per_step: int | None  #: None: one, with a target size a share of the groups
    candidates: Candidates  #: for each group to remove
    target: Target | None  #: None: only the accuracy counts

    def choose(self, model: nn.Module, groups: Sequence[ChannelGroup]) -> list[ChannelGroup]:
        """Return the groups to remove next; none if the model is small enough or cannot get smaller."""
        left = {path: count_outputs(get_layer(model, path)) for group in groups for path in group.outputs}
        removable = [group for group in groups if all(left[path] > len(part) for path, part in group.outputs.items())]
        if not removable or (self.target is not None and self.target.is_reached(model)):
            return []
        count = self.per_step or (1 if self.target is None else max(1, len(groups) // STEP))
        return self._take(model, self._rank(model, removable, count), left, count)

    def _take(
        self, model: nn.Module, ranked: list[ChannelGroup], left: dict[str, int], count: int
    ) -> list[ChannelGroup]:
        """Return the first groups that leave a channel of every layer, no more than the target needs."""
        chosen: list[ChannelGroup] = []
        excess = self.target.size(model) - self.target.limit if self.target is not None else 0
        for group in ranked:
            if all(left[path] > len(part) for path, part in group.outputs.items()):
                chosen.append(group)
                left.update({path: left[path] - len(part) for path, part in group.outputs.items()})
            reached = self.target is not None and self.target.saved(model, chosen) >= excess
            if len(chosen) == count or reached:
                break
        return chosen

    def _rank(self, model: nn.Module, groups: list[ChannelGroup], count: int) -> list[ChannelGroup]:
        """Return candidates for the removal of some groups, the least important first."""
        saved = [1 if self.target is None else self.target.saved(model, [group]) for group in groups]
        costs = torch.tensor(saved, dtype=torch.float64).clamp(min=1)
        limit = self._n_candidates(len(groups), count)
        if self.candidates == 1 or limit < len(groups):
            scores = taylor_scores(model, groups, *self.samples).cpu()
            order = (scores / costs).argsort(stable=True)
            groups, costs = [groups[i] for i in order.tolist()], costs[order]
            negligible = self.candidates == "auto" and float(scores[order[:count]].sum()) < NEGLIGIBLE
            if negligible or self.candidates == 1:
                return groups
        groups, costs = groups[:limit], costs[:limit]
        increase = losses_without(model, groups, *self.samples).cpu() - evaluate(model, *self.samples)[0]
        key = torch.where(increase > 0, increase / costs, increase * costs)
        return [groups[i] for i in key.argsort(stable=True).tolist()]

    def _n_candidates(self, n_groups: int, count: int) -> int:
        """Return the number of groups whose exact losses are computed if the Taylor scores do not decide alone."""
        if self.candidates == "all" or (self.candidates == "auto" and n_groups <= FEW):
            return n_groups
        return count * (CANDIDATES if self.candidates == "auto" else self.candidates)


@dataclass(frozen=True)
class Target:
    """A size to prune to."""

    limit: int
    positions: dict[str, int] | None = None  #: how often each layer applies its weight; None: parameters are counted

    @classmethod
    def from_fraction(
        cls, name: str, value: float, model: nn.Module, positions: dict[str, int] | None = None
    ) -> Target:
        """Return the target that an argument asks for: a number, or a float up to 1 as a fraction of the model's."""
        size = cls(0, positions).size(model)
        if isinstance(value, Integral) and not isinstance(value, bool) and value > 0:
            return cls(int(value), positions)
        if isinstance(value, float) and 0 < value <= 1:
            return cls(int(value * size), positions)
        raise InputError(
            name, "be a fraction above 0 and up to 1, or a positive integer", repr(value), f"the model has {size:,}"
        )

    def size(self, model: nn.Module) -> int:
        """Return the size of a model."""
        return count_parameters(model) if self.positions is None else count_multiply_adds(model, self.positions)

    def saved(self, model: nn.Module, groups: Sequence[ChannelGroup]) -> int:
        """Return by how much the removal of groups makes a model smaller."""
        if self.positions is None:
            return saved_parameters(model, groups)
        return saved_multiply_adds(model, groups, self.positions)

    def is_reached(self, model: nn.Module) -> bool:
        """Return whether a model is small enough."""
        return self.size(model) <= self.limit
