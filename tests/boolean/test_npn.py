"""NPN classes, against images made by moving the axes of hypercubes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from boolean_images import functions_and_images, images
from creases import boolean
from creases.errors import InputError

#: Decimal codes of the dissertation's Table 3.3.
HARDEST = [7140, 1716, 5804, 6042, 1641, 5805, 406, 5737, 278, 27030, 2022, 1713, 5786, 1717, 5774, 7905, 6038, 7128]


@pytest.mark.parametrize(("n", "count"), [(1, 2), (2, 4), (3, 14), (4, 222)])
def test_classes_are_as_many_as_known_and_hold_all_functions(n, count):
    representatives, sizes = boolean.npn_classes(n)
    assert len(representatives) == count
    assert (np.diff(representatives.astype(np.int64)) > 0).all()
    assert sizes.sum() == 2 ** (2**n)


def test_a_class_has_the_images_of_its_representative():
    for n in (1, 2, 3):
        for f, size in zip(*boolean.npn_classes(n), strict=True):
            orbit = set(images(int(f), n))
            assert (min(orbit), len(orbit)) == (f, size)


@pytest.mark.thorough
def test_there_are_616126_classes_of_five_bits():
    representatives, sizes = boolean.npn_classes(5)
    assert len(representatives) == 616126
    assert (np.diff(representatives.astype(np.int64)) > 0).all()
    assert sizes.sum() == 2**32
    assert (boolean.canonical_form(representatives, 5) == representatives).all()
    for f in representatives[[1, 1000, 300000, -1]]:
        assert len(set(images(int(f), 5))) == sizes[np.searchsorted(representatives, f)]


@pytest.mark.thorough
@pytest.mark.parametrize(("n", "f"), [(4, 0xBEEF), (5, 0xDEADBEEF), (5, 0x96696996), (5, 0x0F0F3C3C)])
def test_the_canonical_function_is_the_least_of_all_images(n, f):
    assert boolean.canonical_form(f, n) == min(images(f, n))


@pytest.mark.slow
@given(functions_and_images(high=6))
@settings(deadline=None)
def test_images_have_one_canonical_function(case):
    n, f, image = case
    least = boolean.canonical_form(f, n)
    assert boolean.canonical_form(image, n) == least <= f
    assert boolean.canonical_form(least, n) == least


def test_the_codes_of_table_33_are_least_in_their_classes_and_so_are_their_reversals():
    assert boolean.canonical_form(HARDEST, 4).tolist() == HARDEST
    reversals = [boolean.from_truth_table(boolean.truth_table(f, 4)[::-1]) for f in HARDEST]
    assert boolean.canonical_form(reversals, 4).tolist() == HARDEST


@pytest.mark.slow
def test_arrays_keep_their_shape():
    assert boolean.canonical_form([[1, 2, 4]], 5).shape == (1, 3)
    assert boolean.canonical_form(np.zeros((0, 2), np.int64), 5).shape == (0, 2)
    assert isinstance(boolean.canonical_form(7, 5), int)


def test_more_bits_than_can_be_done_are_refused():
    with pytest.raises(InputError, match="n must be an integer from 1 to 6 for canonical forms"):
        boolean.canonical_form(1, 7)
    with pytest.raises(InputError, match=r"n must be an integer from 1 to 5 to list all classes, got 6"):
        boolean.npn_classes(6)
    with pytest.raises(InputError, match=r"f must be from 0 to .* for 5 bits"):
        boolean.canonical_form([1, 2**32], 5)
