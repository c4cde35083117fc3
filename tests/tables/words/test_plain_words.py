"""Words that misled a reader: each shown through the command or the words of a model."""

import re

import numpy as np
import pandas as pd
import pytest

import creases
from creases.errors import InputError
from creases.tables import describe_stages
from creases.tables._words.model_text import describe_model


@pytest.fixture(scope="module")
def wide():
    """Twenty small effects beside a larger one, of a target that is 0 or 1."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 20))
    y = (X.sum(axis=1) + 2 * X[:, 0] + rng.normal(size=700) > 0).astype(int)
    return pd.DataFrame(X, columns=[f"x{k}" for k in range(20)]).assign(died=y)


@pytest.fixture(scope="module")
def model(wide):
    return creases.fit_table(wide, "died")


def test_classes_that_are_numbers_are_called_by_their_target(model, wide):
    """Not "0 50 % if": nobody reads a number as a class."""
    assert describe_model(model)[0].startswith("probability of died=1: ")
    row = str(model.explain(wide.iloc[:1]))
    assert "(died=" in row
    assert "probability of died=1 for the average row" in row
    text = str(model.changes(wide.iloc[:1]))
    assert text.startswith(("died=0 ", "died=1 "))


def test_a_rest_that_is_larger_than_what_is_shown_says_how_large_each_is(model, wide):
    """All at one end: the rest of many small ones is more than the least that has a line."""
    row = pd.DataFrame([dict.fromkeys(wide.columns[:-1], 0.5)])
    row["x0"] = 3.0
    lines = str(model.explain(row)).splitlines()
    rest = next(line for line in lines if "smaller effects" in line)
    assert "together, each at most" in rest


def test_numbers_of_cells_have_no_more_digits_than_a_reader_needs(model, wide):
    """Cells such as -2.3250307746388343 have five."""
    assert not re.search(r"\d\.\d{6}", str(model.explain(wide.iloc[:1])))


def test_several_rows_say_once_how_sizes_are_measured(model, wide):
    """One line for all."""
    assert str(model.changes(wide.iloc[:3], budget=1.0)).count("Size: ") == 1


def test_a_stage_that_brings_nothing_says_so():
    """Neither 0.0000 lower nor 0 bends; a squared error in variances is called what it is."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    table["y"] = 300 * table["a"] + rng.normal(size=300)
    fit = creases.fit_table(table, "y")
    texts = describe_stages(fit.function)
    assert texts[0].startswith("linear: unexplained variance 0.0")
    assert texts[0].endswith("(kept)")
    assert not any("0.0000 ±" in text for text in texts)


@pytest.mark.slow
def test_the_planes_that_a_model_has_are_counted():
    """Ten are tried, and those that do not matter go."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(900, 4))
    table = pd.DataFrame(X, columns=list("abcd")).assign(y=X[:, 0] * X[:, 1] + rng.normal(0, 0.1, 900))
    fit = creases.fit_table(table, "y")
    stages = zip(fit.function.steps, describe_stages(fit.function), strict=True)
    kept, text = next(pair for pair in stages if pair[0].is_kept)
    assert kept.stage != "linear"
    assert kept.planes == len(fit.function.planes) > 0
    assert f"(kept, {kept.planes} plane" in text


def test_a_misspelt_column_of_a_shape_is_answered_by_the_right_name():
    """Not that a category has no shape."""
    table = pd.DataFrame({"duration": np.arange(40.0), "y": np.arange(40.0) ** 2})
    with pytest.raises(InputError, match=r"got 'durations'; did you mean 'duration'\?"):
        creases.fit_table(table, "y", shapes={"durations": "rising"})


def test_a_plane_of_a_column_of_two_words_is_called_by_the_column():
    """Not sex=male, which is its encoded input."""
    rng = np.random.default_rng(3)
    sex, age = rng.choice(["no", "yes"], 700), rng.uniform(20, 60, 700)
    y = np.where(sex == "yes", np.abs(age - 40), 0) + rng.normal(0, 0.5, 700)
    fit = creases.fit_table(pd.DataFrame({"smoker": sex, "age": age, "y": y}), "y")
    assert fit.schema.features[0] == "smoker=yes"
    assert [set(names) for names in fit.planes] == [{"age", "smoker"}]
    assert any(name.startswith("age and smoker") for name in fit.explain([{"smoker": "yes", "age": 40}]).parts)
