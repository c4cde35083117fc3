"""Explained growth as a search: start as the linear model, fold at a typical misprediction, keep what is confirmed.

One call of :func:`advance` is one round: the start, one fold or a group of them with its training, units taken away, or
the last training on all rows. A round depends on nothing but the :class:`Growth` it begins with, so a search can stop
and resume anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from creases._typing import Floats, Ints
from creases.growth._budget import PASSES_PER_STEP
from creases.growth._explained.perceptron import (
    DECAY,
    LINEAR_PENALTIES,
    PENALTIES,
    Fit,
    LinearFit,
    Perceptron,
    Rows,
    fit,
    fit_linear,
)

#: Folds that are tried in a round, and passes over the rows that tell which of them is best.
CANDIDATES, TRIAL_PASSES = 3, 60

#: Passes in which a network converges, at most.
PASSES = 400

#: Folds in a series that may wait for confirmation (what two or three bring together, none may bring alone), and series
#: that may fail before growth ends.
WAITING, FAILURES = 4, 2

#: What a unit must lower the held-out loss by: a share of it, standard errors, and a share of the loss of a constant:
#: of classes more, as nearly perfect probabilities can be sharpened for ever.
LEAST_SHARE, LEAST_ERRORS = 0.01, 1.0
LEAST_GAIN = {"classification": 0.005, "regression": 0.001}

#: Gain of a unit on rows fitted, in multiples of what its parameters bring on noise, that is plain without standard
#: errors of held-out rows.
FAR_BEYOND_NOISE = 4.0

#: Folds at once where no series is confirmed, their parameters for each row fitted at most, and standard errors that
#: their gain must exceed: several sizes are tried.
GROUPS, PARAMETERS_PER_ROW, GROUP_ERRORS = (2, 4, 8, 16, 32), 2, 2.0

#: Standard errors by which fewer wrong decisions on held-out rows confirm units whose gain of loss is uncertain.
DECIDED_ERRORS = 3.0

#: Share of rows held out that must be wrong, at least, for folds at such rows.
LEAST_WRONG = 0.05

#: Units of the network with random ones that is trained for comparison where growth ends, and passes that tell enough.
WIDE, WIDE_PASSES = 64, 100

#: Range of the logarithm of the factor by which logits go from a constant to their own values: from .01 to 10.
CONFIDENCE = (-4.6, 2.3)

#: Units above which training takes long: one series in vain is enough, and units are taken away several at once.
MANY = 12

#: Folds of all rows judge tables of up to so many numbers, and those of which a part would have fewer rows than
#: ``MIN_HELD``; twice as many folds below ``FEW_ROWS`` rows, so that each network has nearly all of them.
FOLDS, FOLDED, MIN_HELD, FEW_ROWS = 4, 20_000, 40, 400

#: Share of the rows in the part that is held out, where nothing else says which.
HELD_OUT = 0.2


@dataclass(frozen=True, eq=False)
class Judges:
    """The rows that networks are fitted to, and the rows that judge them.

    Either one part of the rows is held out, or folds of them in turn: then the first network is fitted to all rows and
    judged by none, and for each fold there is another one that grows by the same units on the other rows.
    """

    rows: Rows
    fitted: Sequence[Ints]  #: of each network
    held: Sequence[Ints]  #: of each network
    joins: bool = True  #: whether rows that are held out may be learned from, and trained on in the end

    @classmethod
    def part(cls, rows: Rows, fitted: Ints, held: Ints, *, joins: bool = True) -> Judges:
        """Return the judges of one part that is held out."""
        return cls(rows, [fitted], [held], joins)

    @classmethod
    def folds(cls, rows: Rows, seed: int) -> Judges:
        """Return the judges of several folds with about the same share of each class."""
        count = FOLDS if len(rows) >= FEW_ROWS else 2 * FOLDS
        order = np.random.default_rng(seed).permutation(len(rows))
        if rows.task == "classification":
            order = order[np.argsort(rows.y[order], kind="stable")]
        held = [np.sort(order[k::count]) for k in range(count)]
        every = np.arange(len(rows))
        return cls(rows, [every, *(np.setdiff1d(every, part) for part in held)], [every[:0], *held])

    @classmethod
    def draw(cls, rows: Rows, seed: int) -> Judges:
        """Return the judges of rows that are not divided yet: one part, or folds where it would be small."""
        count = round(HELD_OUT * len(rows))
        if count < MIN_HELD:
            return cls.folds(rows, seed)
        order = np.random.default_rng(seed).permutation(len(rows))
        return cls.part(rows, np.sort(order[count:]), np.sort(order[:count]))

    @cached_property
    def parts(self) -> list[Rows]:
        """Return the rows of each network."""
        return [self.rows.part(rows) for rows in self.fitted]

    @cached_property
    def judging(self) -> Rows:
        """Return the rows that judge."""
        return self.rows.part(np.concatenate(list(self.held)))

    def outputs(self, nets: Sequence[Perceptron]) -> Floats:
        """Return the outputs for the rows that judge, each by a network that was not fitted to it."""
        parts = [net.outputs(self.rows.part(held)) for net, held in zip(nets, self.held, strict=True)]
        return np.concatenate(parts)

    def choose_confidence(self, outputs: Floats) -> float:
        """Return the factor of the distance of logits from the best constant that the rows that judge prefer.

        A network that decides well is overconfident on rows it was not fitted to, where these are few: its loss would
        tell against it. Values, and logits beside another model, stay as they are.
        """
        if self.rows.task == "regression" or self.rows.offset is not None:
            return 1.0
        from scipy.optimize import minimize_scalar

        rows, constant = self.judging, self.constant

        def loss(exponent: float) -> float:
            return rows.mean(rows.losses(constant + np.exp(exponent) * (outputs - constant)))

        best = minimize_scalar(loss, bounds=CONFIDENCE, method="bounded")
        return float(np.exp(best.x)) if best.fun < loss(0.0) else 1.0

    def least_gain(self, loss: float) -> float:
        """Return what a unit must lower a held-out loss by to be worth its place."""
        return max(LEAST_SHARE * loss, LEAST_GAIN[self.rows.task] * self.constant_loss)

    @cached_property
    def constant_loss(self) -> float:
        """Return the mean loss of the best constant outputs."""
        rows = self.parts[0]
        return rows.mean(rows.losses(np.broadcast_to(self.constant, (len(rows), rows.n_outputs))))

    @cached_property
    def constant(self) -> Floats:
        """Return the best constant outputs (m,): the mean, or logits of the shares of classes."""
        rows = self.parts[0]
        if rows.task == "regression":
            return np.asarray(rows.share @ rows.y)
        shares = np.bincount(rows.y.astype(np.int64), rows.share, minlength=max(rows.n_outputs, 2))
        logits = np.log(np.maximum(shares, 1 / len(rows)))
        return logits if rows.n_outputs > 1 else logits[1:] - logits[:1]


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained network, the networks of the folds, and how well they predict."""

    nets: tuple[Perceptron, ...]
    decay: float  #: the penalty on weights
    loss: float  #: mean loss of the rows fitted
    score: float  #: accuracy, or R^2, of the rows fitted
    held_losses: Floats  #: of the rows that judge, with logits of the confidence that they prefer
    held_wrong: Floats  #: which of them are decided wrongly
    held_loss: float
    held_score: float
    confidence: float  #: factor of the distance of logits from the best constant

    @classmethod
    def of(cls, nets: Sequence[Perceptron], judges: Judges, decay: float) -> Trained:
        """Return networks with how well they predict."""
        fitted, judging = judges.parts[0], judges.judging
        outputs, held = nets[0].outputs(fitted), judges.outputs(nets)
        confidence = judges.choose_confidence(held)
        if confidence != 1:
            held = judges.constant + confidence * (held - judges.constant)
        losses, wrong = judging.losses(held), judging.wrong(held)
        own = (fitted.mean(fitted.losses(outputs)), fitted.score(outputs))
        return cls(tuple(nets), decay, *own, losses, wrong, judging.mean(losses), judging.score(held), confidence)

    @property
    def net(self) -> Perceptron:
        """Return the network."""
        return self.nets[0]

    @property
    def numbers(self) -> dict[str, float | None]:
        """Return loss and score of the rows fitted and held out; None if no budget was left for those that judge."""
        is_judged = all(net.V.any() for net in self.nets if net.width)
        return {
            "loss": self.loss,
            "score": self.score,
            "validation_loss": self.held_loss if is_judged else None,
            "validation_score": self.held_score if is_judged else None,
        }


@dataclass(frozen=True, eq=False)
class Ground:
    """A network and rows, some of which it mispredicts: what units are proposed for."""

    network: int  #: 0 for the network, or that of a fold
    rows: Rows
    remark: Mapping[str, Any] = field(
        default_factory=dict
    )  #: what explanations say of the network, if it is another one


@dataclass(frozen=True, eq=False)
class Candidate:
    """A unit that a method proposes, or several together."""

    W: Floats  #: (k, d)
    b: Floats  #: (k,)
    V: Floats  #: (m, k)
    gain: float  #: predicted
    explanation: Mapping[str, Any]
    ground: Ground | None = None  #: what it was proposed for

    def add_to(self, net: Perceptron) -> Perceptron:
        """Return a network with these units."""
        return Perceptron(np.vstack([net.W, self.W]), np.append(net.b, self.b), np.hstack([net.V, self.V]), net.c)


#: What proposes units: of a network, the rows it was fitted to, a seed, how many, and explanations of units undone.
Propose = Callable[[Perceptron, Rows, int, int, Sequence[Mapping[str, Any]]], list[Candidate]]

#: What proposes units that come together: of a network, the rows it was fitted to, a seed, and how many.
ProposeGroup = Callable[[Perceptron, Rows, int, int], list[Candidate]]

Phase = Literal["start", "fold", "group", "remove", "finish", "ended"]

#: Why growth ended where its budget did not last; runs say which budget.
BUDGET_SPENT = "the budget is spent"


@dataclass(frozen=True, eq=False)
class Growth:
    """A search at one moment: all that the next round depends on."""

    phase: Phase = "start"
    best: Trained | None = None  #: the network that held-out rows have confirmed
    now: Trained | None = None  #: the same, or with units that wait for confirmation
    linear_loss: float = np.inf  #: held-out loss of the linear model, which no network exceeds that is kept
    tried: tuple[Mapping[str, Any], ...] = ()  #: explanations of the first units of series that failed
    first: Mapping[str, Any] | None = None  #: the explanation of the first unit that waits
    failures: int = 0  #: in a row
    group: int = 0  #: which size of group is tried next
    at_once: int = 0  #: units that are taken away together, at most; 0 before it is known
    round: int = 0
    limit: float = np.inf  #: held-out loss up to which units are taken away
    ended: str = ""  #: why growth ended

    @property
    def waiting(self) -> int:
        """Return how many units wait for confirmation."""
        return 0 if self.now is None or self.best is None else self.now.net.width - self.best.net.width


@dataclass(frozen=True, eq=False)
class Round:
    """What one round did."""

    kind: Literal["start", "fold", "remove", "finish", "none"]
    before: Trained | None = None
    placed: Perceptron | None = None  #: with the new unit, before training
    after: Trained | None = None
    candidate: Candidate | None = None
    alone: dict[str, float] = field(default_factory=dict)  #: what training on without the units would have brought
    removed: tuple[int, ...] = ()  #: units that were taken away
    is_confirmed: bool = False  #: the units that waited, this one included, are kept
    is_undone: bool = False  #: they are undone
    rank: int = 0  #: of the start
    passes: int = 0
    multiply_adds: int = 0


#: Of the passes and the multiply-adds of a round so far: whether the budget is spent.
IsSpent = Callable[[int, int], bool]


@dataclass(frozen=True)
class Limits:
    """What a search may take."""

    units: int | None = None
    is_spent: IsSpent | None = None
    seed: int = 0
    trains_alone: bool = True  #: whether to measure what training on without a new unit would have brought
    propose_group: ProposeGroup | None = None  #: where several units may come together


class Trainer:
    """Trains the networks of a round as long as there is budget, and counts what that takes."""

    def __init__(self, is_spent: IsSpent | None) -> None:
        self._is_spent, self.passes, self.multiply_adds = is_spent, 0, 0

    @property
    def is_over(self) -> bool:
        """Whether the budget is spent: networks stay as they are."""
        return self._is_spent is not None and self._is_spent(self.passes, self.multiply_adds)

    def fit(self, net: Perceptron, rows: Rows, passes: int, decay: float) -> Fit:
        """Train a network on rows for about as many passes, at most."""
        if self.is_over:
            return Fit(net, np.inf, 0)
        done = fit(net, rows, passes=passes, decay=decay, is_over=self._watch(rows, net.width))
        self._count(done.passes, rows, net.width)
        return done

    def fit_linear(self, rows: Rows, decay: float) -> LinearFit:
        """Fit the linear model to rows; of a spent budget, the one that is 0 everywhere."""
        m = rows.n_outputs
        if self.is_over:
            return LinearFit(np.zeros((m, rows.X.shape[1])), np.zeros(m), rows.scale, 0)
        done = fit_linear(rows, passes=PASSES, decay=decay, is_over=self._watch(rows, 1))
        self._count(done.passes, rows, 1)
        return done

    def fit_all(self, nets: Sequence[Perceptron], judges: Judges, decay: float) -> Trained:
        """Train the network, and those of the folds, to convergence."""
        fits = [self.fit(net, rows, PASSES, decay) for net, rows in zip(nets, judges.parts, strict=True)]
        return Trained.of([done.net for done in fits], judges, decay)

    def choose_decay(self, trained: Trained, judges: Judges) -> Trained:
        """Return a network trained on with the penalty that held-out rows prefer: stronger, or else weaker.

        Beside another model the penalty stays as it is.
        """
        if judges.rows.offset is not None:
            return trained
        best = trained
        for step in (1, -1):
            place = PENALTIES.index(best.decay) + step
            while 0 <= place < len(PENALTIES) and not self.is_over:
                other = self.fit_all(best.nets, judges, PENALTIES[place])
                if other.held_loss >= best.held_loss:
                    break
                best, place = other, place + step
            if best is not trained:
                break
        return best

    def _watch(self, rows: Rows, width: int) -> Callable[[int], bool] | None:
        is_spent, each = self._is_spent, _cost_of_pass(rows, width)
        if is_spent is None:
            return None
        return lambda passes: is_spent(self.passes + passes, self.multiply_adds + each * passes)

    def _count(self, passes: int, rows: Rows, width: int) -> None:
        self.passes += passes
        self.multiply_adds += passes * _cost_of_pass(rows, width)


def _cost_of_pass(rows: Rows, width: int) -> int:
    """Return the multiply-adds of a pass forwards and backwards."""
    return int(PASSES_PER_STEP * len(rows) * width * (rows.X.shape[1] + rows.n_outputs))


def advance(growth: Growth, judges: Judges, propose: Propose, limits: Limits) -> tuple[Growth, Round]:
    """Take the next round of a search; return the search after it, and what was done.

    A round in which the budget is spent ends there, with the network that was confirmed.
    """
    step = {"start": _start, "fold": _fold, "group": _group, "remove": _remove, "finish": _finish}[growth.phase]
    trainer = Trainer(limits.is_spent)
    after, done = step(growth, judges, propose, limits, trainer)
    if after.phase == "remove" and growth.phase in ("fold", "group") and after.best is not None:
        after = replace(after, ended=after.ended + _compare_wide(after.best, judges, limits, trainer))
    done = replace(done, passes=trainer.passes, multiply_adds=trainer.multiply_adds)
    after = replace(after, round=growth.round + 1)
    if trainer.is_over and after.phase not in ("finish", "ended"):
        ended = after.ended if after.phase == "remove" else BUDGET_SPENT
        return replace(after, phase="finish", now=after.best, ended=ended), done
    return after, done


def is_better(before: Trained, after: Trained, judges: Judges, *, together: bool = False) -> bool:
    """Return whether held-out rows confirm the units that a network has more than another.

    They must lower the held-out loss by a hundredth of it and a few thousandths of a constant's loss each, and all
    together by a standard error of the difference, or wrong decisions by three; or, as a few held-out rows may hide it,
    lower the loss of rows fitted by far more than they would on noise. Units that come together must lower the held-out
    loss by two standard errors, and by as much as their square root times one unit, as those that bring nothing are
    taken away later.
    """
    gain, error = _difference(before.held_losses, after.held_losses, judges)
    fewer_wrong, spread = _difference(before.held_wrong, after.held_wrong, judges)
    is_decided = fewer_wrong > DECIDED_ERRORS * spread
    units = max(after.net.width - before.net.width, 1)
    least = judges.least_gain(before.held_loss)
    if together:
        return gain > np.sqrt(units) * least and (gain > GROUP_ERRORS * error or is_decided)
    is_plain = before.loss - after.loss > FAR_BEYOND_NOISE * units * _noise_gain(before, judges)
    return gain > units * least and (gain > LEAST_ERRORS * error or is_decided or is_plain)


def _difference(before: Floats, after: Floats, judges: Judges) -> tuple[float, float]:
    """Return how much less there is after than before in the mean of the rows that judge, and its standard error."""
    share, less = judges.judging.share, before.astype(float) - after
    mean = float(share @ less)
    return mean, float(np.sqrt(share**2 @ (less - mean) ** 2))


def _start(growth: Growth, judges: Judges, propose: Propose, limits: Limits, trainer: Trainer) -> tuple[Growth, Round]:
    """Start as the linear model, in as few pairs of units as predict held-out rows as well.

    Its own penalty is chosen from several; all its pairs stay mirrored unless held-out rows confirm their training.
    Beside another model, whose outputs the rows have as an offset, start without units.
    """
    if judges.rows.offset is not None:
        d, m = judges.rows.X.shape[1], judges.rows.n_outputs
        nothing = Perceptron(np.zeros((0, d)), np.zeros(0), np.zeros((m, 0)), np.zeros(m))
        none = Trained.of([nothing] * len(judges.parts), judges, DECAY)
        after = replace(growth, phase="fold", best=none, now=none, linear_loss=none.held_loss)
        return after, Round("start", none, nothing, none, is_confirmed=True)
    models: list[tuple[list[LinearFit], Trained]] = []
    for decay in LINEAR_PENALTIES:
        fits = [trainer.fit_linear(rows, decay) for rows in judges.parts]
        models.append((fits, Trained.of([one.pairs(fits[0].rank) for one in fits], judges, DECAY)))
        if trainer.is_over:
            break
    linear, exact = min(models, key=lambda model: model[1].held_loss)
    best, rank = exact, linear[0].rank
    most = 2 * rank if limits.units is None else limits.units
    used = min(rank, -(-most // 2))
    for few in range(used if trainer.is_over else 1, used + 1):  # a spent budget tells no smaller rank from a larger
        nets = [one.pairs(few) for one in linear]
        nets = [net.keep_units(range(min(net.width, most))) for net in nets]
        trained = trainer.choose_decay(trainer.fit_all(nets, judges, DECAY), judges)
        is_smaller = trained.net.width < 2 * rank
        if (trained.held_loss <= exact.held_loss or few == used) if is_smaller else is_better(exact, trained, judges):
            best, used = trained, few
            break
        best = replace(exact, decay=trained.decay)
    after = replace(growth, phase="fold", best=best, now=best, linear_loss=exact.held_loss)
    placed = linear[0].pairs(used).keep_units(range(best.net.width))
    return after, Round("start", exact, placed, best, rank=used, is_confirmed=True)


def _fold(growth: Growth, judges: Judges, propose: Propose, limits: Limits, trainer: Trainer) -> tuple[Growth, Round]:
    """Add the best of a few units, and train; keep it, let it wait for the next one, or undo what waits."""
    now, best = growth.now, growth.best
    assert now is not None
    assert best is not None
    if limits.units is not None and now.net.width >= limits.units:
        return _give_up(growth, f"the network has {limits.units} units, the most allowed")
    seed = limits.seed + 1000 * growth.round
    candidates = _propose(now, judges, lambda net, rows: propose(net, rows, seed, CANDIDATES, growth.tried))
    if not candidates:
        if growth.waiting:
            return _undo(growth), Round("none", is_undone=True)
        return _give_up(growth, _why_nothing_is_proposed(now, judges))
    rows = judges.parts[0]
    trials: list[tuple[float, int, Perceptron]] = []
    for candidate in candidates[:CANDIDATES]:
        trial = trainer.fit(candidate.add_to(now.net), rows, TRIAL_PASSES, _growing_decay(now))
        trials.append((trial.loss, len(trials), trial.net))
    _, chosen, net = min(trials, key=lambda trial: trial[:2])
    candidate = candidates[chosen]
    nets = [net, *(candidate.add_to(net) for net in now.nets[1:])]
    after = trainer.fit_all(nets, judges, _growing_decay(now))
    alone = _train_alone(now, rows, limits, trainer)
    waiting = after.net.width - best.net.width
    is_judged = waiting >= WAITING or is_better(best, after, judges)
    judged = trainer.choose_decay(after, judges) if is_judged else after
    confirmed = is_judged and is_better(best, judged, judges)
    after = judged if confirmed else after
    failed = not confirmed and waiting >= WAITING
    placed = candidate.add_to(now.net)
    done = Round("fold", now, placed, after, candidate, alone, is_confirmed=confirmed, is_undone=failed)
    first = growth.first or candidate.explanation
    if confirmed:
        return replace(growth, best=after, now=after, tried=(), first=None, failures=0), done
    growth = replace(growth, now=after, first=first)
    return (_undo(growth) if failed else growth), done


def _train_alone(now: Trained, rows: Rows, limits: Limits, trainer: Trainer) -> dict[str, float]:
    """Return what training on without new units brings."""
    if not limits.trains_alone:
        return {}
    longer = trainer.fit(now.net, rows, PASSES, now.decay)
    return {"loss": rows.mean(longer.net.losses(rows)), "passes": longer.passes}


def _group(growth: Growth, judges: Judges, propose: Propose, limits: Limits, trainer: Trainer) -> tuple[Growth, Round]:
    """Add several units together, as no series of single ones was confirmed; keep all of them, or none.

    Where they raise the held-out loss by more than a standard error, more of them would raise it more, unless a wide
    network shows that many units lower it.
    """
    best, rows = growth.best, judges.parts[0]
    assert best is not None
    d, width, seed = rows.X.shape[1], best.net.width, limits.seed + 1000 * growth.round
    most = PARAMETERS_PER_ROW * len(rows) // (d + 1 + rows.n_outputs)
    sizes = [size for size in GROUPS if size <= most]
    if limits.units is not None:
        sizes = [size for size in sizes if width + size <= limits.units]
    groups: list[Candidate] = []
    if limits.propose_group is not None and growth.group < len(sizes):
        ask, size = limits.propose_group, sizes[growth.group]
        groups = _propose(best, judges, lambda net, rows: ask(net, rows, seed, size))
    if not groups or ("fitted_without" in groups[0].explanation and 2 * len(groups[0].b) <= size):
        return _end_groups(growth, sizes[: growth.group]), Round("none")  # of few rows held out: as many as before
    group = groups[0]
    nets = [group.add_to(net) for net in best.nets]
    after = trainer.choose_decay(trainer.fit_all(nets, judges, _growing_decay(best)), judges)
    alone = _train_alone(best, rows, limits, trainer)
    confirmed = is_better(best, after, judges, together=True)
    done = Round("fold", best, nets[0], after, group, alone, is_confirmed=confirmed, is_undone=not confirmed)
    if confirmed:
        return replace(growth, phase="fold", best=after, now=after, tried=(), failures=0, ended=""), done
    gain, error = _difference(best.held_losses, after.held_losses, judges)
    growth = replace(growth, group=growth.group + 1)
    is_hopeless = gain < -error and not _compare_wide(best, judges, limits, trainer)
    return _end_groups(growth, sizes[: growth.group]) if is_hopeless else growth, done


def _end_groups(growth: Growth, sizes: Sequence[int]) -> Growth:
    *most, last = map(str, sizes) if sizes else [""]
    tried = f"{', '.join(most)} or {last}" if most else last
    return _end_growth(growth, growth.ended + (f", nor did {tried} folds together" if tried else ""))


def _growing_decay(net: Trained) -> float:
    """Return the penalty that new units begin with: under a strong one they would never get any weight."""
    return min(net.decay, PENALTIES[1])


def _propose(trained: Trained, judges: Judges, ask: Callable[[Perceptron, Rows], list[Candidate]]) -> list[Candidate]:
    """Return units, the largest gain first: for rows fitted, or where these ask for none, for rows held out."""
    for grounds in ([Ground(0, judges.parts[0])], _held_out_grounds(trained, judges)):
        candidates = [
            replace(candidate, explanation={**candidate.explanation, **ground.remark}, ground=ground)
            for ground in grounds
            for candidate in ask(trained.nets[ground.network], ground.rows)
        ]
        if candidates:
            return sorted(candidates, key=lambda candidate: -candidate.gain)
    return []


def _held_out_grounds(trained: Trained, judges: Judges) -> list[Ground]:
    """Return each network that rows are held out from, with these and with the rows that it predicts right.

    So it was fitted to none of the rows that it misclassifies there. None where these must not be learned from; of
    folds in a classification only, where enough rows are misclassified: other networks mispredict rows that they were
    fitted to.
    """
    rows, is_classification = judges.rows, judges.rows.task == "classification"
    if not judges.joins:
        return []
    if len(trained.nets) > 1 and (
        rows.offset is not None or not is_classification or judges.judging.mean(trained.held_wrong) < LEAST_WRONG
    ):
        return []
    grounds = []
    for number, (net, held) in enumerate(zip(trained.nets, judges.held, strict=True)):
        if len(held):
            used = np.logical_not(rows.wrong(net.outputs(rows)))
            used[held] = True
            fold = {"fold": max(number, 1), "folds": max(len(judges.parts) - 1, 1)}
            remark = {"fitted_without": fold} if is_classification else {}
            grounds.append(Ground(number, rows.part(np.flatnonzero(used)), remark))
    return grounds


def _why_nothing_is_proposed(now: Trained, judges: Judges) -> str:
    rows = judges.parts[0]
    if judges.rows.task == "regression" or rows.wrong(now.net.outputs(rows)).any():
        return "no fold left promises a gain"
    wrong, count = int(now.held_wrong.sum()), len(now.held_wrong)
    others = f"all but {wrong} of the {count} held out" if wrong else "those held out too"
    return f"every row trained on is predicted right, {others}"


def _undo(growth: Growth) -> Growth:
    """Go back to the network that was confirmed, and remember what was tried; give up after several failures."""
    failures = growth.failures + 1
    tried = growth.tried if growth.first is None else (*growth.tried, growth.first)
    after = replace(growth, now=growth.best, first=None, tried=tried, failures=failures)
    if growth.best is None or failures < (FAILURES if growth.best.net.width <= MANY else 1):
        return after
    series = f"{failures} series of up to {WAITING} folds in a row" if failures > 1 else f"{WAITING} folds in a row"
    why = f"{series} did not lower the held-out loss by enough"
    return replace(after, phase="group", ended=why)


def _give_up(growth: Growth, why: str) -> tuple[Growth, Round]:
    undone = growth.waiting > 0
    return _end_growth(replace(growth, now=growth.best), why), Round("none", is_undone=undone)


def _end_growth(growth: Growth, why: str) -> Growth:
    assert growth.best is not None
    return replace(growth, phase="remove", ended=why, limit=growth.best.held_loss)


def _compare_wide(best: Trained, judges: Judges, limits: Limits, trainer: Trainer) -> str:
    """Return that a wide network of random units predicts held-out rows better, "" where none does or hardly could."""
    rows = judges.parts[0]
    share_wrong = judges.judging.mean(best.held_wrong) if rows.task == "classification" else 1 - best.held_score
    if share_wrong < LEAST_WRONG or best.net.width >= WIDE or limits.units is not None or not limits.trains_alone:
        return ""
    rng, d, m = np.random.default_rng(limits.seed), rows.X.shape[1], rows.n_outputs
    W, b = np.split(rng.uniform(-1, 1, (WIDE, d + 1)) / np.sqrt(d), [d], axis=1)
    V, c = np.split(rng.uniform(-1, 1, (m, WIDE + 1)) / np.sqrt(WIDE), [WIDE], axis=1)
    start = rows.scale.leave(Perceptron(W, b[:, 0], V, c[:, 0]))
    decay = _growing_decay(best)
    nets = [trainer.fit(start, part, WIDE_PASSES, decay).net for part in judges.parts]
    wide = Trained.of(nets, judges, decay)
    if trainer.is_over or not is_better(best, wide, judges, together=True):
        return ""
    losses = f"{wide.held_loss:.3g} instead of {best.held_loss:.3g}"
    return f"; a network of {WIDE} units, none of which has a reason, does better on rows held out (loss {losses})"


def _remove(growth: Growth, judges: Judges, propose: Propose, limits: Limits, trainer: Trainer) -> tuple[Growth, Round]:
    """Take away one of the units that the rows need least, if held-out rows are as well predicted without it.

    Rows fitted must not tell otherwise: their loss may rise by what so many parameters bring on noise.
    """
    best = growth.best
    assert best is not None
    width = best.net.width
    if width < (2 if judges.rows.offset is None else 1):
        return replace(growth, phase="finish"), Round("none")
    rows = judges.parts[0]
    allowed = min(growth.limit + judges.least_gain(growth.limit), max(growth.linear_loss, growth.limit))

    def without(units: Sequence[int], net: Perceptron) -> Perceptron:
        return net.keep_units([k for k in range(width) if k not in units])

    order = sorted(range(width), key=lambda unit: (rows.mean(without([unit], best.net).losses(rows)), unit))
    at_once = min(growth.at_once or width, width) // 2 if width > MANY else 1
    tried: list[tuple[list[int], Perceptron]] = []
    if at_once > 1:
        tried.append((sorted(order[:at_once]), without(order[:at_once], best.net)))
    else:
        fits = [(trainer.fit(without([unit], best.net), rows, TRIAL_PASSES, best.decay), unit) for unit in order[:MANY]]
        tried += [([unit], one.net) for one, unit in sorted(fits, key=lambda one: (one[0].loss, one[1]))[:CANDIDATES]]
    for units, net in tried:
        nets = [net, *(without(units, one) for one in best.nets[1:])]
        after = trainer.fit_all(nets, judges, best.decay)
        if after.held_loss <= allowed and after.loss <= best.loss + len(units) * _noise_gain(best, judges):
            done = Round("remove", best, without(units, best.net), after, removed=tuple(units), is_confirmed=True)
            return replace(growth, best=after, now=after, at_once=2 * at_once), done
    if at_once > 1:
        return replace(growth, at_once=at_once), Round("none")
    return replace(growth, phase="finish"), Round("none")


def _noise_gain(before: Trained, judges: Judges) -> float:
    """Return by how much the parameters of a unit lower the loss of rows fitted that are noise (Akaike)."""
    rows, net = judges.parts[0], before.net
    parameters = net.W.shape[1] + 1 + len(net.c)
    return float(parameters / len(rows) * (2 * before.loss if rows.task == "regression" else 1.0))


def _finish(growth: Growth, judges: Judges, propose: Propose, limits: Limits, trainer: Trainer) -> tuple[Growth, Round]:
    """Train on all rows, those held out too, where that is allowed and affordable; choose the confidence of classes."""
    best = growth.best
    assert best is not None
    net, t = best.net, best.confidence
    if judges.joins and len(judges.parts[0]) < len(judges.rows) and not trainer.is_over:
        net = trainer.fit(net, judges.rows, PASSES, best.decay).net
    if t != 1:
        net = replace(net, V=t * net.V, c=judges.constant + t * (net.c - judges.constant))
    after = replace(best, nets=(net, *best.nets[1:]))
    return replace(growth, best=after, now=after, phase="ended"), Round("finish", best, best.net, after)
