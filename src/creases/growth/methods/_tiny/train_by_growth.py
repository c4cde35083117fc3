"""Training by growth alone: units are added, and no weight is ever moved (the paper's section 1)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any

from torch import nn

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
    """Train a model by adding TINY's units only, place after place in turn; no gradient descent.

    As no weight follows, units make up for all of V_goal (``project=False``), unless ``options``, which go to
    :func:`tiny`, say otherwise. It ends after ``steps`` growth steps, or when no place gets a unit any more.
    ``batches`` are gone through once for each step. Returned are the proposals that were put in, in order.
    """
    if not places or steps < 1:
        raise InputError(f"places, steps: expected at least one place and one step, got {len(places)} and {steps}")
    model = unwrap_module(model)
    names = [place if isinstance(place, str) else place.name for place in places]
    some = next(iterate_batches(batches))[0]
    done: list[Proposal] = []
    idle = 0
    for name in cycle(names):
        if len(done) == steps or idle == len(names):
            return done
        place = find_place(model, name, data=some)  # anew: its other end may have grown
        proposal = tiny(model, place, batches, loss, **{"project": False, "seed": len(done), **options})
        idle = 0 if proposal.count else idle + 1
        if proposal.count:
            apply(proposal, model)
            done.append(proposal)
    return done
