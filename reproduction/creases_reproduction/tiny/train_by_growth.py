"""Training by growth alone: units are added, and no weight ever changes (the TINY paper, section 1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

from torch import Tensor, nn

from creases.growth import Proposal, apply
from creases.growth.methods import tiny
from creases.network.surgery import find_place


def train_by_growth(
    model: nn.Module,
    names: Sequence[str],
    batches: Sequence[tuple[Tensor, Tensor]],
    loss: Callable[[Tensor, Tensor], Tensor],
    *,
    steps: int,
    **options: Any,
) -> list[Proposal]:
    """Train a model by adding TINY's units only, one place after the other; no gradient descent.

    Parameters
    ----------
    model, names
        A module, and the names of its places in the order in which they grow.
    batches, loss
        As in :func:`creases.growth.methods.tiny`; every growth step runs through all batches once.
    steps
        Growth steps at most; it ends earlier when no place gets a unit any more.
    **options
        Of ``tiny``. By default units approximate all of V_goal (``project=False``), as no weight is trained, and
        every unit above ``tau`` is taken, as printed (``above_noise=False``, ``ridge=0``, ``fallback=None``).

    Returns
    -------
    list of Proposal
        The proposals that were applied, in order.
    """
    example = batches[0][0]
    defaults = {"project": False, "fallback": None, "above_noise": False, "ridge": 0.0}
    done: list[Proposal] = []
    idle = 0
    for name in cycle(names):
        if len(done) == steps or idle == len(names):
            return done
        place = find_place(model, name, X=example)  # again: its other end may have grown
        proposal = tiny(model, place, batches, loss, **{**defaults, "seed": len(done), **options})
        idle = 0 if proposal.count else idle + 1
        if proposal.count:
            apply(proposal, model)
            done.append(proposal)
    return done
