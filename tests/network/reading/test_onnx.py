"""Reading ONNX files: operators compared with ONNX's evaluator, models with torch, files of other exporters."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import creases
from agreement import points, seeded
from creases.errors import FileError, InputError, LinkWarning, ReadError

onnx = pytest.importorskip("onnx")
helper, numpy_helper, DOUBLE = onnx.helper, onnx.numpy_helper, onnx.TensorProto.DOUBLE
RNG = np.random.default_rng(0)

Nodes = Sequence[Any]


def model(
    nodes: Nodes,
    shape: Sequence[Any],
    constants: dict[str, np.ndarray] | None = None,
    *,
    opset: int = 17,
    kind: int = DOUBLE,
    listed: bool = False,
    output: str = "y",
) -> Any:
    """A model from ``x`` to ``y``; ``listed``: weights also among the inputs, as old files have them."""
    constants = constants or {}
    inputs = [helper.make_tensor_value_info("x", kind, shape)]
    if listed:
        inputs += [
            helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
            for k, v in constants.items()
        ]
    graph = helper.make_graph(
        list(nodes),
        "g",
        inputs,
        [helper.make_tensor_value_info(output, kind, None)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def node(op: str, inputs: str, output: str = "y", **attributes: Any) -> Any:
    """One node; inputs by names apart by spaces, ``-`` for one left out."""
    names = ["" if name == "-" else name for name in inputs.split()]
    return helper.make_node(op, names, output.split(), name=f"{op}_{output.split()[0]}", **attributes)


def assert_agrees(proto: Any, shape: tuple[int, ...], batch: int = 4) -> creases.Network:
    """The network gives what ONNX's own evaluator gives, in float64."""
    net = creases.read(proto)
    assert net.input_shape == shape
    x = RNG.normal(size=(batch, *shape))
    expected = onnx.reference.ReferenceEvaluator(proto).run(None, {"x": x})[0]
    np.testing.assert_allclose(net(x).reshape(expected.shape), expected, rtol=1e-10, atol=1e-10)
    return net


def f(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def i(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def d(value: float) -> np.ndarray:
    return np.array(value, dtype=np.float64)


IMAGE, VECTOR = (3, 7, 7), (6,)
DOUBLED = np.array([1, 1, 2, 2], np.float32)
ASYMMETRIC = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
HALF_PIXEL = {"mode": "nearest", "coordinate_transformation_mode": "half_pixel"}
CASES: list[tuple[Any, tuple[int, ...], dict[str, np.ndarray], int]] = [
    (node("Gemm", "x w b"), VECTOR, {"w": f(6, 4), "b": f(4)}, 17),
    (node("Gemm", "x w b", alpha=0.5, beta=2.0, transB=1), VECTOR, {"w": f(4, 6), "b": f(4)}, 7),
    (node("Gemm", "x w b"), VECTOR, {"w": f(6, 4), "b": f(1, 4)}, 11),
    (node("Gemm", "x w"), VECTOR, {"w": f(6, 4)}, 13),
    (node("MatMul", "x w"), VECTOR, {"w": f(6, 4)}, 17),
    (node("MatMul", "w x"), IMAGE, {"w": f(3, 5, 7)}, 17),
    (node("Conv", "x w b", pads=[1, 1, 1, 1], strides=[2, 1]), IMAGE, {"w": f(4, 3, 3, 3), "b": f(4)}, 17),
    (node("Conv", "x w", pads=[0, 1, 2, 1], dilations=[2, 1]), IMAGE, {"w": f(4, 3, 3, 2)}, 11),
    (node("Conv", "x w", auto_pad="SAME_UPPER", strides=[2, 2]), IMAGE, {"w": f(4, 3, 3, 2)}, 17),
    (node("Conv", "x w", auto_pad="SAME_LOWER"), IMAGE, {"w": f(3, 1, 2, 2)}, 17),
    (node("Conv", "x w", auto_pad="VALID"), IMAGE, {"w": f(4, 3, 2, 2)}, 17),
    (node("ConvTranspose", "x w b", strides=[2, 2], pads=[1, 0, 1, 1]), IMAGE, {"w": f(3, 2, 3, 3), "b": f(2)}, 17),
    (
        node("BatchNormalization", "x s b m v", epsilon=1e-3),
        IMAGE,
        {"s": f(3), "b": f(3), "m": f(3), "v": np.abs(f(3)) + 0.1},
        15,
    ),
    (node("MaxPool", "x", kernel_shape=[2, 2], strides=[2, 2]), IMAGE, {}, 17),
    (node("MaxPool", "x", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1), IMAGE, {}, 12),
    (node("MaxPool", "x", kernel_shape=[3, 2], strides=[2, 2], pads=[0, 0, 1, 1]), IMAGE, {}, 8),
    (node("MaxPool", "x", kernel_shape=[2, 2]), IMAGE, {}, 17),
    (node("AveragePool", "x", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), IMAGE, {}, 11),
    (node("AveragePool", "x", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1), IMAGE, {}, 17),
    (node("AveragePool", "x", kernel_shape=[3, 3], pads=[0, 0, 1, 2]), IMAGE, {}, 17),
    (node("GlobalAveragePool", "x"), IMAGE, {}, 17),
    (node("GlobalMaxPool", "x"), IMAGE, {}, 17),
    (node("Relu", "x"), VECTOR, {}, 17),
    (node("LeakyRelu", "x"), VECTOR, {}, 17),
    (node("LeakyRelu", "x", alpha=0.3), VECTOR, {}, 6),
    (node("PRelu", "x a"), IMAGE, {"a": f(3, 1, 1)}, 17),
    (node("PRelu", "x a"), IMAGE, {"a": f(1)}, 17),
    (node("PRelu", "x a"), IMAGE, {"a": f(7)}, 17),
    (node("Clip", "x", min=-0.5, max=0.5), VECTOR, {}, 6),
    (node("Clip", "x lo hi"), VECTOR, {"lo": d(-0.5), "hi": d(0.25)}, 13),
    (node("Clip", "x - hi"), VECTOR, {"hi": d(0.25)}, 13),
    (node("Clip", "x lo"), VECTOR, {"lo": d(0.25)}, 11),
    (node("Abs", "x"), VECTOR, {}, 17),
    (node("Neg", "x"), VECTOR, {}, 17),
    (node("Identity", "x"), VECTOR, {}, 17),
    (node("HardSigmoid", "x", alpha=0.4), VECTOR, {}, 17),
    (node("Max", "x c"), VECTOR, {"c": f(6)}, 17),
    (node("Min", "x c e"), VECTOR, {"c": f(6), "e": f(1)}, 17),
    (node("Add", "x c"), IMAGE, {"c": f(1, 3, 1, 1)}, 17),
    (node("Sub", "c x"), VECTOR, {"c": f(6)}, 17),
    (node("Mul", "x c"), VECTOR, {"c": d(2.5)}, 17),
    (node("Div", "x c"), VECTOR, {"c": np.abs(f(6)) + 1}, 7),
    (node("Sum", "x x c"), VECTOR, {"c": f(6)}, 13),
    (node("Flatten", "x"), IMAGE, {}, 17),
    (node("Flatten", "x", axis=-3), IMAGE, {}, 13),
    (node("Reshape", "x s"), IMAGE, {"s": i(0, 3, -1)}, 17),
    (node("Reshape", "x s"), IMAGE, {"s": i(-1, 147)}, 5),
    (node("Transpose", "x", perm=[0, 2, 3, 1]), IMAGE, {}, 17),
    (node("Unsqueeze", "x", axes=[1, 3]), VECTOR, {}, 11),
    (node("Unsqueeze", "x a"), VECTOR, {"a": i(-1, 1)}, 13),
    (node("Squeeze", "x", axes=[2]), (4, 1), {}, 11),
    (node("Squeeze", "x a"), (4, 1), {"a": i(-1)}, 13),
    (node("Slice", "x", starts=[1, 0], ends=[3, 2], axes=[1, 3]), IMAGE, {}, 9),
    (node("Slice", "x s e a t"), IMAGE, {"s": i(-1, 0), "e": i(-9, 9), "a": i(1, 2), "t": i(-1, 2)}, 13),
    (node("Slice", "x s e a"), IMAGE, {"s": i(1), "e": i(2**62), "a": i(3)}, 10),
    (node("Gather", "x k", axis=1), VECTOR, {"k": i(5, 0, -1)}, 17),
    (node("Gather", "x k", axis=2), IMAGE, {"k": np.array(3)}, 17),
    (node("Gather", "x k", axis=1), VECTOR, {"k": np.array([[0, 1], [2, 3]])}, 17),
    (node("Concat", "x x", axis=1), IMAGE, {}, 17),
    (node("Concat", "x x", axis=-1), VECTOR, {}, 4),
    (node("Pad", "x", pads=[0, 0, 1, 2, 0, 0, 0, 1], value=1.5), IMAGE, {}, 2),
    (node("Pad", "x p c"), IMAGE, {"p": i(0, 1, 0, 0, 0, 0, 2, 0), "c": d(2.0)}, 13),
    (node("Pad", "x p", mode="reflect"), IMAGE, {"p": i(0, 0, 1, 2, 0, 0, 0, 1)}, 13),
    (node("Pad", "x p", mode="edge"), IMAGE, {"p": i(0, 0, 1, 2, 0, 0, 0, 1)}, 13),
    (node("Pad", "x p - a"), IMAGE, {"p": i(1, 2), "a": i(3)}, 18),
    (node("ReduceMean", "x", axes=[2, 3], keepdims=0), IMAGE, {}, 13),
    (node("ReduceMean", "x a"), IMAGE, {"a": i(-1)}, 18),
    (node("ReduceSum", "x a", keepdims=0), IMAGE, {"a": i(1, 2)}, 13),
    (node("ReduceSum", "x", axes=[1]), IMAGE, {}, 11),
    (node("ReduceMax", "x", axes=[1], keepdims=0), IMAGE, {}, 13),
    (node("ReduceMin", "x", axes=[1, 3]), IMAGE, {}, 13),
    (node("Expand", "x s"), (3, 1), {"s": i(1, 3, 4)}, 17),
    (node("Tile", "x r"), VECTOR, {"r": i(1, 2)}, 17),
    (node("Resize", "x - s", mode="nearest", **ASYMMETRIC), IMAGE, {"s": DOUBLED}, 13),
    (node("Resize", "x - s", mode="linear"), IMAGE, {"s": DOUBLED}, 13),
    (node("Resize", "x - - s", mode="linear", axes=[3]), IMAGE, {"s": i(5)}, 18),
    (node("Resize", "x - s", mode="cubic", exclude_outside=1, cubic_coeff_a=-0.5), IMAGE, {"s": DOUBLED}, 13),
    (node("Resize", "x - s", nearest_mode="ceil", **HALF_PIXEL), IMAGE, {"s": DOUBLED}, 13),
    (node("Resize", "x - s", nearest_mode="round_prefer_ceil", **HALF_PIXEL), IMAGE, {"s": DOUBLED}, 13),
    (node("Einsum", "x w", equation="bi,ij->bj"), VECTOR, {"w": f(6, 4)}, 17),
    (node("SpaceToDepth", "x", blocksize=2), (2, 4, 6), {}, 13),
    (node("ReduceL1", "x a", keepdims=0), IMAGE, {"a": i(2)}, 18),
    (node("ThresholdedRelu", "x", alpha=0.0), VECTOR, {}, 17),
    (node("CumSum", "x a", reverse=1), VECTOR, {"a": np.array(1)}, 14),
    (node("CumSum", "x a", exclusive=1), VECTOR, {"a": np.array(1)}, 14),
    (node("Pow", "x a"), VECTOR, {"a": d(1.0)}, 15),
    (node("ConvTranspose", "x w", strides=[2, 2], auto_pad="SAME_UPPER"), IMAGE, {"w": f(3, 2, 3, 3)}, 17),
    (node("DepthToSpace", "x", blocksize=2), (4, 3, 2), {}, 13),
    (node("DepthToSpace", "x", blocksize=2, mode="CRD"), (8, 3, 2), {}, 13),
    (node("Pad", "x p", mode="reflect"), (2, 3, 4, 5), {"p": i(0, 0, 1, 0, 2, 0, 0, 0, 1, 0)}, 13),
    (node("Pad", "x p", mode="wrap"), (4, 5), {"p": i(0, 0, 2, 0, 1, 0)}, 19),
    (node("Trilu", "x", upper=0), (4, 3), {}, 14),
    (node("Trilu", "x k"), IMAGE, {"k": np.array(1)}, 14),
    (node("Cast", "x", to=DOUBLE), VECTOR, {}, 17),
    (node("Dropout", "x"), VECTOR, {}, 13),
    (node("Dropout", "x", ratio=0.3), VECTOR, {}, 7),
]


@pytest.mark.parametrize(
    ("case", "shape", "constants", "opset"), CASES, ids=[f"{k}-{case[0].op_type}" for k, case in enumerate(CASES)]
)
def test_operators_agree_with_the_reference_evaluator(case, shape, constants, opset) -> None:
    groups = {"group": 3} if case.op_type == "Conv" and constants["w"].shape[1] == 1 else {}
    case.attribute.extend(helper.make_attribute(k, v) for k, v in groups.items())
    assert_agrees(model([case], ["batch", *shape], constants, opset=opset), shape)


@pytest.mark.parametrize(
    ("case", "shape", "constants", "expected"),
    [
        (node("GlobalMaxPool", "x"), (3, 8), {}, lambda x: x.amax(2, keepdim=True)),
        (  # which it does not run
            node("MaxPool", "x", kernel_shape=[3], auto_pad="SAME_UPPER"),
            (3, 8),
            {},
            lambda x: F.max_pool1d(x, 3, 1, 1),
        ),
        (
            node("MaxPool", "x", kernel_shape=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1),
            IMAGE,
            {},
            lambda x: F.max_pool2d(x, 2, 1, 1, ceil_mode=True),
        ),
        (
            node("ConvTranspose", "x w b", group=3),
            IMAGE,
            {"w": f(3, 2, 2, 2), "b": f(6)},
            lambda x, w, b: F.conv_transpose2d(x, w, b, groups=3),
        ),
        (  # longer than its weights reach, which continues it by the bias
            node("ConvTranspose", "x w b", strides=[2], output_shape=[16]),
            (3, 8),
            {"w": f(3, 2, 1), "b": f(2)},
            lambda x, w, b: F.conv_transpose1d(x, w, b, 2, output_padding=1),
        ),
    ],
)
def test_operators_that_the_evaluator_computes_otherwise_agree_with_torch(case, shape, constants, expected) -> None:
    x, weights = points(shape), map(torch.from_numpy, constants.values())
    net = creases.read(model([case], ["batch", *shape], constants))
    torch.testing.assert_close(net(x), expected(x, *weights), rtol=1e-12, atol=1e-12)


def test_a_padding_that_runtimes_read_differently_is_refused() -> None:
    transposed = node("ConvTranspose", "x w", strides=[2], auto_pad="SAME_LOWER")
    with pytest.raises(ReadError, match="its stride is longer than its kernel"):
        creases.read(model([transposed], ["batch", 3, 8], {"w": f(3, 2, 1)}))


def test_entries_are_gathered_by_indices_that_the_graph_computes() -> None:
    nodes = [node("Mod", "k n", "index"), node("GatherElements", "x index", axis=-1)]
    constants = {"k": np.array([[[9], [10], [-5]]]), "n": np.array(8)}
    x = points((3, 8))
    expected = x.gather(-1, torch.tensor([[1], [2], [3]]).expand(len(x), 3, 1))
    torch.testing.assert_close(creases.read(model(nodes, [1, 3, 8], constants))(x), expected)


@pytest.mark.parametrize(
    ("case", "constants"),
    [
        (node("Resize", "x - s", mode="cubic", coordinate_transformation_mode="align_corners"), {"s": DOUBLED}),
        (node("ConvTranspose", "x w", strides=[2, 2], output_shape=[14, 15]), {"w": f(3, 2, 3, 3).astype(np.float32)}),
    ],
)
def test_operators_that_the_evaluator_lacks_agree_with_onnxruntime(case, constants) -> None:
    runtime = pytest.importorskip("onnxruntime")
    proto = model([case], ["batch", *IMAGE], constants, opset=13, kind=onnx.TensorProto.FLOAT)
    x = RNG.normal(size=(4, *IMAGE)).astype(np.float32)
    expected = runtime.InferenceSession(proto.SerializeToString()).run(None, {"x": x})[0]
    np.testing.assert_allclose(creases.read(proto)(x.astype(float)), expected, rtol=1e-4, atol=1e-5)


def test_shrink_without_a_jump_is_read_and_agrees_with_onnxruntime() -> None:
    runtime = pytest.importorskip("onnxruntime")
    x = RNG.normal(size=(50, 6)).astype(np.float32)
    proto = model([node("Shrink", "x", bias=0.3, lambd=0.3)], ["b", 6], opset=13, kind=onnx.TensorProto.FLOAT)
    net = creases.read(proto)
    expected = runtime.InferenceSession(proto.SerializeToString()).run(None, {"x": x})[0]
    np.testing.assert_allclose(net(x.astype(float)), expected, rtol=1e-6, atol=1e-7)
    slopes = np.eye(6) * (np.abs(x) > 0.3)[:, None]
    np.testing.assert_array_equal(net.piece(x.astype(float)).J, slopes)
    for attributes in ({}, {"bias": 0.2, "lambd": 0.3}, {"bias": -0.3, "lambd": -0.3}):
        with pytest.raises(ReadError, match=r"Shrink_y \(Shrink\): jumps, .*only bias == lambd >= 0"):
            creases.read(model([node("Shrink", "x", **attributes)], ["b", 6], opset=13))


def test_batch_normalisation_is_the_same_in_every_opset() -> None:
    """Apart from the others: before opset 14 the evaluator mixes the batch's statistics in."""
    constants = {name: np.abs(f(3)) + 0.1 for name in "sbmv"}
    x = RNG.normal(size=(4, 3, 2, 2))
    old, new = (
        creases.read(model([node("BatchNormalization", "x s b m v")], ["b", 3, 2, 2], constants, opset=opset))(x)
        for opset in (9, 15)
    )
    np.testing.assert_array_equal(old, new)


def test_split_in_all_its_forms() -> None:
    for opset, attributes, names, constants in [
        (11, {"split": [1, 5]}, "x", {}),
        (13, {}, "x s", {"s": i(1, 5)}),
        (18, {"num_outputs": 2}, "x", {}),
        (11, {}, "x", {}),
    ]:
        nodes = [node("Split", names, "a b", axis=1, **attributes), node("Relu", "b")]
        assert_agrees(model(nodes, ["batch", 6], constants, opset=opset), (6,))


def test_two_values_meet() -> None:
    for op in ("Add", "Sub", "Max", "Min"):
        nodes = [node("MatMul", "x w", "a"), node("MatMul", "x u", "b"), node(op, "a b")]
        assert_agrees(model(nodes, ["batch", 6], {"w": f(6, 3), "u": f(6, 3)}), (6,))


def test_constants_in_nodes_and_folded_shapes() -> None:
    """The Shape, Gather, Concat, Reshape that exporters write for x.view(x.size(0), -1)."""
    nodes = [
        helper.make_node("Constant", [], ["zero"], value=numpy_helper.from_array(np.array(0))),
        helper.make_node("Constant", [], ["rest"], value_ints=[-1]),
        helper.make_node("Constant", [], ["half"], value_float=0.5),
        node("Shape", "x", "shape"),
        node("Gather", "shape zero", "b"),
        node("Unsqueeze", "b", "b1", axes=[0]),
        node("Concat", "b1 rest", "target", axis=0),
        node("Reshape", "x target", "flat"),
        node("ConstantOfShape", "k", "ones", value=numpy_helper.from_array(np.ones(1))),
        node("Cast", "half", "half64", to=DOUBLE),
        node("Mul", "flat half64", "m"),
        node("Add", "m ones"),
    ]
    assert_agrees(model(nodes, ["batch", 2, 3], {"k": i(6)}, opset=12), (2, 3))


def acas_xu(listed: bool = False, flatten: Any = None) -> Any:
    """The structure of VNN-COMP's ACAS Xu files: 1x1x1x5 in, Sub, Flatten, then MatMul, Add, Relu six times."""
    constants = {"mean": f(1, 1, 1, 5)}
    nodes = [node("Sub", "x mean", "s"), flatten or node("Flatten", "s", "h0")]
    widths = [5, 7, 7, 5]
    for k, (a, b) in enumerate(pairwise(widths)):
        constants |= {f"w{k}": f(a, b), f"b{k}": f(b)}
        last = k == len(widths) - 2
        nodes += [node("MatMul", f"h{k} w{k}", f"m{k}"), node("Add", f"m{k} b{k}", "y" if last else f"a{k}")]
        nodes += [] if last else [node("Relu", f"a{k}", f"h{k + 1}")]
    single = {name: value.astype(np.float32) for name, value in constants.items()}
    return model(nodes, [1, 1, 1, 5], single, opset=9, kind=onnx.TensorProto.FLOAT, listed=listed)


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize(
    "flatten",
    [None, node("Flatten", "s", "h0", axis=0), node("Reshape", "s target", "h0"), node("Squeeze", "s", "h0")],
    ids=["flatten", "flatten at 0", "reshape", "squeeze"],
)
def test_files_like_acas_xu_load(listed: bool, flatten: Any, tmp_path) -> None:
    proto = acas_xu(listed, flatten)
    if flatten is not None and flatten.op_type == "Reshape":
        proto.graph.initializer.append(numpy_helper.from_array(i(1, 5), "target"))
    path = tmp_path / "acas.onnx"
    onnx.save(proto, path)
    net = creases.read(path)
    assert (net.input_shape, net.n_out, net.n_units) == ((1, 1, 5), 5, 14)
    x = RNG.normal(size=(6, 1, 1, 1, 5)).astype(np.float32)
    evaluator = onnx.reference.ReferenceEvaluator(proto)
    expected = [evaluator.run(None, {"x": point})[0].reshape(-1) for point in x]
    np.testing.assert_allclose(net(x[:, 0]), expected, rtol=1e-4, atol=1e-4)


def test_files_like_the_cifar_resnets_load(tmp_path) -> None:
    """VNN-COMP's: Conv, BatchNormalization, Relu, Add, AveragePool, Reshape, Gemm; batch of 1 or free."""
    constants: dict[str, np.ndarray] = {"fw": f(5, 16), "fb": f(5), "target": i(1, -1)}
    nodes = []

    def conv(name: str, source: str, channels: tuple[int, int], stride: int, kernel: int = 3) -> str:
        constants[f"{name}w"], constants[f"{name}b"] = f(channels[1], channels[0], kernel, kernel), f(channels[1])
        constants.update({f"{name}{k}": np.abs(f(channels[1])) + 0.5 for k in ("s", "o", "m", "v")})
        pads = [kernel // 2] * 4
        nodes.append(node("Conv", f"{source} {name}w {name}b", f"{name}c", pads=pads, strides=[stride, stride]))
        nodes.append(node("BatchNormalization", f"{name}c {name}s {name}o {name}m {name}v", f"{name}n"))
        return f"{name}n"

    def relu(source: str) -> str:
        nodes.append(node("Relu", source, f"{source}r"))
        return f"{source}r"

    top = relu(conv("a", "x", (3, 4), 2))
    main = conv("c", relu(conv("b", top, (4, 4), 2)), (4, 4), 1)
    nodes.append(node("Add", f"{main} {conv('d', top, (4, 4), 2, 1)}", "sum"))
    nodes.append(node("AveragePool", relu("sum"), "pool", kernel_shape=[2, 2], strides=[1, 1], pads=[0, 0, 1, 1]))
    nodes += [node("Reshape", "pool target", "flat"), node("Gemm", "flat fw fb", transB=1)]
    for batch in (1, "batch"):
        proto = model(nodes, [batch, 3, 8, 8], constants, opset=14)
        net = assert_agrees(proto, (3, 8, 8), batch=1)
        assert (net.n_out, len(net.bends)) == (5, 3)


class TwoBranches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.bn = nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.left, self.right = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 1)
        self.fc = nn.Linear(16, 3)
        self.leak = 0.1

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn(self.conv(x))), 2)
        x = F.leaky_relu(self.left(x) + self.right(x), self.leak)
        return self.fc(torch.clamp(F.adaptive_avg_pool2d(x, 2).flatten(1), -1, 1))


def by_hand(module: TwoBranches, alpha: float = 0.1, epsilon: float = 1e-5) -> Any:
    """The module as an exporter would write it, in float64."""
    m = module.double().eval()
    constants = {name.replace(".", "_"): value.numpy() for name, value in m.state_dict().items() if value.ndim}
    constants |= {"lo": d(-1.0), "hi": d(1.0)}
    nodes = [
        node("Conv", "x conv_weight conv_bias", "c", pads=[1, 1, 1, 1]),
        node("BatchNormalization", "c bn_weight bn_bias bn_running_mean bn_running_var", "n", epsilon=epsilon),
        node("Relu", "n", "r"),
        node("MaxPool", "r", "p", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", "p left_weight left_bias", "l", pads=[1, 1, 1, 1]),
        node("Conv", "p right_weight right_bias", "q"),
        node("Add", "l q", "s"),
        node("LeakyRelu", "s", "k", alpha=alpha),
        node("AveragePool", "k", "a", kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", "a", "h"),
        node("Clip", "h lo hi", "t"),
        node("Gemm", "t fc_weight fc_bias", transB=1),
    ]
    return model(nodes, ["batch", 2, 8, 8], constants, opset=15)


def test_onnx_and_the_torch_original_give_the_same_network() -> None:
    module = seeded(TwoBranches()).eval()
    from_torch, from_onnx = creases.read(module, (2, 8, 8)), creases.read(by_hand(module))
    x = points((2, 8, 8), 20)
    np.testing.assert_array_equal(from_torch.pattern(x), from_onnx.pattern(x))
    for expected, actual in zip(from_torch.piece(x), from_onnx.piece(x), strict=True):
        torch.testing.assert_close(expected, actual, rtol=1e-6, atol=1e-8)  # alpha and epsilon are float32 in the file


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # the exporter's own
def test_files_that_torch_exports_load(tmp_path) -> None:
    pytest.importorskip("onnxscript")
    module = seeded(TwoBranches()).eval()
    x = points((2, 8, 8), 5)
    for dynamo in (False, True):
        path = tmp_path / f"{dynamo}.onnx"
        torch.onnx.export(module, (torch.zeros(1, 2, 8, 8),), path, dynamo=dynamo, verbose=False)
        net = creases.read(path)
        torch.testing.assert_close(net(x), creases.read(module, (2, 8, 8))(x), rtol=1e-4, atol=1e-4)


def test_of_two_branches_that_of_the_size_is_read() -> None:
    end = [helper.make_tensor_value_info("z", DOUBLE, None)]
    branches = {
        f"{k}_branch": helper.make_graph([node(op, "x", "z")], k, [], end)
        for k, op in (("then", "Relu"), ("else", "Abs"))
    }
    nodes = [node("Shape", "x", "s", start=1), node("Equal", "s c", "e"), node("If", "e", **branches)]
    for n in (1, 3):
        (step,) = assert_agrees(model(nodes, ["b", n], {"c": i(1)}), (n,)).steps
        assert (step.leak is None) == (n == 1)
    with pytest.raises(ReadError, match=r"If_y \(If\).*control flow depends on the data"):
        creases.read(model([node("Less", "x c", "e"), node("If", "e", **branches)], ["b", 1], {"c": f(1)}))


def test_single_precision_weights_are_read_exactly() -> None:
    w = f(6, 4).astype(np.float32)
    net = creases.read(model([node("MatMul", "x w")], [1, 6], {"w": w}, kind=onnx.TensorProto.FLOAT))
    np.testing.assert_array_equal(net.steps[0].tensors["weight"].numpy(), w.T.astype(np.float64))


def test_a_graph_without_a_batch_axis_is_one_sample() -> None:
    proto = model([node("MatMul", "x w", "h"), node("Relu", "h")], [6], {"w": f(6, 4)})
    net = creases.read(proto)
    x = RNG.normal(size=6)
    expected = onnx.reference.ReferenceEvaluator(proto).run(None, {"x": x})[0]
    np.testing.assert_allclose(net(x).reshape(-1), expected)


def test_a_batch_of_one_keeps_its_axis_where_a_reshape_leaves_it_open() -> None:
    """VNN-COMP's conditional GANs: a Gemm, then images whose batch is -1, in a file for a batch of 1."""
    nodes = [
        node("Gemm", "x w b", "g", transB=1),
        node("Reshape", "g image", "i"),
        node("BatchNormalization", "i scale shift mean var", "n"),
        node("ConvTranspose", "n kernel", "c"),
        node("Relu", "c", "r"),
        node("Reshape", "r flat", "v"),
        node("Gemm", "v u"),
    ]
    constants = {"w": f(12, 5), "b": f(12), "image": i(-1, 3, 2, 2), "kernel": f(3, 2, 2, 2), "flat": i(-1, 18)}
    constants |= {"scale": f(3), "shift": f(3), "mean": f(3), "var": f(3) ** 2, "u": f(18, 2)}
    net = assert_agrees(model(nodes, [1, 5], constants), (5,), batch=1)
    assert net.n_out == 2


def test_a_reshape_that_leaves_an_axis_of_one_sample_open_keeps_the_batch() -> None:
    nodes = [node("Reshape", "x k", "r"), node("Relu", "r")]
    assert creases.read(model(nodes, [1, 6], {"k": i(-1, 3)})).steps[-1].shape == (2, 3)
    assert creases.read(model(nodes, [1, 6], {"k": i(-1, 6)})).steps[-1].shape == (6,)


@pytest.mark.parametrize("n", [1, 3])
def test_a_matrix_times_the_vector_of_a_graph_without_a_batch_axis(n: int) -> None:
    """VNN-COMP's smallest tests: inputs of shape [1] on the right of each product."""
    nodes = [node("MatMul", "w x", "h"), node("Add", "h b", "a"), node("Relu", "a", "r"), node("MatMul", "u r")]
    proto = model(nodes, [n], {"w": f(4, n), "b": f(4), "u": f(1, 4)})
    net = creases.read(proto)
    assert (net.n_in, net.n_out) == (n, 1)
    for x in RNG.normal(size=(5, n)):
        expected = onnx.reference.ReferenceEvaluator(proto).run(None, {"x": x})[0]
        np.testing.assert_allclose(net(x).reshape(-1), expected)


def test_smooth_operators_are_named() -> None:
    for op in ("Sigmoid", "Tanh", "Elu", "Softplus", "Erf", "Exp"):
        with pytest.raises(ReadError, match=rf"{op}_h \({op}\): is smooth"):
            creases.read(model([node(op, "x", "h"), node("Neg", "h")], ["b", 3]))


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Sigmoid"])
def test_the_scores_before_a_final_link_are_read(op) -> None:
    w = f(3, 2)
    proto = model([node("MatMul", "x w", "logits"), node(op, "logits")], ["b", 3], {"w": w})
    with pytest.warns(LinkWarning, match="the scores before it are read"):
        net = creases.read(proto)
    assert net.link == {"Softmax": "softmax", "LogSoftmax": "log_softmax", "Sigmoid": "sigmoid"}[op]
    x = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(net(x), x @ w, rtol=1e-6)


def test_unknown_operators_are_named() -> None:
    with pytest.raises(ReadError, match=r"node LpPool_y \(LpPool\): this operator cannot be read"):
        creases.read(model([node("LpPool", "x", kernel_shape=[2])], ["b", 3, 8]))
    custom = helper.make_node("Fold", ["x"], ["y"], name="mine", domain="my.domain")
    with pytest.raises(ReadError, match=r"node mine \(Fold\): this operator of domain 'my\.domain'"):
        creases.read(model([custom], ["b", 3]))
    with pytest.raises(ReadError, match=r"Mul_y \(Mul\): multiplies two network values"):
        creases.read(model([node("Mul", "x x")], ["b", 3]))


def test_graphs_that_are_not_one_function_of_one_tensor_are_refused() -> None:
    two = model([node("Add", "x z")], ["b", 3])
    two.graph.input.append(helper.make_tensor_value_info("z", DOUBLE, ["b", 3]))
    with pytest.raises(ReadError, match=r"one input, got 2 \(x, z\)"):
        creases.read(two)
    outputs = model([node("Relu", "x")], ["b", 3])
    outputs.graph.output.append(helper.make_tensor_value_info("x", DOUBLE, ["b", 3]))
    with pytest.raises(ReadError, match=r"one output, got 2 \(y, x\)"):
        creases.read(outputs)
    with pytest.raises(FileError, match="no earlier node computes its input 'nobody'"):
        creases.read(model([node("Relu", "nobody")], ["b", 3]))
    with pytest.raises(ReadError, match="ReduceMean_y"):
        creases.read(model([node("ReduceMean", "x", axes=[0])], ["b", 3], opset=13))


def test_free_sizes_are_asked_for() -> None:
    proto = model([node("GlobalAveragePool", "x")], ["b", 3, "h", "w"])
    with pytest.raises(InputError, match=r"input_shape must be given, as model has variable sizes, \(3, 0, 0\)"):
        creases.read(proto)
    assert creases.read(proto, (3, 5, 5)).n_out == 3
    with pytest.raises(
        InputError, match=r"input_shape must agree with the file's, \(3, 0, 0\) \(0: variable\), got \(4, 5, 5\)"
    ):
        creases.read(proto, (4, 5, 5))


def test_weights_of_a_type_that_torch_lacks_are_refused() -> None:
    proto = model([node("MatMul", "x w")], ["b", 2], {"w": np.eye(2)})
    proto.graph.initializer[0].CopyFrom(helper.make_tensor("w", onnx.TensorProto.INT4, [2, 2], [1, 0, 0, 1]))
    with pytest.raises(ReadError, match="cannot read initializer 'w': its type is int4; export the model in float32"):
        creases.read(proto)


def test_bad_weights_and_files_are_named(tmp_path) -> None:
    with pytest.raises(InputError, match="NaN or infinite entries in initializer 'w'"):
        creases.read(model([node("MatMul", "x w")], ["b", 2], {"w": np.full((2, 2), np.nan)}))
    twice = model([node("MatMul", "x w")], ["b", 2], {"w": np.eye(2)})
    twice.graph.initializer.append(twice.graph.initializer[0])
    with pytest.raises(FileError, match="two weights, nodes or inputs are called 'w'"):
        creases.read(twice)
    path = tmp_path / "bad.onnx"
    path.write_bytes(b"this is no protobuf")
    with pytest.raises(FileError, match=r"cannot read .*bad\.onnx as an ONNX file"):
        creases.read(path)
    path.write_bytes(b"")
    with pytest.raises((FileError, ReadError)):
        creases.read(path)


def test_without_the_onnx_package_the_extra_is_named(tmp_path, monkeypatch) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(b"")
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "onnx" or name.startswith("onnx."):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(FileError, match=r"pip install creases\[onnx\]"):
        creases.read(path)


@pytest.mark.parametrize("opset", range(9, 24))
def test_the_same_network_is_read_from_every_opset(opset: int) -> None:
    """Pad, Clip, ReduceMean and Squeeze take as inputs what they once had as attributes."""
    constants = {"w": f(4, 3, 3, 3), "g": f(4) ** 2, "c": f(4), "m": f(4), "v": f(4) ** 2 + 0.1, "d": f(2, 4)}
    nodes = []

    def operator(op: str, inputs: str, output: str, since: int, name: str, value: Any, **attributes: Any) -> None:
        if opset < since:
            attributes[name] = value
        else:
            constants[f"{op}_{name}"] = np.array(value, np.int64)
            inputs = f"{inputs} {op}_{name}"
        nodes.append(node(op, inputs, output, **attributes))

    operator("Pad", "x", "a1", 11, "pads", [0, 0, 1, 0, 0, 0, 0, 1])
    nodes.append(node("Conv", "a1 w", "a2"))
    nodes.append(node("BatchNormalization", "a2 g c m v", "a3"))
    if opset < 11:
        nodes.append(node("Clip", "a3", "a4", min=-0.5, max=1.0))
    else:
        constants |= {"lo": np.array(-0.5), "hi": np.array(1.0)}
        nodes.append(node("Clip", "a3 lo hi", "a4"))
    operator("ReduceMean", "a4", "a5", 18, "axes", [2], keepdims=1)
    operator("Squeeze", "a5", "a6", 13, "axes", [2])
    operator("ReduceSum", "a6", "a7", 13, "axes", [2], keepdims=0)
    nodes.append(node("Gemm", "a7 d", "y", transB=1))
    net = creases.read(model(nodes, ("n", *IMAGE), constants, opset=opset))
    x = RNG.normal(size=(2, *net.input_shape))
    image = np.pad(x, ((0, 0), (0, 0), (1, 0), (0, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(2, 3))
    h = np.einsum("ncijkl,ockl->noij", windows, constants["w"])
    g, c, m, v = (constants[name][:, None, None] for name in "gcmv")
    h = np.clip((h - m) / np.sqrt(v + 1e-5) * g + c, -0.5, 1.0)
    np.testing.assert_allclose(net(x), h.mean(2).sum(2) @ constants["d"].T, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("reduction", ["ReduceMax", "ReduceSum", "ReduceMean"])
def test_a_list_in_a_file_for_one_sample_is_stacked_before_its_batch_axis(reduction: str) -> None:
    """Exporters write ``torch.stack`` as a concatenation along a new first axis."""
    nodes = [node("Relu", "x", "r"), node("Unsqueeze", "x", "x0", axes=[0]), node("Unsqueeze", "r", "r0", axes=[0])]
    nodes += [node("Concat", "x0 r0", "list", axis=0), node(reduction, "list", axes=[0], keepdims=0)]
    net = creases.read(model(nodes, [1, 5], opset=11))
    x = RNG.normal(size=(4, 5))
    reduce = {"ReduceMax": np.max, "ReduceSum": np.sum, "ReduceMean": np.mean}[reduction]
    np.testing.assert_allclose(net(x), reduce([x, np.maximum(x, 0)], axis=0), rtol=1e-12)
    for batch in (1, 2):
        with pytest.raises(ReadError, match="acts along the batch axis"):
            creases.read(model([node("Concat", "x x", axis=0)], [batch, 5], opset=11))


def test_a_softshrink_of_comparisons_and_signs_is_read_where_it_has_no_jump() -> None:
    """The newer exporter of torch writes it so."""
    nodes = [node("Abs", "x", "a"), node("Greater", "a c", "g"), node("Sign", "x", "s"), node("Mul", "s c", "m")]
    nodes += [node("Sub", "x m", "d"), node("Mul", "x o", "z"), node("Where", "g d z", "y")]
    constants = {"c": np.array(0.3), "o": np.array(0.0), "e": np.array(0.4)}
    net = creases.read(model(nodes, ["b", 6], constants))
    x = torch.from_numpy(RNG.normal(size=(50, 6)))
    torch.testing.assert_close(net(x), F.softshrink(x, 0.3))
    assert net.n_units == 12
    other_bound = [*nodes[:1], node("Greater", "a e", "g"), *nodes[2:]]
    of_one = [*nodes[:-2], node("Mul", "x e", "z"), nodes[-1]]
    read_twice = [*nodes[:-1], node("Where", "g d z", "w"), node("Add", "w d", "y")]
    for jumping in (other_bound, of_one, read_twice):
        with pytest.raises(ReadError, match="a jump"):
            creases.read(model(jumping, ["b", 6], constants))
