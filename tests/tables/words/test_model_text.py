"""Models in words: every wording, on curves whose numbers are known."""

from dataclasses import replace

import numpy as np
import pytest

from creases.tables._model.schema import Facts
from creases.tables._words.model_text import describe_model
from readable_models import make_model

ROWS = 12


def table(**columns):
    """Return a CSV text of columns, each repeated to twelve rows."""
    cells = {name: [values[i % len(values)] for i in range(ROWS)] for name, values in columns.items()}
    return "\n".join([",".join(cells), *(",".join(map(str, row)) for row in zip(*cells.values(), strict=True))]) + "\n"


def lines(text, curves, **options):
    model, problem = make_model(text, curves, **options)
    return describe_model(model, X=problem.X)


PRICE = {"y (mpg)": [1.5, 2.5, 3.5]}
WEIGHTS = [1600, 2750, 3111, 5150]


def test_slopes_are_told_in_the_units_of_column_and_target():
    text = table(**{"weight (lb)": WEIGHTS}, **PRICE)
    told = lines(text, {"weight (lb)": ([1600, 2750, 5150], [13.8, 0.0, -14.4])}, intercept=23.5)
    assert told == [
        "y: 23.5 mpg for the average row, and from each column:",
        "weight: -1.2 mpg per 100 lb up to 2,750 lb, -0.6 above",
    ]


def test_without_units_slopes_are_per_round_number():
    text = table(weight=WEIGHTS, y=[1.5, 2.5, 3.5])
    assert lines(text, {"weight": ([1600, 5150], [0.0, 35.5])})[1] == "weight: +1 per 100"


def test_knots_at_which_nothing_bends_are_not_told():
    text = table(weight=WEIGHTS, y=[1.5, 2.5, 3.5])
    assert lines(text, {"weight": ([1600, 2600, 3600], [0.0, 10.0, 20.0])})[1] == "weight: +1 per 100"


@pytest.mark.parametrize(
    ("values", "knots", "heights", "expected"),
    [
        ([0, 1, 2, 3], [0, 3], [0, 6], "x: +2 per 1"),
        ([0.001, 0.002, 0.0031], [0.001, 0.0031], [0, 0.21], "x: +0.01 per 0.0001"),
        ([1e6, 3e6, 9e6], [1e6, 9e6], [8, 0], "x: -0.1 per 100,000"),
        ([1e13, 3e13, 9e13], [1e13, 9e13], [8, 0], "x: -0.1 per 1e12"),
        ([-5, 0.5, 20], [-5, 0.5, 20], [0, 5.5, 5.5], "x: +1 per 1 up to 0.5, flat above"),
        ([0, 50, 114, 90000], [0, 114, 90000], [0, 2.1, 3.0], "x: +2.1 from 0 to 114, +0.01 per 1,000 above"),
        ([0, 1, 2, 3, 5], [0, 1, 2, 3, 5], [0, 1, 0, 1, 0], "x: 0 at 0, +1 at 1, 0 at 2, +1 at 3, 0 at 5"),
    ],
)
def test_curves_of_small_large_and_bent_columns(values, knots, heights, expected):
    assert lines(table(x=values, y=[1.5, 2.5, 3.5]), {"x": (knots, heights)})[1] == expected


@pytest.mark.parametrize("name", ["model year", "built"])
def test_a_column_of_years_has_no_commas(name):
    text = table(**{name: [1970, 1975, 1982], "y": [1.5, 2.5, 3.5]})
    assert lines(text, {name: ([1970, 1975, 1982], [0, 5, 5.7])})[1] == (f"{name}: +1 per year up to 1975, +0.1 above")


def test_values_of_a_category_come_in_the_order_of_their_effects():
    text = table(origin=["USA", "Japan", "Europe"], y=[1.5, 2.5, 3.5])
    curves = {
        "origin=Japan": ([0, 1], [0, 1.9]),
        "origin=Europe": ([0, 1], [0, 0.4]),
        "origin=USA": ([0, 1], [0, -0.8]),
    }
    assert lines(text, curves)[1] == "origin: Japan +1.9, Europe +0.4, USA -0.8"


def test_of_many_values_those_in_the_middle_are_counted():
    text = "town,y\n" + "".join(f"town{k:02},{k + 0.5}\n" * 3 for k in range(16))
    curves = {f"town=town{k:02}": ([0, 1], [0, k - 8]) for k in range(16)}
    assert lines(text, curves)[1] == (
        "town: town15 +7, town14 +6, town13 +5, 11 others between +4 and -6, town01 -7, town00 -8"
    )


def test_rare_values_are_told_as_other_values():
    text = "town,y\n" + "".join(f"{'big' if k < 300 else f'small{k}'},{k + 0.5}\n" for k in range(360))
    told = lines(
        text, {"town=big": ([0, 1], [0, 1.0]), "town=other values": ([0, 1], [0, -2.0])}, kinds={"town": "category"}
    )
    assert told[1] == "town: big +1, other values -2"


def test_yes_and_no_are_named_as_the_table_does():
    text = table(garden=["yes", "no"], y=[1.5, 2.5, 3.5])
    assert lines(text, {"garden=yes": ([0, 1], [-0.8, 2.1])})[1] == "garden: yes +2.1, no -0.8"


def test_missing_values_are_told_with_what_stands_for_them():
    text = table(age=[1, 2, "", 6], y=[1.5, 2.5, 3.5])
    told = lines(text, {"age": ([1, 6], [-2, 3]), "age is missing": ([0, 1], [0, 0.3])})
    assert told[1] == "age: +1 per 1; missing: +0.3"  # the mean is 3, whose value is 0


def test_a_missing_category_is_a_value():
    text = table(home=["own", "rent", ""], y=[1.5, 2.5, 3.5])
    told = lines(text, {"home is missing": ([0, 1], [0, 0.3]), "home=own": ([0, 1], [0, -0.1])})
    assert told[1] == "home: missing +0.3, rent 0, own -0.1"


def test_dates_are_told_as_dates():
    days = ["1970-01-05", "1974-02-09", "1982-01-01", "1978-06-30"]
    told = lines(table(sold=days, y=[1.5, 2.5, 3.5]), {"sold days since 1970-01-05": ([0, 1461, 4379], [0, 8, 8])})
    assert told[1] == "sold: +2 per year until January 1974, flat after"


def test_months_weekdays_and_trend_of_a_date_are_told_apart():
    days = [f"{year}-{month:02}-{day:02}" for year in (2020, 2021) for month in range(1, 13) for day in (3, 17, 28)]
    curves = {
        "sold month": ([1, 1.5, 7.5, 13], [-0.9, -1, 2, -0.9]),
        "sold weekday": ([0, 6], [0.5, -0.5]),
        "sold days since 2020-01-03": ([0, 725], [0, 7.25]),
    }
    text = "sold,y\n" + "".join(f"{day},{k + 0.5}\n" for k, day in enumerate(days))
    assert lines(text, curves)[1] == (
        "sold: trend +0.3 per month; month lowest in January (-1), highest in July (+2); "
        "weekday lowest on Sunday (-0.5), highest on Monday (+0.5)"
    )


def test_dates_of_years_have_a_trend_per_year():
    days = [f"{year}-01-01" for year in range(2000, 2012)]
    text = "t,y\n" + "".join(f"{day},{k + 0.5}\n" for k, day in enumerate(days))
    assert lines(text, {"t days since 2000-01-01": ([0, 4018], [0, 4018 / 365.25])})[1] == "t: +1 per year"


def test_two_classes_are_told_in_points_that_double_the_odds():
    text = table(age=[20, 40, 60], sex=["man", "woman"], y=["no", "yes", "no", "yes", "yes"])
    told = lines(text, {"age": ([20, 60], [0, 4 * np.log(2)])}, intercept=np.log(0.25 / 0.75))
    assert told == [
        "probability of yes: 25 % for the average row; each column adds points, and 10 points double the odds:",
        "age: +1 points per 1",
    ]


def test_a_column_that_separates_classes_is_told_without_huge_numbers():
    text = table(x=[0, 1, 2, 3], y=["no", "yes"])
    _, line = lines(text, {"x": ([0, 1, 2, 3], [-900.0, 900.0, -900.0, 900.0])})
    assert line.endswith("; moves the odds by more than a million to one")
    _, line = lines(table(x=[0, 2, 4], y=["a", "b", "c", "b"]), {"x": ([0, 4], [[0, 0, 0], [900, -900, 0]])})
    assert line == "x: from 0 to 4: a over +200 points, b under -200; moves the odds by more than a million to one"


def test_several_classes_are_told_by_what_moves_them():
    text = table(age=[20, 40, 60], home=["own", "rent"], y=["a", "b", "c", "c", "b"])
    unit = np.log(2) / 10
    age = np.array([[0, 0, 0], [30, -15, -15.0]]) * unit
    home = np.array([[0, 0, 0], [-6, 12, -6.0]]) * unit
    told = lines(text, {"age": ([20, 60], age), "home=own": ([0, 1], home), "home=rent": ([0, 1], -home)})
    assert told[0].startswith("a 33.3 %, b 33.3 %, c 33.3 % for the average row")
    assert told[1:] == [
        "age: from 20 to 60: a +30 points, b -15, c -15",
        "home: own +12 points for b, rent +6 for a",
    ]


def test_a_class_that_rises_and_falls_is_told_so():
    text = table(age=[20, 40, 60], y=["a", "b", "c", "c", "b"])
    age = np.array([[0, 0, 0], [30, -15, -15.0], [0, 0, 0]]) * np.log(2) / 10
    assert lines(text, {"age": ([20, 50, 60], age)})[1].startswith(
        "age: from 20 to 60: a +30 points up to 50 then -30,"
    )


def test_long_names_of_classes_are_shortened():
    text = table(age=[20, 40, 60], y=["Adelie (Pygoscelis adeliae)", "Gentoo (Pygoscelis papua)", "Other"])
    age = np.array([[0, 0, 0], [3, -1, -2.0]])
    assert "Adelie +43 points, Other -29, Gentoo -14" in lines(text, {"age": ([20, 60], age)})[1]


def test_lines_come_in_the_order_of_importance_and_the_rest_is_summed_up():
    names = [f"c{k:02}" for k in range(14)]
    text = table(**{name: [0, 1, 2, 3, 5] for name in names}, y=[1.5, 2.5, 3.5])
    told = lines(text, {name: ([0, 5], [0, 5.0 * (k + 1)]) for k, name in enumerate(names)})
    assert len(told) == 14
    assert [line.split(":")[0] for line in told[1:13]] == names[:1:-1]
    assert told[-1].startswith("2 smaller effects: at most")


def test_a_model_without_rows_is_ordered_by_what_it_stores():
    text = table(a=[0, 1, 2], b=[0, 1, 2], y=[1.5, 2.5, 3.5])
    model, _ = make_model(text, {"a": ([0, 2], [0, 2]), "b": ([0, 2], [0, 2])})
    loaded = replace(model, _facts=Facts(effects={"b": (1.0, 0.0, 2.0), "a": (0.5, 0.0, 2.0)}))
    assert [line.split(":")[0] for line in describe_model(loaded)] == ["y", "b", "a"]
    assert [line.split(":")[0] for line in describe_model(model)] == ["y", "a", "b"]


def test_constant_columns_have_no_line():
    text = table(age=[20, 40, 60], size=[1, 2, 3], one=["a"], id=list(range(12)), y=[1.5, 2.5, 3.5])
    told = lines(text, {"age": ([20, 60], [0, 4])})
    assert [line.split(":")[0] for line in told] == ["y", "age", "left out"]
    assert "'one' (constant: 'a' in every row)" in told[-1]
