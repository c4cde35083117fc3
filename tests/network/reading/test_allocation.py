"""Sizes are known before memory is taken."""

import itertools
import json
import subprocess
import sys

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

import creases
import greedy_onnx
from creases.errors import CreasesError, LimitError, ReadError
from creases.network._reading.allocation import AllocationLimit, _result_bytes
from greedy_onnx import greedy_models


def _model(nodes, constants, functions=()):
    graph = helper.make_graph(
        [helper.make_node(op, list(inputs), list(outputs), **options) for op, inputs, outputs, options in nodes],
        "greedy",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 1, 4, 4))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=opsets, functions=functions)


GREEDY = greedy_models()


@pytest.mark.slow
def test_no_small_file_takes_a_gigabyte_or_ends_in_a_raw_error():
    ran = subprocess.run([sys.executable, greedy_onnx.__file__], capture_output=True, text=True, check=True)
    result = json.loads(ran.stdout)
    assert result["ended"].keys() == GREEDY.keys()
    assert set(result["ended"].values()) <= {"", "LimitError", "ReadError", "FileError"}
    assert result["peak"] <= 1.3e9


@pytest.mark.parametrize("name", ["conv_padded_15000", "tile", "expand", "range", "resize", "gather", "outer_add"])
def test_an_operator_that_asks_for_too_much_is_refused_before_memory_is_taken(name):
    with pytest.raises(LimitError, match=r"max_memory=1e\+08 .* raise the limit: creases.read\(model, max_memory"):
        creases.read(GREEDY[name], max_memory=1e8)


def test_a_kernel_with_wide_gaps_is_read_without_writing_out_the_gaps():
    net = creases.read(GREEDY["conv_dilated_3000"])
    x = np.random.default_rng(0).normal(size=(3, 1, 4, 4))
    np.testing.assert_array_equal(net(x), x)  # only the middle of the kernel is over the picture


@pytest.mark.parametrize("model", [[(np.ones((1, 2)), np.zeros(1))], torch.nn.Linear(2, 1)])
def test_a_limit_of_memory_is_for_onnx_alone(model):
    with pytest.raises(CreasesError, match="max_memory must be None unless the model is ONNX"):
        creases.read(model, max_memory=1e9)


def test_values_that_double_forty_times_are_refused():
    names = ["x", *(f"a{k}" for k in range(39)), "y"]
    nodes = [("Concat", [a, a], [b], {"axis": 1}) for a, b in itertools.pairwise(names)]
    with pytest.raises(LimitError, match="beside the"):
        creases.read(_model(nodes, {}), max_memory=1e7)


def test_a_list_of_sizes_has_few_entries():
    nodes = [("Expand", "op", "e", {}), ("Reshape", "xe", "y", {})]
    with pytest.raises(ReadError, match="2,000 entries"):
        creases.read(_model(nodes, {"o": np.array([1]), "p": np.array([2000])}))


@pytest.mark.parametrize("sizes", [[1, 1, 1, 0], [1, 0, 4, 4]])
def test_an_output_without_a_number_is_refused(sizes):
    nodes = [("ReduceSum", "xa", "v", {"keepdims": 1}), ("Expand", "vs", "y", {})]
    with pytest.raises(ReadError, match="holds no number"):
        creases.read(_model(nodes, {"a": np.array([1, 2, 3]), "s": np.array(sizes)}))


def test_functions_that_call_each_other_twice_are_counted_before_they_are_unfolded():
    functions = []
    for k in range(40):
        inner = ("Relu", "") if k == 0 else (f"f{k - 1}", "own")
        nodes = [
            helper.make_node(inner[0], ["a"], ["b"], domain=inner[1]),
            helper.make_node(inner[0], ["b"], ["c"], domain=inner[1]),
        ]
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
        functions.append(helper.make_function("own", f"f{k}", ["a"], ["c"], nodes, opsets))
    model = _model([], {}, functions)
    model.graph.node.append(helper.make_node("f39", ["x"], ["y"], domain="own"))
    with pytest.raises(ReadError, match="1,099,511,627,776 nodes"):
        creases.read(model)


def test_the_limit_can_be_raised_and_changes_no_network(tmp_path):
    net = creases.read(torch.nn.Sequential(torch.nn.Linear(3, 50), torch.nn.ReLU(), torch.nn.Linear(50, 2)))
    path = net.save(tmp_path / "net.onnx")
    with pytest.raises(LimitError):
        creases.read(path, max_memory=1000)
    x = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(creases.read(path, max_memory=1e6)(x), net(x), rtol=1e-5, atol=1e-6)
    with pytest.raises(CreasesError, match="max_memory"):
        creases.read(path, max_memory=0)


def test_memory_that_was_freed_is_not_counted():
    with AllocationLimit(1e6):
        total = sum(float(torch.ones(50_000, dtype=torch.float64).sum()) for _ in range(10))
    assert total == 500_000


def test_views_and_results_in_place_take_nothing():
    x = torch.zeros(100_000, dtype=torch.float64)
    with AllocationLimit(1e6):
        for _ in range(20):
            x.reshape(100, 1000)[:50].add_(1.0)
    assert x.sum() == 1e6


def test_onnx_of_a_convolution_reads_within_what_it_needs(tmp_path):
    module = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(16, 2))
    net = creases.read(module, (1, 4, 4))
    path = net.save(tmp_path / "net.onnx")
    assert onnx.load(path).graph.node
    assert creases.read(path, max_memory=1e5).n_units == net.n_units


def _computed_and_counted(function):
    """The bytes of the results of a function's last operation, and what is counted for it."""

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            self.sizes = 8 * out.numel(), _result_bytes(func, args, kwargs or {})
            return out

    with Watch() as watch:
        function()
    return watch.sizes


@pytest.mark.parametrize("options", [{}, {"stride": 2, "padding": (1, 0)}, {"dilation": (2, 1), "groups": 2}])
@pytest.mark.parametrize("transposed", [False, True])
def test_the_size_of_a_convolution_or_range_is_that_of_its_result(options, transposed):
    x, weight = torch.ones(3, 4, 9, 8), torch.ones(4, 4 // options.get("groups", 1), 3, 2)
    convolve = torch.nn.functional.conv_transpose2d if transposed else torch.nn.functional.conv2d
    computed, counted = _computed_and_counted(lambda: convolve(x, weight, **options))
    assert computed == counted
    for numbers in [(7,), (2, 9), (2, 9, 3), (0.0, 1.0, 0.15), (9, 2, -2), (3, 3)]:
        computed, counted = _computed_and_counted(lambda numbers=numbers: torch.arange(*numbers))
        assert computed == counted
