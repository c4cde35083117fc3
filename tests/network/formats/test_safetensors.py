"""Networks are identical after saving and loading, and damaged files are refused."""

from __future__ import annotations

import json
import os
import struct

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

import creases
from agreement import Lambda, points, seeded
from creases.errors import FileError


def networks() -> list[creases.Network]:
    conv = nn.Sequential(
        nn.Conv2d(1, 2, 3, padding="same"), nn.PReLU(2), nn.MaxPool2d(2), nn.Upsample(scale_factor=1.5, mode="bilinear")
    )
    return [
        creases.read(seeded(conv), (1, 4, 4)),
        creases.read([(np.ones((2, 3)), np.zeros(2)), (np.ones((1, 2)), np.zeros(1))], leak=0.5),
        creases.read(nn.Identity(), (3,)),
        creases.read(Lambda(lambda x: x.sum(1)), (3,)).to(torch.float32),
    ]


@pytest.mark.parametrize("net", networks(), ids=repr)
def test_a_network_comes_back_identical(net: creases.Network, tmp_path) -> None:
    path = net.save(tmp_path / "net.safetensors")
    assert os.listdir(tmp_path) == ["net.safetensors"]
    for back in (creases.read(path), creases.read(str(path)), creases.Network.from_bytes(net.to_bytes())):
        assert back.input_shape == net.input_shape
        assert back.dtype == net.dtype or not net.steps
        assert [(s.op, s.inputs, s.shape, s.options, s.path) for s in back.steps] == [
            (s.op, s.inputs, s.shape, s.options, s.path) for s in net.steps
        ]
        for actual, expected in zip(back.steps, net.steps, strict=True):
            assert all(torch.equal(actual.tensors[name], tensor) for name, tensor in expected.tensors.items())
        x = points(net.input_shape)
        assert torch.equal(back(x), net(x))


def test_saving_twice_gives_the_same_bytes() -> None:
    net = networks()[0]
    assert net.to_bytes() == creases.Network.from_bytes(net.to_bytes()).to_bytes()


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch) -> None:
    net = networks()[1]
    path = net.save(tmp_path / "net.safetensors")
    monkeypatch.setattr("creases.network._formats.safetensors.program_to_bytes", lambda net: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        net.save(path)
    assert os.listdir(tmp_path) == ["net.safetensors"]
    assert creases.read(path).n_units == net.n_units


def test_places_that_cannot_be_written_are_named(tmp_path) -> None:
    with pytest.raises(FileError, match=r"saved as \.safetensors or \.onnx files, got suffix '\.pt'"):
        networks()[1].save(tmp_path / "net.pt")
    with pytest.raises(FileError, match=r"there is no folder .*create it first"):
        networks()[1].save(tmp_path / "no" / "net.safetensors")


def test_foreign_and_damaged_files_are_named(tmp_path) -> None:
    path = tmp_path / "net.safetensors"
    with pytest.raises(FileError, match="there is no such file"):
        creases.read(path)
    path.write_bytes(b"not tensors at all")
    with pytest.raises(FileError, match="damaged or not a safetensors file"):
        creases.read(path)
    path.write_bytes(b"")
    with pytest.raises(FileError, match="damaged or not a safetensors file"):
        creases.read(path)
    save_file({"weight": torch.zeros(2)}, path)
    with pytest.raises(FileError, match=r"holds tensors but no network.*creases\.read\(module\)"):
        creases.read(path)
    data = networks()[0].to_bytes()
    for length in range(0, len(data), 101):
        with pytest.raises(FileError):
            creases.Network.from_bytes(data[:length])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda record, steps: record.update(version=9), "has version 9 and this creases reads version 1"),
        (lambda record, steps: steps[0].update(op="exec"), "step 0 has an unknown operation, 'exec'"),
        (lambda record, steps: steps[0].update(inputs=[4]), "step 0 reads values"),
        (lambda record, steps: steps[0].update(inputs=[]), "step 0 reads values"),
        (lambda record, steps: steps[0].update(shape=[7]), "step 0 declares shape"),
        (lambda record, steps: steps[0].update(tensors=["nothing"]), "steps do not fit together"),
        (lambda record, steps: steps[0].pop("options"), "steps do not fit together"),
        (lambda record, steps: record.update(input_shape=[5, 5]), "steps do not fit together"),
        (lambda record, steps: record.update(input_shape="x"), "steps do not fit together"),
    ],
)
def test_a_header_that_lies_is_caught(change, why: str) -> None:
    data = networks()[1].to_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    record = json.loads(header["__metadata__"]["creases-network"])
    change(record, record["steps"])
    header["__metadata__"]["creases-network"] = json.dumps(record)
    new = json.dumps(header).encode()
    with pytest.raises(FileError, match=why):
        creases.Network.from_bytes(struct.pack("<Q", len(new)) + new + data[8 + length :])
