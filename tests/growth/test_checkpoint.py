"""A run in a file: the same network comes back, and other files are refused."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

import creases
from creases.errors import FileError, InputError
from creases.growth import _checkpoint as checkpoint
from creases.growth._checkpoint import ModelState, resize
from growth_runs import Residual, classes, conv, mlp, normed, same_tensors

MODELS = {
    "mlp": (lambda: mlp(3, 2, 3, 2), (3,)),
    "conv": (conv, (1, 6, 6)),
    "residual": (Residual, (3,)),
    "batch norm": (normed, (3,)),
}


def widths(model, x) -> dict[str, int]:
    return {place.name: place.width for place in creases.places(model, X=x)}


def grown(model, x, k: int = 2) -> nn.Module:
    """The model with k units of chance more at every place."""
    model = copy.deepcopy(model)
    numbers = torch.Generator().manual_seed(0)
    for place in creases.places(model, X=x):
        layer = model.get_submodule(place.name)
        rows = torch.randn((k, *layer.weight.shape[1:]), generator=numbers)
        fan_out = {}
        for link in place.consumers:
            weight = model.get_submodule(link.path).weight
            shape = (len(weight), k * link.per_unit, *weight.shape[2:])
            fan_out[link.path] = torch.randn(shape, generator=numbers)
        creases.widen(model, place, rows, torch.randn(k, generator=numbers), fan_out)
    return model


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("way", ["wider", "narrower"])
def test_a_snapshot_brings_a_model_of_another_width_to_the_same_tensors(name, way):
    make, shape = MODELS[name]
    x, _ = classes(10, shape)
    small, large = make(), grown(make(), x)
    start, aim = (small, large) if way == "wider" else (large, small)
    parameters = set(map(id, start.modules()))
    ModelState.from_model(aim, widths(aim, x)).restore(start, x)
    assert same_tensors(start, aim)
    assert torch.equal(start.eval()(x), aim.eval()(x))
    assert set(map(id, start.modules())) == parameters


@pytest.mark.parametrize("make", [torch.optim.Adam, lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)])
@pytest.mark.parametrize("way", ["wider", "narrower"])
def test_the_optimizer_holds_the_restored_models_parameters_and_goes_on(make, way):
    x, y = classes(10)
    small, large = mlp(3, 2, 3, 2), grown(mlp(3, 2, 3, 2), x)
    start, aim = (small, large) if way == "wider" else (large, small)
    optimizer = make(start.parameters())
    nn.functional.cross_entropy(start(x), y).backward()
    optimizer.step()
    ModelState.from_model(aim, widths(aim, x)).restore(start, x, optimizer)
    held = [id(parameter) for group in optimizer.param_groups for parameter in group["params"]]
    assert held == [id(parameter) for parameter in start.parameters()]
    optimizer.zero_grad()
    nn.functional.cross_entropy(start(x), y).backward()
    optimizer.step()
    assert not same_tensors(start, aim)


def test_a_snapshot_is_a_copy():
    model = mlp(3, 2, 2)
    kept = ModelState.from_model(model, {"0": 2})
    before = model[0].weight.detach().clone()
    with torch.no_grad():
        model[0].weight.zero_()
    assert torch.equal(kept.tensors["0.weight"], before)


def test_what_is_written_is_read_back_and_nothing_else_is_left(tmp_path):
    state = {"history": "{}", "widths": {"0": 2}, "model": mlp(3, 2, 2).state_dict(), "best": [3, 0.5, {}, {}]}
    checkpoint.save_checkpoint(tmp_path / "run.pt", state)
    found = checkpoint.load_checkpoint(tmp_path / "run.pt")
    assert found.keys() == state.keys()
    assert all(torch.equal(found["model"][name], state["model"][name]) for name in state["model"])
    assert [path.name for path in tmp_path.iterdir()] == ["run.pt"]


def test_a_write_that_fails_leaves_the_last_file_whole(tmp_path):
    checkpoint.save_checkpoint(tmp_path / "run.pt", {"steps": 1})
    with pytest.raises(AttributeError, match="local object"):
        checkpoint.save_checkpoint(tmp_path / "run.pt", {"steps": lambda: 2})
    assert checkpoint.load_checkpoint(tmp_path / "run.pt") == {"steps": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["run.pt"]


class Trap:
    def __reduce__(self):
        return (print, ("this must not run",))


def test_nothing_in_a_file_is_run(tmp_path, capsys):
    torch.save({"creases-checkpoint": 1, "trap": Trap()}, tmp_path / "run.pt")
    with pytest.raises(FileError, match=r"cannot read .*run\.pt as a checkpoint"):
        checkpoint.load_checkpoint(tmp_path / "run.pt")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", b"junk", b"PK\x03\x04 broken"])
def test_other_files_are_refused_by_name(tmp_path, content):
    (tmp_path / "run.pt").write_bytes(content)
    with pytest.raises(FileError, match=r"cannot read .*run\.pt as a checkpoint"):
        checkpoint.load_checkpoint(tmp_path / "run.pt")


def test_a_truncated_checkpoint_is_refused(tmp_path):
    checkpoint.save_checkpoint(tmp_path / "run.pt", {"model": mlp(3, 2, 2).state_dict()})
    whole = (tmp_path / "run.pt").read_bytes()
    (tmp_path / "run.pt").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileError, match=r"cannot read .* as a checkpoint"):
        checkpoint.load_checkpoint(tmp_path / "run.pt")


@pytest.mark.parametrize("content", [{"creases-checkpoint": 99}, {"steps": 1}, [1, 2]])
def test_files_of_torch_that_are_no_checkpoints_are_refused(tmp_path, content):
    torch.save(content, tmp_path / "run.pt")
    with pytest.raises(FileError, match="is not a checkpoint of a growth run of this version"):
        checkpoint.load_checkpoint(tmp_path / "run.pt")


def test_the_checkpoint_of_another_model_is_refused():
    x, _ = classes(4)
    with pytest.raises(InputError, match="checkpoint must come from the same model, got one that grew 'gone'"):
        resize(mlp(3, 2, 2), {"gone": 3}, x)
    other = mlp(3, 2, 3)
    with pytest.raises(InputError, match="checkpoint must come from the same model"):
        ModelState.from_model(other, {"0": 2}).restore(mlp(3, 2, 2), x)
