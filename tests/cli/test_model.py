import numpy as np
import pytest
import torch

from creases.cli._model import load_model
from creases.errors import FileError, InputError
from creases.network._reading.arrays import from_arrays


def test_npz_weights_are_read_with_their_leak(weights, tmp_path):
    np.savez(tmp_path / "net.npz", **weights, leak=0.5)
    net = load_model(str(tmp_path / "net.npz"))
    assert net([-1.0, 1.0]) == -0.5 + 1 - 0.5


@pytest.mark.parametrize("spec", ["own_models.py:ready", "own_models.py:build", "own_models:ready", "own_models:build"])
def test_a_torch_module_is_found_by_file_or_module_name(code, run, spec):
    x = np.array([0.3, -0.2])
    expected = code(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(load_model(spec)(x), expected, rtol=1e-6)


def test_a_saved_network_is_read(weights, tmp_path):
    net = from_arrays([(weights["W0"], weights["b0"]), (weights["W1"], weights["b1"])])
    path = net.save(tmp_path / "net.safetensors")
    x = np.random.default_rng(0).normal(size=(10, 2))
    np.testing.assert_array_equal(load_model(str(path))(x), net(x))


def test_an_onnx_file_is_read(code, tmp_path):
    onnx = pytest.importorskip("onnx")
    from onnx import helper, numpy_helper

    layers = [layer for layer in code if hasattr(layer, "weight")]
    arrays = {f"W{i}": layer.weight.detach().numpy() for i, layer in enumerate(layers)}
    arrays |= {f"b{i}": layer.bias.detach().numpy() for i, layer in enumerate(layers)}
    nodes = [
        helper.make_node("Gemm", ["x", "W0", "b0"], ["z"], transB=1),
        helper.make_node("Relu", ["z"], ["h"]),
        helper.make_node("Gemm", ["h", "W1", "b1"], ["y"], transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.DOUBLE, [1, 2])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.DOUBLE, [1, 1])],
        [numpy_helper.from_array(value, name) for name, value in arrays.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "net.onnx")
    x = np.array([0.3, -0.2])
    expected = code(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(np.ravel(load_model(str(tmp_path / "net.onnx"))(x)), expected)


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        (
            "net.h5",
            InputError,
            "model must be an .onnx, .safetensors or .npz file, module:name or path.py:name, got 'net.h5'",
        ),
        ("missing.npz", FileError, r"cannot read missing\.npz: there is no such file"),
        ("missing.onnx", FileError, r"cannot read missing\.onnx: there is no such file"),
        ("missing.py:net", InputError, r"model must be an existing file, got missing\.py"),
        ("no_such_module:net", InputError, "model must name a module that can be imported, got 'no_such_module'"),
        ("own_models.py:other", InputError, "model must name something in own_models.py, got 'other'"),
        ("own_models.py:number", InputError, r"model must be a torch\.nn\.Module, .*, got int"),
    ],
)
def test_what_is_no_model_is_refused(code, run, spec, error, message):
    with pytest.raises(error, match=message):
        load_model(spec)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"A": np.eye(2)}, "must hold W0, b0, W1, b1, ...; it holds A"),
        ({"W0": np.eye(2)}, "has W0 but no b0"),
        ({"W0": np.array([{}])}, r"cannot read .*net\.npz as an \.npz file of weights"),
    ],
)
def test_npz_files_that_hold_no_weights_are_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "net.npz", **arrays)
    with pytest.raises(FileError, match=message):
        load_model(str(tmp_path / "net.npz"))


def test_a_damaged_npz_file_is_refused(tmp_path):
    (tmp_path / "net.npz").write_bytes(b"nothing")
    with pytest.raises(FileError, match=r"cannot read .*net\.npz as an \.npz file of weights"):
        load_model(str(tmp_path / "net.npz"))
