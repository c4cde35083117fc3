"""The lecture on where breakpoints start and where they go: Tables 1 and 2, curvature and spiky initialisation.

Full-batch gradient descent on the mean squared error at equally spaced x in [-3, 3]; all networks of an experiment are
trained as one batch. Losses are on 1001 equal points of the interval. Each function returns numbers with their spread
over seeds; what the source prints is in its docstring.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from creases import splines
from creases._typing import Floats
from creases.lab import Batch
from creases.problems import INTERVAL, TARGETS
from creases.splines.batches import gradient_descent, squared_errors, unstack_network

_GRID = np.linspace(*INTERVAL, 1001)

#: |f''| of the targets whose breakpoints are set against it.
_CURVATURES: dict[str, Callable[[Floats], Floats]] = {
    "sine": lambda x: np.abs(4 * np.sin(2 * x)),
    "cubic": lambda x: np.abs(6 * x),
    "chirp": lambda x: np.abs(np.cos(x**2 / 2) - x**2 * np.sin(x**2 / 2)),
}


class Spread(NamedTuple):
    """Numbers of several seeds."""

    mean: float
    sd: float  #: sample standard deviation
    values: tuple[float, ...]  #: one for each seed

    @classmethod
    def of(cls, values: Any) -> Spread:
        """Mean and deviation of numbers; one alone has deviation 0."""
        array = np.asarray(values, np.float64)
        return cls(float(array.mean()), float(array.std(ddof=1)) if len(array) > 1 else 0.0, tuple(array.tolist()))


class Correlation(NamedTuple):
    """Correlation of pooled breakpoints with curvature, before and after training."""

    initial: float
    final: float
    initial_sd: float  #: over 200 resamplings of the networks
    final_sd: float


def breakpoint_initialisation(
    targets: Sequence[str] = ("sine", "quadratic"),
    *,
    hows: Sequence[splines.initialisation.Method] = ("torch", "uniform", "curvature"),
    seeds: int = 10,
    width: int = 40,
    n: int = 60,
    steps: int = 10_000,
    lr: float = 0.01,
) -> dict[str, dict[str, Spread]]:
    """Test losses by initialisation, ``{target: {how: losses}}`` (Table 1).

    Printed, in units it does not give: sine 4.096 +- 2.25 (standard), 2.280 +- .457 (uniform breakpoints); parabola
    .1032 +- .0404 and 1.1118 +- .0248, which is probably .1118.
    """
    x = np.linspace(*INTERVAL, n)
    start = Batch.initial(seeds, [1, width, 1], seed=0)
    found: dict[str, dict[str, Spread]] = {}
    for target in targets:
        y = TARGETS[target](x)
        batch = Batch.join([initialised(start, x, how, y=y) for how in hows])
        trained = gradient_descent(batch, x, y, steps=steps, lr=lr)
        losses = squared_errors(trained, _GRID, TARGETS[target](_GRID)).reshape(len(hows), seeds)
        found[target] = {how: Spread.of(row) for how, row in zip(hows, losses, strict=True)}
    return found


def breakpoints_against_depth(
    targets: Sequence[str] = ("sine", "sawtooth", "arctan", "quadratic"),
    *,
    depths: Sequence[int] = (1, 2, 4, 5),
    seeds: int = 10,
    units: int = 40,
    n: int = 60,
    steps: int = 5_000,
    lr: float = 0.02,
) -> dict[int, dict[str, Spread]]:
    """Active breakpoints on the whole line, ``{depth: {"initial" or target: counts}}`` (Table 2).

    The units are shared equally by the layers. The source says pieces; its 40 for one layer are breakpoints. Printed
    for sine, sawtooth, arctan and parabola: depth 2: 55.5, 50, 49.3, 49.3; depth 4: 68, 48.5, 42.5, 40.3; depth 5:
    62.3, 44.5, 38, 31.5.
    """
    x = np.linspace(*INTERVAL, n)
    found: dict[int, dict[str, Spread]] = {}
    for depth in depths:
        start = Batch.initial(seeds, [1, *[units // depth] * depth, 1], seed=0)
        y = np.repeat([TARGETS[target](x) for target in targets], seeds, axis=0)
        trained = gradient_descent(Batch.join([start] * len(targets)), x, y, steps=steps, lr=lr)
        counts = np.reshape([len(places) for places in _breakpoints(trained)], (len(targets), seeds))
        found[depth] = {"initial": Spread.of([len(places) for places in _breakpoints(start)])}
        found[depth] |= {target: Spread.of(row) for target, row in zip(targets, counts, strict=True)}
    return found


def curvature_correlation(
    targets: Sequence[str] = ("cubic", "chirp", "sine"),
    *,
    depths: Sequence[int] = (1, 4),
    seeds: int = 20,
    units: int = 40,
    n: int = 60,
    steps: int = 7_500,
    lr: float = 0.02,
    bins: int = 20,
) -> dict[str, dict[int, Correlation]]:
    """Correlation of the histogram of active breakpoints with |f''|, ``{target: {depth: before and after}}``.

    Breakpoints of all seeds are pooled; targets are divided by their deviation, so that one step length does for all.
    Printed, initial -> final at depth 1 / 4: sine -.08 -> .32 / -.17 -> .49; cubic -.90 -> -.89 / -.90 -> .69; chirp
    -.75 -> -.59 / -.75 -> -.21.
    """
    x = np.linspace(*INTERVAL, n)
    found: dict[str, dict[int, Correlation]] = {target: {} for target in targets}
    for depth in depths:
        start = Batch.initial(seeds, [1, *[units // depth] * depth, 1], seed=0)
        y = np.repeat([_unit(TARGETS[target](x)) for target in targets], seeds, axis=0)
        trained = _breakpoints(gradient_descent(Batch.join([start] * len(targets)), x, y, steps=steps, lr=lr))
        before = _breakpoints(start)
        for k, target in enumerate(targets):
            after = trained[k * seeds : (k + 1) * seeds]
            (initial, initial_sd), (final, final_sd) = (_correlation(rows, target, bins) for rows in (before, after))
            found[target][depth] = Correlation(initial, final, initial_sd, final_sd)
    return found


def spiky_initialisation(
    targets: Sequence[str] = ("quadratic", "cubic", "sine", "arctan", "sawtooth"),
    *,
    kappa: float = 20.0,
    seeds: int = 10,
    width: int = 100,
    n: int = 20,
    steps: int = 20_000,
    lr: float = 0.01,
) -> dict[str, dict[str, Spread]]:
    """Test losses with outgoing weights as torch draws them and ``kappa`` times as large.

    ``{target: {"plain", "spiky", "ratio": ...}}``, the ratio seed by seed. Both are trained for as many steps of the
    same length; targets are divided by their deviation. Printed for shallow networks: parabola 3.56 -> 150.6, cubic
    3.6 -> 136.7, sine 43 -> 157.5, arctan .0125 -> 2.5, sawtooth 157 -> 150.
    """
    x = np.linspace(*INTERVAL, n)
    start = Batch.initial(seeds, [1, width, 1], seed=0)
    found: dict[str, dict[str, Spread]] = {}
    for target in targets:
        scale = TARGETS[target](_GRID).std()
        y = TARGETS[target](x) / scale
        batch = Batch.join([start, initialised(start, x, "spiky", kappa=kappa)])
        trained = gradient_descent(batch, x, y, steps=steps, lr=lr)
        plain, spiky = squared_errors(trained, _GRID, TARGETS[target](_GRID) / scale).reshape(2, seeds)
        found[target] = {"plain": Spread.of(plain), "spiky": Spread.of(spiky), "ratio": Spread.of(spiky / plain)}
    return found


def final_roughness(
    widths: Sequence[int] = (20, 40, 200),
    kappas: Sequence[float] = (1.0, 5.0, 20.0),
    *,
    seeds: int = 10,
    n: int = 20,
    steps: int = 20_000,
    lr: float = 0.005,
) -> dict[int, dict[float, tuple[Spread, Spread]]]:
    """Roughness sum mu^2 before and after training, ``{width: {kappa: (first, last)}}``.

    torch's first weights with outgoing ones ``kappa`` times as large, on a smooth target, the parabola.
    """
    x = np.linspace(*INTERVAL, n)
    y = _unit(TARGETS["quadratic"](x))
    found: dict[int, dict[float, tuple[Spread, Spread]]] = {}
    for width in widths:
        start = Batch.initial(seeds, [1, width, 1], seed=0, dtype=np.float64)
        batch = Batch.join([initialised(start, x, "spiky", kappa=kappa) for kappa in kappas])
        trained = gradient_descent(batch, x, y, steps=steps, lr=lr)
        rough = np.array(
            [[splines.roughness(unstack_network(one, k)) for k in range(one.count)] for one in (batch, trained)]
        )
        first, last = rough.reshape(2, len(kappas), seeds)
        found[width] = {kappa: (Spread.of(first[i]), Spread.of(last[i])) for i, kappa in enumerate(kappas)}
    return found


def errors_by_depth(
    targets: Sequence[str] = ("sine", "arctan", "sawtooth", "cubic", "quadratic"),
    *,
    depths: Sequence[int] = (1, 4),
    units: int = 40,
    seeds: int = 10,
    n: int = 60,
    steps: int = 10_000,
    lr: float = 0.01,
) -> dict[str, dict[int, Spread]]:
    """Test losses of networks with as many units in one layer or several, ``{target: {depth: losses}}``.

    Targets are divided by their deviation. The source's second table of losses, its columns Shallow and Deep.
    """
    x = np.linspace(*INTERVAL, n)
    found: dict[str, dict[int, Spread]] = {target: {} for target in targets}
    for depth in depths:
        start = Batch.initial(seeds, [1, *[units // depth] * depth, 1], seed=0)
        for target in targets:
            scale = TARGETS[target](_GRID).std()
            trained = gradient_descent(start, x, TARGETS[target](x) / scale, steps=steps, lr=lr)
            found[target][depth] = Spread.of(squared_errors(trained, _GRID, TARGETS[target](_GRID) / scale))
    return found


def initialised(batch: Batch, x: Floats, how: splines.initialisation.Method, **options: Any) -> Batch:
    """The networks of a batch, each initialised with a seed of its own; ``"torch"``: as they are."""
    if how == "torch":
        return batch
    models = [batch.module(i) for i in range(batch.count)]
    for i, model in enumerate(models):
        splines.initialise(model, x, how, seed=i, **options)
    return Batch.from_modules(models, dtype=batch.weights[0].dtype)


def _breakpoints(batch: Batch) -> list[Floats]:
    """Active breakpoints of every network."""
    found = [splines.deep_breakpoints(batch.module(i)) for i in range(batch.count)]
    return [network.x[network.active] for network in found]


def _unit(y: Floats) -> Floats:
    return np.asarray(y / y.std())


def _correlation(breakpoints: list[Floats], target: str, bins: int) -> tuple[float, float]:
    """Correlation of pooled counts with curvature at the bins' middles; its deviation over resampled networks."""
    edges = np.linspace(*INTERVAL, bins + 1)
    counts = np.array([np.histogram(places, edges)[0] for places in breakpoints])  # (B, bins)
    curvature = _CURVATURES[target]((edges[:-1] + edges[1:]) / 2)
    draws = np.random.default_rng(0).integers(len(counts), size=(200, len(counts)))
    pooled = [counts.sum(axis=0), *(counts[draw].sum(axis=0) for draw in draws)]
    all_of_them = [float(np.corrcoef(row, curvature)[0, 1]) for row in pooled]
    return all_of_them[0], float(np.std(all_of_them[1:], ddof=1))
