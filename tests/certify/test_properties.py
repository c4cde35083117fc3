"""Verdicts are those of the partition, counterexamples are real, VNN-LIB files mean what they say."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import creases
from creases.certify.properties import parse_vnnlib, verify
from creases.certify.properties._holds import holds
from creases.certify.properties._monotone import monotone
from creases.errors import FileError, InputError

BOX = np.array([[-1.0, 1.0], [-0.5, 1.5]])


def network(seed: int, sizes: tuple[int, ...] = (2, 6, 5, 3)) -> creases.Network:
    rng = np.random.default_rng(seed)
    layers = [(rng.normal(size=(m, n)) * np.sqrt(2 / n), 0.5 * rng.normal(size=m)) for n, m in pairwise(sizes)]
    return creases.read(layers, leak=0.1 * (seed % 2))


def least_row(net: creases.Network, C: np.ndarray, d: np.ndarray) -> float:
    """The smallest over the box of the largest of ``C y - d``, by the partition of the network with it as output."""
    from creases._program import Step

    torch = pytest.importorskip("torch")
    end = len(net.steps)
    linear = {"weight": torch.from_numpy(C), "offset": torch.from_numpy(-d)}
    steps = [*net.steps, Step("linear", (end,), (len(d),), {}, linear), Step("reshape", (end + 1,), (1, len(d)),
             {"shape": [1, len(d)]}), Step("choice", (end + 2,), (1,))]  # fmt: skip
    return float(creases.space(creases.Network(steps, (2,)), BOX, method="vertices").values.min())


@pytest.mark.parametrize("seed", range(3))
def test_a_class_is_never_decided_exactly_if_it_has_no_region(seed: int) -> None:
    net = network(seed)
    x = np.random.default_rng(0).uniform(*BOX.T, size=(4000, 2))
    decided = net(x).argmax(axis=1)
    for c in range(3):
        C = np.array([np.eye(3)[k] - np.eye(3)[c] for k in range(3) if k != c])
        worst = least_row(net, C, np.zeros(2))
        verdict = holds(net, BOX, never=c, budget=20)
        assert verdict.status == ("holds" if worst > 0 else "violated")
        assert not (verdict and (decided == c).any())
        if not verdict:
            assert net(verdict.counterexample).argmax() == c
        always = holds(net, BOX, always=c, budget=20)
        assert always.status == ("holds" if (decided == c).all() else "violated")
        if not always:
            assert net(always.counterexample).argmax() != c


@pytest.mark.parametrize("seed", range(2))
def test_limits_of_outputs_hold_just_beyond_the_range(seed: int) -> None:
    net = network(seed)
    high = creases.certify.output_range(net, BOX).maximum
    assert holds(net, BOX, outputs=(np.eye(3), high + 1e-4))
    refuted = holds(net, BOX, outputs=(np.eye(3)[1:2], high[1:2] - 1e-4))
    assert refuted.status == "violated"
    assert refuted.outputs[1] > high[1] - 1e-4


def test_monotone_is_what_the_coefficients_of_all_regions_say() -> None:
    verdicts = []
    for seed in range(3):
        net = network(seed, (2, 4, 4, 1))
        J = creases.space(net, BOX, method="vertices").pieces().J[:, 0]
        for column in range(2):
            for direction, sign in (("rising", 1), ("falling", -1)):
                verdict = monotone(net, column, BOX, direction=direction, budget=20)
                assert verdict.status == ("holds" if (sign * J[:, column] >= 0).all() else "violated")
                verdicts.append(verdict.status)
                if not verdict:
                    first, second = verdict.counterexample
                    assert first[column] < second[column]
                    assert np.delete(first, column) == pytest.approx(np.delete(second, column), abs=0)
                    assert sign * (net(second)[0] - net(first)[0]) < 0
    assert set(verdicts) == {"holds", "violated"}


def test_a_network_with_positive_weights_is_monotone_in_many_inputs() -> None:
    rng = np.random.default_rng(0)
    net = creases.read([(rng.uniform(0.1, 1, size=(m, n)), rng.normal(size=m)) for n, m in ((12, 20), (20, 1))])
    assert monotone(net, 3, (-1, 1))
    assert monotone(net, 3, (-1, 1), direction="falling").status == "violated"


def vnnlib(*assertions: str, n: int = 2, m: int = 3) -> str:
    declared = [f"(declare-const X_{i} Real)" for i in range(n)] + [f"(declare-const Y_{i} Real)" for i in range(m)]
    box = [f"(assert (>= X_{i} {lo})) (assert (<= X_{i} {hi}))" for i, (lo, hi) in enumerate(BOX)]
    return "\n".join([*declared, *box, *(f"(assert {part})" for part in assertions)])


@pytest.mark.parametrize("seed", range(4))
def test_files_like_those_of_acas_xu_are_decided_as_the_partition_decides(seed: int) -> None:
    net = network(seed)
    smallest = vnnlib("(<= Y_0 Y_1)", "(<= Y_0 Y_2)")  # the first output is the smallest: unsafe
    C = np.array([[1.0, -1.0, 0.0], [1.0, 0.0, -1.0]])
    verdict = verify(net, parse_vnnlib(smallest), budget=20)
    assert verdict.status == ("violated" if least_row(net, C, np.zeros(2)) <= 0 else "holds")
    if verdict.status == "violated":
        y = net(verdict.counterexample)
        assert (C @ y <= 0).all()
    either = vnnlib(f"(or (and (<= Y_0 Y_1) (<= Y_0 Y_2)) (>= (+ Y_1 (* 2 Y_2)) {seed}.0))")
    row = np.array([[0.0, -1.0, -2.0]])
    worst = min(least_row(net, C, np.zeros(2)), least_row(net, row, np.array([-float(seed)])))
    assert verify(net, parse_vnnlib(either), budget=20).status == ("violated" if worst <= 0 else "holds")


def test_polytopes_of_inputs_and_rows_of_both_are_understood() -> None:
    net = creases.read([([[1.0, 1.0], [1.0, -1.0]], [0.0, 0.0]), ([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0.0] * 3)])
    sums = "(<= (+ X_0 X_1) -0.5)"
    assert verify(net, parse_vnnlib(vnnlib(sums, "(>= Y_0 0.25)"))).status == "holds"  # relu(x0 + x1) is 0 there
    both = verify(net, parse_vnnlib(vnnlib("(>= Y_0 (+ X_0 X_1 0.25))")))  # relu(s) >= s + 0.25 where s <= -0.25
    assert both.status == "violated"
    assert both.counterexample.sum() <= -0.25 + 1e-9
    assert verify(net, parse_vnnlib(vnnlib("(<= Y_0 (- (+ X_0 X_1) 0.125))"))).status == "holds"
    assert verify(net, parse_vnnlib(vnnlib("(>= X_0 2.0)", "(>= Y_0 -5.0)"))).status == "holds"  # no such input
    assert verify(net, parse_vnnlib(vnnlib("(= X_0 0.5)", "(= X_1 0.25)", "(>= Y_0 0.7)"))).status == "violated"
    assert verify(net, parse_vnnlib(vnnlib("(= X_0 0.5)", "(= X_1 0.25)", "(>= Y_0 0.8)"))).status == "holds"


def test_files_are_parsed_with_comments_numbers_and_disjunctions_of_boxes() -> None:
    prop = parse_vnnlib("""
        (set-logic QF_LRA) ; ignored
        (declare-fun X_0 () Real)(declare-const Y_0 Real)
        (assert (or (and (>= X_0 -1e-1) (<= X_0 (- 0.05))) (and (<= 0.5 X_0) (<= X_0 (/ 3 4)))))
        (assert (< (- Y_0 1) (* 2 -0.5)))
    """)
    assert prop.cases[0].box.tolist() == [[Fraction(-1, 10), Fraction(-1, 20)]]  # numbers that are no floats
    assert prop.cases[1].box.tolist() == [[0.5, 0.75]]
    assert [(case.C.tolist(), case.d.tolist()) for case in prop.cases] == [([[1.0]], [0.0])] * 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(declare-const Z_0 Real)", "must declare X_0"),
        ("(declare-const X_0 Int)", "X_0 must be Real, got Int"),
        ("(declare-const X_1 Real)(declare-const Y_0 Real)", "X_0 is not declared"),
        ("(prove X_0)", "the command prove is not known"),
        ("(declare-const X_0 Real) (assert (<= X_0 one))", "'one' is neither a number nor"),
        ("(declare-const X_0 Real) (assert (<= X_0))", "must compare two terms"),
        ("assert", "'assert' is outside parentheses"),
        (")", "has no opening one"),
    ],
)
def test_what_is_no_vnnlib_file_is_refused(text: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        parse_vnnlib(text, "file.vnnlib")


def test_questions_that_make_no_sense_are_refused() -> None:
    net = network(0)
    with pytest.raises(InputError, match="only one given of never, always and outputs"):
        holds(net, BOX)
    with pytest.raises(InputError, match="never must be an integer from 0 to 2"):
        holds(net, BOX, never=3)
    with pytest.raises(InputError, match="column must be an integer from 0 to 1"):
        monotone(net, 2, BOX)
    with pytest.raises(InputError, match="network's 2 inputs and 3 outputs"):
        verify(net, parse_vnnlib(vnnlib("(>= Y_0 0.0)", m=1)))
