"""Shallow networks and data for the tests of splines: ordinary, degenerate, and badly scaled ones."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import strategies as st

from creases.splines import Shallow

#: What can be wrong with a network; a drawn set of these spoils a random one.
FLAWS = ("dead", "all_active", "duplicate", "opposite", "no_weight", "no_output", "no_bias", "equal_data", "leaky")


@st.composite
def shallow_cases(draw, max_width=6, max_data=9):
    """A shallow network with data (net, x, y), no datum on a breakpoint unless by a flaw of the draw."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    flaws = draw(st.sets(st.sampled_from(FLAWS), max_size=3))
    H, N = draw(st.integers(1, max_width)), draw(st.integers(1, max_data))
    scale = draw(st.sampled_from([1.0, 1.0, 1.0, 1e-3, 1e3]))
    w, b, v = rng.normal(size=(3, H))
    x, y = rng.uniform(-2, 2, N), rng.normal(size=N)
    i, j = rng.integers(H), rng.integers(H)
    if "dead" in flaws:
        w[i], b[i] = 0.5, -10.0
    if "all_active" in flaws:
        w[j], b[j] = -0.5, 10.0
    if "duplicate" in flaws:
        w[i], b[i] = 2 * w[j], 2 * b[j]
    if "opposite" in flaws:
        w[i], b[i] = -w[j], -b[j]
    if "no_weight" in flaws:
        w[i] = 0.0
    if "no_output" in flaws:
        v[j] = 0.0
    if "no_bias" in flaws:
        b[i] = 0.0
    if "equal_data" in flaws:
        x[:] = rng.choice(x, N)
    leak = 0.2 if "leaky" in flaws else 0.0
    c1 = float(draw(st.booleans())) * 0.7
    return Shallow(scale * w, scale * b, v / scale, float(rng.normal()), c1, leak), x, y


def parameters(net):
    """(3 H + 1,) or, with a skip, (3 H + 2,): w, b, v, c0, c1 as one tensor."""
    tail = [net.c0, net.c1] if net.c1 != 0 else [net.c0]
    return torch.from_numpy(np.concatenate([net.w, net.b, net.v, tail]))


def value(net, theta, x):
    """The network's function at x (N,) in its parameters, for autograd."""
    H = net.width
    w, b, v = theta[: 3 * H].reshape(3, H)
    z = w[:, None] * x + b[:, None]
    units = torch.where(z > 0, z, torch.from_numpy(net.leak)[:, None] * z)
    skip = theta[-1] * x if net.c1 != 0 else 0.0
    return theta[3 * H] + skip + v @ units


def loss(net, theta, x, y):
    """1/2 sum e^2 in the parameters, for autograd."""
    e = value(net, theta, torch.from_numpy(x)) - torch.from_numpy(y)
    return 0.5 * e @ e
