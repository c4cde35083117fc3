"""The search over boxes of dense networks: its verdicts are true in real arithmetic."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import creases
from creases.certify._boxes import few_inputs
from creases.certify._boxes import search as search_module
from creases.certify._boxes.chain import read_chain, read_stages
from creases.certify._boxes.search import ChainSearch
from creases.certify._exact import exact_outputs
from creases.certify.proofs import check_proof
from creases.certify.properties import Case, Property, _case_search, _subtrees, verify
from creases.network import Network


def random_network(rng: np.random.Generator, sizes: list[int], scale: np.ndarray, leak: float = 0.0) -> Network:
    layers = [(rng.normal(size=(m, n)), rng.normal(size=m)) for n, m in pairwise(sizes)]
    layers[0] = (layers[0][0] / scale, layers[0][1])
    return creases.read(layers, leak=leak).to(torch.float64)


def limit_case(box: np.ndarray, limit: float) -> Case:
    """The first output is at least a limit."""
    n = len(box)
    return Case(box, np.zeros((0, n)), np.zeros(0), np.array([[-1.0]]), np.zeros((1, n)), np.array([-limit]))


def exact_value(net: Network, x: np.ndarray) -> Fraction:
    """The output in fractions, step by step."""
    h = [Fraction(v) for v in x.tolist()]
    for step in net.steps:
        if step.is_bend:
            leak = Fraction(0) if step.leak is None else Fraction(float(step.leak.flatten()[0]))
            h = [v if v > 0 else leak * v for v in h]
        else:
            W = step.tensors["weight"].tolist()
            b = [0.0] * len(W) if step.offset is None else step.offset.tolist()
            h = [
                sum((Fraction(w) * v for w, v in zip(row, h, strict=True)), Fraction(c))
                for row, c in zip(W, b, strict=True)
            ]
    return h[0]


@pytest.mark.thorough
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.1, -0.5, 1.5]))
def test_limits_at_and_next_to_the_largest_value_are_decided_truly_at_any_scale(seed: int, leak: float) -> None:
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-8, 9, size=2)
    net = random_network(rng, [2, 5, 4, 1], scale, leak)
    center = scale * rng.normal(size=2) * rng.choice([1, 100])
    box = np.stack([center - scale, center + scale], axis=1)
    vertices = creases.space(net, box, method="vertices").vertices
    largest = max(exact_value(net, np.clip(x, *box.T)) for x in vertices)
    size = abs(float(largest)) + 1e-3
    for limit in (float(largest) + 1e-6 * size, float(largest) - 1e-6 * size):
        verdict = verify(net, Property(2, 1, (limit_case(box, limit),)), budget=20)
        if verdict.status == "holds":
            assert largest < Fraction(limit)
        if verdict.status == "violated":
            assert exact_value(net, verdict.counterexample) >= Fraction(limit)
        assert verdict.status != "unknown"


@pytest.mark.thorough
@pytest.mark.parametrize("scale", [1.0, 1e-7, 1e7])
def test_limits_that_are_reached_exactly_are_decided_in_fractions(scale: float) -> None:
    """``-|3 x - scale|`` is 0 at one third of the scale, which is no float; ``|x|`` is largest at an end."""
    valley = creases.read([([[3.0], [-3.0]], [-scale, scale]), ([[-1.0, -1.0]], [0.0])])
    box = np.array([[-scale, 2 * scale]])
    beyond = verify(valley, Property(1, 1, (limit_case(box, 5e-324),)), proof=True, budget=5)
    assert beyond.status == "holds"
    assert check_proof(beyond.proof, valley.to(torch.float64))
    assert verify(valley, Property(1, 1, (limit_case(box, 0.0),)), budget=1).status == "unknown"
    size = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])
    reached = verify(size, Property(1, 1, (limit_case(box, 2 * scale),)), budget=5)
    assert (reached.status, reached.counterexample.tolist()) == ("violated", [2 * scale])
    above = float(np.nextafter(2 * scale, np.inf))
    assert verify(size, Property(1, 1, (limit_case(box, above),)), budget=5).status == "holds"


def test_limits_of_many_inputs_are_decided_without_tolerance_and_with_a_proof() -> None:
    """Rising in all of 13 inputs, so largest at the upper corner: at that limit violated, at the next number not."""
    rng = np.random.default_rng(3)
    W, v = rng.integers(1, 100, size=(6, 13)) / 64, rng.integers(1, 100, size=(1, 6)) / 64
    net = creases.read([(W, -rng.integers(100, 300, size=6) / 64), (v, np.zeros(1))]).to(torch.float64)
    box = np.tile([-1.0, 1.0], (13, 1))
    most = float(exact_value(net, np.ones(13)))
    assert Fraction(most) == exact_value(net, np.ones(13))
    reached = verify(net, Property(13, 1, (limit_case(box, most),)), proof=True)
    assert (reached.status, reached.counterexample.tolist()) == ("violated", [1.0] * 13)
    beyond = verify(net, Property(13, 1, (limit_case(box, float(np.nextafter(most, np.inf))),)), proof=True)
    assert beyond.status == "holds"
    assert all(check_proof(verdict.proof, net) for verdict in (reached, beyond))


def lattice(rng: np.random.Generator, size: int, n: int) -> Network:
    """The largest of sizes of smallest of linear functions, by layers of ``min`` and ``max``, as in TLL networks."""
    layers = [(rng.normal(size=(4**size, n)), rng.normal(size=4**size))]
    pair = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [-1.0, -1.0]])
    for level in range(2 * size):
        sign, half = (-1.0 if level < size else 1.0), layers[-1][0].shape[0] // 2
        layers.append((np.kron(np.eye(half), pair), np.zeros(4 * half)))
        layers.append((np.kron(np.eye(half), 0.5 * np.array([[sign, sign, 1.0, -1.0]])), np.zeros(half)))
    modules: list[torch.nn.Module] = []
    for number, (W, b) in enumerate(layers):
        linear = torch.nn.Linear(W.shape[1], W.shape[0]).double()
        linear.load_state_dict({"weight": torch.tensor(W), "bias": torch.tensor(b)})
        modules += [linear, torch.nn.ReLU()] if number % 2 else [linear]
    return creases.read(torch.nn.Sequential(*modules), (n,)).to(torch.float64)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "above"), [(1, 0.05), (2, 0.2)])
def test_lattices_of_few_inputs_and_many_units_are_decided_with_a_proof(n: int, above: float) -> None:
    net = lattice(np.random.default_rng(n), 3, n)
    assert net.unit_starts[-1] > _case_search.MAX_UNITS
    box = np.tile([-1.0, 1.0], (n, 1))
    part = creases.plane(net, box) if n == 2 else creases.line(net, [-1.0], [1.0])
    most = float(np.max(part.values))
    for limit in (most + above, most - 1e-6):
        verdict = verify(net, Property(n, 1, (limit_case(box, limit),)), proof=True)
        assert verdict.status == ("holds" if limit > most else "violated")
        assert check_proof(verdict.proof, net)
        if verdict.status == "violated":
            assert exact_value(net, verdict.counterexample) >= Fraction(limit)


@pytest.mark.slow
def test_bounds_of_lattices_contain_their_values() -> None:
    rng = np.random.default_rng(0)
    for size, n in ((1, 1), (2, 2)):
        net = lattice(rng, size, n)
        stages = read_stages(net)
        assert stages is not None
        search = few_inputs.SparseSearch(net, stages, [limit_case(np.array([[-1.0, 1.0]] * n), 0.0)], False)
        assert search.folds
        for width in (1e-12, 0.1, 1.0):
            center = rng.normal(size=(16, n))
            boxes = np.stack([center - width, center + width], axis=2)
            x = search._carry(few_inputs._box_functions(boxes))
            for box, below, above in zip(boxes, x.below[0], x.above[0], strict=True):
                low, high = below[-1] - np.abs(below[:-1]).sum(), above[-1] + np.abs(above[:-1]).sum()
                for point in (box[:, 0], box[:, 1], rng.uniform(*box.T)):
                    value = exact_value(net, point)
                    assert Fraction(low) <= value <= Fraction(high)


@pytest.mark.slow
def test_boxes_that_satisfy_one_row_of_a_case_are_split_for_another() -> None:
    # x0 >= 1/2 and |x1| >= 3/2: the first row is true of half the box, the second of none of it
    net = creases.read(
        [(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]), np.zeros(3)), ([[1, 0, 0], [0, 1, 1]], np.zeros(2))]
    ).to(torch.float64)
    box, none = np.array([[0.0, 1.0], [-1.0, 1.0]]), np.zeros((0, 2))
    case = Case(box, none, np.zeros(0), -np.eye(2), np.zeros((2, 2)), np.array([-0.5, -1.01]))
    chain, stages = read_chain(net), read_stages(net)
    assert chain is not None
    assert stages is not None
    for search in (ChainSearch(chain, [case], False), few_inputs.SparseSearch(net, stages, [case], False)):
        answer = search.run(np.inf)
        assert answer.is_open == [False]
        assert answer.boxes < 20


def test_affine_steps_are_not_multiplied_out() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2))
    chain = read_chain(creases.read(model.double(), (3,)))
    assert chain is not None
    assert [stage.W.shape for stage in chain.stages] == [(4, 3), (5, 4), (2, 5)]
    assert chain.stages[0].leak.tolist() == [1.0] * 4


class Residual(torch.nn.Module):
    """A sum of two branches of different depth."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = torch.nn.Linear(3, 4), torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.a(x).relu()
        return self.c(h + self.b(h).relu())


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (
            torch.nn.Sequential(
                torch.nn.Conv2d(1, 2, 2, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(32, 1)
            ),
            (1, 3, 3),
        ),
        (Residual(), (3,)),
    ],
    ids=["convolution", "residual"],
)
def test_stages_of_convolutions_and_branches_have_the_values_of_the_network(model, shape) -> None:
    net = creases.read(model.double(), shape)
    chain = read_chain(net)
    assert chain is not None
    x = h = np.random.default_rng(0).normal(size=net.n_in)
    for stage in chain.stages:
        z = stage.W @ h + stage.b
        h = np.where(z > 0, z, stage.leak * z)
    np.testing.assert_allclose(h, net(x), rtol=1e-12)


def test_choices_have_no_stages() -> None:
    pool = torch.nn.Sequential(torch.nn.Conv2d(1, 1, 2), torch.nn.MaxPool2d(2), torch.nn.Flatten())
    assert read_chain(creases.read(pool.double(), (1, 3, 3))) is None


@pytest.mark.slow
@pytest.mark.parametrize("keep_tree", [False, True])
def test_answers_and_trees_do_not_depend_on_the_number_of_threads(
    keep_tree: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "FIRST", 4)  # several rounds
    net = random_network(np.random.default_rng(3), [4, 20, 20, 1], np.ones(4))
    chain = read_chain(net)
    assert chain is not None
    box = np.array([[-1.0, 1.0]] * 4)
    best = float(np.asarray(net(np.random.default_rng(0).uniform(-1, 1, (5000, 4)))).max())
    answers = [
        ChainSearch(chain, [limit_case(box, 1.5 * best)], keep_tree, n).run(time.monotonic() + 60) for n in (1, 3)
    ]
    assert answers[0].boxes == answers[1].boxes > 8
    assert answers[0].trees._splits == answers[1].trees._splits
    assert bool(answers[0].trees._splits) == keep_tree
    assert answers[0].is_open == answers[1].is_open


def test_rows_of_inputs_belong_to_a_case() -> None:
    net = creases.read([([[1.0, 1.0]], [0.0]), ([[1.0]], [0.0])])  # relu(x0 + x1)
    box = np.array([[0.0, 1.0]] * 2)
    case = Case(box, np.array([[1.0, 1.0]]), np.array([0.5]), np.array([[-1.0]]), np.zeros((1, 2)), np.array([-0.75]))
    assert verify(net, Property(2, 1, (case,))).status == "holds"
    wide = Case(box, case.A, np.array([1.0]), case.C, case.D, case.d)
    verdict = verify(net, Property(2, 1, (wide,)))
    assert verdict.status == "violated"
    y = exact_outputs(net.to(torch.float64), verdict.counterexample)
    assert y is not None
    assert wide.contains(verdict.counterexample, y)
    assert not case.contains(verdict.counterexample, y)


@pytest.mark.slow
def test_time_to_compile_the_search_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    compile_search, clock, passed = _case_search.compile_search, time.monotonic, [0.0]

    def compile_slowly(announce) -> bool:
        compile_search(announce)
        passed[0] = 1000.0
        return True

    compile_search(lambda: None)
    monkeypatch.setattr("creases._compiled.is_cached", lambda module: False)
    monkeypatch.setattr(_case_search, "compile_search", compile_slowly)
    for module in (_case_search, _subtrees):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock() + passed[0]))
    net = random_network(np.random.default_rng(0), [2, 3, 1], np.ones(2))
    box = np.array([[0.0, 1.0], [0.0, 1.0]])
    question = Property(2, 1, (limit_case(box, 1e3),))
    verdict = verify(net, question, budget=60.0, progress=lambda what, done, total: said.append(what))
    assert verdict.status == "holds"
    assert "compiling the search, once on this machine" in said


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_trees_of_random_networks_pass_the_check(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-6, 7, size=3)
    net = random_network(rng, [3, 6, 5, 1], scale, float(rng.choice([0.0, 0.2])))
    box = np.stack([-scale, scale], axis=1)
    best = float(np.asarray(net(rng.uniform(*box.T, (2000, 3)))).max())
    rows = np.array([[1.0, 0.0, 0.0]]) / scale  # the upper half of the first column is left out
    case = limit_case(box, best + 0.2 * abs(best))
    cases = (Case(box, rows, np.zeros(1), case.C, case.D, case.d), case)
    verdict = verify(net, Property(3, 1, cases), proof=True)
    assert verdict.status != "unknown"
    assert verdict.proof is not None
    result = check_proof(verdict.proof, net)
    assert result, str(result)
