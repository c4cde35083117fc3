"""What ``read`` and ``as_network`` accept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import creases
from creases.network import as_network


def test_weight_arrays_are_read_from_an_npz_file(tmp_path: Path) -> None:
    layers = {"W0": np.eye(2), "b0": np.array([0.0, -1.0]), "W1": np.array([[1.0, 2.0]]), "b1": np.array([0.5])}
    np.savez(tmp_path / "net.npz", **layers, leak=0.5)
    net = creases.read(str(tmp_path / "net.npz"))
    assert net([3.0, 0.0]).tolist() == [3.0 + 2 * -0.5 + 0.5]


def test_as_network_accepts_whatever_read_does(tmp_path: Path) -> None:
    net = creases.read([(np.ones((2, 3)), np.zeros(2)), (np.ones((1, 2)), np.zeros(1))], leak=0.5)
    assert as_network(net) is net
    path = net.save(tmp_path / "net.safetensors")
    x = np.linspace(-1, 1, net.n_in)
    np.testing.assert_array_equal(as_network(path)(x), net(x))
    with pytest.raises(creases.errors.InputError, match=r"model must be a torch\.nn\.Module"):
        as_network({})
