"""Train a network on a curve and compare it with the best fit that has as many breakpoints."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from creases._schema import BOOL
from creases._typing import Floats, Progress
from creases._validation import check_arguments, check_choice, check_count, check_number, check_samples
from creases.errors import InputError
from creases.lab import Batch
from creases.splines._coefficients import gradient_descent, squared_errors, stack_networks, unstack_network
from creases.splines._convert import from_module, to_module
from creases.splines._dynamics import History, Tracker
from creases.splines._free_knots.optimal_fit import OptimalFit, optimal_fit
from creases.splines._initialise import METHODS, Method, initialise
from creases.splines._relocation import relocate
from creases.splines._spline import Shallow

#: About how often the breakpoints are recorded during training, and how often they are relocated.
_RECORDS, _RELOCATIONS = 200, 10

#: Inputs are scaled to [-3, 3] for training.
_HALF_RANGE = 3.0


@dataclass(frozen=True, eq=False)
class SplineFit:
    """A network trained on a curve, and the best fit with as many breakpoints; :func:`fit` returns one.

    Networks and errors are in the units of the data. Errors are mean squared errors on the training data.
    """

    initial: Shallow  #: the network before training
    net: Shallow  #: the trained network
    best: OptimalFit  #: the best continuous piecewise-linear fit with as many breakpoints
    initial_error: float
    error: float
    best_error: float
    births: int  #: breakpoints that appeared during training
    deaths: int  #: breakpoints that vanished
    crossings: int  #: how often a breakpoint moved past a sample
    n_relocated: int  #: breakpoints that were relocated
    n_halvings: int  #: how often the learning rate was halved because the error rose
    history: History | None  #: the breakpoints during training, if ``record`` was set

    @property
    def gap(self) -> float:
        """How much larger the network's error is than that of the best fit."""
        return self.error - self.best_error


@check_arguments(relocate=BOOL)
def fit(
    x: Any,
    y: Any,
    *,
    width: int = 40,
    steps: int = 10_000,
    lr: float = 0.01,
    init: Method = "torch",
    relocate: bool = False,
    seed: int = 0,
    record: bool = False,
    progress: Progress | None = None,
) -> SplineFit:
    """Train a shallow network on a curve and find the best fit with as many breakpoints.

    The network has one input, one hidden layer of ReLUs and one output. It is trained by full-batch gradient descent on
    the mean squared error, with inputs scaled to [-3, 3] and targets to mean 0 and standard deviation 1. Where the
    error rises, the last steps are undone and the learning rate is halved, so training never diverges.

    Parameters
    ----------
    x, y
        Inputs and targets, (N,) or (N, 1), in any order.
    width
        Number of units, each with one breakpoint.
    steps
        Number of gradient steps.
    lr
        Learning rate, for the scaled data.
    init
        Initial weights: a method of :func:`initialise`.
    relocate
        Whether to move the least useful breakpoints to where the error is largest, ten times during training
        (:func:`relocate`).
    seed
        Seed of the initial weights.
    record
        Whether to record the breakpoints during training, in the units of the data.
    progress
        Called with the stage, the steps done and their number.

    Returns
    -------
    SplineFit
        The network before and after training, the best fit, and the errors of all three.

    See Also
    --------
    optimal_fit : The best fit alone.

    Examples
    --------
    >>> import numpy as np
    >>> from creases import splines
    >>> x = np.linspace(-3, 3, 40)
    >>> found = splines.fit(x, np.sin(2 * x), width=6, steps=200)
    >>> found.initial_error > found.error > found.best_error
    True
    >>> found.best.pieces.count
    7
    """
    x, y = check_samples(x, y)
    if len(np.unique(x)) < 2:
        raise InputError("x", "have at least two different values", f"{len(np.unique(x))}", "there is nothing to fit")
    width, steps, seed = (
        check_count(value, name, least=least)
        for value, name, least in ((width, "width", 1), (steps, "steps", 0), (seed, "seed", 0))
    )
    lr = check_number(lr, "lr", above=0)
    check_choice(init, METHODS, "init")
    scale = _Scale.from_data(x, y)
    t, u = (x - scale.x0) / scale.xs, (y - scale.y0) / scale.ys
    initial = _initial_network(width, init, t, u, seed)
    training = _Training(initial, t, u, lr, scale, Tracker(t), Tracker(x) if record else None)
    training.run(steps, relocate, progress)
    if progress is not None:
        progress("finding the best fit", 0, None)
    before, after, best = scale.rescale(initial), scale.rescale(training.net), optimal_fit(x, y, width + 1)
    counts = training.tracker.history()
    return SplineFit(
        initial=before,
        net=after,
        best=best,
        **{
            name: float(((function(x) - y) ** 2).mean())
            for name, function in (("initial_error", before), ("error", after), ("best_error", best))
        },
        births=counts.births,
        deaths=counts.deaths,
        crossings=counts.crossings,
        n_relocated=training.n_relocated,
        n_halvings=training.n_halvings,
        history=None if training.recorder is None else training.recorder.history(),
    )


@dataclass(frozen=True)
class _Scale:
    """Scaled data: ``t = (x - x0) / xs`` runs from -3 to 3, ``u = (y - y0) / ys`` has mean 0 and deviation 1."""

    x0: float
    xs: float
    y0: float
    ys: float

    @classmethod
    def from_data(cls, x: Floats, y: Floats) -> _Scale:
        low, high = float(x.min()), float(x.max())
        return cls(low / 2 + high / 2, (high / 2 - low / 2) / _HALF_RANGE, float(y.mean()), float(y.std()) or 1.0)

    def rescale(self, net: Shallow) -> Shallow:
        """Return a network that was trained on scaled data in the units of the data."""
        return Shallow(
            w=net.w / self.xs,
            b=net.b - net.w * (self.x0 / self.xs),
            v=net.v * self.ys,
            c0=net.c0 * self.ys + self.y0,
            c1=0.0,
        )


@dataclass(eq=False)
class _Training:
    """Gradient descent on scaled data, in blocks that are undone where the error rises."""

    net: Shallow
    t: Floats
    u: Floats
    lr: float
    scale: _Scale
    tracker: Tracker  #: of scaled data, so that births and deaths do not depend on units
    recorder: Tracker | None  #: in the units of the data
    n_relocated: int = 0
    n_halvings: int = 0

    def run(self, steps: int, relocating: bool, progress: Progress | None) -> None:
        """Train for a number of steps."""
        error = float(squared_errors(stack_networks([self.net]), self.t, self.u)[0])
        block, period = max(1, steps // _RECORDS), max(1, steps // _RELOCATIONS)
        done, due = 0, period
        self._record(done)
        while done < steps:
            if relocating and done >= due:
                error = self._relocate()
                due += period
            count = min(block, steps - done)
            error = self._descend(count, error)
            done += count
            self._record(done)
            if progress is not None:
                progress("training", done, steps)

    def _descend(self, count: int, error: float) -> float:
        """Take some steps, or halve the learning rate if they raise the error; return the error."""
        batch = gradient_descent(stack_networks([self.net]), self.t, self.u, steps=count, lr=self.lr)
        after = float(squared_errors(batch, self.t, self.u)[0])  # NaN or infinite where steps were too long
        if after <= error * (1 + 1e-9):
            self.net = unstack_network(batch, 0)
            return after
        self.lr, self.n_halvings = self.lr / 2, self.n_halvings + 1
        return error

    def _relocate(self) -> float:
        result = relocate(self.net, self.t, self.u)
        self.net, self.n_relocated = result.net, self.n_relocated + len(result.moves)
        return result.error_after / len(self.t)

    def _record(self, step: int) -> None:
        self.tracker(self.net, step)
        if self.recorder is not None:
            self.recorder(self.scale.rescale(self.net), step)


def _initial_network(width: int, init: Method, t: Floats, u: Floats, seed: int) -> Shallow:
    """Return the network before training, for scaled data."""
    model = to_module(unstack_network(Batch.initial(1, [1, width, 1], seed=seed, dtype=np.float64), 0))
    if init != "torch":
        initialise(model, t, init, y=u, seed=seed)
    return replace(from_module(model), c1=0.0)
