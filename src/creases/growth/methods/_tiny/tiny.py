"""TINY: the units that reduce an expressivity bottleneck most, of the best size on held-out samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from creases._validation import check_choice, check_count, check_number
from creases.errors import InputError
from creases.growth._objective import Loss
from creases.growth._proposal import Proposal
from creases.growth.integrations import _ranks as ranks
from creases.growth.methods._evidence import Evidence, message_of
from creases.growth.methods._first_order.observation import Batches, Observation
from creases.growth.methods._first_order.route import Route, UnitPath, as_rows
from creases.growth.methods._first_order.statistics import (
    Statistics,
    batch_slices,
    sample_size,
    subtract_best_moves,
    sum_pairs,
)
from creases.growth.methods._first_order.units import (
    NewUnits,
    check_norm,
    choose_signs,
    first_order_fit,
    pass_norm,
    pre_activations,
    scale_units,
    select_units,
    synchronize_units,
)
from creases.growth.methods._tiny.bottleneck import (
    best_moves,
    bottleneck,
    degrees_of_freedom,
    noise_level,
    ridge_squares,
    scale_moves,
    solve_units,
    whitening_matrix,
)
from creases.growth.methods._tiny.line_search import (
    GrowthSample,
    LineSearchResult,
    gather_sample,
    line_search,
    resize_units,
    search_move,
)
from creases.network import Place
from creases.network.surgery import unwrap_module

FALLBACKS = ("second", "random")
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
        raise InputError(
            "fallback",
            "be 'random' or None where a consumer is not linear at each position",
            "'second'",
        )
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


_LEAST = 2000  # samples for the statistics of vectors, where there are as many


@dataclass(frozen=True)
class Tiny:
    """Growth by the units that reduce an expressivity bottleneck most; see :func:`tiny`."""

    count: int = 10
    tau: float = 1e-4
    fallback: Literal["second", "random"] | None = "random"
    above_noise: bool = True
    ridge: float = 0.1
    move: bool = False
    samples: int | None = None  #: for the statistics, and as many for the line search; None: :func:`sample_size`

    def check(self, model: nn.Module, place: Place) -> str:
        """Return why TINY cannot grow a place; "" where it can."""
        return message_of(lambda: _check_path(UnitPath(model, place), self.fallback))

    def __call__(self, model: nn.Module, place: Place, evidence: Evidence) -> Proposal:
        """Return the proposal for a place."""
        batches, validation = evidence.draw(self.samples or enough_samples(model, place))
        options: dict[str, Any] = {
            "count": self.count,
            "tau": self.tau,
            "fallback": self.fallback,
            "above_noise": self.above_noise,
            "ridge": self.ridge,
            "move": self.move,
            "validation": validation,
        }
        return tiny(model, place, batches, evidence.objective.loss, seed=evidence.seed, **options)


def tiny(
    model: nn.Module,
    place: Place | str,
    batches: Batches,
    loss: Loss,
    *,
    validation: Batches | None = None,
    count: int = Tiny.count,
    tau: float = Tiny.tau,
    project: bool = True,
    fallback: str | None = Tiny.fallback,
    above_noise: bool = Tiny.above_noise,
    ridge: float = Tiny.ridge,
    move: bool = Tiny.move,
    seed: int = 0,
) -> Proposal:
    """Propose the units that most reduce the expressivity bottleneck after a place [1]_.

    The desired change of the next layers' pre-activations, minus what their existing weights can provide, is
    approximated by new units in closed form (Prop. 3.2). The sign of each unit is chosen by its exact slope. Outgoing
    weights (over all consumers) have length 1, and one factor gamma of all incoming weights, ``gamma L^-T u_k``, is
    chosen by a line search on validation samples (eq. 7).

    A batch norm before the bend would undo that size: the norm's own entries for the new units take it then, and for
    ReLU and its like the size goes to the outgoing weights, so that the norm's weight is that of the existing units.

    Where the next layer is a convolution with overlapping windows, or follows a flattening, the units are optimal in
    the metric ``(alpha' S alpha) |omega|^2``; gain and bottleneck are exact there too. The desired change is torch's
    gradient: where a later bend is exactly at its kink, torch takes one of its two slopes.

    Parameters
    ----------
    model, place
        A module and one of its places, or the place's name.
    batches, loss
        As in :func:`statistics`.
    validation
        Batches for the line search; by default every fifth sample is held out for it. With several ranks, each passes
        its own share, which may be empty.
    count, tau
        At most ``count`` units are proposed, those whose lambda^2 exceeds tau times the mean loss. If no scale of all
        of them lowers the validation loss, the stronger half is tried, and so on.
    project
        Whether units approximate V_proj, which the existing weights cannot provide (they would adapt by training), or
        all of V_goal, which lowers the loss most if no weight is trained.
    fallback
        What to do if no linear correlation is left (section 5): "second" looks for quadratic ones, "random" takes the
        best random units, None proposes nothing.
    above_noise
        Whether to leave out units whose lambda is not above the noise level: what it would be if the desired changes
        were independent of the inputs. With many inputs and few samples that can be all of them.
    ridge
        Added to the second moments S of the inputs, relative to their mean; 0 for S as it is. It keeps weights small in
        directions in which inputs hardly vary, where few samples show mostly noise.
    move
        Whether to also propose the best change dW* of the existing weights after the place (Prop. 3.1), scaled by the
        factor gamma_0 of a separate line search on validation samples (eq. 6), unless no factor lowers their loss.
    seed
        Seed of random units.

    Returns
    -------
    Proposal
        Has no units, and the reason in its explanation, if no unit is worth adding: no correlation above tau, no scale
        that lowers the validation loss, or dead layers.

    References
    ----------
    .. [1] "Spotting Expressivity Bottlenecks and Fixing Them Optimally", anonymous, under review (a later version:
       Verbockhaven, Rudkiewicz, Chevallier, Charpiat, "Growing Tiny Networks", TMLR 2024).

    Examples
    --------
    >>> numbers = torch.Generator().manual_seed(0)
    >>> x = torch.rand(200, 1, generator=numbers) * 4 - 2
    >>> model = nn.Sequential(nn.Linear(1, 1), nn.ReLU(), nn.Linear(1, 1))
    >>> with torch.no_grad():
    ...     for parameter in model.parameters():
    ...         _ = parameter.fill_(0.1)
    >>> proposal = tiny(model, "0", (x, x.abs()), nn.MSELoss(), count=1)
    >>> proposal.count, proposal.explanation["reason"]
    (1, '')
    """
    check_count(count, "count")
    check_number(tau, "tau", least=0)
    check_choice(fallback, (*FALLBACKS, None), "fallback")
    check_number(ridge, "ridge", least=0)
    sample = gather_sample(model, place, batches, loss, validation)
    _check_path(sample.route, fallback)
    explanation = _measured_bottleneck(sample, tau)
    if why := _dead_layer_reason(sample):
        return _empty_proposal(sample, explanation, why)
    moves = best_moves(sample.sums)
    projected = [subtract_best_moves(sample.route, observation, moves) for observation in sample.observations]
    units = _ridge_units(sample, projected if project else sample.observations, ridge, count)
    explanation |= {"project": project, "lambda": units.values.tolist(), "rank": units.rank}
    explanation["gain_by_chance"] = units.rank * explanation["bottleneck"] / explanation["samples"]
    least = tau * sample.sums.mean_loss
    if above_noise:
        noise = noise_level(
            sample.route, projected if project else sample.observations, units.rank, float(sample.sums.count)
        )
        explanation["lambda_by_chance"] = noise**0.5
        least = max(least, noise)
    units = select_units(units, units.values.square() > least)
    first_order = bool(sample.route.right_slope or sample.route.left_slope)
    best = choose_signs(sample.route, sample.observations, units) if first_order and len(units.values) else None
    if best is not None and len(best.gains):
        explanation |= {"flipped": best.flipped, "gains": best.gains.tolist(), "errors": best.errors.tolist()}
        strength = best.units.values
        printed = scale_units(best.units, strength**-0.5, strength**-0.5)  # |omega| = 1
        proposal = _sized_proposal(
            sample, explanation, printed, best.gains / strength, projected, moves if move else None
        )
    else:
        proposal = _empty_proposal(sample, explanation, _no_gain_reason(len(units.values)))
    if proposal.count or fallback is None:
        return proposal
    units, gains = higher_order_units(sample.route, sample.observations, sample.sums, fallback, count, seed)
    units = select_units(units, gains > tau * sample.sums.mean_loss)
    if not len(units.values):
        return _empty_proposal(sample, explanation, f"no correlation ({fallback}) with the desired change exceeds tau")
    explanation |= {"fallback": fallback, "gains": units.values.square().tolist()}
    return _sized_proposal(sample, explanation, units, units.values.square(), None)


def _ridge_units(sample: GrowthSample, goals: Sequence[Observation], ridge: float, count: int) -> NewUnits:
    """Return the optimal units for the goals V_proj, or V_goal, with a ridge on S."""
    route, sums = sample.route, sample.sums
    pairs = {path: part / sums.count for path, part in sum_pairs(route, goals).items()}
    s = sums.features / sums.count
    added = ridge_squares(s, ridge, constant=route.has_bias)
    units = solve_units(s + torch.diag(added), pairs, count=count)
    freedom = degrees_of_freedom(s, added) if ridge else None
    return synchronize_units(units if freedom is None else replace(units, rank=round(freedom)))


def enough_samples(model: nn.Module, place: Place) -> int:
    """Return :func:`sample_size`, for vectors at least 2,000: few samples make noise look like gain."""
    size = sample_size(model, place)
    is_vector = isinstance(unwrap_module(model).get_submodule(place.name), nn.Linear)
    return max(size, _LEAST) if is_vector else size


def _check_path(route: UnitPath, fallback: str | None) -> None:
    """Refuse places where new units cannot be small, or small ones have no first-order effect."""
    name = route.place.name
    check_norm(route)
    if route.value_at_zero:
        raise InputError(
            "place",
            "have a bend that is 0 at 0 for TINY, so that a small unit is a small change",
            f"{name!r}, whose bend is {route.value_at_zero:.3g} there",
            "use gradmax or random units",
        )
    if not route.right_slope and not route.left_slope and fallback is None:
        raise InputError(
            "place",
            "have a bend with a slope at 0 for TINY, so that small units have a first-order effect",
            repr(name),
            "use {0} or {1}",
            [("fallback", "second"), ("fallback", "random")],
        )


def _measured_bottleneck(sample: GrowthSample, tau: float) -> dict[str, Any]:
    """Return what the statistics contribute to the explanation."""
    sums, lack = sample.sums, bottleneck(sample.sums)
    return {
        "method": "tiny",
        "place": sample.observer.place.name,
        "reason": "",
        "samples": int(sums.count),
        "loss": sums.mean_loss,
        "bottleneck": lack,
        "bottleneck_after": lack,
        "share_of_loss": lack / sums.mean_loss if sums.mean_loss else 0.0,
        "share_of_goal": lack / sums.mean_goal if sums.mean_goal else 0.0,
        "tau": tau,
    }


def _dead_layer_reason(sample: GrowthSample) -> str:
    """Return why first-order growth cannot start here; "" where it can."""
    if not sample.sums.mean_goal:
        names = ", ".join(repr(link.path) for link in sample.observer.place.consumers)
        return f"dead layer: the loss does not depend on {names} for any sample, so there is no gradient"
    squares = sample.sums.features.diagonal()
    if not bool((squares[:-1] if sample.route.has_bias else squares).any()):
        return f"dead layer: no input of {sample.observer.place.name!r} is active on any sample"
    return ""


def _no_gain_reason(count: int) -> str:
    """Return why no unit of the spectrum is proposed."""
    if not count:
        return "no linear correlation with the desired change exceeds tau"
    return (
        f"none of the {count} candidate units lowers the loss while the existing weights stay fixed; train them "
        "further, or pass project=False"
    )


def _sized_proposal(
    sample: GrowthSample,
    explanation: dict[str, Any],
    units: NewUnits,
    gains: Tensor,
    projected: Sequence[Observation] | None,
    moves: dict[str, Tensor] | None = None,
) -> Proposal:
    """Propose units of the size that is best on validation samples; if none is, try the stronger half.

    With ``projected`` (V_proj) the incoming weights are scaled, otherwise the outgoing ones. With ``moves`` (dW*) the
    existing weights move too.
    """
    fan_in = projected is not None
    route, runs = sample.route, sample.runs
    explanation["candidates"] = len(gains)
    change, moved, gain = {}, None, 0.0
    if moves is not None:
        best, moved = search_move(route, runs, moves)
        explanation["move"] = _line_search_numbers(best, sample.has_validation)
        along = sum(float((moves[path] * part.moves).sum()) for path, part in sample.sums.consumers.items())
        gain = best.factor * along / float(sample.sums.count)
        change = scale_moves(sample.observer.twin, moves, best.factor) if best.factor else {}
    size = line_search(route, runs, units, fan_in=fan_in, moved=moved)
    while not size.factor and len(gains) > 1:
        strongest = torch.arange(len(gains) // 2, device=gains.device)
        units, gains = select_units(units, strongest), gains[strongest]
        size = line_search(route, runs, units, fan_in=fan_in, moved=moved)
    explanation["line_search"] = _line_search_numbers(size, sample.has_validation)
    if not size.factor:
        return _empty_proposal(
            sample, explanation, "the new units do not lower the loss on held-out samples, at any scale"
        )
    if projected is not None:
        along, square = first_order_fit(route, projected, units)
        explanation["bottleneck_after"] = explanation["bottleneck"] - (max(along, 0.0) ** 2 / square if square else 0.0)
    units = resize_units(units, size.factor, fan_in=fan_in)
    gain += float(gains.sum()) * size.factor
    explanation |= {"units": len(gains), "gain": gain}
    weights, bias = route.layer_weights(units.alpha)
    proposal = Proposal("tiny", sample.observer.place, weights, bias, units.omega, gain, explanation, change)
    return pass_norm(sample.observer.twin, route, proposal, sample.batches, resize=route.is_homogeneous)


def _line_search_numbers(size: LineSearchResult, has_validation: bool) -> dict[str, Any]:
    return {
        "amplitude": size.factor,
        "samples": size.samples,
        "held_out": has_validation,
        "loss_before": size.before,
        "loss_after": size.after,
        "gain": size.before - size.after,
        "tried": size.tried,
    }


def _empty_proposal(sample: GrowthSample, explanation: dict[str, Any], why: str) -> Proposal:
    """Return a proposal without units, with the reason."""
    empty: Tensor = sample.sums.features.new_zeros(len(sample.sums.features), 0)
    weights, bias = sample.route.layer_weights(empty)
    parts = sample.sums.consumers.items()
    outs = {path: part.pairs.new_zeros(part.moves.shape[1], 0, *part.pairs.shape[2:]) for path, part in parts}
    return Proposal("tiny", sample.observer.place, weights, bias, outs, 0.0, explanation | {"reason": why, "units": 0})
