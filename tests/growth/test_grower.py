"""A Grower beside a user's own training loop."""

from __future__ import annotations

import copy
import gc
import weakref

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from creases.errors import InputError
from creases.growth import Grower
from creases.growth._training import Metrics
from creases.growth.methods import Random
from creases.growth.policies import At, Target
from growth_runs import adam, classes, mlp, same_tensors


def test_growth_in_a_users_own_loop_takes_a_line_before_it_and_one_in_it():
    x, y = classes()
    model = mlp(3, 1, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    grower = Grower(model, optimizer, (x, y), nn.CrossEntropyLoss(), how="tiny", when=20)
    for _ in range(70):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        grower.step()
    assert model[0].out_features > 1
    assert {id(p) for p in model.parameters()} == {id(p) for g in optimizer.param_groups for p in g["params"]}
    assert grower.history.last["loss"] == pytest.approx(float(F.cross_entropy(model(x), y).detach()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "how"),
    [
        *(("arrays", how) for how in ("tiny", "fold", "gradmax", "random", "split")),
        *(("loader", how) for how in ("tiny", "fold")),
        *(pytest.param("loader", how, marks=pytest.mark.thorough) for how in ("gradmax", "random", "split")),
    ],
)
def test_the_users_random_numbers_modes_hooks_and_gradients_are_left_alone(how, kind):
    model = nn.Sequential(*mlp(3, 2, 2, 2), nn.Dropout(0.1)).double().train()
    model[1].eval()
    calls = []
    model[0].register_forward_hook(lambda *_: calls.append(1))
    x, y = classes(60)
    numbers = torch.Generator().manual_seed(3)
    data = DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True, generator=numbers)
    grower = Grower(model, adam(model), (x, y) if kind == "arrays" else data, "classification", how=how, when=2)
    state, loader = torch.random.get_rng_state(), numbers.get_state()
    modes = {name: module.training for name, module in model.named_modules()}
    for _ in range(6):
        grower.step()
    assert torch.equal(state, torch.random.get_rng_state())
    assert torch.equal(loader, numbers.get_state())
    assert {name: module.training for name, module in model.named_modules()} == modes
    assert len(model[0]._forward_hooks) == 1
    assert all(parameter.grad is None for parameter in model.parameters())


def test_what_the_loop_has_measured_itself_is_put_down():
    grower = Grower(mlp(3, 2, 2), None, classes(), "classification", when=100)
    grower.step(Metrics(0.5, 0.75, None), steps=12)
    assert {name: grower.history.last[name] for name in ("loss", "score", "steps")} == {
        "loss": 0.5,
        "score": 0.75,
        "steps": 12,
    }


def test_steps_of_the_optimizer_are_counted_also_where_the_loop_does_not_say_them():
    (x, y), model = classes(60), mlp(3, 2, 2)
    optimizer = adam(model)
    grower = Grower(model, optimizer, (x, y), "classification", when=1, how="random")
    for epoch in range(1, 4):
        for rows in torch.arange(60).split(15):
            optimizer.zero_grad()
            F.cross_entropy(model(x[rows]), y[rows]).backward()
            optimizer.step()
        grower.step()
        assert grower.history.last["steps"] == 4 * epoch
    assert grower.history.records


@pytest.mark.slow
def test_in_a_loop_of_the_users_own_stages_end_with_epochs():
    (x, y), model = classes(400), mlp(3, 8, 2)
    optimizer = adam(model)
    grower = Grower(model, optimizer, (x, y), "classification", budget=100, how="random")
    while not grower.history.growth_ended:
        for rows in torch.arange(400).split(40):
            optimizer.zero_grad()
            F.cross_entropy(model(x[rows]), y[rows]).backward()
            optimizer.step()
        grower.step()
        assert grower.state.batch_size == 40
    assert grower.history.stages


def test_an_optimizer_does_not_keep_its_grower_alive():
    model = mlp(3, 2, 2)
    optimizer = adam(model)
    grower = weakref.ref(Grower(model, optimizer, classes(), "classification"))
    gc.collect()
    assert grower() is None
    optimizer.step()


def test_validation_data_are_measured_and_never_grown_on():
    seen = []

    def how(model, place, evidence):
        seen.append(evidence.samples.arrays(1000).X)
        return Random()(model, place, evidence)

    x, y = classes()
    held = classes(40, seed=9)
    grower = Grower(mlp(3, 2, 2), None, (x, y), "classification", how=how, when=1, validation=held)
    grower.step()
    model = grower.state.model
    assert all(torch.equal(X, x) for X in seen)
    assert grower.history.last["validation_loss"] is not None
    grower.step()
    expected = F.cross_entropy(mlp(3, 2, 2)(held[0]), held[1]).detach()
    assert grower.history.epochs[0]["validation_loss"] == pytest.approx(float(expected))
    assert model is grower.state.model


def test_after_the_end_a_step_does_nothing():
    grower = Grower(mlp(3, 2, 2), None, classes(), "classification", stop=lambda state: "enough")
    assert grower.step() is None
    assert (grower.history.ended, len(grower.history.epochs)) == ("enough", 1)
    assert grower.step() is None
    assert len(grower.history.epochs) == 1


# refusals


def test_a_model_that_cannot_grow_is_refused_at_once():
    with pytest.raises(InputError, match=r"model must have a layer whose width can grow; .*refused=True\) lists why"):
        Grower(nn.Linear(3, 2).double(), None, classes(), "classification")


def test_folds_with_an_unknown_loss_are_refused_with_what_to_give():
    grower = Grower(mlp(3, 2, 2), None, classes(), lambda f, y: F.cross_entropy(f, y), how="fold")
    with pytest.raises(
        InputError,
        match="loss must be the cross-entropy or the squared error for how='fold'; use loss='classification'",
    ):
        grower.step()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"how": "magic"}, "how must be a function or one of 'auto', 'tiny', 'fold'.*got 'magic'"),
        ({"how": ["tiny"]}, "how must be a function"),
        ({"how": Random}, "how must be a function"),
        ({"when": "never"}, "when must be 'stages', a number of epochs, or a function"),
        ({"when": 2.5}, "when must be 'stages', a number of epochs"),
        ({"when": True}, "when must be 'stages', a number of epochs"),
        ({"when": 0}, "when must be at least 1 epoch"),
        ({"when": Target}, "when must be 'stages', a number of epochs"),
        ({"where": ["0", "2"]}, r"where must be 'all'.* At\(\('0', '2'\)\)"),
        ({"where": At}, "where must be 'all'"),
        ({"stop": "soon"}, "stop must be a policy"),
        ({"stop": None}, "stop must be a policy"),
        ({"stop": ["enough"]}, "stop must be a policy"),
        ({"stop": Target}, "stop must be a policy"),
        ({"loss": "accuracy"}, "loss must be a function or one of 'classification', .*'regression'.*, got 'accuracy'"),
        ({"loss": 3}, "loss must be a function or one of .*, got int"),
        ({"loss": None}, "loss must be a function or one of .*, got NoneType"),
        ({"validation": (torch.ones(3, 3), torch.ones(2))}, "validation must have as many targets as inputs"),
        ({"optimizer": adam(mlp(3, 2, 2))}, "optimizer must hold parameters of the model, got none of them"),
    ],
)
def test_wrong_arguments_are_refused_at_once(options, says):
    known = {"model": mlp(3, 2, 2), "optimizer": None, "data": classes(), "loss": "classification"}
    with pytest.raises(InputError, match=says):
        Grower(**{**known, **options})


def test_validation_samples_that_the_model_does_not_take_are_refused_by_name():
    grower = Grower(mlp(3, 2, 2), None, classes(), "classification", validation=(torch.ones(3, 2), torch.zeros(3)))
    with pytest.raises(InputError, match=r"validation must be what the model takes, got samples of shape \(2,\)"):
        grower.begin()


def test_lbfgs_is_refused():
    model = mlp(3, 2, 2)
    with pytest.raises(InputError, match="optimizer must store its state per parameter, got LBFGS"):
        Grower(model, torch.optim.LBFGS(model.parameters()), classes(), "classification")


@pytest.mark.parametrize(
    ("model", "data", "loss", "says"),
    [
        *(
            (lambda m=m: mlp(3, 2, m), (torch.ones(3, 3), torch.tensor(y)), "classification", says)
            for m, y, says in [
                (2, [0, 1, 2], r"class numbers from 0 to 1, .* got 0 to 2"),
                (1, [0, 1, 2], r"numbers from 0 to 1"),
                (3, [-1, 1, 2], r"class numbers from 0 to 2, .* got -1 to 2"),
                (3, [0.5, 1, 2], r"class numbers from 0 to 2, .* got 0.5 to 2"),
            ]
        ),
        (
            lambda: mlp(1, 2, 1),
            (torch.ones(4, 1), torch.ones(4, 2)),
            "regression",
            "as many values per sample as the model's outputs \\(1\\), got 2",
        ),
        (
            lambda: mlp(1, 2, 1),
            (torch.ones(4, 1), torch.ones(4)),
            torch.nn.MSELoss(),
            r"y must have the shape of the model's outputs, \(1,\) per sample, got \(\) per sample; reshape y",
        ),
    ],
)
def test_targets_that_are_not_the_models_are_refused(model, data, loss, says):
    grower = Grower(model(), None, data, loss)
    with pytest.raises(InputError, match=says):
        grower.step()


def test_inputs_that_are_not_the_models_are_refused():
    with pytest.raises(InputError, match=r"model must run on an example of shape \(2, 5\)"):
        Grower(mlp(3, 2, 2), None, classes(10, (5,)), "classification")


def test_a_method_must_give_a_proposal():
    grower = Grower(mlp(3, 2, 2), None, classes(), "classification", how=lambda model, place, evidence: None, when=1)
    with pytest.raises(InputError, match="how must return a Proposal, got NoneType"):
        grower.step()


# weights


def test_the_model_is_left_alone_where_nothing_is_due():
    model = mlp(3, 2, 2)
    before = copy.deepcopy(model)
    grower = Grower(model, None, classes(), "classification", when=lambda state: False)
    for _ in range(3):
        assert grower.step() is None
    assert same_tensors(model, before)
