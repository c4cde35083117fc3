"""Pruning by data: channels and weights."""

import copy
import json
from importlib import import_module

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from coupled_models import COUPLED, coupled
from creases import places
from creases.errors import InputError
from creases.network.surgery import channel_groups, count_multiply_adds, masked_channels, remove_channels
from creases.prune import channels, magnitude, tuner
from creases.prune._by_data import taylor_scores, weights
from creases.prune._evaluation import evaluate, losses, losses_without
from surgery_models import MODELS


def images(n=120, seed=0):
    """Small images whose class is the brighter half."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(n, 1, 8, 8, generator=generator)
    y = torch.arange(n) % 2
    x[y == 0, :, :, :4] += 0.5
    x[y == 1, :, :, 4:] += 0.5
    return x, y


def network(seed=0):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        blocks = [nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        blocks += [nn.Conv2d(6, 5, 3, padding=1), nn.BatchNorm2d(5), nn.ReLU(), nn.MaxPool2d(2)]
        return nn.Sequential(*blocks, nn.Flatten(), nn.Linear(20, 2))


def trained():
    x, y = images()
    model = network()
    tuner(x, y, epochs=8, lr=0.05, batch_size=20)(model)
    return model.eval(), x, y


@pytest.mark.slow
@pytest.mark.parametrize("name", [*MODELS, *COUPLED])
def test_losses_without_a_group_are_those_of_the_model_after_its_removal(name):
    model, shape = coupled(name)
    x = torch.randn(7, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    out = model(x).detach()
    last = nn.Sequential(model, nn.Flatten(), nn.Linear(out[0].numel(), 2).double()).eval()
    y = torch.arange(7) % 2
    for plain in [model, last] if out.ndim == 2 else [last]:
        groups = [group for group in channel_groups(plain, X=x[:2]).groups if not empties(plain, group)]
        expected = []
        for group in groups:
            smaller = copy.deepcopy(plain)
            remove_channels(smaller, [group])
            expected.append(float(losses(smaller(x).detach(), y).mean()))
        found = losses_without(plain, groups, x, y).tolist()
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def empties(model, group):
    """Whether a layer would have no channel left."""
    return any(len(model.get_submodule(path).weight) == len(gone) for path, gone in group.outputs.items())


@pytest.mark.parametrize("name", ["conv shortcut", "depthwise", "recurrent", "functional", "sequence", "large groups"])
def test_taylor_scores_are_half_the_mean_squares_of_the_derivatives_by_gates(name):
    model, shape = coupled(name)
    x = torch.randn(5, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    model = nn.Sequential(model, nn.Flatten(), nn.Linear(model(x)[0].numel(), 2).double()).eval()
    y = torch.arange(5) % 2
    groups = channel_groups(model, X=x[:2]).groups
    found = taylor_scores(model, groups, x, y)
    step, expected = 1e-6, []
    for group in groups:
        slopes = []
        for sign in (1, -1):
            scaled = copy.deepcopy(model)
            with masked_channels(model, [group]), torch.no_grad():
                for path in group.readers:
                    old, masked = scaled.get_submodule(path).weight, model.get_submodule(path).weight
                    old.copy_(old + sign * step * (old - masked))
            slopes.append(losses(scaled(x).detach(), y))
        expected.append((slopes[0] - slopes[1]) / (2 * step))
    slopes = torch.stack(expected, 1)  # (n, groups)
    if name == "functional":  # the weight of a layer that is not called gives the mean only
        slopes[:, [i for i, group in enumerate(groups) if "0.b" in group.readers]] = slopes.mean(0)[
            [i for i, group in enumerate(groups) if "0.b" in group.readers]
        ]
    torch.testing.assert_close(found, slopes.square().mean(0) / 2, rtol=1e-4, atol=1e-12)


@pytest.mark.parametrize("frozen", [True, False])
def test_models_without_gradients_have_scores(frozen):
    class Fixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = coupled("functional")[0], nn.Linear(3, 2).double()

        def forward(self, x):
            with torch.set_grad_enabled(frozen):
                return self.head(self.body(x))

    model = Fixed().requires_grad_(not frozen)
    x = torch.randn(6, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    groups = channel_groups(model, X=x[:2]).groups
    scores = taylor_scores(model, groups, x, torch.arange(6) % 2)
    assert bool((scores > 0).all()) == frozen  # code that turns gradients off leaves nothing to score
    assert all(p.requires_grad != frozen for p in model.parameters())
    found = channels(model, x, torch.arange(6) % 2, parameters=0.7, candidates=1, tune=lambda model: None)
    assert found.ended == "size"


def test_the_channel_that_is_least_missed_goes_first_and_the_model_gets_smaller():
    model, x, y = trained()
    before = copy.deepcopy(model.state_dict())
    groups = channel_groups(model, X=x).groups
    every = losses_without(model, groups, x, y)
    found = channels(model, x, y, min_accuracy=0.9, tune=lambda model: None)
    least = groups[int(every.argmin())]
    assert found.steps[0].removed == {name: list(units) for name, units in least.outputs.items()}
    assert found.steps[0].loss_removed == pytest.approx(float(every.min()), rel=1e-5)
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
    assert evaluate(found.model, x, y)[1] == found.last.accuracy >= 0.9
    assert [place.width for place in places(found.model, X=x)] == list(found.last.widths.values())
    assert found.last.parameters == sum(p.numel() for p in found.model.parameters()) < found.first.parameters
    assert found.ended in ("accuracy", "smallest")


def test_pruning_by_channels_goes_on_until_one_unit_is_left_at_each_place():
    model, x, y = trained()
    found = channels(model, x, y, min_accuracy=0.0, per_step=4, tune=lambda model: None)
    assert found.ended == "smallest"
    assert set(found.last.widths.values()) == {1}
    at_once = channels(model, x, y, min_accuracy=0.0, per_step=99, tune=lambda model: None)
    groups = channel_groups(model, X=x).groups
    worst = losses_without(model, groups, x, y)
    kept = {name: set(range(width)) - set(at_once.steps[0].removed[name]) for name, width in (("0", 6), ("3", 5))}
    for name, units in kept.items():  # the most important unit of each layer is left
        last = max((i for i, group in enumerate(groups) if name in group.outputs), key=lambda i: worst[i])
        assert units == set(groups[last].outputs[name])


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [0.5, 0.2, 700])
@pytest.mark.parametrize("name", ["conv shortcut", "padded shortcut", "depthwise", "small groups", "large groups"])
def test_a_model_is_pruned_to_a_number_of_parameters(name, parameters):
    model, shape = coupled(name)
    x = torch.randn(12, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = channels(model, x, torch.arange(12) % 3, parameters=parameters, per_step=2, tune=lambda model: None)
    size = found.first.parameters
    target = int(parameters * size) if isinstance(parameters, float) else parameters
    before = [found.first, *found.steps][-2 if found.steps else 0]
    if found.ended == "size":
        assert found.last.parameters <= target
        assert not found.steps or before.parameters > target
    else:
        assert found.ended == "smallest"
        assert target < found.last.parameters < size
    assert sum(p.numel() for p in found.model.parameters()) == found.last.parameters
    assert [part.reason for part in found.fixed]
    assert found.model(x).shape == (12, 3)


@pytest.mark.parametrize("name", ["conv shortcut", "depthwise", "transposed large groups", "recurrent", "sequence"])
def test_multiply_adds_are_those_that_torch_counts_and_can_be_the_target(name):
    model, shape = coupled(name)
    x = torch.randn(6, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    model = nn.Sequential(model, nn.Flatten(), nn.Linear(model(x)[0].numel(), 2).double()).eval()

    def count(model):
        with FlopCounterMode(display=False) as counter:
            model(x[:1])
        return counter.get_total_flops() // 2

    positions = channel_groups(model, X=x).positions
    assert count_multiply_adds(model, positions) == count(model)
    found = channels(model, x, torch.arange(6) % 2, multiply_adds=0.6, tune=lambda model: None)
    assert found.ended == "size"
    assert count(found.model) == count_multiply_adds(found.model, positions) <= 0.6 * count(model)


def test_a_size_that_the_accuracy_does_not_allow_is_not_reached():
    model, shape = coupled("dense")
    x = torch.randn(60, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        model.c.bias.sub_(model(x).mean(0))  # so that all classes are predicted
        y = model(x).argmax(1)
    found = channels(model, x, y, min_accuracy=1.0, parameters=0.1, tune=lambda model: None)
    assert found.ended == "accuracy"
    assert found.last.accuracy == 1.0
    assert found.last.parameters > 0.1 * found.first.parameters


def test_the_taylor_score_alone_decides_with_one_candidate():
    model, x, y = trained()
    groups = channel_groups(model, X=x).groups
    found = channels(model, x, y, min_accuracy=0.0, candidates=1, tune=lambda model: None)
    least = groups[int(taylor_scores(model, groups, x, y).argmin())]
    assert found.steps[0].removed == {name: list(units) for name, units in least.outputs.items()}


@pytest.mark.parametrize(("negligible", "expected"), [(np.inf, []), (0.0, [4 * 2])])
def test_exact_losses_are_left_out_while_taylor_scores_predict_no_harm(monkeypatch, negligible, expected):
    calls = []

    def counted(model, groups, X, y):
        calls.append(len(groups))
        return losses_without(model, groups, X, y)

    room = import_module("creases.prune._by_data")
    monkeypatch.setattr(room, "losses_without", counted)
    monkeypatch.setattr(room, "FEW", 0)
    monkeypatch.setattr(room, "NEGLIGIBLE", negligible)
    model, x, y = trained()
    channels(model, x, y, parameters=0.7, per_step=2, tune=lambda model: None)
    assert calls[:1] == expected


def test_what_cannot_be_removed_is_in_the_result_with_its_reason():
    model, shape = coupled("padded shortcut")
    x = torch.randn(12, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = channels(model, x, torch.arange(12) % 3, parameters=0.6, tune=lambda model: None)
    left = {part.layer: (len(part.channels), part.width) for part in found.fixed}
    widths = {name: len(found.model.get_submodule(name).weight) for name in left}
    assert left == {name: (fixed, widths[name]) for name, fixed in COUPLED["padded shortcut"][3].items()}
    written = json.loads(json.dumps(found.to_dict()))
    assert "model" not in written
    assert written["fixed"][-1]["reason"] == "its units are the model's output"


def test_only_named_places_are_pruned():
    model, x, y = trained()
    found = channels(model, x, y, min_accuracy=0.0, places=["3"], per_step=2, tune=lambda model: None)
    assert list(found.last.widths) == ["3"]
    assert found.model[0].out_channels == 6


def test_one_output_and_one_class_are_judged():
    model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
    x = torch.randn(30, 2, generator=torch.Generator().manual_seed(0))
    y = torch.zeros(30, dtype=torch.int64)
    with torch.no_grad():
        model[2].bias.fill_(-50.0)
    found = channels(model, x, y, min_accuracy=1.0)
    assert found.last.accuracy == 1.0
    assert found.last.widths == {"0": 1}


def test_ctrl_c_keeps_the_best_so_far():
    model, x, y = trained()

    def stop(step, model):
        if step.widths["0"] + step.widths["3"] == 8:
            raise KeyboardInterrupt

    found = channels(model, x, y, min_accuracy=0.0, tune=lambda model: None, callback=stop)
    assert (found.ended, found.kept) == ("interrupted", 2)
    assert sum(place.width for place in places(found.model, X=x)) == 9


def test_magnitude_sets_the_smallest_weights_to_zero_and_keeps_them_there():
    model, x, y = trained()
    size = sum(weight.numel() for weight in weights(model))
    seen = []
    options = {"sparsities": [0.3, 0.6], "callback": lambda step, model: seen.append(copy.deepcopy(model))}
    found = magnitude(model, x, y, min_accuracy=0.0, **options)
    zeros = [sum(int((weight == 0).sum()) for weight in weights(one)) for one in seen]
    assert zeros == [round(0.3 * size), round(0.6 * size)]
    first = torch.cat([weight.detach().abs().flatten() for weight in weights(model)])
    gone = torch.cat([(weight == 0).flatten() for weight in weights(seen[0])])
    assert first[gone].max() <= first[~gone].min()
    assert found.ended == "sparsities"
    assert found.last.nonzero <= found.first.nonzero - zeros[1]


def test_units_that_magnitude_made_dead_are_removed():
    model, x, y = trained()
    with torch.no_grad():
        model[0].weight[2], model[0].bias[2] = 1e-6, -1.0
    found = magnitude(model, x, y, min_accuracy=0.0, sparsities=[0.1], tune=lambda model: None)
    assert found.model[0].out_channels == 5
    assert found.last.parameters == sum(p.numel() for p in found.model.parameters())
    assert found.last.widths == {place.name: place.width for place in places(found.model, X=x[:1])}
    assert evaluate(found.model, x, y)[1] == found.last.accuracy


def test_wrong_data_are_refused_by_name():
    model, x, y = trained()
    with pytest.raises(InputError, match="X must be finite, got NaN or infinite entries"):
        channels(model, x * torch.nan, y, min_accuracy=0.5)
    with pytest.raises(InputError, match="y must be whole class numbers"):
        magnitude(model, x, y.double(), min_accuracy=0.5)
    with pytest.raises(InputError, match=r"X must have shape \(n, \*shape\) with at least one sample"):
        channels(model, x[:0], y[:0], min_accuracy=0.5)
    with pytest.raises(InputError, match="min_accuracy must be at most the model's accuracy"):
        channels(network(), x, y, min_accuracy=1.0)
    with pytest.raises(InputError, match="sparsities must be increasing numbers"):
        magnitude(model, x, y, min_accuracy=0.5, sparsities=[0.5, 0.4])
    with pytest.raises(InputError, match="optimizer must be"):
        tuner(x, y, optimizer="lbfgs")
    size = "parameters must be a fraction above 0 and up to 1, or a positive integer"
    for options, message in [
        ({"validation": (x, y + 1)}, r"validation\[1\] must be among the model's 2 classes, got class 2"),
        ({"min_accuracy": 99}, "min_accuracy must be a fraction from 0 to 1, got 99"),
        ({"places": ["x"]}, "places must be among the model's places, '0', '3', got 'x'"),
        ({"places": ["8"]}, "got '8'.*its units are the model's output"),
        ({"candidates": 0}, "candidates must be a positive integer, got 0"),
        ({"candidates": "few"}, "candidates must be 'auto' or 'all', got 'few'"),
        ({"min_accuracy": None}, "parameters must be given, or min_accuracy, got neither"),
        ({"parameters": 0.5, "multiply_adds": 9}, "multiply_adds must be left out with parameters, got 9"),
        *(({"parameters": wrong}, size) for wrong in (0, -3, 1.5, 0.0, float("nan"), True, "half")),
    ]:
        with pytest.raises(InputError, match=message):
            channels(model, x, y, **{"min_accuracy": 0.5} | options)


def test_a_result_prints_what_is_said_of_it():
    found = channels(network(), *images(40), min_accuracy=0.0, per_step=3, tune=lambda model: None)
    assert str(found).startswith(f"accuracy: {found.first.accuracy:.4g} -> {found.last.accuracy:.4g} on validation")
