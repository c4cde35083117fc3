"""Perceptrons in ONNX files: read with numpy, as the reader of all files reads them, or not at all."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import creases
from creases.certify import holds
from creases.certify.proofs import check_proof, network_digest
from creases.certify.proofs._checker.plain import read_perceptron, to_plain

RNG = np.random.default_rng(0)
A, B, C = (RNG.normal(size=shape).astype(np.float32) for shape in ((3, 4), (4, 4), (4, 2)))
b, c, d = (RNG.normal(size=n).astype(np.float32) for n in (4, 4, 2))
WEIGHTS = {"A": A, "B": B, "C": C, "b": b, "c": c, "d": d, "At": A.T.copy(), "s": np.float32([0.5]), "r": b[None]}

END = [("Gemm", ["h", "C", "d"], "y", {})]
PERCEPTRONS = {
    "Gemm": [("Gemm", ["x", "A", "b"], "z", {}), ("Relu", ["z"], "h", {})],
    "transposed": [("Gemm", ["x", "At", "b"], "z", {"transB": 1, "alpha": 1.0, "beta": 1.0}), ("Relu", ["z"], "h", {})],
    "MatMul": [("MatMul", ["x", "A"], "p", {}), ("Add", ["p", "b"], "z", {}), ("Relu", ["z"], "h", {})],
    "Sub": [("Sub", ["x", "s"], "u", {}), ("Gemm", ["u", "A"], "z", {}), ("Relu", ["z"], "h", {})],
    "leaky": [("Gemm", ["x", "A", "b"], "z", {}), ("LeakyRelu", ["z"], "h", {"alpha": 0.1})],
    "flat": [("Flatten", ["x"], "f", {}), ("Gemm", ["f", "A", "b"], "z", {}), ("Relu", ["z"], "h", {})],
    "deep": [
        ("Gemm", ["x", "A", "b"], "z", {}), ("Relu", ["z"], "v", {}), ("Identity", ["v"], "i", {}),
        ("Gemm", ["i", "B", "c"], "w", {}), ("Relu", ["w"], "h", {}),
    ],
}  # fmt: skip
OTHERS = {
    "a sum of values": [("Gemm", ["x", "A", "b"], "z", {}), ("Relu", ["z"], "v", {}), ("Add", ["v", "z"], "h", {})],
    "another bend": [("Gemm", ["x", "A", "b"], "z", {}), ("Abs", ["z"], "h", {})],
    "a scaled product": [("Gemm", ["x", "A", "b"], "z", {"alpha": 2.0}), ("Relu", ["z"], "h", {})],
    "no bend": [("Gemm", ["x", "A", "b"], "z", {}), ("LeakyRelu", ["z"], "h", {"alpha": 1.0})],
    "a constant with a batch": [("Gemm", ["x", "A"], "p", {}), ("Add", ["p", "r"], "z", {}), ("Relu", ["z"], "h", {})],
    "a weight that is computed": [("Gemm", ["x", "A", "b"], "c", {}), ("Relu", ["c"], "h", {})],
}  # fmt: skip


def save(path, nodes):
    graph = helper.make_graph(
        [helper.make_node(op, inputs, [output], **options) for op, inputs, output, options in [*nodes, *END]],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("n", 3))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ("n", 2))],
        [numpy_helper.from_array(value, name) for name, value in WEIGHTS.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


@pytest.mark.parametrize("name", PERCEPTRONS)
def test_a_perceptron_is_the_network_of_the_file(name, tmp_path):
    path = save(tmp_path / "net.onnx", PERCEPTRONS[name])
    plain, net = read_perceptron(path), creases.read(path)
    assert plain is not None
    assert (plain.input_shape, plain.n_out) == (net.input_shape, net.n_out)
    assert plain.entries >= to_plain(net).entries
    assert network_digest(plain) == network_digest(net) == network_digest(path)


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_perceptron_is_left_to_the_reader_of_all_files(name, tmp_path):
    assert read_perceptron(save(tmp_path / "net.onnx", OTHERS[name])) is None


def test_a_file_with_functions_or_that_is_damaged_is_left_to_the_reader_of_all_files(tmp_path):
    path = save(tmp_path / "net.onnx", PERCEPTRONS["Gemm"])
    model = onnx.load(path)
    relu = helper.make_node("Neg", ["a"], ["b"])
    model.functions.append(helper.make_function("", "Relu", ["a"], ["b"], [relu], model.opset_import))
    onnx.save(model, path)
    assert read_perceptron(path) is None
    path.write_bytes(path.read_bytes()[:100])
    assert read_perceptron(path) is None


def test_a_proof_about_a_file_is_checked_and_that_about_another_refused(tmp_path):
    path = save(tmp_path / "net.onnx", PERCEPTRONS["deep"])
    proof = holds(path, (-0.1, 0.1), never=int(creases.read(path)(np.zeros(3)).argmin())).proof
    assert check_proof(proof, path)
    assert "its weights differ" in str(check_proof(proof, save(tmp_path / "other.onnx", PERCEPTRONS["Gemm"])))
