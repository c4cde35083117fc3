"""Two inputs with a gap in the data: the fit of least norm, and training."""

from __future__ import annotations

import json

import numpy as np
import pytest

from creases.splines import Hyperplanes
from creases_reproduction.splines import data_gap
from creases_reproduction.splines.data_gap import (
    GAP,
    affine_deviation,
    data,
    draw_creases,
    gap_distances,
    least_norm_fit,
    train,
)


@pytest.fixture(scope="module")
def creases():
    return draw_creases(np.random.default_rng(0), 12)


def test_the_gap_has_no_data_and_the_fit_of_least_norm_interpolates(creases):
    X, y = data()
    assert (np.abs(X[:, 0]) > GAP).all()
    assert np.allclose(least_norm_fit(*creases)(X), y, atol=1e-9)


def test_only_delta_slopes_learned_from_zero_are_affine_in_the_crease(creases):
    fit = least_norm_fit(*creases)
    deviation, units = affine_deviation(fit)
    assert units > 20
    assert deviation < 1e-12
    noise = np.random.default_rng(1).normal(size=len(fit.mu))
    assert affine_deviation(Hyperplanes(fit.o0, fit.o, fit.xi, fit.gamma, noise))[0] > 0.1


def test_a_network_is_zero_at_first_and_training_lowers_its_error(creases):
    X, y = data()
    losses = []
    for steps in (0, 300):
        network = train(*creases, 1.0, np.random.default_rng(0), steps)
        losses.append(float(((network(X) - y) ** 2).mean()))
    assert losses[0] == pytest.approx(float((y**2).mean()))
    assert losses[1] < 0.5 * losses[0]


def test_distances_in_the_gap_are_zero_for_the_fit_itself_and_for_affine_functions(creases):
    fit = least_norm_fit(*creases)
    smooth, straight = gap_distances(fit, fit)
    assert smooth == 0
    assert straight > 0.01
    affine = Hyperplanes(1.0, np.array([2.0, 3.0]), fit.xi, fit.gamma, 0 * fit.mu)
    assert gap_distances(affine, fit)[1] < 1e-12


def test_the_run_is_stored_as_json_with_how_it_was_made(tmp_path, monkeypatch):
    monkeypatch.setattr(data_gap, "measure_gap", lambda scale: {"scale": scale})
    data_gap.main(["--out", str(tmp_path / "gap.json")])
    stored = json.loads((tmp_path / "gap.json").read_text())
    assert stored["numbers"] == {"scale": "full"}
    assert "splines.data_gap --scale full" in stored["about"]["command"]
