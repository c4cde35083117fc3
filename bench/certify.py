"""Certified answers: how tight and how quick, against the bounds of the whole box and the partition. One thread.

    python bench/certify.py [--budget 10] [--part differences|ranges|properties|processes]

Differences: a network and its copy in float16 and in int8 weights; the bound of a - b as one network (linear bounds),
the bound of both layer by layer, and what a search reaches. Ranges: linear bounds, linear programs and the search, as
multiples of the range that is reached; the time of each. Properties: verdicts on random VNN-LIB files against the
partition, and files in the form of ACAS Xu for a network of that shape. Processes: seconds and processor seconds of
proofs by one, two and more processes, and the nodes of their trees.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

import creases
from creases._program import Step
from creases.certify import output_bounds, output_range
from creases.certify.differences import compare_decisions, difference_bounds, largest_difference, subtract_networks
from creases.certify.properties import Case, Property, parse_vnnlib, verify


def timed(work: Callable[..., Any], *arguments: Any, **options: Any) -> tuple[Any, float]:
    """What work returns, and the seconds it took."""
    start = time.perf_counter()
    result = work(*arguments, **options)
    return result, time.perf_counter() - start


def random_network(sizes: list[int], seed: int = 0) -> creases.Network:
    """Weights as He et al. initialise them, small biases."""
    rng = np.random.default_rng(seed)
    return creases.read(
        [(rng.normal(size=(m, n)) * np.sqrt(2 / n), 0.1 * rng.normal(size=m)) for n, m in pairwise(sizes)]
    )


def trained_network(load: Callable[..., Any], hidden: tuple[int, ...]) -> tuple[creases.Network, np.ndarray]:
    """A perceptron of scikit-learn on standardized columns, and the range of the columns."""
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = MLPClassifier(hidden, solver="lbfgs", max_iter=500, alpha=0.1, random_state=0).fit(X, y)
    layers = [(W.T, c) for W, c in zip(model.coefs_, model.intercepts_, strict=True)]
    return creases.read(layers), np.stack([X.min(axis=0), X.max(axis=0)], axis=1)


def int8_copy(net: creases.Network) -> creases.Network:
    """The network with the weights of each layer rounded to 255 levels."""
    layers = []
    for step in net.steps:
        if step.op == "linear":
            W = step.tensors["weight"].numpy()
            unit = np.abs(W).max() / 127
            layers.append((np.round(W / unit) * unit, step.tensors["offset"].numpy()))
    return creases.read(layers)


def print_differences() -> None:
    """Print a table of bounds of the difference of a network and its copies."""
    networks = {
        "iris 4-20-20-3": trained_network(load_iris, (20, 20)),
        "wine 13-32-32-3": trained_network(load_wine, (32, 32)),
        "cancer 30-50-50-1": trained_network(load_breast_cancer, (50, 50)),
        "random 784-100-100-10": (random_network([784, 100, 100, 10]), np.array([[0.0, 1.0]] * 784)),
    }
    print("| network | copy | reached | layer by layer | one network | ratio | s | s in all | decisions |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, (net, box) in networks.items():
        for copy, other in (("float16", net.to(torch.float16).to(torch.float64)), ("int8", int8_copy(net))):
            together, seconds = timed(difference_bounds, net, other, box)
            alone = np.abs(output_bounds(subtract_networks(net, other), box)).max()
            bound = np.abs(together).max()
            found, in_all = timed(largest_difference, net, other, box)
            verdict, more = timed(compare_decisions, net, other, box)
            print(
                f"| {name} | {copy} | {found.lower.max():.3g} | {bound:.3g} | {alone:.3g} | {alone / bound:,.0f} "
                f"| {seconds:.2f} | {in_all + more:.1f} | {verdict.verdict} |",
                flush=True,
            )


def print_ranges(budget: float) -> None:
    """Print a table of ranges of the first output, as multiples of what is reached."""
    shapes = [[2, 32, 32, 2], [4, 16, 16, 2], [5, 20, 20, 2], [8, 16, 2], [30, 20, 2], [5, *[50] * 6, 5]]
    print("| network | linear | lp | output_range | method | s |")
    print("|---|---|---|---|---|---|")
    for shape in shapes:
        net = random_network(shape)
        first = creases.read([*_layers(net)[:-1], tuple(part[:1] for part in _layers(net)[-1])])
        found, seconds = timed(output_range, first, (-1, 1), budget=budget)
        reached = found.maximum[0] - found.minimum[0]
        widths = [np.subtract(*output_bounds(first, (-1, 1), method=method)[::-1])[0] for method in ("linear", "lp")]
        ratio = (found.high[0] - found.low[0]) / reached
        print(
            f"| {'-'.join(map(str, shape[:-1]))}-1 | {widths[0] / reached:.2f} | {widths[1] / reached:.2f} "
            f"| {ratio:.6f} | {found.method} | {seconds:.2f} |",
            flush=True,
        )


def _layers(net: creases.Network) -> list[tuple[np.ndarray, np.ndarray]]:
    steps = [step for step in net.steps if step.op == "linear"]
    return [(step.tensors["weight"].numpy(), step.tensors["offset"].numpy()) for step in steps]


def smallest_is_first(n: int, m: int, box: np.ndarray) -> str:
    """A file in the form of ACAS Xu's third and fourth: the first output is the smallest, which must not happen."""
    names = [f"(declare-const X_{i} Real)" for i in range(n)] + [f"(declare-const Y_{j} Real)" for j in range(m)]
    limits = [f"(assert (>= X_{i} {lo}))\n(assert (<= X_{i} {hi}))" for i, (lo, hi) in enumerate(box)]
    return "\n".join([*names, *limits, *(f"(assert (<= Y_0 Y_{j}))" for j in range(1, m))])


def lead_of_first(net: creases.Network, box: np.ndarray) -> float:
    """The least over a box of the largest of Y_0 - Y_j, from all regions of the network with that as its output."""
    m, end = net.n_out, len(net.steps)
    rows = torch.from_numpy(np.eye(m)[0] - np.eye(m)[1:])
    steps = [
        *net.steps,
        Step("linear", (end,), (m - 1,), {}, {"weight": rows}),
        Step("reshape", (end + 1,), (1, m - 1), {"shape": [1, m - 1]}),
        Step("choice", (end + 2,), (1,)),
    ]
    partition = creases.space(creases.Network(steps, net.input_shape), box, method="vertices")
    return float(partition.values.min())


def print_properties(budget: float) -> None:
    """Print verdicts on random files beside those of the partition, and on a network of ACAS Xu's shape."""
    rng, agree = np.random.default_rng(0), Counter[tuple[str, str]]()
    for seed in range(100):
        net = random_network([2, 8, 8, 3], seed)
        center = rng.uniform(-1, 1, size=2)
        box = np.stack([center - 0.3, center + 0.3], axis=1)
        exact = "violated" if lead_of_first(net, box) <= 0 else "holds"
        agree[(exact, verify(net, parse_vnnlib(smallest_is_first(2, 3, box)), budget=budget).status)] += 1
    print("partition, verdict:", dict(agree))
    net = random_network([5, *[50] * 6, 5])
    for radius in (0.02, 0.05, 0.1, 0.3):
        done: Counter[str] = Counter()
        seconds = []
        for seed in range(5):
            center = np.random.default_rng(seed).uniform(-0.6, 0.6, size=5)
            text = smallest_is_first(5, 5, np.stack([center - radius, center + radius], axis=1))
            verdict, spent = timed(verify, net, parse_vnnlib(text), budget=budget)
            done[verdict.status] += 1
            seconds.append(spent)
        print(f"5-50x6-5, boxes of radius {radius}: {dict(done)}, {np.median(seconds):.2f} s at the median", flush=True)


def processor_seconds() -> float:
    """Of this process and of those that it started and that ended."""
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(time.ru_utime + time.ru_stime for time in times)


def print_processes(most: int) -> None:
    """Print what proofs take by one, two and more processes: of sides of units, and of boxes by the compiled search."""
    for sizes, radius, above in (([20, 24, 24, 1], 0.5, 1.0), ([5, 40, 40, 40, 40, 1], 0.7, 0.08)):
        net, n = random_network(sizes, 1), sizes[0]
        box = np.tile([-radius, radius], (n, 1))
        values = np.asarray(net(np.random.default_rng(0).uniform(*box.T, (100_000, n))))
        limit = values.max() + above * np.ptp(values)
        case = Case(box, np.zeros((0, n)), np.zeros(0), -np.ones((1, 1)), np.zeros((1, n)), np.array([-limit]))
        for n_jobs in range(1, most + 1):
            before = processor_seconds()
            verdict, spent = timed(verify, net, Property(n, 1, (case,)), budget=600, proof=True, n_jobs=n_jobs)
            nodes = sum(len(claim.tree) for claim in verdict.proof.proofs) if verdict.proof else 0
            took = f"{spent:.1f} s, {processor_seconds() - before:.1f} processor seconds"
            print(
                f"{'-'.join(map(str, sizes))}, {n_jobs} processes: {verdict.status}, {nodes} nodes, {took}", flush=True
            )


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=float, default=10.0, help="seconds for each range and each property")
    parser.add_argument("--part", choices=["differences", "ranges", "properties", "processes"])
    parser.add_argument("--jobs", type=int, default=2, help="the most processes")
    options = parser.parse_args()
    torch.set_num_threads(1)
    small = random_network([2, 4, 1])
    output_range(small, (-1, 1))  # loads what is compiled
    difference_bounds(small, small.to(torch.float16), (-1, 1))
    if options.part in (None, "differences"):
        print_differences()
    if options.part in (None, "ranges"):
        print_ranges(options.budget)
    if options.part in (None, "properties"):
        print_properties(options.budget)
    if options.part in (None, "processes"):
        print_processes(options.jobs)


if __name__ == "__main__":
    main()
