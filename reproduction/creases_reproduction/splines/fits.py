"""The lecture on better fits: relocation against the optimum, and the function that training in each regime ends with.

Full-batch gradient descent on the mean squared error, x in [-3, 3], all networks of an experiment as one batch. Each
function returns numbers with their spread over seeds; the docstrings give what was found with the default arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from creases import splines
from creases._typing import Floats
from creases.lab import Batch
from creases.problems import INTERVAL, TARGETS
from creases.splines.batches import gradient_descent, squared_errors, stack_networks, unstack_network
from creases_reproduction.splines.initialisation import Spread

_GRID = np.linspace(*INTERVAL, 1001)
_BLOCK = 100  # steps, after which an error that rose takes them back with half the step length


class Optimum(NamedTuple):
    """Mean squared errors of the best functions: with the pieces that H units always realise, and with one more."""

    pieces: float  #: H pieces, H - 1 knots
    one_more: float  #: H + 1 pieces; H units realise some of these


class Gap(NamedTuple):
    """A training's losses, with relocation and without, beside the optimal fit of as many pieces as there are units."""

    plain: Spread  #: test losses, on 1001 equal points
    relocated: Spread
    optimum: float  #: test loss of the optimal fit to the training data
    plain_gap: Spread  #: training loss less the optimal fit's
    relocated_gap: Spread


def relocation_table(
    target: str = "sine",
    *,
    widths: Sequence[int] = (6, 9),
    seeds: int = 10,
    n: int = 60,
    steps: int = 10_000,
    lr: float = 0.01,
    every: int = 1000,
) -> dict[int, tuple[dict[str, Spread], Optimum]]:
    """Training losses by method, ``{width: ({method: losses}, optimum)}``.

    Methods: gradient descent from torch's initialisation (``"descent"``) and from equally spaced breakpoints
    (``"spaced"``); from torch's with the outgoing weights fitted every so many steps (``"refit"``), and with
    relocation (``"relocation"``).

    Found for 6 / 9 units: descent .101 / .071, spaced .095 / .049, refit .046 / .025, relocation .0047 / .0016, where
    the optimum of 6 / 9 pieces is .0045 / .00078 and that of one more .0027 / .00061.
    """
    x = np.linspace(*INTERVAL, n)
    y = TARGETS[target](x)
    found: dict[int, tuple[dict[str, Spread], Optimum]] = {}
    for width in widths:
        start = Batch.initial(seeds, [1, width, 1], seed=0, dtype=np.float64)
        trained = {
            "descent": gradient_descent(start, x, y, steps=steps, lr=lr),
            "spaced": gradient_descent(_spaced(start), x, y, steps=steps, lr=lr),
            "refit": relocating(start, x, y, steps=steps, lr=lr, every=every, moves=0),
            "relocation": relocating(start, x, y, steps=steps, lr=lr, every=every, moves=3),
        }
        losses = {how: Spread.of(squared_errors(batch, x, y)) for how, batch in trained.items()}
        best = Optimum(*(splines.optimal_fit(x, y, width + more).sse / n for more in (0, 1)))
        found[width] = losses, best
    return found


def relocation_gap(
    targets: Sequence[str] = ("sine", "sawtooth", "arctan"),
    *,
    width: int = 9,
    seeds: int = 20,
    n: int = 60,
    steps: int = 10_000,
    lr: float = 0.01,
    every: int = 1000,
) -> dict[str, Gap]:
    """Test losses with and without relocation, and the training losses' gap to the optimal fit, ``{target: ...}``.

    Found, test losses without -> with (optimal fit): sine .065 -> .0015 (.0009); sawtooth .149 -> .041 (.036); arctan
    4.4e-4 -> 2.3e-5 (1.5e-5).
    """
    x = np.linspace(*INTERVAL, n)
    start = Batch.initial(seeds, [1, width, 1], seed=0, dtype=np.float64)
    found = {}
    for target in targets:
        y, expected = TARGETS[target](x), TARGETS[target](_GRID)
        plain = gradient_descent(start, x, y, steps=steps, lr=lr)
        moved = relocating(start, x, y, steps=steps, lr=lr, every=every, moves=3)
        best = splines.optimal_fit(x, y, width)
        found[target] = Gap(
            Spread.of(squared_errors(plain, _GRID, expected)),
            Spread.of(squared_errors(moved, _GRID, expected)),
            float(((best(_GRID) - expected) ** 2).mean()),
            Spread.of(squared_errors(plain, x, y) - best.sse / n),
            Spread.of(squared_errors(moved, x, y) - best.sse / n),
        )
    return found


def cubic_limit(
    target: str = "sine", *, widths: Sequence[int] = (100, 1000, 10_000), seeds: int = 10, n: int = 12
) -> dict[int, tuple[float, Spread]]:
    """Largest distance of the kernel regime's fit to scipy's natural cubic spline, ``{width: (spaced, iid)}``.

    Breakpoints are equally spaced over the data's range, or drawn uniformly there for every seed. Found for 100, 1000
    and 10000: 2.3e-3, 7.4e-6, 1.9e-7; drawn: .065, .021, .007.
    """
    x = np.linspace(*INTERVAL, n)
    y = TARGETS[target](x)
    cubic = CubicSpline(x, y, bc_type="natural")(_GRID)

    def distance(beta: Floats) -> float:
        return float(np.abs(splines.dynamics.minimum_norm_spline(x, y, beta)(_GRID) - cubic).max())

    found = {}
    for width in widths:
        drawn = [np.random.default_rng(seed).uniform(*INTERVAL, width) for seed in range(seeds)]
        found[width] = distance(np.linspace(*INTERVAL, width)), Spread.of([distance(beta) for beta in drawn])
    return found


def rich_and_kernel(
    target: str = "sine",
    *,
    alphas: Sequence[float] = (10.0, 1.0, 0.3, 0.1),
    width: int = 100,
    seeds: int = 10,
    n: int = 10,
    steps: int = 50_000,
) -> dict[float, tuple[Spread, Spread]]:
    """RMS distances of trained networks to the natural cubic and the linear interpolant, ``{alpha: (cubic, linear)}``.

    Units at equally spaced breakpoints have ``|w| = alpha``, ``|v| = 1 / (alpha sqrt(width))`` and random signs; each
    is there twice, with opposite v, so that the function is 0 at first. Large alpha: breakpoints hardly move (kernel
    regime), and the function ends near the cubic; small alpha: they move towards data (rich regime), and it ends
    nearer to straight lines. Steps are 0.9 of what the first kernel allows. Found for alpha = 10, 1, .3, .1: .008/.104,
    .029/.082, .071/.046, .071/.050; the two interpolants are .105 apart.
    """
    x = np.linspace(*INTERVAL, n)
    y = TARGETS[target](x)
    batch, rates = _opposed(alphas, width, seeds, x)
    values = _descending(batch, x, y, steps=steps, lr=rates).outputs(_GRID[:, None])[:, :, 0]
    shape = len(alphas), seeds
    cubic = _rms(values - CubicSpline(x, y, bc_type="natural")(_GRID)).reshape(shape)
    linear = _rms(values - np.interp(_GRID, x, y)).reshape(shape)
    return {alpha: (Spread.of(cubic[i]), Spread.of(linear[i])) for i, alpha in enumerate(alphas)}


def relocating(batch: Batch, x: Floats, y: Floats, *, steps: int, lr: float, every: int, moves: int) -> Batch:
    """Gradient descent with a relocation of every network after every so many steps, the last ones excepted."""
    rates = np.full(batch.count, lr)
    for begin in range(0, steps, every):
        if begin:
            batch = stack_networks(
                [splines.relocate(unstack_network(batch, i), x, y, moves=moves).net for i in range(batch.count)]
            )
        batch = _descending(batch, x, y, steps=min(every, steps - begin), lr=rates)
    return batch


def _descending(batch: Batch, x: Floats, y: Floats, *, steps: int, lr: Floats) -> Batch:
    """Gradient descent in blocks; one in which a network's error rises is taken back, and its ``lr`` (B,) halved."""
    error = squared_errors(batch, x, y)
    for begin in range(0, steps, _BLOCK):
        after = gradient_descent(batch, x, y, steps=min(_BLOCK, steps - begin), lr=lr)
        then = squared_errors(after, x, y)
        worse = ~(then <= error * (1 + 1e-9))
        lr[worse] /= 2
        error = np.where(worse, error, then)
        batch = _chosen(worse, batch, after)
    return batch


def _chosen(which: NDArray[np.bool_], yes: Batch, no: Batch) -> Batch:
    """Networks of one batch or the other."""
    pairs = zip((*yes.weights, *yes.biases), (*no.weights, *no.biases), strict=True)
    arrays = [np.where(which.reshape(-1, *[1] * (a.ndim - 1)), a, b) for a, b in pairs]
    return Batch(tuple(arrays[: len(yes.weights)]), tuple(arrays[len(yes.weights) :]), yes.leak)


def _spaced(batch: Batch) -> Batch:
    """The same networks with equally spaced breakpoints, in random order."""
    width, rng = batch.widths[1], np.random.default_rng(0)
    places = np.linspace(*INTERVAL, width + 2)[1:-1]
    beta = np.stack([rng.permutation(places) for _ in range(batch.count)])
    return Batch(batch.weights, (-batch.weights[0][:, :, 0] * beta, batch.biases[1]))


def _opposed(alphas: Sequence[float], width: int, seeds: int, x: Floats) -> tuple[Batch, Floats]:
    """Networks that are 0, for every alpha and seed, and step lengths (B,) for data at x."""
    nets, rates = [], []
    for alpha in alphas:
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            signs, outgoing = rng.choice([-1.0, 1.0], (2, width))
            w, b = alpha * signs, -alpha * signs * np.linspace(*INTERVAL, width)
            v = outgoing / (alpha * np.sqrt(width))
            net = splines.Shallow(np.tile(w, 2), np.tile(b, 2), np.concatenate([v, -v]))
            nets.append(net)
            rates.append(0.9 * len(x) / (2 * np.linalg.eigvalsh(splines.dynamics.ntk(net, x))[-1]))
    return stack_networks(nets), np.array(rates)


def _rms(values: Floats) -> Floats:
    return np.asarray(np.sqrt((values**2).mean(axis=1)))
