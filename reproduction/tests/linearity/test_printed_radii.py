"""The radii of a disc and a ring as they are printed."""

from math import pi

import pytest

from creases_reproduction.linearity.printed_radii import PRINTED_RADII, printed_radii


def test_the_printed_ring_has_twice_the_area_of_the_disc():
    r1, r2, r3 = PRINTED_RADII
    assert pi * (r3**2 - r2**2) == pytest.approx(2 * pi * r1**2)


def test_radii_in_two_dimensions_are_those_of_the_disc_and_the_ring():
    assert printed_radii(2) == pytest.approx(PRINTED_RADII)
