"""ONNX files of a few hundred bytes that ask for gigabytes: every operator that can make a size.

Run as a program it reads them all with nothing set, and prints what became of each and the peak memory in bytes.
"""

import itertools
import json
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import creases
from creases.errors import CreasesError
from creases.tables._streaming.passes import peak_memory

BIG = 20_000


def greedy_models():
    """Return models by name: every operator that can make a size, asking for far too much.

    A node is written as ``"Op inputs output"``, with one letter for each input, or as a tuple with its options.
    """
    found = {}

    def add(name, nodes, constants=None, shape=(1, 1, 4, 4), opset=17):
        found[name] = _model(nodes, constants or {}, shape, opset)

    one, three = np.ones((1, 1, 1, 1), np.float32), np.ones((1, 1, 3, 3), np.float32)
    for size in (3000, 15_000, 100_000):
        around, apart, by = {"pads": [size] * 4}, {"dilations": [size] * 2}, {"strides": [size] * 2}
        add(f"conv_dilated_{size}", [("Conv", "xw", "y", around | apart)], {"w": three})
        add(f"conv_padded_{size}", [("Conv", "xw", "y", around)], {"w": one})
        add(f"conv_strided_{size}", [("Conv", "xw", "y", around | by)], {"w": three})
        add(f"conv_same_{size}", [("Conv", "xw", "y", {"auto_pad": "SAME_UPPER"} | apart)], {"w": three})
        add(f"transposed_{size}", [("ConvTranspose", "xw", "y", by)], {"w": three})
        add(f"transposed_cut_{size}", [("ConvTranspose", "xw", "y", by | around)], {"w": three})
        add(f"transposed_dilated_{size}", [("ConvTranspose", "xw", "y", apart | around)], {"w": three})
        pads = {"kernel_shape": [size] * 2, "pads": [size // 2] * 4}
        add(f"max_pool_{size}", [("MaxPool", "x", "y", pads)])
        dilated = {"kernel_shape": [2, 2], "auto_pad": "SAME_UPPER"} | apart
        add(f"max_pool_dilated_{size}", [("MaxPool", "x", "y", dilated)])
        add(f"average_pool_{size}", [("AveragePool", "x", "y", pads)])
    add("max_pool_all", [("MaxPool", "x", "y", {"kernel_shape": [BIG] * 2})])
    last = [0, 0, 0, 0, 0, 0, BIG, BIG]
    for mode in ("constant", "reflect", "edge", "wrap"):
        add(f"pad_{mode}", [("Pad", "xp", "y", {"mode": mode})], {"p": last}, opset=19)
    add("pad_negative", ["Pad xp q", "Pad qn y"], {"p": last, "n": [-size for size in last]})
    add("tile", ["Tile xp y"], {"p": [1, 1, 5000, 5000]})
    add("expand", ["Expand xp y"], {"p": [1, 10**8, 4, 4]})
    add("expand_constant", ["Expand op e", "ReduceSum e s", "Add xs y"], {"o": np.ones(1, np.float32), "p": [2**31]})
    add("range", ["Range abc r", ("Gather", "xr", "y", {"axis": 3})], {"a": 0, "b": 2**28, "c": 1})
    ends = {name: np.array(value, np.float32) for name, value in (("a", 0.0), ("b", 1.0), ("c", 1e-9))}
    add("range_float", ["Range abc r", "ReduceSum r s", "Add xs y"], ends)
    floor = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    scales = {"s": np.array([1, 1, 5000, 5000], np.float32)}
    for name, mode in (("resize", "nearest"), ("resize_linear", "linear"), ("resize_cubic", "cubic")):
        add(name, [("Resize", ["x", "", "s"], "y", {"mode": mode} | floor)], scales)
    add("resize_sizes", [("Resize", ["x", "", "", "s"], "y", floor)], {"s": [1, 1, BIG, BIG]})
    add("upsample", ["Upsample xs y"], scales, opset=9)
    indices = ["ConstantOfShape p c", ("Cast", "c", "i", {"to": 7}), ("Gather", "xi", "y", {"axis": 3})]
    add("gather", indices, {"p": [2**27]})
    add("constant_of_shape", ["ConstantOfShape p c", "ReduceSum c s", "Add xs y"], {"p": [2**31]})
    fill = [("ConstantOfShape", "p", [f"c{k}"], {}) for k in range(60)]
    sums = [("ReduceSum", [f"c{k}"], [f"s{k}"], {"keepdims": 0}) for k in range(60)]
    adds = [("Add", ["x" if k == 0 else f"t{k - 1}", f"s{k}"], ["y" if k == 59 else f"t{k}"], {}) for k in range(60)]
    add("sixty_constants", [*fill, *sums, *adds], {"p": [12_500_000]})
    names = ["x", *(f"a{k}" for k in range(39)), "y"]
    add("forty_concats", [("Concat", [a, a], [b], {"axis": 1}) for a, b in itertools.pairwise(names)])
    add("forty_adds_of_rows", [("Concat", [a, a], [b], {"axis": 3}) for a, b in itertools.pairwise(names)])
    add("concat_many", [("Concat", ["x"] * 10_000, "a", {"axis": 1}), ("Concat", ["a"] * 10_000, "y", {"axis": 1})])
    many = ("Concat", ["c"] * 1000, "d", {"axis": 0})
    add("concat_constants", ["ConstantOfShape p c", many, "ReduceSum d s", "Add xs y"], {"p": [10**6]})
    column = ["Reshape xn v", "Tile vt u", ("Transpose", "u", "w", {"perm": [0, 2, 1]})]
    for op in ("Add", "Sub", "Max", "Min", "Sum"):
        add(f"outer_{op.lower()}", [*column, f"{op} uw y"], {"n": [1, 16, 1], "t": [1, 2000, 1]})
    wide = ["ConstantOfShape p c", "ConstantOfShape q d"]
    shapes = {"p": [1, 40_000, 1], "q": [1, 1, 40_000]}
    flat, total = {"keepdims": 0}, "Add xs y"
    for op in ("Add", "Mul", "MatMul", "Greater", "Equal", "Max", "Pow", "Div"):
        summed = [("Cast", "e", "f", {"to": 1}), ("ReduceSum", "f", "s", flat), total]
        add(f"outer_constants_{op.lower()}", [*wide, f"{op} cd e", *summed], shapes)
    add("outer_where", [*wide, "Greater cd g", "Where gcd e", ("ReduceSum", "e", "s", flat), total], shapes)
    product = ["Reshape xn v", "ConstantOfShape p c", "MatMul vc m", "ReduceSum m y"]
    add("outer_product", product, {"n": [1, 16, 1], "p": [1, 10**8]})
    add("gemm", ["Flatten x v", "ConstantOfShape p c", "Gemm vc y"], {"p": [16, 10**7]})
    layers = ["Flatten x v", "ConstantOfShape p c", "Gemm vc h", "Relu h r", "ConstantOfShape q d", "Gemm rd y"]
    add("gemm_twice", layers, {"p": [16, 9000], "q": [9000, 9000]})
    add("prelu", ["ConstantOfShape p c", "PRelu xc y"], {"p": [10**8, 1, 1, 1]})
    ends = {"p": [1, 1, 1, 4 * 10**6], "b": [0], "e": [2**40], "a": [3], "s": [1]}
    add("slice", ["Tile xp t", "Slice tbeas y"], ends)
    parts = [f"o{k}" for k in range(100)]
    split = ["Tile xp t", ("Split", "t", parts, {"axis": 3}), ("Concat", parts, "y", {"axis": 3})]
    add("split", split, {"p": [1, 1, 1, 10**7]}, opset=13)
    add("batch_norm", ["ConstantOfShape p c", "BatchNormalization xcccc y"], {"p": [2 * 10**8]})
    add("depth_to_space", ["Tile xp t", ("DepthToSpace", "t", "y", {"blocksize": 1000})], {"p": [1, 10**6, 1, 1]})
    add("reduce_of_tile", ["Tile xp t", ("ReduceMean", "t", "y", {"axes": [1, 2, 3]})], {"p": [1, 1, 5000, 5000]})
    add("flatten_of_tile", ["Tile xp t", "Flatten t y"], {"p": [1, 1, 3000, 3000]})
    add("wide_input", ["Relu x y"], shape=(1, 1, 30_000, 30_000))
    add("wide_batch", ["Relu x y"], shape=(10**9, 4))
    add("global_pool", ["GlobalMaxPool x y"], shape=(1, 1, 12_000, 12_000))
    counted = [("ReduceSum", "g", "k", flat), ("Cast", "k", "f", {"to": 1}), "Add xf y"]
    add("one_hot_of_shape", ["Shape x h", "Expand hb g", *counted], {"b": [10**9, 4]})
    declared = numpy_helper.from_array(np.ones((2, 2), np.float32), "w")
    declared.dims[:] = [100_000, 100_000]
    model = _model(["Flatten x v", "MatMul vw y"], {}, (1, 1, 4, 4), 17)
    model.graph.initializer.append(declared)
    found["declared_weights"] = model
    return found


def _model(nodes, constants, shape, opset):
    graph = helper.make_graph(
        [_node(*(node.split() if isinstance(node, str) else node)) for node in nodes],
        "greedy",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def _node(op, inputs, outputs, options=None):
    return helper.make_node(op, list(inputs), outputs if isinstance(outputs, list) else [outputs], **(options or {}))


def read_all():
    """Print, as JSON, the class of the error of each file ("" if it was read) and the peak memory in bytes."""
    ended = {}
    for name, model in greedy_models().items():
        try:
            creases.read(model)
            ended[name] = ""
        except CreasesError as problem:
            ended[name] = type(problem).__name__
        except Exception as problem:
            ended[name] = f"raw: {problem!r}"
    json.dump({"ended": ended, "peak": peak_memory()}, sys.stdout)


if __name__ == "__main__":
    read_all()
