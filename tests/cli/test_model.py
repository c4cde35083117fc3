""""""

import subprocess
import sys

import numpy as np
import pytest
import torch

from creases.cli._model import load_model, read_points
from creases.errors import CreasesError, FileError, InputError
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


def test_a_warning_is_one_line_without_a_path(code, tmp_path):
    with (tmp_path / "own_models.py").open("a") as file:
        file.write("ready.insert(1, torch.nn.Dropout())")
    words = (sys.executable, "-m", "creases", "describe", "own_models.py:ready")
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    said = "the model is in train mode, which changes its Dropout: it is read as in eval mode; call model.eval() first"
    assert done.stderr == f"Warning: {said}\n"


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


@pytest.mark.parametrize("head", ["", "a,b,class\n"])
def test_csv_data_has_points_and_classes_with_or_without_a_head(tmp_path, head):
    (tmp_path / "d.csv").write_text(head + "0,1.5,1\n2,3.5,0\n" * 8)
    points, classes = read_points(tmp_path / "d.csv", None, 2, 2)
    np.testing.assert_array_equal(points, [[0, 1.5], [2, 3.5]] * 8)
    np.testing.assert_array_equal(classes, [1, 0] * 8)


def test_classes_may_be_missing(tmp_path):
    (tmp_path / "d.csv").write_text("0,1\n2,3\n")
    assert read_points(tmp_path / "d.csv", None, 2, 2).y is None
    np.savez(tmp_path / "d.npz", X=np.zeros((4, 2)))
    assert read_points(tmp_path / "d.npz", None, 2, 2).y is None


def test_npz_data_is_flattened_to_points(tmp_path):
    np.savez(tmp_path / "d.npz", X=np.zeros((4, 1, 2)), y=np.arange(4))
    points, classes = read_points(tmp_path / "d.npz", None, 2, 2)
    assert points.shape == (4, 2)
    np.testing.assert_array_equal(classes, np.arange(4))


def test_data_that_does_not_fit_is_refused(tmp_path):
    path = tmp_path / "d.npz"
    with pytest.raises(InputError, match=r"data must be an existing file, got .*d\.npz"):
        read_points(path, None, 2, 2)
    np.savez(path, X=np.zeros((4, 3)))
    with pytest.raises(InputError, match=r"data must hold points X \(n, 2\) .* got X \(4, 3\)"):
        read_points(path, None, 2, 2)
    np.savez(path, X=np.zeros((4, 2)), y=np.zeros(3))
    with pytest.raises(InputError, match=r"got X \(4, 2\), y \(3,\)"):
        read_points(path, None, 2, 2)
    np.savez(path, X=0.0)
    with pytest.raises(InputError, match=r"got X \(\) in"):
        read_points(path, None, 2, 2)
    np.savez(path, X=np.zeros((1, 2)), y=0)
    with pytest.raises(InputError, match=r"got X \(1, 2\), y \(\) in"):
        read_points(path, None, 2, 2)
    np.savez(path, Z=np.zeros(3))
    with pytest.raises(FileError, match="it has no array X of points"):
        read_points(path, None, 2, 2)
    (tmp_path / "d.csv").write_text("a,b,c,d\n0,1,2,3\n4,5,6,7\n")
    with pytest.raises(InputError, match="data must have 2 input columns, as the network, got 3 beside 'd'"):
        read_points(tmp_path / "d.csv", None, 2, 2)
    (tmp_path / "d.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(CreasesError, match=r"d\.csv"):
        read_points(tmp_path / "d.csv", None, 2, 2)


def test_a_constant_column_and_classes_by_name_are_read(tmp_path):
    (tmp_path / "d.csv").write_text("a,b,kind\n" + "".join(f"{k / 3},1,{'no' if k % 2 else 'yes'}\n" for k in range(9)))
    points, classes = read_points(tmp_path / "d.csv", None, 2, 2)
    np.testing.assert_array_equal(points[:, 1], np.ones(9))
    np.testing.assert_array_equal(classes, [1, 0] * 4 + [1])


@pytest.mark.parametrize("words", [["describe"], ["map"], ["explain"], ["prune"]])
def test_a_missing_file_is_refused_before_torch_is_imported(words, tmp_path):
    code = (
        "import sys; from typer.testing import CliRunner; from creases.cli import app; "
        f"done = CliRunner().invoke(app, {[*words, 'no.onnx', *(['1,2'] if words == ['explain'] else [])]!r}); "
        "print(done.exit_code, 'torch' in sys.modules, done.output)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split()[:2] == ["2", "False"]
    assert "cannot read no.onnx: there is no such file" in done.stdout
