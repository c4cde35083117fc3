"""Groups of channels: which belong together, and what their removal does."""

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from coupled_models import COUPLED, coupled
from creases.errors import InputError
from creases.network.surgery import (
    channel_groups,
    count_multiply_adds,
    masked_channels,
    remove_channels,
    saved_multiply_adds,
    saved_parameters,
)
from surgery_models import MODELS, inputs

EVERY = [*COUPLED, *MODELS]


def mask_inputs(model, groups):
    """Set the channels of groups to zero where they are read, by hooks."""
    for path in {path for group in groups for path in group.readers}:
        layer = model.get_submodule(path)
        columns = [column for group in groups for column in group.readers.get(path, ())]
        axis = -1 if isinstance(layer, nn.Linear) else 1
        layer.register_forward_pre_hook(
            lambda module, args, axis=axis, columns=columns: (args[0].index_fill(axis, torch.tensor(columns), 0.0),)
        )


def empties(model, groups):
    """Whether no output channel of some layer would be left."""
    gone = {}
    for group in groups:
        for path, channels in group.outputs.items():
            gone[path] = gone.get(path, 0) + len(channels)
    return any(width(model.get_submodule(path)) == n for path, n in gone.items())


def width(layer):
    return layer.out_features if isinstance(layer, nn.Linear) else layer.out_channels


@pytest.mark.parametrize("name", list(COUPLED))
def test_all_groups_and_all_fixed_channels_are_found(name):
    model, shape = coupled(name)
    found = channel_groups(model, shape)
    _, _, sizes, fixed = COUPLED[name]
    assert sorted(sum(map(len, group.outputs.values())) for group in found.groups) == sorted(sizes)
    counts = {}
    for part in found.fixed:
        counts[part.layer] = counts.get(part.layer, 0) + len(part.channels)
        assert part.reason
    assert counts == fixed
    every = sum(width(m) for m in model.modules() if isinstance(m, nn.Linear | nn.Conv2d | nn.ConvTranspose2d))
    assert sum(sizes) + sum(fixed.values()) == every


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_a_model_without_a_group_is_the_model_with_its_channels_masked(name):
    model, shape = coupled(name)
    x = inputs(shape)
    found = channel_groups(model, shape)
    for group in found.groups:
        if empties(model, [group]):
            continue
        masked, smaller = copy.deepcopy(model), copy.deepcopy(model)
        mask_inputs(masked, [group])
        certificate = remove_channels(smaller, [group], X=x)
        if name != "functional":  # its layer is not called as a module, so hooks do not see it
            torch.testing.assert_close(smaller(x), masked(x))
        with masked_channels(model, [group]):
            torch.testing.assert_close(smaller(x), model(x))
        saved = certificate.parameters_before - certificate.parameters_after
        assert saved == saved_parameters(model, [group])
        work = count_multiply_adds(model, found.positions) - count_multiply_adds(smaller, found.positions)
        assert work == saved_multiply_adds(model, [group], found.positions)
        assert certificate.old_width - certificate.new_width == sum(map(len, group.outputs.values()))


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.sampled_from(EVERY), st.data())
def test_any_groups_can_go_one_after_another_or_at_once(name, data):
    model, shape = coupled(name)
    x = inputs(shape, 3)
    found = channel_groups(model, shape)
    chosen = data.draw(
        st.lists(st.sampled_from(range(len(found.groups))), unique=True) if found.groups else st.just([])
    )
    groups = [found.groups[i] for i in chosen]
    if not groups:
        return
    if empties(model, groups):
        before = copy.deepcopy(model.state_dict())
        with pytest.raises(InputError, match="groups must leave at least one channel of"):
            remove_channels(model, groups)
        assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
        return
    at_once, in_turn = copy.deepcopy(model), copy.deepcopy(model)
    saved = saved_parameters(model, groups)
    remove_channels(at_once, groups)
    left = found
    numbers = list(range(len(found.groups)))
    for i in chosen:
        group = left.groups[numbers.index(i)]
        remove_channels(in_turn, [group])
        left, numbers = left.without([group]), [n for n in numbers if n != i]
    state = at_once.state_dict()
    assert all(torch.equal(state[key], value) for key, value in in_turn.state_dict().items())
    assert sum(p.numel() for p in model.parameters()) - sum(p.numel() for p in at_once.parameters()) == saved
    with masked_channels(model, groups):
        torch.testing.assert_close(at_once(x), model(x))
    again = channel_groups(at_once, shape)
    if "groups" not in name:  # what goes together in a grouped convolution depends on the size of its groups
        assert again.groups == left.groups
    fixed = [[(part.layer, part.channels, part.width) for part in some.fixed] for some in (left, again)]
    assert fixed[0] == fixed[1]


@pytest.mark.parametrize("name", EVERY)
def test_finding_groups_leaves_the_model_unchanged(name):
    model, shape = coupled(name)
    model.train()
    before, parameters = copy.deepcopy(model.state_dict()), list(model.parameters())
    state = torch.get_rng_state()
    channel_groups(model, shape)
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
    assert all(old is new for old, new in zip(parameters, model.parameters(), strict=True))
    assert torch.equal(torch.get_rng_state(), state)
    assert model.training


def test_reasons_name_the_cause():
    reasons = {}
    for name in COUPLED:
        model, shape = coupled(name)
        reasons[name] = {part.layer: part.reason for part in channel_groups(model, shape).fixed}
    assert reasons["padded shortcut"] == {
        "b.conv2": "add in 'b' combines them with values of a fixed width, such as padding",
        "c.conv2": "they can only be removed together with channels of 'b.conv2': add in 'b' combines them with values "
        "of a fixed width, such as padding",
        "head": "its units are the model's output",
    }
    assert reasons["slices"]["first"].startswith("the model")
    assert "mul combines each of them with several channels" in reasons["spatial gate"]["gate"]
    assert reasons["tied"]["a"] == "a.weight is shared with another layer"
    assert reasons["tied"]["c"].startswith("c.weight is computed") or "called" in reasons["tied"]["c"]
    assert reasons["scaled"]["a"].startswith("the model fails with fewer of them (The size of tensor a")
    assert reasons["functional"]["b"] == "they enter layer_norm in 'norm', which units cannot be tracked through"


def test_an_optimizer_keeps_the_state_of_what_remains():
    model, shape = coupled("conv shortcut")
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    model(inputs(shape)).square().sum().backward()
    optimizer.step()
    group = next(g for g in channel_groups(model, shape).groups if "stem" in g.outputs)
    (channel,) = group.outputs["stem"]
    before = optimizer.state[model.stem.weight]["momentum_buffer"]
    remove_channels(model, [group], optimizer=optimizer)
    kept = [i for i in range(4) if i != channel]
    assert torch.equal(optimizer.state[model.stem.weight]["momentum_buffer"], before[kept])
    model(inputs(shape)).square().sum().backward()
    optimizer.step()


def test_wrong_groups_are_refused_by_name():
    model, shape = coupled("dense")
    groups = channel_groups(model, shape).groups
    with pytest.raises(InputError, match="groups must have at least one group, got none"):
        remove_channels(model, [])
    remove_channels(model, groups[:2])
    with pytest.raises(InputError, match="groups must be up to date, got channel 3 of 2 of 'a'"):
        remove_channels(model, groups[3:4])
    with pytest.raises(InputError, match=r"model must run on an example of shape \(2, 5\)"):
        channel_groups(model, (5,))
