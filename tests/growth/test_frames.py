"""Histories as tables of pandas and as pictures."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest
from matplotlib import pyplot
from torch import nn

import creases
from creases import problems
from creases.growth import History


@pytest.fixture(scope="module")
def history():
    model = nn.Sequential(OrderedDict(hidden1=nn.Linear(2, 2), bend=nn.ReLU(), output=nn.Linear(2, 2)))
    options = {"how": "random", "when": 2, "where": "hidden1", "budget": 8, "validation": 0.2}
    return creases.grow(model, problems.get("moons", n=100), "classification", **options).history


def test_the_frame_has_a_row_for_each_epoch(history):
    frame = history.to_frame()
    assert frame.index.tolist() == [epoch["epoch"] for epoch in history.epochs]
    for key in ("loss", "score", "validation_loss", "steps", "parameters"):
        np.testing.assert_array_equal(frame[key], [epoch[key] for epoch in history.epochs])
    assert frame["width hidden1"].tolist() == [epoch["widths"]["hidden1"] for epoch in history.epochs]
    assert frame["growth_steps"].sum() == len(history.records)
    assert frame.index[frame["kept"]].tolist() == ([history.kept] if history.kept else [])


def test_the_steps_have_a_row_each(history):
    assert history.records, "the run must grow for this test to mean something"
    frame = history.steps_frame()
    assert frame.index.tolist() == [record.number for record in history.records]
    assert frame["width_after"].tolist() == [record.width[1] for record in history.records]
    assert frame["kept"].tolist() == [history.keeps(record) for record in history.records]
    assert frame["why"].tolist() == [record.why() for record in history.records]


def test_a_history_without_epochs_has_empty_frames(history):
    assert len(History().to_frame()) == 0
    empty = History().steps_frame()
    assert len(empty) == 0
    assert set(empty.columns) <= set(history.steps_frame().columns)


def test_what_was_not_measured_is_nan():
    moons = problems.get("moons", n=60)
    options = {"loop": "sized", "budget": 2, "early_stopping": False}
    estimator = creases.GrowingClassifier(random_state=0, **options).fit(moons.X, moons.y)
    column = estimator.history_.to_frame()["validation_loss"]
    assert column.dtype == float
    assert column.isna().all()


def test_the_plot_has_a_mark_for_each_growth_step(history):
    figure = history.plot()
    axes = figure.axes[:3]
    try:
        assert [ax.get_ylabel() for ax in axes] == ["loss", "accuracy", "units"]
        marks = [line for line in axes[0].lines if line.get_marker() in ("v", "D", "s") and len(line.get_xdata())]
        assert [float(line.get_xdata()[0]) for line in marks] == [record.epoch for record in history.records]
        assert history.plot(axes) is figure
    finally:
        pyplot.close(figure)
