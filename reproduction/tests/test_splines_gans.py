"""Generative adversarial networks on 25 Gaussians: modes, steps against torch's, the ridge against dense matrices."""

from __future__ import annotations

import copy

import pytest
import torch
from altered_numbers import judge_altered

from creases_reproduction.splines import gan_training as gan
from creases_reproduction.splines.gans import BOTH, RIDGE, RMSPROP, SGD


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setattr(gan, "WIDTH", 3)
    draw = torch.Generator().manual_seed(1)
    G, D = ([p.double().detach().requires_grad_() for p in gan._initial(2, n, draw, "cpu")] for n in (2, 1))
    data, z = (part.double() for part in gan._batch(2, 1.0, draw, "cpu"))
    return G, D, data, z


def test_every_mode_counts_once_and_strays_do_not():
    side = torch.arange(-2.0, 3.0)
    modes = torch.cartesian_prod(side, side).repeat_interleave(100, 0)[None]
    assert gan.covered_modes(modes) == ([25], [1.0])
    assert gan.covered_modes(modes + 0.4) == ([0], [0.0])
    one = torch.zeros(1, 2500, 2)
    assert gan.covered_modes(one) == ([1], [1.0])


@pytest.mark.parametrize("name", [SGD, RMSPROP])
def test_a_step_is_that_of_torch(narrow, name):
    G, D, data, z = narrow
    ours, theirs = (copy.deepcopy([*G, *D]) for _ in range(2))
    moments = [torch.zeros_like(p) for p in ours]
    rule = gan.RULES[name]
    sgd = torch.optim.SGD(theirs, gan.LR)
    optimizer = sgd if rule.decay is None else torch.optim.RMSprop(theirs, gan.LR, alpha=rule.decay)
    for _ in range(3):
        gan._step(rule, ours[:4], ours[4:], moments, data, z)
        for seed_loss, players in ((-1, theirs[:4]), (1, theirs[4:])):
            real = gan._network(theirs[4:], data).sigmoid().log()
            fake = (1 - gan._network(theirs[4:], gan._network(theirs[:4], z)).sigmoid()).log()
            loss = -seed_loss * (real + fake).mean((1, 2)).sum()
            for p, slope in zip(players, torch.autograd.grad(loss, players), strict=True):
                p.grad = slope
        optimizer.step()
    assert all(torch.allclose(a, b, atol=1e-9) for a, b in zip(ours, theirs, strict=True))


def test_the_ridge_solves_the_damped_system_of_dense_matrices(narrow):
    G, D, data, z = narrow
    d_sizes, g_sizes = ([p[0].numel() for p in part] for part in (D, G))

    def loss(d, g):
        D1 = [part.reshape(1, *p.shape[1:]) for part, p in zip(torch.split(d, d_sizes), D, strict=True)]
        G1 = [part.reshape(1, *p.shape[1:]) for part, p in zip(torch.split(g, g_sizes), G, strict=True)]
        real, fake = gan._network(D1, data[:1]), gan._network(D1, gan._network(G1, z[:1]))
        return (torch.nn.functional.softplus(-real) + torch.nn.functional.softplus(fake)).mean()

    d, g = (torch.cat([p[0].detach().flatten() for p in part]) for part in (D, G))
    (h_dd, h_dg), _ = torch.autograd.functional.hessian(loss, (d, g))
    up = [torch.randn_like(p) for p in G]
    move = torch.cat([p[0].flatten() for p in up])
    want = -torch.linalg.solve(h_dd @ h_dd + gan.DAMPING * torch.eye(len(d)), h_dd @ h_dg @ move)
    real, fake = gan._network(D, data), gan._network(D, gan._network(G, z))
    total = (torch.nn.functional.softplus(-real) + torch.nn.functional.softplus(fake)).mean((1, 2)).sum()
    slopes = torch.autograd.grad(total, D, create_graph=True)
    found = torch.cat([p[0].flatten() for p in gan._ridge(slopes, G, D, up)])
    assert torch.allclose(found, want, rtol=1e-3, atol=1e-4 * float(want.abs().max()))


def exchanged(a, b):
    """Exchange the runs of two rules."""

    def change(numbers):
        runs = numbers["runs"]
        return {"runs": {**runs, f"{a}, 0.1": runs[f"{b}, 0.1"], f"{b}, 0.1": runs[f"{a}, 0.1"]}}

    return change


@pytest.mark.parametrize(
    ("name", "verdict", "a", "b"),
    [
        ("gan-simgd", "disagrees", SGD, RMSPROP),
        ("gan-ridge", "agrees", RIDGE, BOTH),
        ("gan-preconditioner", "disagrees", SGD, RMSPROP),
        ("gan-combination", "disagrees", BOTH, RMSPROP),
    ],
)
def test_exchanged_runs_change_the_verdict(name, verdict, a, b):
    before = judge_altered(f"splines/{name}", {}).verdict
    assert before != verdict
    assert judge_altered(f"splines/{name}", exchanged(a, b)).verdict == verdict
