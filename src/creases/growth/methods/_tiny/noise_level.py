"""The noise level of TINY's singular values: how strong units look if goals and inputs are independent."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from creases.growth.integrations import _ranks as ranks
from creases.growth.methods._first_order.consumer import as_rows
from creases.growth.methods._first_order.observation import Observation
from creases.growth.methods._first_order.route import Route

MARGIN = 1.1  #: the largest lambda of one draw may lie above its mean


def noise_level(route: Route, projected: Sequence[Observation], rank: int, n: float) -> float:
    """Return the lambda^2 that the strongest unit would have on n samples if goals v and r inputs were independent.

    ``(sqrt(r c) + sqrt(tr C))^2 / n``, with C the covariance of v and c its largest eigenvalue, bounds the mean of the
    largest singular value of r x out normal numbers with such columns (Gordon). Positions of convolutions count as
    samples. ``MARGIN`` is added.
    """
    level = 0.0
    for consumer in route.consumers:
        path = consumer.link.path
        goals = [as_rows(consumer.goals(each.goals[path]).double()) for each in projected]
        weight = consumer.layer.weight
        assert isinstance(weight, Tensor)
        sums = torch.zeros(len(weight), len(weight), dtype=torch.float64, device=weight.device)
        count = torch.zeros((), dtype=torch.float64)
        for part in goals:
            sums += part.T @ part
            count += len(part)
        ranks.sum_over_ranks([sums, count])
        covariance = sums / count
        largest = float(torch.linalg.eigvalsh(covariance)[-1].clamp_min(0))
        level += ((rank * largest) ** 0.5 + float(covariance.trace()) ** 0.5) ** 2
    return MARGIN**2 * level / n
