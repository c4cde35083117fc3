"""Plots of piecewise-linear fits."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from creases.show._figures._splines import plot_pieces
from creases.splines import OptimalFit
from creases.splines._spline import Pieces

X = np.array([0.0, 4.0])


def draw(fit, **options):
    ax = Figure().subplots()
    plot_pieces(fit, ax=ax, **options)
    knots, function = ax.collections
    return ax, [segment[0, 0] for segment in knots.get_segments()], np.array(function.get_segments())


def test_pieces_are_drawn_between_knots_with_their_jumps():
    fit = OptimalFit(Pieces([1.0, 3.0], [1.0, 0.0, -1.0], [0.0, 5.0, 3.0]), 0.0, None, 0.0, True, None, True)
    ax, knots, segments = draw(fit, data=(X, X), window=(0, 4), names=("hour", "load"))
    assert knots == [1, 3]
    np.testing.assert_allclose(segments, [[[0, 0], [1, 1]], [[1, 5], [3, 5]], [[3, 3], [4, 2]]])
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_xlim()) == ("hour", "load", (0, 4))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["data", "best fit"]


def test_a_periodic_fit_is_drawn_in_every_period():
    fit = OptimalFit(Pieces.through([0.5, 1.5], [0.0, 1.0], -1.0, -1.0), 0.0, None, 0.0, False, 2.0)
    _, knots, segments = draw(fit, window=(0, 4))
    assert knots == pytest.approx([0.5, 1.5, 2.5, 3.5])
    np.testing.assert_allclose(segments[:, 0, 1], [0.5, 0, 1, 0, 1], atol=1e-12)
    np.testing.assert_allclose(segments[:, 1, 1], [0, 1, 0, 1, 0.5], atol=1e-12)


def test_a_line_without_knots_is_drawn():
    line = OptimalFit(Pieces([], [2.0], [1.0]), 0.0, None, 0.0, True)
    _, knots, segments = draw(line)
    assert knots == []
    np.testing.assert_allclose(segments, [[[-1, -1], [1, 3]]])


def test_a_short_piece_far_away_is_drawn_with_its_own_slope():
    fit = OptimalFit(Pieces.through([1e9, 1e9 + 3e-6], [0.0, 1.0], 0.0, 0.0), 0.0, None, 0.0, True)
    _, _, segments = draw(fit, window=(1e9 - 1e-5, 1e9 + 1e-5))
    np.testing.assert_allclose(np.diff(segments[:, :, 1], axis=1)[:, 0], [0, 1, 0], atol=1e-6)
