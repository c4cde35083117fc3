"""Units are reported dead, always on or duplicate exactly when they are."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch import nn

import creases
from creases.certify import UnitSide, unit_bounds, unit_facts
from strategies import cases

OFF, ON, BOTH, UNDECIDED = UnitSide

BOX = [(-1.0, 1.0), (-1.0, 1.0)]
#: Unit 1 doubles 0, 2 is 0's mirror, 3 is never on, 4 always, 5 is parallel to 0 and is not read.
ROWS = [[1.0, 1.0], [2.0, 2.0], [-3.0, -3.0], [1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
SPARE = creases.read([(ROWS, [0.5, 1.0, -1.5, -2.0, 2.0, 0.0]), ([[1.0, 1.0, 1.0, 1.0, 1.0, 0.0]], [0.0])])


def test_spare_units_are_named():
    found = unit_facts(SPARE, BOX, X=[[0.0, 0.0], [-1.0, -1.0]], partition=creases.plane(SPARE, BOX))
    assert found.side.tolist() == [BOTH, BOTH, BOTH, OFF, ON, BOTH]
    assert found.same_crease.tolist() == [-1, 0, 0, -1, -1, -1]
    assert found.orientation.tolist() == [0, 1, -1, 0, 0, 0]
    assert found.parallel.tolist() == [-1, -1, -1, -1, -1, 0]
    assert found.active_fraction.tolist() == [0.5, 0.5, 0.5, 0.0, 1.0, 0.0]
    assert found.norm_in == pytest.approx(np.linalg.norm(ROWS, axis=1))
    assert found.norm_out.tolist() == [1, 1, 1, 1, 1, 0]


def test_creases_are_as_long_as_they_are_drawn():
    cross = creases.read([([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0.0, 0.5, 9.0]), ([[1.0, 1.0, 1.0]], [0.0])])
    found = unit_facts(cross, BOX, partition=creases.plane(cross, BOX))
    assert found.crease_size is not None
    assert found.crease_size.tolist() == pytest.approx([2.0, 2.0, 0.0])
    kinks = creases.read([([[1.0], [1.0], [1.0]], [0.0, -0.5, 3.0]), ([[1.0, 1.0, 1.0]], [0.0])])
    on_line = unit_facts(kinks, [(-1, 1)], partition=creases.line(kinks, [-1.0], [1.0]))
    assert on_line.crease_size is not None
    assert on_line.crease_size.tolist() == [1, 1, 0]
    assert on_line.side.tolist() == [BOTH, BOTH, ON]
    assert on_line.parallel.tolist() == [-1, -1, -1]  # of one input all would be


def test_units_of_one_crease_all_have_its_length():
    found = unit_facts(SPARE, BOX, partition=creases.plane(SPARE, BOX))
    assert found.crease_size is not None
    length = np.hypot(1.5, 1.5)  # of x1 + x2 = -1/2 in the box
    assert found.crease_size.tolist() == pytest.approx([length, length, length, 0, 0, np.hypot(2, 2)])


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(cases(2, max_depth=2, max_width=5))
def test_what_bounds_say_of_a_side_is_what_the_partition_says(case):
    net = case.net
    exact = unit_facts(net, case.box, partition=creases.plane(net, case.box)).side
    bounded = unit_facts(net, case.box).side
    decided = bounded != UNDECIDED
    # A unit that is zero but for rounding, or only at the rim of the box, may be told either way.
    z = np.concatenate([np.column_stack(pair) for pair in unit_bounds(net, case.box)] or [np.zeros((0, 2))])
    clear = np.abs(z).min(axis=1, initial=np.inf) > 1e-9 * (1e-300 + np.abs(z).max(initial=0.0))
    assert (bounded[decided & clear] == exact[decided & clear]).all()


def test_ranges_of_bends_hold_what_enters_them():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 2)).double()
    (first, second) = unit_bounds(creases.read(model), [(-1, 1)] * 3)
    x = 2 * torch.rand(2000, 3, dtype=torch.float64) - 1
    with torch.no_grad():
        for (low, high), z in zip((first, second), (model[:1](x), model[:3](x)), strict=True):
            assert (z >= torch.from_numpy(low) - 1e-12).all()
            assert (z <= torch.from_numpy(high) + 1e-12).all()
        corners = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0], dtype=torch.float64)] * 3)
        assert first[1] == pytest.approx(model[:1](corners).amax(0).numpy())  # exact before the first bend


def test_choices_and_layers_that_are_not_dense_have_nothing_told_of_them():
    pooled = nn.Sequential(nn.Linear(2, 4), nn.Unflatten(1, (1, 4)), nn.MaxPool1d(2), nn.Flatten(), nn.Linear(2, 1))
    net = creases.read(pooled)
    found = unit_facts(net, BOX, X=np.zeros((3, 2)), partition=creases.plane(net, BOX))
    assert (found.side == -1).all()
    assert np.isnan(found.active_fraction).all()
    assert np.isnan(found.norm_in).all()
    none = unit_facts(creases.read(nn.Linear(2, 1)), BOX)
    assert len(none.side) == 0


def test_rows_without_weights_double_nothing():
    net = creases.read([([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]], [0.0, 0.0, 0.0]), ([[1.0, 1.0, 1.0]], [0.0])])
    found = unit_facts(net, BOX, partition=creases.plane(net, BOX))
    assert found.same_crease.tolist() == found.parallel.tolist() == [-1, -1, -1]
    assert found.side[:2].tolist() == [OFF, OFF]
