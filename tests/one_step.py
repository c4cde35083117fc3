"""Networks of one step, for every operation: one without a case here fails."""

from __future__ import annotations

import torch

from creases._program._step import AFFINE_OPS, BEND_OPS, Step
from creases.network import Network

_WINDOWS = {"stride": [2, 1], "padding": [1, 0], "dilation": [1, 2], "groups": 2}
_POOL = {"kernel": [3, 2], "stride": [2, 1], "padding": [1, 0], "ceil_mode": True, "count_include_pad": False}
_RESIZE = {"mode": "bicubic", "align_corners": False, "antialias": False}


def _numbers(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


#: For each operation the shape of its input and its options and tensors, in several ways where they matter.
CASES = {
    "linear": [((2, 3), {}, {"weight": _numbers(4, 3), "offset": _numbers(4)})],
    "conv": [((4, 5, 6), _WINDOWS, {"weight": _numbers(6, 2, 3, 2), "offset": _numbers(6, 1, 1)})],
    "conv_transpose": [((4, 3, 4), _WINDOWS | {"output_padding": [1, 0]}, {"weight": _numbers(4, 3, 3, 2)})],
    "scale": [((3, 4), {}, {"factor": _numbers(4), "offset": _numbers(3, 4)})],
    "add": [((3,), {"signs": [-1, 1, -1]}, {"offset": _numbers(3)})],
    "concat": [((2, 3), {"dim": 1}, {})],
    "stack": [((2, 3), {}, {})],
    "reshape": [((2, 6), {"shape": [3, 4]}, {})],
    "permute": [((2, 3, 4), {"dims": [2, 0, 1]}, {})],
    "gather": [((2, 3), {}, {"index": torch.tensor([[5, 0], [0, 2]])})],
    "pad": [((2, 3, 4), {"pads": [1, 2, 0, 3]}, {"offset": _numbers(2, 6, 7)})],
    "avg_pool": [
        ((2, 5, 6), _POOL, {}),
        ((2, 5, 6), _POOL | {"count_include_pad": True}, {}),
        ((2, 5, 6), _POOL | {"divisor": 5}, {}),
        ((2, 6), {"kernel": [2], "stride": [2], "padding": [0], "ceil_mode": False, "count_include_pad": True}, {}),
    ],
    "adaptive_avg_pool": [((2, 5, 7), {"size": [2, 3]}, {}), ((2, 5, 3, 4), {"size": [2, 3, 1]}, {})],
    "interpolate": [
        ((2, 3, 4), _RESIZE | {"size": [5, 7]}, {}),
        ((2, 4, 4), _RESIZE | {"mode": "bilinear", "scale": [1.7, 0.5], "antialias": True}, {}),
    ],
    "sum": [((2, 3, 4), {"dims": [0, 2], "keepdim": False}, {}), ((2, 3), {"dims": [1], "keepdim": True}, {})],
    "matmul": [((3, 2), {}, {"matrix": _numbers(4, 3)})],
    "relu": [((2, 3), {}, {}), ((2, 3), {}, {"leak": _numbers(2, 1)})],
    "choice": [((2, 3), {}, {})],
}

assert CASES.keys() == AFFINE_OPS.keys() | set(BEND_OPS)


def _network(op: str, shape: tuple[int, ...], options: dict, tensors: dict) -> Network:
    inputs = (0,) * {"add": 3, "concat": 2, "stack": 2}.get(op, 1)
    out = Step(op, inputs, (), options, tensors).apply([torch.zeros(1, *shape, dtype=torch.float64)] * len(inputs))
    return Network([Step(op, inputs, tuple(out.shape[1:]), options, tensors)], shape)


NETWORKS = {f"{op} {i}": _network(op, *case) for op, cases in CASES.items() for i, case in enumerate(cases)}
