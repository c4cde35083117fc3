"""Layers of one input are the broken lines they are meant to be."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import creases
from creases.boolean.intervals._intervals import BrokenLine, compose_lines


@pytest.mark.parametrize("leak", [0.0, 0.1, 0.7])
@pytest.mark.parametrize("left", [(), (2,), (1, 3)])
def test_slopes_and_breakpoints_are_those_asked_for_and_meet_the_condition(leak, left):
    rng = np.random.default_rng(0)
    y, slopes = np.sort(rng.uniform(-3, 3, 5)), rng.normal(size=5)
    model = compose_lines([BrokenLine.from_slopes(y, slopes, through=(1.0, 2.0), leak=leak, left=left)], leak=leak)
    found = creases.line(creases.read(model), [0.0], [1.0], infinite=True)
    np.testing.assert_allclose(found.breakpoints, y, atol=1e-12)
    s = found.pieces().J[:, 0, 0]
    np.testing.assert_allclose(s[1:], slopes, atol=1e-12)
    jumps = np.diff(s)[list(left)].sum()
    assert (1 + leak) * jumps == pytest.approx(leak * s[-1] - s[0])
    assert model(torch.ones(1, 1, dtype=torch.float64)).item() == pytest.approx(2.0)


@pytest.mark.parametrize("leak", [0.0, 0.3])
def test_coefficients_are_the_inverse_of_the_transposed_matrix_of_the_lemma(leak):
    """(A.13) to (A.15): M_ji = 1 for i <= j, alpha above the diagonal; a_1 = (s_1 - alpha s_k) / (1 - alpha)."""
    rng = np.random.default_rng(1)
    slopes = rng.normal(size=6)
    line = BrokenLine.from_slopes(np.arange(6.0), slopes, through=(0.0, 0.0), leak=leak)
    M = np.where(np.tri(6, dtype=bool), 1.0, leak)
    np.testing.assert_allclose(line.coefficients, np.linalg.solve(M, slopes), atol=1e-12)


def test_a_network_of_lines_is_their_composition_after_the_projection():
    rng = np.random.default_rng(2)
    lines = [
        BrokenLine.from_slopes(np.sort(rng.normal(size=m)), rng.normal(size=m), through=(0.0, 0.5), leak=0.2)
        for m in (3, 1, 4)
    ]
    project = rng.normal(size=5)
    X = rng.normal(size=(50, 5))
    h = X @ project
    for line in lines:
        h = line.values(h, leak=0.2)
    got = compose_lines(lines, leak=0.2, project=project)(torch.from_numpy(X)).detach().numpy().ravel()
    np.testing.assert_allclose(got, h, atol=1e-12)
