"""The picture of a growth run."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

import creases
from creases.errors import InputError
from creases.growth import History, grow
from creases.problems._toy import xor_circles
from creases.show import GrowthView, plot_growth
from creases.show._figures._growth import plot_growth_curves


@pytest.fixture(scope="module")
def grown():
    """A network of two inputs that grew, and its history."""
    X, y = xor_circles(n=100)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 2))
        options = {"how": "fold", "when": 4, "budget": 14, "lr": 0.02, "validation": 0.2, "batch_size": 20}
        options |= {"max_units": 4}  # growth ends in time
        return X, y, *grow(model, (X, y), "classification", keep="last", **options)


def test_every_growth_step_is_marked_on_all_three_panels(grown):
    *_, history = grown
    assert history.records
    for ax in plot_growth_curves(history):
        marks = [line for line in ax.lines if line.get_marker() in ("v", "D", "s") and len(line.get_xdata())]
        assert sorted(int(line.get_xdata()[0]) for line in marks) == [record.epoch for record in history.records]


def test_curves_are_the_historys_numbers(grown):
    *_, history = grown
    loss, score, size = plot_growth_curves(history, score="accuracy")
    assert loss.lines[0].get_ydata().tolist() == [epoch["loss"] for epoch in history.epochs]
    held_out = np.array([epoch["validation_score"] for epoch in history.epochs], float)
    assert np.isnan(held_out[-1])  # once growth has ended, these samples are trained on too
    assert not np.isnan(held_out[: history.records[-1].epoch]).any()
    np.testing.assert_array_equal(score.lines[1].get_ydata(), held_out)
    assert size.lines[0].get_ydata().tolist() == [epoch["widths"]["0"] for epoch in history.epochs]
    assert score.get_ylabel() == "accuracy"


def test_growth_steps_that_are_not_in_the_network_are_hollow_and_the_legend_says_why(grown):
    *_, history = grown
    first, *others = history.records
    earlier = replace(history, kept=first.epoch)
    undone = replace(history, records=[replace(first, undone=True), *others])
    for changed, why in ((earlier, "not kept"), (undone, "undone: no improvement")):
        loss, score, _ = plot_growth_curves(changed)
        marks = [line for line in loss.lines if line.get_marker() in ("v", "D", "s") and len(line.get_xdata())]
        hollow = [int(line.get_xdata()[0]) for line in marks if line.get_color() == "#FFFFFF"]
        assert hollow == [each.epoch for each in changed.records if not changed.keeps(each)] != []
        shown = [text.get_text() for text in score.get_legend().get_texts()]
        assert why in shown
        assert ("network kept" in shown) == (changed is earlier)


def test_a_linear_model_that_was_kept_has_the_size_of_the_start(grown):
    *_, history = grown
    _, score, size = plot_growth_curves(replace(history, kept=0))
    assert size.get_title() == f"{history.epochs[0]['parameters']} parameters"
    assert "linear model kept" in [text.get_text() for text in score.get_legend().get_texts()]


def numbers_in(ax):
    """The numbers at creases, each with its point."""
    return {int(text.get_text()): np.array(text.xy) for text in ax.texts}


def test_each_crease_has_the_number_of_the_growth_step_that_added_it(grown):
    X, y, model, history = grown
    partition = creases.plane(creases.read(model), [(-2, 2), (-2, 2)])
    view = GrowthView(partition, partition, X, y, ("width", "height"), ("out", "in"))
    _, after = plot_growth(history, view=view).subfigs[0].axes
    assert after.get_xlabel() == "width"
    assert {text.get_text() for text in after.get_legend().get_texts()} <= {"out", "in"}
    drawn, layer = numbers_in(after), model[0]
    assert drawn
    assert "number" in after.get_title()
    for number, point in drawn.items():
        (unit,) = history.records[number - 1].units
        weight, bias = layer.weight[unit].detach().numpy(), layer.bias[unit].item()
        assert weight @ point + bias == pytest.approx(0, abs=1e-5)
    far = creases.plane(creases.read(model), [(100, 101), (100, 101)])
    view = GrowthView(None, far, X, y, ("width", "height"), ("out", "in"))
    (after,) = plot_growth(history, view=view).subfigs[0].axes
    assert not after.texts  # a crease outside the view has no number, and none is announced
    assert "number" not in after.get_title()


def test_a_unit_that_was_removed_takes_its_number_with_it(grown):
    X, y, model, history = grown
    last = history.records[-1]
    epoch, (unit,) = last.epoch + 2, last.units
    removal = replace(last, number=99, action="narrow", epoch=epoch, removed=[unit], units=[], width=last.width[::-1])
    longer = replace(history, records=[*history.records, removal])
    net, parts = creases.read(model), [parameter.detach() for parameter in model.parameters()]
    assert unit + 1 == len(parts[0])
    smaller = creases.read([(parts[0][:unit], parts[1][:unit]), (parts[2][:, :unit], parts[3])])

    def marked(net, kept):
        view = GrowthView(None, creases.plane(net, [(-3, 3), (-3, 3)]), X, y, ("a", "b"), ("out", "in"))
        return set(
            numbers_in(
                plot_growth(replace(longer, kept=kept, ended="" if kept is None else "enough"), view=view)
                .subfigs[0]
                .axes[0]
            )
        )

    assert last.number in marked(net, epoch)
    assert last.number not in marked(smaller, None)


def test_a_function_of_one_input_is_drawn_over_its_data():
    x = np.linspace(-1, 1, 60)[:, None]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(1, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
        options = {"how": "fold", "when": 5, "budget": 12, "lr": 0.02}
        model, history = grow(model, (x, np.abs(x)), "regression", **options)
    partition = creases.line(creases.read(model), [-1.0], [1.0])
    figure = plot_growth(history, view=GrowthView(None, partition, x, np.abs(x[:, 0]), ("load",), None))
    assert isinstance(figure, Figure)
    (ax,) = figure.subfigs[0].axes
    line = next(line for line in ax.lines if line.get_label() == "network")
    grid = np.linspace(-1, 1, 101)
    expected = creases.read(model)(grid[:, None])[:, 0]
    assert np.allclose(np.interp(grid, *line.get_data()), expected, atol=1e-9)


def test_a_history_without_epochs_is_refused():
    with pytest.raises(InputError, match="history must have at least one epoch"):
        plot_growth(History())
