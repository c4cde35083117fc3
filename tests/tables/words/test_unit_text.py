"""Units that grew, in words: every wording, on units whose numbers are known."""

from dataclasses import replace

import numpy as np
import pytest

from creases.tables._stages.basis import Reason
from creases.tables._stages.model import Units
from creases.tables._words.model_text import describe_model
from readable_models import make_model

TEXT = "age,town,smoker,income,y\n" + "".join(
    f"{20 + 2 * k},{['Ulm', 'Bonn', 'Kiel'][k % 3]},{['yes', 'no'][k % 2]},{'' if k == 5 else 1000 * k},{1.5 * k}\n"
    for k in range(21)
)


def told(weights, bias, output, reason, text=TEXT):
    """Return the line of one unit with weights by input, between the least and the largest value of each number."""
    model, problem = make_model(text, {})
    features = problem.encoding.features
    knots = tuple(
        np.array([x.min(), x.max()]) if feature.is_numeric else np.zeros(1)
        for x, feature in zip(problem.X.T, features, strict=True)
    )
    row = np.array([[weights.get(feature.name, 0.0) for feature in features]])
    units = Units(knots, row, np.array([bias]), np.array([output]), np.zeros(len(output)), {}, (reason,))
    model = replace(model, function=replace(model.function, units=units))
    lines = describe_model(model, X=problem.X)
    return next(line for line in lines if line.startswith("unit "))


LOW = Reason(871, 212, (0.6,), None, 0.25)


@pytest.mark.parametrize(
    ("weights", "bias", "output", "crease", "at"),
    [
        ({"age": 1.0}, -0.5, 1.0, "rises above age = 40", "50"),  # from 20 to 60
        ({"age": 1.0}, -0.5, -1.0, "falls above age = 40", "50"),
        ({"age": -1.0}, 0.5, 1.0, "rises below age = 40", "30"),
        ({"age": 1.0, "income": 1.0}, -1.0, 1.0, "rises above age + 0.002 income = 60", "70"),
        ({"age": 0.4, "income": -1.0}, 0.5, 1.0, "rises below -200 age + income = 6000", "1000"),
        ({"age": 1.0, "town=Ulm": 0.3}, -0.5, 1.0, "rises above age + (12 if town is Ulm) = 40", "50"),
        ({"age": 1.0, "smoker=yes": -0.3}, -0.5, 1.0, "rises above age - (12 if smoker is yes) = 40", "50"),
        ({"age": 1.0, "income is missing": 0.1}, -0.5, 1.0, "rises above age + (4 if income is missing) = 40", "50"),
        (
            {"age": 1.0, "town=Ulm": 0.3, "town=Bonn": 0.2, "smoker=yes": 0.2, "income": 0.1},
            -0.55,
            1.0,
            "rises above age + (8 if town is Bonn) + (12 if town is Ulm) + (8 if smoker is yes) + 1 smaller part = 40",
            "50",
        ),
    ],
)
def test_creases_are_sums_of_columns_in_their_own_units(weights, bias, output, crease, at):
    expected = f"unit 1: {crease}; grown because 212 rows like row 871 (at {at}) were predicted 0.6 too low"
    assert told(weights, bias, [output], LOW).replace(",", "") == expected


@pytest.mark.parametrize(
    ("reason", "says"),
    [
        (replace(LOW, errors=(-0.6,)), "212 rows like row 871 (at 50) were predicted 0.6 too high"),
        (replace(LOW, count=1), "row 871 (at 50) was predicted 0.6 too low"),
        (replace(LOW, row=None), "212 rows were predicted 0.6 too low"),
        (replace(LOW, side=-0.001), "212 rows like row 871 (at 39.96) were predicted 0.6 too low"),
    ],
)
def test_reasons_name_the_typical_row_and_count_those_like_it(reason, says):
    assert told({"age": 1.0}, -0.5, [1.0], reason).endswith(f"; grown because {says}")


def test_a_unit_of_several_classes_names_the_one_it_moves_most():
    text = "age,y\n" + "".join(f"{20 + 2 * k},{['low', 'mid', 'top'][k % 3]}\n" for k in range(21))
    reason = Reason(7, 9, (), (0, 2), 0.25)
    assert told({"age": 1.0}, -0.5, [0.0, -1.0, 3.0], reason, text) == (
        "unit 1: rises for top above age = 40; "
        "grown because 9 rows like row 7 (at 50) were classified as low instead of top"
    )


def test_rounded_coefficients_leave_the_crease_in_place_in_the_middle_of_the_ranges():
    line = told({"age": 1.0, "income": 0.777}, -0.8885, [1.0], LOW)  # passes through age 40, income 10,000
    assert line.startswith("unit 1: rises above age + 0.0016 income = 56;")
