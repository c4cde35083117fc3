"""TINY: the units that reduce an expressivity bottleneck most, of the best size on held-out samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Any, Literal

import torch
from torch import Tensor, nn

from creases._schema import BOOL
from creases._validation import check_arguments, check_choice, check_count, check_number
from creases.errors import InputError
from creases.growth._objective import Loss
from creases.growth._proposal import Proposal
from creases.growth.methods._evidence import Evidence, check_printed, message_of
from creases.growth.methods._first_order.observation import Batches, Observation
from creases.growth.methods._first_order.route import UnitPath
from creases.growth.methods._first_order.statistics import sample_size, subtract_best_moves, sum_pairs
from creases.growth.methods._first_order.units import (
    NewUnits,
    check_norm,
    choose_signs,
    first_order_fit,
    first_order_gains,
    pass_norm,
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
)
from creases.growth.methods._tiny.higher_order import higher_order_units
from creases.growth.methods._tiny.line_search import (
    GrowthSample,
    LineSearchResult,
    Moved,
    gather_sample,
    line_search,
    resize_units,
    search_move,
)
from creases.network import Place
from creases.network.surgery import unwrap_module

FALLBACKS = ("second", "random")

#: Units of a growth step, and the share of the loss that lambda^2 must exceed, unless they are given.
COUNT, TAU = 10, 1e-4

#: Samples of the first growth step as printed (appendix C), and ours for vectors, at least.
FIRST_SAMPLES, LEAST_SAMPLES = 100, 2000


@dataclass(frozen=True)
class Tiny:
    """Growth by the units that reduce an expressivity bottleneck most; see :func:`tiny`.

    With ``as_printed`` the first growth step of a place uses 100 samples, and later ones :func:`sample_size` (appendix
    C of the paper; as a factor after every step the printed ``n <- n sqrt(max(...))`` would soon take all samples).
    """

    count: int | None = None  #: None: 10; as printed as many as there are
    tau: float | None = None  #: None: 1e-4; as printed 0
    fallback: Literal["second", "random"] | None = "random"
    above_noise: bool = True
    ridge: float = 0.1
    move: bool = False
    as_printed: bool = False
    samples: int | None = None  #: for the statistics, and as many for the line search; None: :func:`sample_size`

    def check(self, model: nn.Module, place: Place) -> str:
        """Return why TINY cannot grow a place; "" where it can."""
        return message_of(lambda: _check_path(UnitPath(model, place), None if self.as_printed else self.fallback))

    def __call__(self, model: nn.Module, place: Place, evidence: Evidence) -> Proposal:
        """Return the proposal for a place."""
        number, validation = sample_size(model, place), None
        if self.as_printed:
            grown = any(e.get("place") == place.name and e.get("as_printed") for e in evidence.earlier)
            batches, _ = evidence.draw(self.samples or (number if grown else FIRST_SAMPLES))
        else:  # few samples make noise look like gain; positions of convolutions are samples enough
            is_vector = isinstance(unwrap_module(model).get_submodule(place.name), nn.Linear)
            batches, validation = evidence.draw(self.samples or (max(number, LEAST_SAMPLES) if is_vector else number))
        options = {name: value for name, value in vars(self).items() if name != "samples"}
        return tiny(
            model, place, batches, evidence.objective.loss, validation=validation, seed=evidence.seed, **options
        )


@check_arguments(move=BOOL, as_printed=BOOL, project=BOOL, above_noise=BOOL)
def tiny(
    model: nn.Module,
    place: Place | str,
    batches: Batches,
    loss: Loss,
    *,
    validation: Batches | None = None,
    count: int | None = None,
    tau: float | None = None,
    project: bool = True,
    fallback: str | None = Tiny.fallback,
    above_noise: bool = Tiny.above_noise,
    ridge: float = Tiny.ridge,
    move: bool = Tiny.move,
    as_printed: bool = Tiny.as_printed,
    seed: int = 0,
) -> Proposal:
    """Propose the units that most reduce the expressivity bottleneck after a place [1]_.

    The desired change of the next layers' pre-activations, minus what their existing weights can provide, is
    approximated by new units in closed form (Prop. 3.2). The sign of each unit is chosen by its exact slope. Outgoing
    weights (over all consumers) have length 1, and one factor gamma of all incoming weights, ``gamma L^-T u_k``, is
    chosen by a line search on validation samples (eq. 7).

    From the paper are the desired change, dW*, the units, their rank, and the two line searches. Ours are: the ridge,
    the noise level, the largest ``count``, the rule of ``tau`` (the paper prints ``lambda^2 L > tau``), signs, held-out
    samples for the line searches and how many samples there are, the stronger half where all units do not help, units
    that are left out where no size helps, ``fallback``, and that dW* is not applied unless ``move`` is set. With
    ``as_printed`` there is none of these.

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
        Batches for the line searches; by default every fifth sample is held out for them, and as printed none is. With
        several ranks, each passes its own share, which may be empty.
    count, tau
        At most ``count`` units are proposed (10), those whose lambda^2 exceeds tau (1e-4) times the mean loss. If no
        scale of all of them lowers the validation loss, the stronger half is tried, and so on.
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
        Whether to move the existing weights after the place by their best change dW* (Prop. 3.1), times the factor
        gamma_0 at which the validation loss is least (eq. 6). Signs and sizes of units are then those of the moved
        network, and so are units: those of Prop. 3.2 and those of statistics after the move both go through equation 7,
        the better ones are proposed, and gamma_0 is searched again beside them. The move is proposed without units too.
    as_printed
        Whether to propose dW* and units as the paper prints them: all units of Prop. 3.2 (or ``count`` of them) whose
        ``lambda^2 L`` exceeds tau (0), with the generalised inverse of S where it is singular, for gamma_0 of equation
        6 and gamma of equation 7, both on the samples of the statistics. Where no gamma lowers the loss there, the
        smallest that was tried is taken, since the neighborhood of equation 7 is positive.
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
    >>> import torch
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
    if count is not None:
        check_count(count, "count")
    if tau is not None:
        check_number(tau, "tau", least=0)
    check_choice(fallback, (*FALLBACKS, None), "fallback")
    check_number(ridge, "ridge", least=0)
    if as_printed:
        check_printed(project=(project, True), fallback=(fallback, Tiny.fallback), move=(move, Tiny.move))
        check_printed(above_noise=(above_noise, Tiny.above_noise), ridge=(ridge, Tiny.ridge))
        sample = gather_sample(model, place, batches, loss, validation, hold_out=False)
        _check_path(sample.route, None)
        return _printed_proposal(sample, count, tau or 0.0)
    rules = _Rules(COUNT if count is None else count, TAU if tau is None else tau, project, above_noise, ridge)
    sample = gather_sample(model, place, batches, loss, validation)
    _check_path(sample.route, fallback)
    explanation = _measured_bottleneck(sample, rules.tau)
    if why := _dead_layer_reason(sample):
        return _empty_proposal(sample, explanation, why)
    moves = best_moves(sample.sums)
    first, sized = rules.spectrum(sample, moves), list[_Candidate]()
    for step in _search_moves(sample, moves)[::-1] if move else [None]:  # the one of equation 6 last
        spectra, after = [first], sample
        if step is not None and step.factor:
            after = sample.after(scale_moves(sample.observer.twin, moves, step.factor))
            spectra.append(rules.spectrum(after, best_moves(after.sums)))
        candidates = [_sign_units(after, spectrum, drop=spectrum is spectra[-1]) for spectrum in spectra]
        sized += [_resize(sample, candidate, step) for candidate in candidates if len(candidate.gains)]
    if step is not None:
        sized = [candidate for candidate in sized if candidate.search.after <= step.search.after]
    why = NO_SIZE if sized else NO_GAIN if len(spectra[-1].units.values) else NO_CORRELATION
    if fallback is not None and not any(candidate.search.factor for candidate in sized):
        units, gains = higher_order_units(after.route, after.observations, after.sums, fallback, rules.count, seed)
        keep = gains > rules.tau * after.sums.mean_loss
        sized, why = [], f"no correlation ({fallback}) with the desired change exceeds tau"
        if bool(keep.any()):
            numbers = {"fallback": fallback, "gains": gains[keep].tolist()}
            sized = [_resize(sample, _Candidate(select_units(units, keep), gains[keep], numbers), step)]
            why = NO_SIZE
    explanation |= first.numbers
    best = min(sized, key=lambda candidate: candidate.search.after, default=None)
    if best is not None:
        explanation |= best.numbers | {"line_search": _line_search_numbers(sample, best.search)}
    if best is None or not best.search.factor:
        return _empty_proposal(sample, explanation, why, step)
    if step is not None:
        step, best = _search_again(sample, best.step or step, best)
    return _proposal(sample, explanation, best, step)


#: Why no unit is proposed.
NO_CORRELATION = "no linear correlation with the desired change exceeds tau"
NO_GAIN = "no unit lowers the loss while the existing weights stay fixed; train them further, or pass project=False"
NO_SIZE = "the new units do not lower the loss on held-out samples, at any scale"


@dataclass(frozen=True, eq=False)
class _Spectrum:
    """The units of Prop. 3.2 that count, and what they were computed from."""

    units: NewUnits
    projected: list[Observation]  #: with goals V_proj
    lack: float  #: the bottleneck
    numbers: dict[str, Any]  #: for the explanation


@dataclass(frozen=True)
class _Rules:
    """Which units of Prop. 3.2 count."""

    count: int
    tau: float
    project: bool
    above_noise: bool
    ridge: float

    def spectrum(self, sample: GrowthSample, moves: dict[str, Tensor]) -> _Spectrum:
        """Return the units of a sample, whose best moves are given, that exceed tau and the noise level."""
        route, sums = sample.route, sample.sums
        projected = [subtract_best_moves(route, observation, moves) for observation in sample.observations]
        goals = projected if self.project else sample.observations
        pairs = {path: part / sums.count for path, part in sum_pairs(route, goals).items()}
        s, n = sums.features / sums.count, float(sums.count)
        added = ridge_squares(s, self.ridge, constant=route.has_bias)
        units = solve_units(s + torch.diag(added), pairs, count=self.count)
        freedom = degrees_of_freedom(s, added) if self.ridge else None
        units = synchronize_units(units if freedom is None else replace(units, rank=round(freedom)))
        lack, least = bottleneck(sums), self.tau * sums.mean_loss
        numbers = {"project": self.project, "lambda": units.values.tolist(), "rank": units.rank}
        numbers["gain_by_chance"] = units.rank * lack / n
        if self.above_noise:
            noise = noise_level(route, goals, units.rank, n)
            numbers["lambda_by_chance"] = noise**0.5
            least = max(least, noise)
        return _Spectrum(select_units(units, units.values.square() > least), projected, lack, numbers)


#: The size of units before it is searched.
_UNSEARCHED = LineSearchResult(1.0, inf, inf, 0, 0, 1.0)


@dataclass(frozen=True, eq=False)
class _Candidate:
    """Units, and the search of their size."""

    units: NewUnits
    gains: Tensor  #: (k,) fall of the loss to first order
    numbers: dict[str, Any]  #: for the explanation
    spectrum: _Spectrum | None = None  #: None for units of a higher order, of which the outgoing weights are scaled
    search: LineSearchResult = _UNSEARCHED  #: of equation 7
    step: _Move | None = None  #: beside which the size was searched


@dataclass(frozen=True, eq=False)
class _Move:
    """The best move of the existing weights."""

    moves: dict[str, Tensor]  #: dW*' (m, out) by consumer
    search: LineSearchResult  #: of equation 6
    moved: Moved  #: what it adds to the consumers' outputs, by batch
    factor: float  #: gamma_0


def _search_moves(sample: GrowthSample, moves: dict[str, Tensor]) -> list[_Move]:
    """Return the best move at the size of equation 6; above 2^8, where the loss falls without end, smaller ones too."""
    search, moved = search_move(sample.route, sample.runs, moves)
    shares = [4.0**-k for k in range(8 if search.factor > 2.0**8 else 1)]
    parts = [[{path: share * part for path, part in batch.items()} for batch in moved] for share in shares]
    return [
        _Move(moves, search, *pair) for pair in zip(parts, [share * search.factor for share in shares], strict=True)
    ]


def _search_again(sample: GrowthSample, step: _Move, candidate: _Candidate) -> tuple[_Move, _Candidate]:
    """Return the move at the size that is best beside units, and the units with the loss that results."""
    search, moved = search_move(sample.route, sample.runs, step.moves, candidate.units)
    if search.after >= candidate.search.after:
        return step, candidate
    after = replace(candidate.search, after=search.after, tried=candidate.search.tried + search.tried)
    return replace(step, moved=moved, factor=search.factor), replace(candidate, search=after)


def _sign_units(sample: GrowthSample, spectrum: _Spectrum, *, drop: bool) -> _Candidate:
    """Return units with the better sign at a sample, and outgoing weights of length 1; without those that gain nothing.

    With ``drop`` False all stay.
    """
    route, units = sample.route, spectrum.units
    if not len(units.values) or not (route.right_slope or route.left_slope):
        return _Candidate(units, units.values[:0], {}, spectrum)
    best = choose_signs(route, sample.observations, units, drop=drop)
    strength = best.units.values
    numbers = {"flipped": best.flipped, "gains": best.gains.tolist(), "errors": best.errors.tolist()}
    printed = scale_units(best.units, strength**-0.5, strength**-0.5)  # |omega| = 1
    return _Candidate(printed, best.gains / strength, numbers, spectrum)


def _resize(sample: GrowthSample, candidate: _Candidate, step: _Move | None) -> _Candidate:
    """Return units of the size that is best on validation samples; if none is, of the stronger half, and so on.

    Incoming weights are scaled, and outgoing ones of units of a higher order.
    """
    fan_in, moved = candidate.spectrum is not None, None if step is None else step.moved
    units, gains = candidate.units, candidate.gains
    numbers = candidate.numbers | {"candidates": len(gains)}
    size = line_search(sample.route, sample.runs, units, fan_in=fan_in, moved=moved)
    while not size.factor and len(gains) > 1:
        strongest = torch.arange(len(gains) // 2, device=gains.device)
        units, gains = select_units(units, strongest), gains[strongest]
        size = line_search(sample.route, sample.runs, units, fan_in=fan_in, moved=moved)
    units = resize_units(units, size.factor, fan_in=fan_in) if size.factor else units
    return replace(candidate, units=units, gains=gains * size.factor, numbers=numbers, search=size, step=step)


def _printed_proposal(sample: GrowthSample, count: int | None, tau: float) -> Proposal:
    """Propose the best move and the units of Prop. 3.1 and 3.2 at the sizes of equations 6 and 7."""
    route, sums = sample.route, sample.sums
    explanation = _measured_bottleneck(sample, tau) | {"as_printed": True}
    if why := _dead_layer_reason(sample):
        return _empty_proposal(sample, explanation, why)
    moves = best_moves(sums, scaled=False)
    projected = [subtract_best_moves(route, observation, moves) for observation in sample.observations]
    pairs = {path: part / sums.count for path, part in sum_pairs(route, projected).items()}
    units = synchronize_units(solve_units(sums.features / sums.count, pairs, count=count, as_printed=True))
    numbers = {"lambda": units.values.tolist(), "rank": units.rank}
    units = select_units(units, units.values.square() * sums.mean_loss > tau)
    step, strength = _search_moves(sample, moves)[0], units.values
    if not len(strength):
        return _empty_proposal(sample, explanation | numbers, "no unit's lambda^2 L exceeds tau", step)
    units = scale_units(units, strength**-0.5, strength**-0.5)
    size = line_search(route, sample.runs, units, moved=step.moved)
    factor = size.factor or size.smallest
    gains = first_order_gains(route, sample.observations, units) * factor
    spectrum = _Spectrum(units, projected, explanation["bottleneck"], numbers)
    candidate = _Candidate(resize_units(units, factor), gains, numbers | {"candidates": len(gains)}, spectrum, size)
    return _proposal(sample, explanation, candidate, step)


def _check_path(route: UnitPath, fallback: str | None) -> None:
    """Refuse places where new units cannot be small, or small ones have no first-order effect."""
    name = route.place.name
    check_norm(route)
    if route.value_at_zero:
        expected = "have a bend that is 0 at 0 for TINY, so that a small unit is a small change"
        got = f"{name!r}, whose bend is {route.value_at_zero:.3g} there"
        raise InputError("place", expected, got, "use gradmax or random units")
    if not route.right_slope and not route.left_slope and fallback is None:
        expected = "have a bend with a slope at 0 for TINY, so that small units have a first-order effect"
        choices = [("fallback", "second"), ("fallback", "random")]
        raise InputError("place", expected, repr(name), "use {0} or {1}", choices)


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


def _proposal(sample: GrowthSample, explanation: dict[str, Any], candidate: _Candidate, step: _Move | None) -> Proposal:
    """Propose units at their size, and the best move beside them."""
    route, spectrum, units = sample.route, candidate.spectrum, candidate.units
    explanation |= candidate.numbers | {"line_search": _line_search_numbers(sample, candidate.search)}
    gain, change = _explain_move(sample, explanation, step)
    if spectrum is not None:
        along, square = first_order_fit(route, spectrum.projected, units)
        explanation["bottleneck_after"] = spectrum.lack - (max(along, 0.0) ** 2 / square if square else 0.0)
    gain += float(candidate.gains.sum())
    explanation |= {"units": len(candidate.gains), "gain": gain}
    weights, bias = route.layer_weights(units.alpha)
    proposal = Proposal("tiny", sample.observer.place, weights, bias, units.omega, gain, explanation, change)
    return pass_norm(sample.observer.twin, route, proposal, sample.batches, resize=route.is_homogeneous)


def _explain_move(
    sample: GrowthSample, explanation: dict[str, Any], step: _Move | None
) -> tuple[float, dict[str, Tensor]]:
    """Return the gain of a move to first order and its change of the parameters, and add its search to an explanation.

    ``alone`` is the factor of equation 6, for which the losses are; ``amplitude`` the one of the proposal.
    """
    if step is None:
        return 0.0, {}
    factors = {"amplitude": step.factor, "alone": step.search.factor}
    explanation["move"] = _line_search_numbers(sample, step.search) | factors
    if not step.factor:
        return 0.0, {}
    along = sum(float((step.moves[path] * part.moves).sum()) for path, part in sample.sums.consumers.items())
    return step.factor * along / float(sample.sums.count), scale_moves(sample.observer.twin, step.moves, step.factor)


def _line_search_numbers(sample: GrowthSample, size: LineSearchResult) -> dict[str, Any]:
    return {
        "amplitude": size.factor,
        "samples": size.samples,
        "held_out": sample.has_validation,
        "loss_before": size.before,
        "loss_after": size.after,
        "gain": size.before - size.after,
        "tried": size.tried,
    }


def _empty_proposal(sample: GrowthSample, explanation: dict[str, Any], why: str, step: _Move | None = None) -> Proposal:
    """Return a proposal without units, with the reason, of the best move alone if there is one."""
    gain, change = _explain_move(sample, explanation, step)
    explanation |= {"reason": why, "units": 0}
    empty: Tensor = sample.sums.features.new_zeros(len(sample.sums.features), 0)
    weights, bias = sample.route.layer_weights(empty)
    parts = sample.sums.consumers.items()
    outs = {path: part.pairs.new_zeros(part.moves.shape[1], 0, *part.pairs.shape[2:]) for path, part in parts}
    return Proposal("tiny", sample.observer.place, weights, bias, outs, gain, explanation, change)
