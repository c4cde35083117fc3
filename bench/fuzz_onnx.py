"""Compose ONNX files of operators with extreme attributes, read each, and count what becomes of them.

    python bench/fuzz_onnx.py [--count 2000] [--seed 0] [--json FILE]

The files are read in a process that may take 2 GB more than it has after its imports. Each must be read, or refused
with an error of creases, within 10 s of CPU time; the exit status is 1 otherwise.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

#: Bytes beyond those after the imports, and seconds of CPU time for a file.
MEMORY, SECONDS = 2 * 10**9, 10.0

EXTREMES = (-1, 0, 1, 2, 3, 7, 100, 10**4, 10**5, 10**6, 10**9, 2**31, 2**40, 2**62)


class Composer:
    """Composes a graph node by node; sizes and counts are drawn from extremes."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.last, self.count = "x", 0

    def extreme(self) -> int:
        """Return a size that is often ordinary and sometimes absurd."""
        return int(self.rng.choice(EXTREMES[2:5] if self.rng.random() < 0.6 else EXTREMES))

    def extremes(self, n: int) -> list[int]:
        """Return several of them."""
        return [self.extreme() for _ in range(n)]

    def constant(self, array: Any, dtype: Any = np.int64) -> str:
        """Add a constant and return its name."""
        self.count += 1
        self.constants.append(numpy_helper.from_array(np.asarray(array, dtype), f"c{self.count}"))
        return f"c{self.count}"

    def node(self, op: str, *inputs: str, **options: Any) -> None:
        """Add a node that takes the last value."""
        self.count += 1
        out = f"v{self.count}"
        self.nodes.append(helper.make_node(op, [self.last, *inputs], [out], **options))
        self.last = out

    def filled(self) -> str:
        """Add a constant whose size is computed, and return its name."""
        self.count += 1
        out = f"f{self.count}"
        self.nodes.append(helper.make_node("ConstantOfShape", [self.constant(self.extremes(1))], [out]))
        return out

    def add_random_node(self) -> None:
        """Add an operator of a random kind."""
        weights = np.ones((1, 1, 2, 2))
        kinds = {
            "Conv": lambda: self.node(
                "Conv",
                self.constant(weights, np.float32),
                pads=self.extremes(4),
                strides=self.extremes(2),
                dilations=self.extremes(2),
            ),
            "ConvTranspose": lambda: self.node(
                "ConvTranspose",
                self.constant(weights, np.float32),
                strides=self.extremes(2),
                dilations=self.extremes(2),
            ),
            "MaxPool": lambda: self.node(
                "MaxPool", kernel_shape=self.extremes(2), pads=self.extremes(4), strides=self.extremes(2)
            ),
            "AveragePool": lambda: self.node(
                "AveragePool", kernel_shape=self.extremes(2), pads=self.extremes(4), strides=self.extremes(2)
            ),
            "Pad": lambda: self.node("Pad", self.constant([0, 0, *self.extremes(2), 0, 0, *self.extremes(2)])),
            "Tile": lambda: self.node("Tile", self.constant([1, *self.extremes(3)])),
            "Expand": lambda: self.node("Expand", self.constant([1, *self.extremes(3)])),
            "Reshape": lambda: self.node("Reshape", self.constant([1, *self.extremes(2)])),
            "Resize": lambda: self.node(
                "Resize",
                "",
                self.constant([1, 1, *self.extremes(2)], np.float32),
                coordinate_transformation_mode="asymmetric",
                nearest_mode="floor",
            ),
            "Concat": lambda: self.node("Concat", *[self.last] * int(self.rng.integers(1, 6)), axis=1),
            "Gather": lambda: self.node("Gather", self.constant(self.extremes(3)), axis=3),
            "Slice": lambda: self.node(
                "Slice", self.constant([0]), self.constant(self.extremes(1)), self.constant([3])
            ),
            "Split": lambda: self.node("Split", self.constant(self.extremes(2)), axis=3),
            "Add": lambda: self.node("Add", self.filled()),
            "Mul": lambda: self.node("Mul", self.constant(np.ones((1, 64, 1, 1)), np.float32)),
            "Relu": lambda: self.node("Relu"),
            "ReduceSum": lambda: self.node("ReduceSum", self.constant([3]), keepdims=1),
            "DepthToSpace": lambda: self.node("DepthToSpace", blocksize=self.extreme()),
            "Transpose": lambda: self.node("Transpose", perm=[0, 3, 2, 1]),
        }
        kinds[str(self.rng.choice(list(kinds)))]()

    def model(self) -> ModelProto:
        """Return a model of one to eight random operators, a tenth of them repeated twenty times."""
        for _ in range(self.rng.integers(1, 9)):
            self.add_random_node()
        if self.rng.random() < 0.1:
            for _ in range(20):
                self.node("Concat", self.last, axis=int(self.rng.integers(1, 4)))
        shape = (1, 1, 4, 4)
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
        outputs = [helper.make_tensor_value_info(self.last, TensorProto.FLOAT, None)]
        graph = helper.make_graph(self.nodes, "composed", inputs, outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def read_files(seeds: Any, answers: Any) -> None:
    """Read the files of all seeds under the limit; answer with seed, outcome, seconds and peak memory of each."""
    import torch

    import creases
    from creases.errors import CreasesError

    torch.set_num_threads(1)
    creases.read(torch.nn.Linear(2, 1))
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    while (seed := seeds.get()) is not None:
        answers.put((seed, "begun", 0.0, 0.0))
        start = time.process_time()
        try:
            creases.read(Composer(seed).model())
            outcome = "read"
        except CreasesError as problem:
            outcome = f"refused: {type(problem).__name__}"
        except Exception as problem:
            outcome = f"failed: {type(problem).__name__}: {str(problem)[:200]}"
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        answers.put((seed, outcome, time.process_time() - start, peak))


def main() -> None:
    """Read the files, print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    spawn = multiprocessing.get_context("spawn")
    waiting = list(range(asked.seed, asked.seed + asked.count))[::-1]
    outcomes: dict[int, tuple[str, float, float]] = {}
    while waiting:
        seeds, answers = spawn.Queue(), spawn.Queue()
        process = spawn.Process(target=read_files, args=(seeds, answers))
        process.start()
        current = None
        while waiting and process.is_alive():
            current = waiting.pop()
            seeds.put(current)
            outcomes[current] = _wait(process, answers)
            if outcomes[current][0] == "killed":
                break
        seeds.put(None)
        process.join()
    counts = Counter(outcome.partition(":")[0] for outcome, _, _ in outcomes.values())
    slow = {seed: each for seed, each in outcomes.items() if each[1] > SECONDS}
    bad = {seed: each for seed, each in outcomes.items() if each[0].startswith(("failed", "killed"))}
    longest, peak = (max(each[k] for each in outcomes.values()) for k in (1, 2))
    print(f"{len(outcomes)} files: {dict(counts)}; longest {longest:.1f} s of CPU time, peak {peak:.2f} GB")
    for seed, each in sorted({**bad, **slow}.items()):
        print(f"seed {seed}: {each[0]}, {each[1]:.1f} s, {each[2]:.2f} GB")
    if asked.json:
        asked.json.write_text(json.dumps(outcomes, indent=1) + "\n")
    sys.exit(1 if bad or slow else 0)


def _wait(process: Any, answers: Any) -> tuple[str, float, float]:
    from queue import Empty

    start = time.monotonic()
    while True:
        try:
            _, outcome, seconds, peak = answers.get(timeout=1)
        except Empty:
            if not process.is_alive() or time.monotonic() - start > 300:
                process.kill()
                return "killed", time.monotonic() - start, 0.0
            continue
        if outcome != "begun":
            return outcome, seconds, peak


if __name__ == "__main__":
    main()
