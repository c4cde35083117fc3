"""Cases decided by several processes: the same verdicts as in one, with proofs put together from subtrees."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pytest
from torch import nn

import creases
from creases._engines._local import Serial
from creases.certify.proofs import check_proof
from creases.certify.properties import Case, Property, _case_search, _subtrees, _verify, verify
from creases.errors import InputError

#: Networks of the four searches: boxes by the compiled kernel, then sides; boxes of few inputs; sides; boxes by layers.
SIZES = {"kernel": (4, 8, 8, 2), "few": (2, 40, 40, 2), "sides": (14, 16, 16, 2)}


def network(name: str) -> creases.Network:
    if name == "choices":
        import torch

        torch.manual_seed(3)
        layers = [nn.Linear(2, 8), nn.ReLU(), nn.Unflatten(1, (1, 8)), nn.MaxPool1d(2), nn.Flatten(), nn.Linear(4, 2)]
        return creases.read(nn.Sequential(*layers).double(), input_shape=(2,))
    rng = np.random.default_rng(1)
    sizes = SIZES[name]
    layers = [(rng.normal(size=(m, n)) * np.sqrt(2 / n), 0.5 * rng.normal(size=m)) for n, m in pairwise(sizes)]
    return creases.read(layers)


def limits(net: creases.Network, above: float) -> Property:
    """No output exceeds what random points of two boxes reach, and more by a share of their range."""
    n, cases = net.n_in, []
    rng = np.random.default_rng(0)
    for radius in (0.5, 0.8):
        box = np.tile([-radius, radius], (n, 1))
        Y = np.asarray(net(rng.uniform(*box.T, (20_000, n))))
        high = Y.max(axis=0) + above * np.ptp(Y, axis=0)
        nothing = np.zeros((0, n)), np.zeros(0)
        cases += [Case(box, *nothing, -np.eye(2)[[k]], np.zeros((1, n)), -high[[k]]) for k in range(2)]
    return Property(n, 2, tuple(cases))


class Shuffled(Serial):
    """An engine of several workers that finishes tasks in a random order, and loses some."""

    workers = 3

    def __init__(self, function):
        super().__init__(function)
        self.rng = np.random.default_rng(0)

    def wait(self):
        number = int(self.rng.choice(list(self._tasks)))
        if self.rng.random() < 0.05:
            del self._tasks[number]
            return {number: None}
        return {number: self._function(*self._tasks.pop(number))}


@pytest.fixture
def use(monkeypatch):
    """Let parts be small, and an engine do all but the first."""
    monkeypatch.setattr(_subtrees, "FIRST_SECONDS", 0.0)
    monkeypatch.setattr(_case_search, "MAX_NODES", _case_search.MIN_NODES)
    monkeypatch.setattr("creases.certify._boxes.search.SHARE", 16)
    monkeypatch.setattr("creases.certify._boxes.few_inputs.SHARE", 1)
    monkeypatch.setattr("creases.certify._boxes.few_inputs.SMALL_SHARE", 1)
    monkeypatch.setattr("creases.certify._boxes.few_inputs.MAX_BATCH", 8)

    def choose(engine):
        started = []

        @contextmanager
        def start(name, function, n_tasks, n_jobs, address):
            started.append(engine(function))
            yield started[-1]

        monkeypatch.setattr(_verify, "open_engine", start)
        return started

    return choose


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "above"), [("kernel", 0.1), ("few", 0.02), ("sides", 1.0), ("choices", 0.003)])
def test_what_holds_is_proved_by_trees_of_subtrees_whichever_is_done_first(use, name, above):
    net = network(name)
    prop = limits(net, above)
    alone = verify(net, prop, proof=True)
    assert alone.status == "holds"
    proofs = []
    for engine in (Serial, Shuffled):
        started = use(engine)
        verdict = verify(net, prop, n_jobs=2, proof=True)
        assert (verdict.status, len(started)) == ("holds", 1)
        assert check_proof(verdict.proof, net)
        assert prop.is_statement_of(verdict.proof)
        proofs.append(verdict.proof)
    assert proofs[0] == proofs[1]
    sizes = [[len(claim.tree) for claim in proof.proofs] for proof in (alone.proof, proofs[0])]
    assert sizes[0] == sizes[1]
    assert sum(sizes[0]) > 90


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SIZES, "choices"])
def test_a_counterexample_is_the_same_whichever_process_is_first(use, name):
    net = network(name)
    prop = limits(net, -1e-4)
    points = []
    for engine in (Serial, Shuffled):
        use(engine)
        verdict = verify(net, prop, n_jobs=2, proof=True)
        assert verdict.status == verify(net, prop).status == "violated"
        assert any(case.contains(verdict.counterexample, net(verdict.counterexample)) for case in prop.cases)
        assert check_proof(verdict.proof, net)
        points.append(verdict.counterexample.tolist())
    assert points[0] == points[1]


def peak(place: np.ndarray) -> creases.Network:
    """Return a network that is 1 at a place and 0 where the sum of differences is 0.02 or more."""
    n = len(place)
    both = np.vstack([np.eye(n), -np.eye(n)])
    return creases.read(
        [(both, -both @ place), (np.full((1, 2 * n), -50.0), np.ones(1)), (np.ones((1, 1)), np.zeros(1))]
    )


@pytest.mark.slow
def test_a_counterexample_deep_in_the_tree_ends_the_search(use):
    net, box, none = peak(np.array([0.31, -0.57, 0.73])), np.tile([-1.0, 1.0], (3, 1)), np.zeros((0, 3))
    case = Case(box, none, np.zeros(0), -np.ones((1, 1)), np.zeros((1, 3)), np.array([-0.75]))
    points = []
    for engine in (Serial, Shuffled):
        started = use(engine)
        verdict = verify(net, Property(3, 1, (case,)), n_jobs=2)
        assert verdict.status == "violated"
        assert case.contains(verdict.counterexample, net(verdict.counterexample))
        assert started
        points.append(verdict.counterexample.tolist())
    assert points[0] == points[1]


@pytest.mark.thorough
@pytest.mark.parametrize("n_jobs", [1, 2, pytest.param(3, marks=pytest.mark.thorough)])
def test_processes_decide_as_one_does(n_jobs, monkeypatch):
    monkeypatch.setattr(_subtrees, "FIRST_SECONDS", 0.0)  # processes get most of the work
    net = network("sides")
    holds, violated = limits(net, 1.0), limits(net, -1e-4)
    verdict = verify(net, holds, n_jobs=n_jobs, proof=True)
    assert verdict.status == "holds"
    assert check_proof(verdict.proof, net)
    refuted = verify(net, violated, n_jobs=n_jobs)
    assert refuted.status == "violated"


@pytest.mark.slow
def test_a_limit_that_is_reached_exactly_goes_from_boxes_to_sides(use, monkeypatch):
    net = creases.read([([[1.0, 1.0], [1.0, -1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])  # 2 max(x0, |x1|) where > 0
    box, none = np.array([[0.0, 1.0], [0.0, 1.0]]), np.zeros((0, 2))
    case = Case(box, none, np.zeros(0), -np.ones((1, 1)), np.zeros((1, 2)), np.array([np.nextafter(-2.0, -3.0)]))
    use(Shuffled)
    verdict = verify(net, Property(2, 1, (case,)), n_jobs=2, budget=3.0, proof=True)
    assert verdict.status == verify(net, Property(2, 1, (case,)), budget=3.0).status == "holds"
    assert check_proof(verdict.proof, net)


def test_what_time_does_not_allow_is_unknown(use):
    net = network("sides")
    use(Shuffled)
    verdict = verify(net, limits(net, 0.9), n_jobs=2, budget=1e-9)
    assert (verdict.status, verdict.detail) == ("unknown", "4 of 4 cases undecided")


def test_options_are_checked_as_those_of_sweeps():
    net = network("kernel")
    with pytest.raises(InputError, match="n_jobs must be 1 for the serial engine, which is this process, got 2"):
        verify(net, limits(net, 1.0), engine="serial", n_jobs=2)
    with pytest.raises(InputError, match="address must be left out without a Ray cluster"):
        verify(net, limits(net, 1.0), address="auto")


@pytest.mark.thorough
def test_a_ray_cluster_decides_as_one_process_does(monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setattr(_subtrees, "FIRST_SECONDS", 0.0)
    net = network("sides")
    verdict = verify(net, limits(net, 1.0), engine="ray", n_jobs=2, proof=True)
    assert verdict.status == "holds"
    assert check_proof(verdict.proof, net)
    assert verify(net, limits(net, -1e-4), engine="ray", n_jobs=2).status == "violated"
