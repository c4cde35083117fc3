"""Read random models of torch and ONNX, compare values and Jacobians at 50 points, and print every refusal's reason.

    python bench/read_models.py [--count 400] [--seed 0] [--json FILE]

Of ten models four are torch modules (``bench/random_models.py``), compared with torch in float64; three are such
modules exported by ``torch.onnx.export`` (one of twelve by its newer exporter), and three are composed node by node
with attributes that exporters rarely write, compared with onnxruntime in float32. Models that the exporter or
onnxruntime refuses are replaced by the next seeds. What is read is written as
ONNX and read again. A twentieth is made unreadable on purpose: it must be refused, and the reason must have the word
that says why. The exit status is 1 if a model is read wrongly, ends in a traceback or is refused for a false reason.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper
from torch import Tensor, nn

import creases
from creases.errors import CreasesError
from fuzz_onnx import Composer
from random_models import Plain, in_double, random_model

#: Points at which values and Jacobians are compared.
POINTS = 50

#: Largest deviation, relative to the largest number: of float64, and of files in float32.
DOUBLE, SINGLE = 1e-9, 2e-4

#: What no reason to refuse a file may say whose model is not piecewise linear.
VAGUE = ("report", "input_shape", "damaged", "called in a way", "fails on")


class Session:
    """A file as onnxruntime computes it."""

    def __init__(self, proto: Any) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        self.session = onnxruntime.InferenceSession(proto.SerializeToString(), options, ["CPUExecutionProvider"])

    def __call__(self, x: Tensor) -> Tensor:
        entry = self.session.get_inputs()[0]
        fixed = bool(entry.shape) and entry.shape[0] == 1
        parts = [part[None] for part in x] if fixed else [x]
        outs = [self.session.run(None, {entry.name: part.float().numpy()})[0] for part in parts]
        return torch.from_numpy(np.concatenate(outs).astype(np.float64))


class OddComposer(Composer):
    """Composes a graph of ordinary sizes with attributes that are rarely written; each node must run."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.r = Random(seed)
        self.first = self.shape = self.r.choice([(6,), (3, 8), (4, 6, 6), (2, 5, 7)])
        self.opset = self.r.choice([11, 13, 17, 18, 20])
        self.batch = self.r.choice([1, "batch"])
        self.names: list[str] = []

    def numbers(self, *shape: int) -> str:
        """Add random weights and return their name."""
        return self.constant(self.rng.normal(size=shape).round(3), np.float32)

    def axes(self, *axes: int, attribute_before: int = 18) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Return axes as an input, or as an attribute where the opset has them so."""
        if self.opset < attribute_before:
            return (), {"axes": list(axes)}
        return (self.constant(list(axes)),), {}

    def windows(self) -> dict[str, Any]:
        """Return random attributes of a window: sizes, strides, and padding of one kind or another."""
        r, k = self.r, len(self.shape) - 1
        sizes: dict[str, Any] = {"kernel_shape": [r.choice([1, 2, 3]) for _ in range(k)]}
        if r.random() < 0.7:
            sizes["strides"] = [r.choice([1, 2]) for _ in range(k)]
        if r.random() < 0.5:
            sizes["auto_pad"] = r.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
        elif r.random() < 0.5:
            sizes["pads"] = [r.randrange(n) for n in sizes["kernel_shape"] * 2]
        return sizes

    def convolution(self, op: str) -> None:
        """Add a convolution, or a transposed one."""
        r, channels, sizes = self.r, self.shape[0], self.windows()
        group = channels if r.random() < 0.2 else 1
        out = group * r.choice([1, 2])
        kernel = sizes["kernel_shape"]
        if op == "Conv":
            weight = self.numbers(out, channels // group, *kernel)
            if r.random() < 0.3 and "auto_pad" not in sizes:
                sizes["dilations"] = [r.choice([1, 2]) for _ in kernel]
        else:
            weight = self.numbers(channels, out // group, *kernel)
            strides = sizes.setdefault("strides", [2] * len(kernel))
            if r.random() < 0.3 and "pads" not in sizes:
                sizes["output_shape"] = [n * s for n, s in zip(self.shape[1:], strides, strict=True)]
            elif r.random() < 0.3 and "auto_pad" not in sizes:
                sizes["output_padding"] = [s - 1 for s in strides]
        bias = [self.numbers(out)] if r.random() < 0.6 else []
        self.node(op, weight, *bias, group=group, **sizes)

    def resize(self) -> None:
        """Add a resizing in one of many modes."""
        r, k = self.r, len(self.shape) - 1
        mode = r.choice(["nearest", "linear", "cubic"] if k == 2 else ["nearest", "linear"])
        transform = r.choice(["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"])
        options: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": transform}
        if mode == "nearest":
            options["nearest_mode"] = r.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
        if mode == "cubic":
            options |= {"cubic_coeff_a": r.choice([-0.75, -0.5]), "exclude_outside": r.choice([0, 1])}
        if r.random() < 0.5:
            self.node(
                "Resize", "", "", self.constant([1, self.shape[0], *(r.choice([3, 5, 8]) for _ in range(k))]), **options
            )
        else:
            self.node(
                "Resize", "", self.constant([1, 1, *(r.choice([0.5, 1.5, 2]) for _ in range(k))], np.float32), **options
            )

    def unary(self, op: str, *inputs: str, **options: Any) -> None:
        """Add a node between nodes, so that its input is a value with both signs."""
        self.node("Sub", self.numbers(self.shape[-1]))
        self.node(op, *inputs, **options)

    def mask(self) -> None:
        """Add a leaky ReLU by comparison and selection."""
        x = self.last
        self.node("Mul", self.constant(0.25, np.float32))
        small = self.last
        self.last = x
        self.node(
            self.r.choice(["Greater", "GreaterOrEqual"] if self.opset > 11 else ["Greater"]),
            self.constant(0.0, np.float32),
        )
        self.node("Where", x, small)

    def sizes_chain(self) -> None:
        """Flatten by sizes that the graph computes, as exporters write ``x.view(x.size(0), -1)``."""
        x = self.last
        self.node("Shape")
        self.node("Gather", self.constant([0]), axis=0)
        batch = self.last
        self.nodes.append(helper.make_node("Concat", [batch, self.constant([-1])], [f"s{self.count}"], axis=0))
        self.last = x
        self.node("Reshape", f"s{self.count - 1}")

    def add_random_node(self) -> None:
        """Add an operator of a random kind that fits the last value's shape."""
        r, s, node, k = self.r, self.shape, self.node, len(self.shape) - 1
        last = len(s)  # the last axis, with the batch
        axis = r.choice([*range(1, last + 1), -1])

        def at(axis: int, attribute_before: int, op: str, **options: Any) -> None:
            inputs, listed = self.axes(axis, attribute_before=attribute_before)
            node(op, *inputs, **listed, **options)

        def reduce(op: str, before: int = 18) -> None:
            at(axis, before, op, keepdims=r.choice([0, 1]))

        kinds = {
            "MatMul": lambda: node("MatMul", self.numbers(s[-1], 3)),
            "Add": lambda: node(
                "Add", self.numbers(*(r.choice([1, n]) for n in s[1:]), s[-1]) if k == 0 else self.numbers(1, *s)
            ),
            "Mul": lambda: node("Mul", self.numbers(s[-1])),
            "Div": lambda: node("Div", self.constant(r.choice([2.0, -4.0]), np.float32)),
            "Pow": lambda: node("Pow", self.constant(1.0, np.float32)),
            "Relu": lambda: self.unary("Relu"),
            "LeakyRelu": lambda: self.unary("LeakyRelu", alpha=r.choice([0.1, -0.3])),
            "PRelu": lambda: self.unary("PRelu", self.numbers(*r.choice([(1,), (s[0], *(1,) * k), (s[-1],)]))),
            "Clip": lambda: self.unary(
                "Clip", r.choice(["", self.constant(-0.5, np.float32)]), self.constant(1.0, np.float32)
            ),
            "Abs": lambda: self.unary("Abs"),
            "HardSigmoid": lambda: self.unary("HardSigmoid", alpha=0.3, beta=0.4),
            "ThresholdedRelu": lambda: self.unary("ThresholdedRelu", alpha=0.0),
            "Shrink": lambda: self.unary("Shrink", lambd=0.4, bias=0.4),
            "Max": lambda: node("Max", self.numbers(s[-1]), *[self.numbers(1)] * r.randrange(2)),
            "Min": lambda: node("Min", self.numbers(s[-1])),
            "Mean": lambda: node("Mean", self.last, self.numbers(s[-1])),
            "Sum": lambda: node("Sum", self.last, self.numbers(1)),
            "Where": self.mask,
            "Transpose": lambda: node("Transpose", perm=[0, *r.sample(range(1, last + 1), last)]),
            "Flatten": lambda: node("Flatten", axis=r.choice([1, -last])),
            "sizes": self.sizes_chain,
            "Unsqueeze": lambda: at(axis, 13, "Unsqueeze"),
            "Slice": lambda: node(
                "Slice",
                self.constant([-1]),
                self.constant([-(2**31)]),
                self.constant([axis]),
                self.constant([r.choice([-1, -2])]),
            ),
            "Gather": lambda: node("Gather", self.constant([0, -1]), axis=axis),
            "Concat": lambda: node("Concat", self.last, axis=axis),
            "Split": lambda: self.split(axis),
            "Tile": lambda: node("Tile", self.constant([1] * last + [2])),
            "Expand": lambda: (at(1, 13, "Unsqueeze"), node("Expand", self.constant([1, 2, *[1] * last]))),
            "Pad": lambda: node(
                "Pad",
                self.constant([0] * last + [1] + [0] * last + [1]),
                mode=r.choice(["constant", "edge", "reflect"]),
            ),
            "CumSum": lambda: node("CumSum", self.constant(axis), exclusive=r.choice([0, 1]), reverse=r.choice([0, 1])),
            "ReduceL1": lambda: reduce("ReduceL1"),
            "ReduceMean": lambda: reduce("ReduceMean"),
            "ReduceMax": lambda: reduce("ReduceMax"),
            "ReduceMin": lambda: reduce("ReduceMin"),
            "ReduceSum": lambda: reduce("ReduceSum", 13),
            "Einsum": lambda: node("Einsum", self.numbers(s[-1], 2), equation="...i,ij->...j"),
            "GatherElements": lambda: node(
                "GatherElements", self.constant(np.zeros((1, *s), int) + s[-1] - 1), axis=-1
            ),
            "Trilu": lambda: node("Trilu", upper=r.choice([0, 1])),
            "Cast": lambda: (node("Cast", to=TensorProto.DOUBLE), node("Cast", to=TensorProto.FLOAT)),
            "Dropout": lambda: node("Dropout"),
        }
        if k == 0:
            kinds |= {
                "Gemm": lambda: node("Gemm", self.numbers(3, s[0]), self.numbers(3), transB=1, alpha=0.5, beta=2.0),
                "Gemm without bias": lambda: node("Gemm", self.numbers(s[0], 4)),
            }
        if k:
            norm = [self.numbers(s[0]) for _ in range(3)]
            variance = self.constant(self.rng.uniform(0.5, 2, s[0]), np.float32)
            kinds |= {
                "Conv": lambda: self.convolution("Conv"),
                "ConvTranspose": lambda: self.convolution("ConvTranspose"),
                "MaxPool": lambda: node("MaxPool", **self.windows(), ceil_mode=r.choice([0, 1])),
                "AveragePool": lambda: node("AveragePool", **self.windows(), count_include_pad=r.choice([0, 1])),
                "GlobalAveragePool": lambda: node("GlobalAveragePool"),
                "GlobalMaxPool": lambda: node("GlobalMaxPool"),
                "Resize": self.resize,
                "BatchNormalization": lambda: node("BatchNormalization", *norm, variance, epsilon=1e-3),
                "left": lambda: (
                    self.nodes.append(
                        helper.make_node("MatMul", [self.numbers(3, s[-2]), self.last], [f"l{self.count}"])
                    )
                    or setattr(self, "last", f"l{self.count}")
                    if k < 3
                    else None
                ),
            }
        if k == 2:
            kinds |= {
                "SpaceToDepth": lambda: node("SpaceToDepth", blocksize=r.choice([1, 2, 3])),
                "DepthToSpace": lambda: node("DepthToSpace", blocksize=2, mode=r.choice(["DCR", "CRD"])),
            }
        name = r.choice(list(kinds))
        self.names.append(name)
        kinds[name]()

    def split(self, axis: int) -> None:
        """Add a split in two, of which the second part goes on."""
        size = self.shape[axis if axis < 0 else axis - 1]
        sizes, out = [1, size - 1], f"p{self.count}"
        extra, options = ([], {"split": sizes}) if self.opset < 13 else ([self.constant(sizes)], {})
        self.nodes.append(helper.make_node("Split", [self.last, *extra], [f"{out}.0", out], axis=axis, **options))
        self.last = out

    def model(self) -> Any:
        """Return a model of one to six operators that onnxruntime runs."""
        count = self.r.randint(1, 6)
        best = None
        for _ in range(4 * count):
            saved = list(self.nodes), list(self.constants), self.last, list(self.names)
            try:
                self.add_random_node()
                proto = self._proto()
                out = Session(proto)(torch.zeros(2, *self.first))
                if not 1 < out.ndim <= 5 or not 0 < out.numel() <= 1000 or len(out) != 2:
                    raise ValueError
            except Exception:  # of onnxruntime: it does not fit
                self.nodes, self.constants, self.last, self.names = saved
                continue
            self.shape, best = tuple(out.shape[1:]), proto
            if len(self.names) == count:
                break
        return best

    def _proto(self) -> Any:
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [self.batch, *self.first])]
        outputs = [helper.make_tensor_value_info(self.last, TensorProto.FLOAT, None)]
        graph = helper.make_graph(self.nodes, "composed", inputs, outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)


def torch_jacobians(model: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return values (n, m) and Jacobians (n, m, d) of a model, all in float64, that treats samples independently."""
    model = in_double(model)
    x = x.clone().requires_grad_()
    out = (model(x) + 0 * x.sum()).flatten(1)
    rows = [
        torch.autograd.grad(out[:, k].sum(), x, retain_graph=True, allow_unused=True)[0] for k in range(out.shape[1])
    ]
    zero = torch.zeros_like(x)
    return out.detach(), torch.stack([(zero if row is None else row).flatten(1) for row in rows], dim=1)


def difference_jacobians(
    net: creases.Network, run: Any, x: Tensor, size: float = 0.05
) -> tuple[Tensor, Tensor, Tensor]:
    """Return values, Jacobians by central differences of ``run``, and which columns no crease of ``net`` crosses."""
    n, d = len(x), net.n_in
    steps = size * torch.eye(d, dtype=x.dtype).reshape(1, d, *x.shape[1:])
    ends = torch.stack([x[:, None] + steps, x[:, None] - steps]).reshape(-1, *x.shape[1:])
    values = run(ends).flatten(1).reshape(2, n, d, -1)
    sides = torch.as_tensor(np.asarray(net.sides(ends))).reshape(2, n, d, -1)
    same = (sides == torch.as_tensor(np.asarray(net.sides(x)))[None, :, None]).all(-1).all(0)
    return run(x).flatten(1), ((values[0] - values[1]) / (2 * size)).transpose(1, 2), same


def differs(a: Tensor, b: Tensor, limit: float, scale: float = 1.0) -> bool:
    """Whether two results differ by more than a limit, relative to the largest number."""
    if a.shape != b.shape:
        return True
    return bool((a - b).abs().max() > limit * max(scale, float(b.abs().max()))) if a.numel() else False


def compare(net: creases.Network, reference: tuple[Tensor, Tensor], x: Tensor, limit: float) -> str:
    """Return what differs between a network and values and Jacobians; "" if nothing does."""
    values, jacobians = reference
    J, _ = net.piece(x)
    if differs(net(x).flatten(1), values, limit):
        return "values"
    return "Jacobians" if differs(J, jacobians, limit) else ""


def read_again(net: creases.Network, x: Tensor) -> str:
    """Return what differs when a network is written as ONNX and read; "" if nothing does."""
    with tempfile.TemporaryDirectory() as folder:
        again = creases.read(net.save(Path(folder) / "net.onnx"), net.input_shape)
    found = compare(again, (net(x).flatten(1), net.piece(x).J), x, DOUBLE)
    return found and f"{found} of its own export"


def export(model: nn.Module, x: Tensor, r: Random, newer: bool) -> Any:
    """Return a model as torch's exporter writes it."""
    buffer = io.BytesIO()
    if newer:
        program = torch.onnx.export(model, (x,), dynamo=True, verbose=False)
        return program.model_proto
    dynamic = {"x": {0: "batch"}} if r.random() < 0.7 else None
    opset = r.choice([11, 13, 17, 18])
    names = {"input_names": ["x"], "output_names": ["y"]}
    sample = x if dynamic else x[:1]
    with contextlib.redirect_stdout(io.StringIO()):
        torch.onnx.export(model, (sample,), buffer, dynamo=False, opset_version=opset, dynamic_axes=dynamic, **names)
    return onnx.load_from_string(buffer.getvalue())


def judge(seed: int) -> dict[str, Any]:
    """Read the model of a seed; return its kind, what it is made of and the outcome, with the reason of a refusal."""
    r = Random(seed)
    torch.manual_seed(seed)
    kind = [*["torch"] * 4, *["export"] * 3, *["composed"] * 3][seed % 10]
    if kind == "composed":
        composer = OddComposer(seed)
        proto = composer.model()
        names, shape, word, model = composer.names, composer.first, "", None
        if proto is None:
            return {"seed": seed, "kind": kind, "names": names, "outcome": "not made"}
    else:
        model, shape, names, word = random_model(r, smooth=0.05)
        word = "" if kind == "export" and "condition" in names else word  # exporters write one of its branches
    record = {"seed": seed, "kind": kind, "names": names, "shape": shape, "word": word}
    x = torch.randn(POINTS, *shape, dtype=torch.float64).float().double()
    if kind == "export":
        newer = seed % 40 == 4
        record["kind"] = "newer export" if newer else kind
        try:
            proto = export(model, x[:2].float() if not newer else x[:1].float(), r, newer)
            Session(proto)(x[:1])
        except Exception as problem:  # of torch's exporter or of onnxruntime
            return record | {"outcome": "not made", "reason": f"{type(problem).__name__}: {str(problem)[:150]}"}
    try:
        net = creases.read(model, shape) if kind == "torch" else creases.read(proto, shape)
    except CreasesError as problem:
        text = " ".join(str(problem).split())
        known = word in text if kind == "torch" else not any(phrase in text for phrase in VAGUE)
        true = "refused" if not word else "rightly refused" if known else "FALSE REASON"
        return record | {"outcome": true, "reason": text}
    except Exception as problem:
        return record | {"outcome": "TRACEBACK", "reason": f"{type(problem).__name__}: {problem}"}
    if word:
        return record | {"outcome": "WRONG", "reason": "it is not piecewise linear, and was read"}
    if kind == "torch":
        found = compare(net, torch_jacobians(model, x), x, DOUBLE)
    else:
        values, jacobians, same = difference_jacobians(net, Session(proto), x)
        J = net.piece(x).J
        found = "values" if differs(net(x).flatten(1), values, SINGLE) else ""
        keep = same[:, None].expand_as(J)
        if not found and differs(J[keep], jacobians[keep], 10 * SINGLE, float(values.abs().max())):
            found = "Jacobians"
        rounded = model is not None and any(isinstance(part, Plain) for part in model.modules())
        if not found and model is not None and not rounded and differs(J, torch_jacobians(model, x)[1], 1e-5):
            found = "Jacobians of torch"
    try:
        found = found or read_again(net, x)
    except Exception as problem:
        return record | {"outcome": "TRACEBACK", "reason": f"its own export: {type(problem).__name__}: {problem}"}
    return record | {"outcome": f"WRONG {found}" if found else "equal"}


def main() -> None:
    """Read the models, print the counts and every refusal's reason."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    records = []
    start = time.process_time()
    for seed in count(asked.seed):
        record = judge(seed)
        records.append(record)
        if record["outcome"] != "equal":
            made_of = ", ".join(record["names"])
            print(f"{seed} {record['kind']} ({made_of}): {record['outcome']}: {record.get('reason', '')}", flush=True)
        if asked.json:
            asked.json.write_text(json.dumps(records, indent=1) + "\n")
        if sum(record["outcome"] != "not made" for record in records) == asked.count:
            break
    print(f"{asked.count} models, {time.process_time() - start:.0f} s of CPU time")
    for kind in dict.fromkeys(record["kind"] for record in records):
        print(f"  {kind}: {dict(Counter(record['outcome'] for record in records if record['kind'] == kind))}")
    outcomes = Counter(record["outcome"].split()[0] for record in records)
    print(f"  all: {dict(outcomes)}")
    sys.exit(1 if outcomes.keys() & {"WRONG", "TRACEBACK", "FALSE"} else 0)


if __name__ == "__main__":
    main()
