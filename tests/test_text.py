"""Numbers as people write them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from creases._text import format_change, format_fixed, format_percent, format_value
from creases.tables._columns.codec import round_step

FINITE = st.floats(-1e300, 1e300).filter(lambda x: x == 0 or abs(x) > 1e-300)


@given(FINITE, st.integers(1, 12))
def test_a_number_reads_back_within_its_digits(value, digits):
    digits_kept = digits if 1e-4 <= abs(value) < 1e12 else min(digits, 3)
    assert float(format_value(value, digits).replace(",", "")) == pytest.approx(
        value, rel=0.6 * 10.0 ** (1 - digits_kept)
    )


@given(FINITE)
def test_a_change_has_its_sign(value):
    text = format_change(value)
    assert text[0] == ("0" if value == 0 else "+" if value > 0 else "-")


@given(st.floats(0, 1))
def test_a_probability_never_reads_certain_unless_it_is(share):
    text = format_percent(share)
    assert (text == "0 %") == (share == 0)
    assert (text == "100 %") == (share == 1)


@given(st.floats(-1e6, 1e6), st.integers(0, 6))
def test_fixed_decimals_differ_by_half_a_unit_at_most(value, decimals):
    assert abs(float(format_fixed(value, decimals).replace(",", "")) - value) <= 0.5000001 * 10.0**-decimals + 1e-9


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9), st.booleans())
def test_slopes_are_told_for_a_tenth_of_the_range_at_most(low, width, whole):
    step = round_step(low, low + width, whole=whole)
    assert np.isclose(np.log10(step), round(np.log10(step)))
    assert step <= max((low + width - low) / 10 * 1.0001, 1.0 if whole else 0.0)
