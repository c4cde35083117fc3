"""Random small architectures read exactly; ``bench/read_models.py`` draws more of them, and ONNX files."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import creases
from agreement import assert_agrees
from creases.errors import ReadError

sys.path.append(str(Path(__file__).parents[3] / "bench"))
from random_models import in_double, random_model


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")
@given(st.integers(0, 10**6))
@settings(max_examples=150, deadline=None)
def test_random_models_agree(seed: int) -> None:
    model, shape, *_ = random_model(Random(seed))
    assert_agrees(in_double(model), shape, creases.read(model, shape))


@pytest.mark.slow
@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_random_models_that_bend_smoothly_or_jump_are_refused_for_that_reason(seed: int) -> None:
    model, shape, _, word = random_model(Random(seed), smooth=1.0, longest=2)
    if word:
        with pytest.raises(ReadError, match=word):
            creases.read(model, shape)
