"""Units where no linear correlation is left (TINY, section 5): by quadratic correlations, or the best random ones."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from creases.errors import InputError
from creases.growth._integrations import _ranks as ranks
from creases.growth.methods._first_order.observation import Observation
from creases.growth.methods._first_order.route import Route, as_rows
from creases.growth.methods._first_order.statistics import Statistics, batch_slices
from creases.growth.methods._first_order.units import NewUnits, pre_activations, select_units, synchronize_units
from creases.growth.methods._tiny.bottleneck import whitening_matrix

_TRIED = 4  # random units tried for each one that is proposed: the best of many are much alike
_ROUNDS = 4


def higher_order_units(
    route: Route, observations: Sequence[Observation], sums: Statistics, kind: str, count: int, seed: int
) -> tuple[NewUnits, Tensor]:
    """Return at most ``count`` units with ``alpha' S alpha = 1``, and the first-order gain of each in omega.

    For given incoming weights the loss falls fastest along ``omega = (1/n) sum_i v_goal sigma(z)``, here divided by the
    mean of sigma(z)^2; the gain ``|(1/n) sum v_goal sigma(z)|^2 / mean(sigma(z)^2)`` is exact for every bend.

    - "second": alpha solves ``max E[<v_goal, w> (alpha b)^2]``, w and alpha in turn: the quadratic term of sigma;
    - "random": the best of many random directions, with creases through the samples.
    """
    w = whitening_matrix(sums.features / sums.count)
    generator = torch.Generator().manual_seed(seed)
    if kind == "random":
        alpha = _random_weights(route, sums.features / sums.count, _TRIED * count, generator)
    else:
        alpha = _quadratic_weights(route, observations, w, count, generator)
    units = _with_outputs(route, observations, torch.cat([alpha, -alpha], 1), w.shape[1], sums.count)
    gains = units.values.square()
    best = gains.argsort(descending=True, stable=True)
    best = best[gains[best] > 0]
    better = {number % alpha.shape[1]: number for number in reversed(best.tolist())}  # of a unit and its mirror image
    chosen = [number for number in best.tolist() if better[number % alpha.shape[1]] == number]
    units = synchronize_units(select_units(units, torch.tensor(chosen[:count], dtype=torch.int64, device=best.device)))
    return units, units.values.square()


def _random_weights(route: Route, s: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Return normal weights (d, count), each with its crease a normal number of deviations off the samples' mean."""
    d = len(s) - route.has_bias
    alpha = s.new_zeros(len(s), count)
    normal = torch.randn(d + 1, count, generator=generator, dtype=torch.float64).to(s)
    alpha[:d] = torch.where(s.diagonal()[:d, None] > 0, normal[:d], 0.0)
    if route.has_bias:
        mean = s[d, :d] @ alpha[:d]
        spread = ((alpha[:d] * (s[:d, :d] @ alpha[:d])).sum(0) - mean.square()).clamp_min(0).sqrt()
        alpha[d] = -(mean + spread * normal[d])
    size = (alpha * (s @ alpha)).sum(0).clamp_min(0).sqrt()
    return alpha / torch.where(size > 0, size, 1.0)


def _with_outputs(route: Route, observations: Sequence[Observation], alpha: Tensor, rank: int, n: Tensor) -> NewUnits:
    """Return the best outgoing weights for incoming weights alpha; the squared values are the gains."""
    omega: dict[str, Tensor] = {}
    square = alpha.new_zeros(alpha.shape[1])
    for batch in observations:
        for part in batch_slices(route, batch):
            arrived = route.propagate(pre_activations(route, batch.layer_input[part], alpha), route.bend)
            square += arrived.flatten(2).square().sum((0, 2)) / n
            for consumer in route.consumers:
                path = consumer.link.path
                pair = consumer.correlate(arrived, consumer.goals(batch.goals[path][part])) / n
                omega[path] = omega[path] + pair if path in omega else pair
    ranks.sum_over_ranks([square, *omega.values()])
    norm = torch.where(square > 0, 1 / square, 0.0)
    gains = torch.stack([pair.movedim(1, 0).flatten(1).square().sum(1) for pair in omega.values()]).sum(0) * norm
    scaled = {path: pair * norm.reshape(1, -1, *[1] * (pair.ndim - 2)) for path, pair in omega.items()}
    return NewUnits(alpha, scaled, gains.sqrt(), rank)


def _quadratic_weights(
    route: Route, observations: Sequence[Observation], w: Tensor, count: int, generator: torch.Generator
) -> Tensor:
    """Return weights whose square correlates with the desired change: eigenvectors of sum_i <v_i, w> b b'."""
    if any(consumer.kind != "linear" for consumer in route.consumers):
        raise InputError("fallback", "be 'random' or None where a consumer is not linear at each position", "'second'")
    outs = sum(len(observations[0].goals[consumer.link.path].movedim(-1, 0)) for consumer in route.consumers)
    direction = torch.randn(outs, generator=generator, dtype=torch.float64).to(w)
    alpha = w[:, :0]
    for _ in range(_ROUNDS):
        moment = w.new_zeros(w.shape[1], w.shape[1])
        for batch in observations:
            white, goals = _rows(route, batch, w)
            moment += (white * (goals @ direction)[:, None]).T @ white
        ranks.sum_over_ranks([moment])
        strength, vectors = torch.linalg.eigh(moment)
        order = strength.abs().argsort(descending=True)[:count]
        alpha = w @ vectors[:, order]
        direction = torch.zeros_like(direction)
        for batch in observations:
            white, goals = _rows(route, batch, w)
            direction += goals.T @ (white @ vectors[:, order[0]]).square()
        ranks.sum_over_ranks([direction])
    return alpha


def _rows(route: Route, batch: Observation, w: Tensor) -> tuple[Tensor, Tensor]:
    """Return whitened inputs (rows, r) and goals of all consumers (rows, out), one row per sample and position."""
    features = as_rows(route.propagate_linear(route.features(batch.layer_input)))
    goals = [as_rows(consumer.goals(batch.goals[consumer.link.path])) for consumer in route.consumers]
    return features @ w, torch.cat(goals, 1)
