"""Verdicts of creases beside those of Marabou [1]_ on the same ONNX files and properties. One thread.

    python bench/verifiers.py [--networks 40] [--budget 20]

ReLU networks of five small shapes, half with random weights and half trained, each with three properties over a box:
the form of ACAS Xu's (the first output is never the smallest), local robustness (the decision at the center is the
decision everywhere), and a limit of one output, set above or below the largest value of 2,000 samples by a twentieth of
their range. creases reads the property as VNN-LIB text, Marabou gets the same rows through its own interface.

Every input that either returns is checked in rational arithmetic with the weights of the file. Where the verdicts
differ, or an input misses being a violation by more than 1e-9, the script says so. Marabou is not a requirement of
creases (``pip install maraboupy onnxruntime``); without it only the verdicts of creases are printed.

References
----------
.. [1] Wu et al., "Marabou 2.0: A Versatile Formal Analyzer of Neural Networks", CAV 2024.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, pairwise
from operator import mul
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

import creases
from creases.certify.properties import parse_vnnlib, verify
from record import note

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of TensorFlow, which is not needed
        import onnxruntime  # noqa: F401 - what Marabou reads ONNX files with
        from maraboupy import Marabou, MarabouUtils
except ImportError:
    Marabou = None

SHAPES = ([2, 8, 8, 3], [4, 16, 3], [5, 10, 10, 5], [5, 10, 10, 10, 5], [5, 20, 20, 20, 5])
ROUNDING = 1e-9  # an input that misses by less, in the units of the outputs, is a violation up to rounding
Layers = list[tuple[Any, Any]]
Row = tuple[dict[int, float], float]  # coefficients of outputs, and what their sum is at most


@dataclass(frozen=True)
class Question:
    """What must not occur: an input of the box whose outputs satisfy all rows of one of the cases."""

    kind: str
    box: Any  # (n, 2)
    cases: list[list[Row]]

    def to_vnnlib(self, n_out: int) -> str:
        """The text of a VNN-LIB file."""
        lines = [f"(declare-const X_{i} Real)" for i in range(len(self.box))]
        lines += [f"(declare-const Y_{j} Real)" for j in range(n_out)]
        for i, (lo, hi) in enumerate(self.box):
            lines += [f"(assert (>= X_{i} {float(lo)!r}))", f"(assert (<= X_{i} {float(hi)!r}))"]
        cases = [f"(and {' '.join(map(_comparison, rows))})" for rows in self.cases]
        return "\n".join([*lines, f"(assert (or {' '.join(cases)}))"])


def _comparison(row: Row) -> str:
    terms = " ".join(f"(* {value!r} Y_{j})" for j, value in row[0].items())
    return f"(<= (+ {terms}) {row[1]!r})"


# -- networks and questions -------------------------------------------------------------------------------------------


def make_layers(shape: Sequence[int], seed: int, trained: bool) -> Layers:
    """Float32 weights and biases, random or trained to name the nearest of random centers."""
    torch.manual_seed(seed)
    parts: list[nn.Module] = []
    for before, after in pairwise(shape):
        parts += [nn.Linear(before, after), nn.ReLU()]
    model = nn.Sequential(*parts[:-1])
    with torch.no_grad():
        for part in model[::2]:
            part.weight.mul_(np.sqrt(6.0))  # from torch's uniform start to a variance of 2 over the number of inputs
    if trained:
        X, centers = 2 * torch.rand(400, shape[0]) - 1, 2 * torch.rand(3 * shape[-1], shape[0]) - 1
        y = torch.cdist(X, centers).argmin(dim=1) % shape[-1]
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(150):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(X), y).backward()
            optimizer.step()
    return [(part.weight.detach().numpy().copy(), part.bias.detach().numpy().copy()) for part in model[::2]]


def write_onnx(layers: Layers, path: Path) -> None:
    """Write the network as Gemm and Relu nodes."""
    nodes, weights, last = [], [], "x"
    for k, (W, b) in enumerate(layers):
        weights += [numpy_helper.from_array(W, f"W{k}"), numpy_helper.from_array(b, f"b{k}")]
        end = "y" if k == len(layers) - 1 else f"z{k}"
        nodes.append(helper.make_node("Gemm", [last, f"W{k}", f"b{k}"], [end], name=f"gemm{k}", transB=1))
        if end != "y":
            last = f"h{k}"
            nodes.append(helper.make_node("Relu", [end], [last], name=f"relu{k}"))
    n, m = layers[0][0].shape[1], len(layers[-1][1])
    ends = [helper.make_tensor_value_info(*of) for of in (("x", TensorProto.FLOAT, [1, n]), ("y", 1, [1, m]))]
    graph = helper.make_graph(nodes, "network", ends[:1], ends[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def make_questions(net: creases.Network, seed: int) -> list[Question]:
    """Three properties over boxes of float32 numbers."""
    rng, n, m = np.random.default_rng(seed), net.n_in, net.n_out
    questions = []
    for kind in ("smallest", "robust", "limit"):
        center, radius = rng.uniform(-0.7, 0.7, n), np.exp(rng.uniform(np.log(0.02), np.log(0.4)))
        box = np.stack([center - radius, center + radius], axis=1).astype(np.float32).astype(np.float64)
        if kind == "smallest":
            cases = [[({0: 1.0, j: -1.0}, 0.0) for j in range(1, m)]]
        elif kind == "robust":
            c = int(np.argmax(net(box.mean(axis=1))))
            cases = [[({c: 1.0, j: -1.0}, 0.0)] for j in range(m) if j != c]
        else:
            values = np.asarray(net(rng.uniform(box[:, 0], box[:, 1], (2000, n))))[:, 0]
            apart = (0.05 if rng.random() < 0.5 else -0.05) * np.ptp(values)
            cases = [[({0: -1.0}, -float(np.float32(values.max() + apart)))]]
        questions.append(Question(kind, box, cases))
    return questions


# -- verdicts ---------------------------------------------------------------------------------------------------------


def ask_creases(path: Path, question: Question, n_out: int, budget: float) -> tuple[str, Any, float]:
    """The verdict, its input and processor seconds, without reading the network."""
    net, prop = creases.read(path), parse_vnnlib(question.to_vnnlib(n_out))
    start = time.process_time()
    verdict = verify(net, prop, budget=budget)
    return verdict.status, verdict.counterexample, time.process_time() - start


def ask_marabou(path: Path, question: Question, budget: float) -> tuple[str, Any, float]:
    """The verdict of Marabou over all cases, its input and processor seconds, without reading the network."""
    options = Marabou.createOptions(verbosity=0, timeoutInSeconds=int(budget), numWorkers=1)
    seconds, status = 0.0, "holds"
    for rows in question.cases:
        net = Marabou.read_onnx(str(path))
        inputs, outputs = net.inputVars[0].reshape(-1), net.outputVars[0].reshape(-1)
        for variable, (lo, hi) in zip(inputs, question.box, strict=True):
            net.setLowerBound(int(variable), float(lo))
            net.setUpperBound(int(variable), float(hi))
        for row, most in rows:
            equation = MarabouUtils.Equation(MarabouUtils.MarabouCore.Equation.LE)
            for j, value in row.items():
                equation.addAddend(value, int(outputs[j]))
            equation.setScalar(most)
            net.addEquation(equation)
        start = time.process_time()
        answer, values, _ = net.solve(verbose=False, options=options)
        seconds += time.process_time() - start
        if answer == "sat":
            return "violated", np.array([values[int(variable)] for variable in inputs]), seconds
        if answer != "unsat":
            status = "unknown"
    return status, None, seconds


def excess(layers: Layers, question: Question, x: Any) -> float:
    """By how much an input misses being a violation, in rational arithmetic; 0 or less: it is one."""
    h = [Fraction(float(value)) for value in x]
    ends = [(Fraction(float(lo)), Fraction(float(hi))) for lo, hi in question.box]
    outside = max(max(lo - v, v - hi) for v, (lo, hi) in zip(h, ends, strict=True))
    for k, (W, b) in enumerate(layers):
        h = [max(v, Fraction(0)) if k else v for v in h]
        exact = [[Fraction(float(w)) for w in row] for row in W]
        h = [sum(map(mul, row, h), Fraction(float(c))) for row, c in zip(exact, b, strict=True)]
    misses = [
        max(sum(Fraction(a) * h[j] for j, a in row.items()) - Fraction(c) for row, c in q) for q in question.cases
    ]
    return float(max(outside, min(misses)))


class Tally:
    """Counts of verdicts, of exact checks, and processor seconds."""

    def __init__(self) -> None:
        self.verdicts: Counter[tuple[str, ...]] = Counter()
        self.checks: Counter[str] = Counter()
        self.worst_miss = 0.0
        self.seconds: dict[str, list[list[float]]] = {}

    def add(self, name: str, kind: str, layers: Layers, question: Question, answers: dict[str, Any]) -> None:
        """Count the answers to one question; print those that differ or are wrong."""
        verdicts = tuple(status for status, _, _ in answers.values())
        self.verdicts[verdicts] += 1
        self.seconds.setdefault(kind, []).append([spent for _, _, spent in answers.values()])
        if len(set(verdicts)) > 1:
            print(f"  {name}, {question.kind}: the verdicts differ, {', '.join(verdicts)}", flush=True)
        for who, (status, x, _) in answers.items():
            if status == "violated":
                miss = excess(layers, question, x)
                self.worst_miss = max(self.worst_miss, miss)
                self.checks[f"{who}: {'exact' if miss <= 0 else 'to rounding' if miss <= ROUNDING else 'beyond'}"] += 1
                if miss > ROUNDING:
                    print(f"  {name}, {question.kind}: the input of {who} misses by {miss:.2g}", flush=True)

    def show(self) -> None:
        """Print all counts, and times for each shape."""
        for verdicts, count in sorted(self.verdicts.items()):
            print(f"  {', '.join(verdicts):22s} {count}")
        print(f"inputs checked in rationals: {dict(self.checks)}, the worst misses by {self.worst_miss:.2g}")
        for kind, rows in [*self.seconds.items(), ("all", list(chain(*self.seconds.values())))]:
            spent = np.array(rows)
            line = ", ".join(f"{np.median(s):.4f} {s.max():.3f}" for s in spent.T)
            if spent.shape[1] > 1:
                line += (
                    f"; ratio {np.median(spent[:, 0] / spent[:, 1]):.1f}, of sums {np.divide(*spent.sum(axis=0)):.1f}"
                )
            print(f"{kind:14s} median and worst processor seconds {line}")
        note("median", f"{1000 * np.median(spent[:, 0]):.1f} ms")
        note("worst", f"{spent[:, 0].max():.1f} s")


def main() -> None:
    """Compare all verdicts and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--networks", type=int, default=40)
    parser.add_argument("--budget", type=float, default=20.0, help="seconds for each property (Marabou: each case)")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    if Marabou is None:
        print("maraboupy or onnxruntime is not installed: verdicts of creases alone")
    small = creases.read([(np.eye(1), np.zeros(1)), (np.eye(1), np.zeros(1))])
    verify(small, parse_vnnlib(Question("", np.array([[0.0, 1.0]]), [[({0: -1.0}, -2.0)]]).to_vnnlib(1)))  # compiles
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(asked.networks):
            shape, trained = SHAPES[number // 2 % len(SHAPES)], bool(number % 2)
            layers, kind = make_layers(shape, number, trained), "-".join(map(str, shape))
            path = Path(folder, f"{number}.onnx")
            write_onnx(layers, path)
            for question in make_questions(creases.read(path), number):
                answers = {"creases": ask_creases(path, question, shape[-1], asked.budget)}
                if Marabou is not None:
                    answers["Marabou"] = ask_marabou(path, question, asked.budget)
                tally.add(f"network {number} {kind}", kind, layers, question, answers)
    print(
        f"{asked.networks} networks, {3 * asked.networks} properties; creases{'' if Marabou is None else ', Marabou'}:"
    )
    tally.show()


if __name__ == "__main__":
    main()
