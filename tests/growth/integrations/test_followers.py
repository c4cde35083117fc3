"""Models that are wrapped, by torch.compile or DistributedDataParallel, grow in the middle of training."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

import creases
import ddp_runs
from creases.growth import Grower
from growth_runs import Residual, classes, mlp
from torchrun import run_ranks
from wild_runs import GROWTH, assert_goes_on, data, train

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*torch.jit.*deprecated:DeprecationWarning"),  # torch's own, of its compiler
]


@pytest.fixture(autouse=True)
def _forget():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def graphs() -> int:
    return torch._dynamo.utils.counters["stats"]["unique_graphs"]


# torch.compile


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("backend", "growth"),
    [("aot_eager", GROWTH), pytest.param("inductor", GROWTH[:1], marks=pytest.mark.thorough)],  # compiles C++
)
def test_a_compiled_model_goes_on_after_growth_as_the_plain_one(backend, growth):
    loop = train(wrap=lambda model: torch.compile(model, backend=backend), growth=growth)
    assert_goes_on(loop, growth)
    assert loop.losses == pytest.approx(train(growth=growth).losses, rel=1e-6)


@pytest.mark.thorough
def test_a_compiled_optimizer_step_goes_on():
    def update(loop, loss):
        loop.optimizer.zero_grad()
        value = loss()
        value.backward()
        step(loop.optimizer)
        return value

    step = torch.compile(lambda optimizer: optimizer.step(), backend="aot_eager")
    loop = train(wrap=lambda model: torch.compile(model, backend="aot_eager"), update=update)
    assert_goes_on(loop)
    assert loop.losses == pytest.approx(train().losses, rel=1e-5)


@pytest.mark.thorough
def test_however_often_it_grows_the_model_is_compiled_anew():
    x, y = data()
    model = mlp(3, 2, 2)
    compiled = torch.compile(model, backend="aot_eager")
    grower = Grower(compiled, None, (x, y), "classification", how="random", when=10**6)
    for _ in range(torch._dynamo.config.recompile_limit + 3):
        before = graphs()
        F.cross_entropy(compiled(x), y).backward()
        assert graphs() > before
        assert torch.allclose(compiled(x), model(x))
        assert grower.grow_now()


def test_grow_trains_a_compiled_model_and_the_compiled_one_is_the_result():
    models = [mlp(3, 2, 2, seed=3) for _ in range(2)]
    compiled = torch.compile(models[1], backend="aot_eager")
    options = {"how": "random", "when": 2, "budget": 8, "progress": False}
    for model in (models[0], compiled):
        creases.grow(model, classes(), "classification", **options)
    assert models[1][0].out_features > 2
    assert all(torch.equal(a, b) for a, b in zip(models[0].parameters(), models[1].parameters(), strict=True))
    x, _ = data()
    assert torch.allclose(compiled(x), models[0](x))


@pytest.mark.slow
def test_grow_trains_with_what_was_compiled_in_place():
    models = [Residual() for _ in range(2)]
    models[1].compile(backend="aot_eager")
    before = graphs()
    for model in models:
        creases.grow(model, classes(), "classification", how="random", when=2, budget=8, progress=False)
    assert graphs() > before + 1
    assert models[1].inner.out_features > 2
    for one, two in zip(models[0].parameters(), models[1].parameters(), strict=True):
        assert torch.allclose(one, two, rtol=1e-6)


# DistributedDataParallel


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """What each of two processes has after all runs."""
    return run_ranks(tmp_path_factory, "ddp_runs.py")


distributed = pytest.mark.skipif(not torch.distributed.is_available(), reason="torch without torch.distributed")


@pytest.mark.thorough
@distributed
@pytest.mark.parametrize("name", ddp_runs.CASES)
def test_the_ranks_stay_bit_equal_after_growth_and_train_all_parameters(both, name):
    for rank in both:
        run = rank[name]
        assert [after > before for before, after in run["widths"]] == [True, True]
        assert all(run["gradients alike"])
        assert run["parameters alike"]
        assert run["state alike"]
        assert all(run["trained"])
        assert sum(run["losses"][-5:]) < sum(run["losses"][7:12])
        assert run["hook called"] == (name == "hook")
    assert both[0][name]["losses"] != both[1][name]["losses"]  # of each rank's own half of the samples


@pytest.mark.thorough
@distributed
@pytest.mark.parametrize("name", [name for name in ddp_runs.CASES if name != "buffers"])
def test_two_ranks_end_with_the_network_of_one(both, name):
    """With batch norm they cannot: its statistics are those of each rank's batch."""
    alone = ddp_runs.train(name)
    for rank in both:
        for key, value in alone["model"].items():
            assert torch.allclose(rank[name]["model"][key], value, rtol=1e-8, atol=1e-10)


@pytest.mark.thorough
def test_a_wrapper_in_another_process_group_is_refused(both):
    assert all("model must be in the default process group" in rank["other group"] for rank in both)
