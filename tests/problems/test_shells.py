from math import sqrt

import numpy as np
import pytest

from creases.errors import InputError
from creases.problems._toy import EQUAL_AREA_RADII, equal_volume_radii, shells


def thick_radii(d):
    """Radii of a ball and of a shell that becomes no thinner as d grows."""
    return 0.5, 0.5 * sqrt(d), 0.5 * sqrt(2 * d)


@pytest.mark.parametrize("radii", [equal_volume_radii, thick_radii])
@pytest.mark.parametrize("d", [1, 2, 3, 8, 50, 2000])
def test_points_lie_in_the_ball_and_in_the_shell(d, radii):
    r1, r2, r3 = radii(d)
    X, y = shells(n=501, d=d, radii=(r1, r2, r3), standardize=False)
    r = np.linalg.norm(X, axis=1)
    assert y.sum() == 251
    assert r[y == 1].max() <= r1 * (1 + 1e-12)
    assert r2 * (1 - 1e-12) <= r[y == 0].min()
    assert r[y == 0].max() <= r3 * (1 + 1e-12)


def test_points_are_uniform_in_volume_and_direction():
    d, (r1, r2, r3) = 4, thick_radii(4)
    X, y = shells(n=40_000, d=d, radii=(r1, r2, r3), standardize=False)
    r = np.linalg.norm(X, axis=1)
    for share in (r[y == 1] ** d / r1**d, (r[y == 0] ** d - r2**d) / (r3**d - r2**d)):
        counts = np.histogram(share, bins=10, range=(0, 1))[0]
        assert np.abs(counts - 2000).max() < 5 * np.sqrt(2000)
    assert np.abs((X / r[:, None]).mean(axis=0)).max() < 0.02


def test_the_plane_has_the_radii_of_circle_against_annulus():
    assert equal_volume_radii(2) == pytest.approx(EQUAL_AREA_RADII)


@pytest.mark.parametrize("d", [2, 3, 5, 10])
def test_ball_and_shell_have_the_same_volume_by_default(d):
    r1, r2, r3 = equal_volume_radii(d)
    assert r3**d - r2**d == pytest.approx(r1**d)
    assert r2 == pytest.approx(np.sqrt(d) * r1)


def test_bad_dimension_and_radii_are_refused():
    with pytest.raises(InputError, match="d must be a positive integer, got 0"):
        shells(d=0)
    with pytest.raises(InputError, match="radii must be 0 < r1 <= r2 <= r3"):
        shells(radii=(1, 0.5, 2))
