"""Training by growth alone: units are added, and no weight ever changes (the TINY paper, section 1)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any

from torch import nn

from creases._validation import check_count
from creases.errors import InputError
from creases.growth._loss_sum import Loss
from creases.growth._proposal import Proposal, apply
from creases.growth.methods._first_order.observation import Batches, iterate_batches
from creases.growth.methods._tiny.tiny import tiny
from creases.network.surgery import Place, find_place, unwrap_module


def train_by_growth(
    model: nn.Module,
    places: Sequence[Place | str],
    batches: Batches,
    loss: Loss,
    *,
    steps: int,
    **options: Any,
) -> list[Proposal]:
    """Train a model by adding TINY's units only, one place after the other; no gradient descent.

    Parameters
    ----------
    model, places
        A module, and its places (or their names) in the order in which they grow.
    batches, loss
        As in :func:`statistics`; every growth step runs through all batches once.
    steps
        Growth steps at most; it ends earlier when no place gets a unit any more.
    **options
        Of :func:`tiny`. By default units approximate all of V_goal (``project=False``), as no weight is trained, and
        every unit above ``tau`` is taken, as printed (``above_noise=False``, ``ridge=0``, ``fallback=None``).

    Returns
    -------
    list of Proposal
        The proposals that were applied, in order.
    """
    if not places:
        raise InputError("places", "have at least one place")
    check_count(steps, "steps")
    model = unwrap_module(model)
    names = [place if isinstance(place, str) else place.name for place in places]
    example = next(iterate_batches(batches))[0]
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
