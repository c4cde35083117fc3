"""What the XNG slides say of growth in theorems and lemmas, computed at random and trained networks.

Each function takes a scale and returns numbers; deviations are relative to the size of what is compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch import nn

import creases
from creases import splines
from creases._typing import Floats
from creases.growth import apply
from creases.growth.methods import fold, gradmax
from creases.growth.methods.folding import (
    dead_layer_reason,
    decisions,
    fold_point,
    local_fold_point,
    subnetwork_at,
    typical_mispredictions,
)
from creases.lab import Batch, train
from creases.network.surgery import Place, widen
from creases.problems import Problem, get
from creases_reproduction.experiment import Scale
from creases_reproduction.xng.runs import GROWN, LR, PROBLEMS, small_networks

#: The box in which regions are counted: the data are standardised.
_BOX = ((-3.0, 3.0), (-3.0, 3.0))


def _count(scale: Scale, quick: int, full: int) -> int:
    return quick if scale == "quick" else full


def _trained(scale: Scale) -> Iterator[tuple[Problem, nn.Sequential]]:
    """2-2-2 networks trained as in the experiment, on each of its problems."""
    for name in PROBLEMS:
        batch = small_networks(name, _count(scale, 3, 100), 0, GROWN)
        yield from ((get(name), batch.module(k).double()) for k in range(batch.count))


def _perceptron(widths: list[int], seed: int) -> nn.Sequential:
    return Batch.initial(1, widths, seed=seed, dtype=np.float64).module(0)


def majority_right(scale: Scale) -> dict[str, Any]:
    """Theorem 1: shares of the data that small networks come to predict right."""
    found = {}
    for name in PROBLEMS:
        problem = get(name)
        done = train(
            Batch.initial(_count(scale, 20, 1000), [2, 2, 2], seed=0), problem.X, problem.y, epochs=GROWN, lr=LR
        )
        found[name] = {
            "mean": done.accuracy.mean(),
            "least": done.accuracy.min(),
            "majority": (done.accuracy > 0.5).mean(),
        }
    return {"problems": found, "networks": _count(scale, 20, 1000)}


def deep_as_shallow(scale: Scale) -> dict[str, Any]:
    """Theorem 2: deep networks of one input written as shallow ones; creases of deep networks in the plane that bend.

    A network with one hidden layer bends along whole straight lines. A unit of a second layer whose crease has pieces
    of different direction is beyond it, whatever its width.
    """
    count = _count(scale, 10, 200)
    x = np.linspace(-4, 4, 801)
    worst, units, bent = 0.0, 0, 0
    for seed in range(count):
        model = _perceptron([1, 6, 6, 6, 1], seed)
        shallow = splines.to_shallow(splines.deep_breakpoints(model).pieces)
        deep = model(torch.from_numpy(x)[:, None])[:, 0].detach().numpy()
        worst = max(worst, float(np.abs(shallow(x) - deep).max() / np.abs(deep).max()))
        units = max(units, shallow.width)
        part = creases.plane(creases.read(_perceptron([2, 6, 6, 1], seed)), _BOX)
        bent += _has_bent_crease(part, first=6)
    return {"deviation": worst, "cases": count, "widest": units, "bent": bent / count}


def _has_bent_crease(part: Any, first: int) -> bool:
    """Whether the crease of some unit after the first ones has edges of different directions."""
    steps = part.vertices[part.edges[:, 1]] - part.vertices[part.edges[:, 0]]
    length = np.linalg.norm(steps, axis=1, keepdims=True)
    long = length[:, 0] > 1e-6
    directions = steps / np.where(length > 0, length, 1.0)
    for unit in np.unique(part.edge_units[part.edge_units >= first]):
        own = directions[(part.edge_units == unit) & long]
        if len(own) > 1 and np.abs(own[:, 0] * own[0, 1] - own[:, 1] * own[0, 0]).max() > 1e-6:
            return True
    return False


def local_linearity(scale: Scale) -> dict[str, Any]:
    """Proposition 1: every region's affine function against the network's values at the region's corners."""
    count, worst, regions = _count(scale, 5, 50), 0.0, 0
    for seed in range(count):
        part = creases.plane(creases.read(_perceptron([2, 12, 12, 2], seed)), _BOX)
        piece = part.pieces()
        own = np.repeat(np.arange(part.count), np.diff(part.starts))
        affine = np.einsum("cij,cj->ci", piece.J[own], part.vertices[part.corners]) + piece.y[own]
        values = part.values[part.corners]
        worst = max(worst, float(np.abs(affine - values).max() / np.abs(values).max()))
        regions += part.count
    return {"deviation": worst, "cases": regions, "networks": count}


def more_regions(scale: Scale) -> dict[str, Any]:
    """Observation 1: regions of trained 2-2-2 networks before and after a fold."""
    before, after = [], []
    for problem, model in _trained(scale):
        proposal = fold(model, "0", problem.X, problem.y)
        if proposal.count:
            before.append(creases.plane(creases.read(model), _BOX).count)
            apply(proposal, model)
            after.append(creases.plane(creases.read(model), _BOX).count)
    gained = np.subtract(after, before)
    return {
        "cases": len(before),
        "before": np.mean(before),
        "after": np.mean(after),
        "more": (gained > 0).mean(),
        "fewer": (gained < 0).mean(),
    }


def crease_through_point(scale: Scale) -> dict[str, Any]:
    """Theorem 3: how far the new unit is from 0 at the fold point; Lemma 4: by how much outputs change, for each eps.

    The fold point is on the boundary: the two classes tie there.
    """
    crease, tie, cases = 0.0, 0.0, 0
    shares: dict[float, float] = dict.fromkeys((0.1, 0.05, 0.01, 0.001), 0.0)
    changes = dict.fromkeys(shares, 0.0)
    for problem, model in _trained(scale):
        proposal = fold(model, "0", problem.X, problem.y)
        if not proposal.count:
            continue
        cases += 1
        point = np.array(proposal.explanation["where"]["fold_point"])
        w, b = proposal.fan_in[0].numpy(), float(proposal.bias[0])
        crease = max(crease, abs(w @ point + b) / (np.abs(w) @ np.abs(point) + abs(b)))
        z = model(torch.from_numpy(point)).detach()
        tie = max(tie, proposal.explanation["where"]["residual"] / float(1 + z.abs().max()))
        for eps in shares:
            again = fold(model, "0", problem.X, problem.y, eps=eps).explanation["effect"]
            changes[eps] = max(changes[eps], again["largest_change"])
            shares[eps] = max(shares[eps], again["largest_change"] / again["bound"])
    return {"crease": crease, "tie": tie, "cases": cases, "share_of_bound": shares, "largest_change": changes}


def bias_on_crease(scale: Scale) -> dict[str, Any]:
    """Lemma 1: spread of w . x over points of the crease, for w in the span of w_ij and u, and for other w."""
    rng, count = np.random.default_rng(0), _count(scale, 100, 10_000)
    inside, outside = 0.0, np.inf
    for _ in range(count):
        n = int(rng.integers(3, 9))
        normal, free = rng.normal(size=(2, n))
        u = free - (free @ normal) / (normal @ normal) * normal
        point = rng.normal(size=n)
        along = np.linalg.svd(np.stack([normal, u]))[2][2:]  # (n - 2, n) directions of the crease
        crease = point + rng.normal(size=(20, n - 2)) @ along
        alpha, beta = rng.normal(size=2)
        w = alpha * normal + beta * u
        size = np.linalg.norm(w) * np.abs(crease).max()
        inside = max(inside, float(np.ptp(crease @ w) / size))
        other = w + rng.normal() * along[0]
        outside = min(outside, float(np.ptp(crease @ other) / size))
    return {"cases": count, "in the span": inside, "least spread outside": outside}


def gradient_at_input(scale: Scale) -> dict[str, Any]:
    """Lemma 2 and Theorem 4: the loss's gradient at the input of a grown network, by the formula and by autograd.

    The slide's second term has no factor for the new unit's side; it is compared where that unit is active and where
    it is not. "turn": sine of the angle between what the unit adds to the gradient and its incoming weights.
    """
    rng, count = np.random.default_rng(0), _count(scale, 50, 2000)
    found = {"active": 0.0, "inactive, as printed": 0.0, "inactive, without the term": 0.0, "turn": 0.0}
    for case in range(count):
        model = _perceptron([3, 4, 2], case)
        old = deepcopy(model)
        w, b, v = (torch.from_numpy(rng.normal(size=shape)) for shape in ((1, 3), 1, (2, 1)))
        widen(model, creases.places(model)[0], w, b, {"2": v})
        x = torch.from_numpy(rng.normal(size=(1, 3))).requires_grad_()
        y = model(x)
        y.retain_grad()
        torch.autograd.backward(nn.functional.cross_entropy(y, torch.tensor([case % 2])))
        assert x.grad is not None
        assert y.grad is not None
        slope, g = x.grad[0].numpy(), y.grad[0].numpy()
        piece = creases.read(old).piece(x.detach().numpy()[0])
        first, second = piece.J.T @ g, float(v[:, 0].numpy() @ g) * w[0].numpy()
        size = np.linalg.norm(first) + np.linalg.norm(second)
        active = bool((x @ w.T + b).item() > 0)
        printed = float(np.abs(first + second - slope).max() / size)
        name = "active" if active else "inactive, as printed"
        found[name] = max(found[name], printed)
        if active:
            added = slope - first
            found["turn"] = max(found["turn"], _sine(added, w[0].numpy()))
        else:
            least = float(np.abs(first - slope).max() / size)
            found["inactive, without the term"] = max(found["inactive, without the term"], least)
    return {"cases": count, **found}


def _sine(a: Floats, b: Floats) -> float:
    """Of the angle between two vectors."""
    rest = a - (a @ b) / (b @ b) * b
    return float(np.linalg.norm(rest) / np.linalg.norm(a))


def gradient_of_new_unit(scale: Scale) -> dict[str, Any]:
    """Lemma 5: the largest gradient of a new unit's incoming weights and bias, without and with outgoing weights."""
    found = {"zero": 0.0, "small": np.inf}
    cases = 0
    for problem, model in _trained(scale):
        proposal = fold(model, "0", problem.X, problem.y)
        if not proposal.count:
            continue
        cases += 1
        for name, factor in (("zero", 0.0), ("small", 1.0)):
            grown = deepcopy(model)
            out = {path: factor * columns for path, columns in proposal.fan_out.items()}
            widen(grown, proposal.place, proposal.fan_in, proposal.bias, out)
            loss = nn.functional.cross_entropy(grown(torch.from_numpy(problem.X).double()), torch.from_numpy(problem.y))
            torch.autograd.backward(loss)
            layer: Any = grown[0]
            grads = [layer.weight.grad[-1].abs().max().item(), layer.bias.grad[-1].abs().item()]
            found[name] = max(found[name], *grads) if name == "zero" else min(found[name], max(grads))
    return {"cases": cases, "zero outgoing weights": found["zero"], "small ones, at least": found["small"]}


def gradmax_is_best(scale: Scale) -> dict[str, Any]:
    """Slide 7: squared gradient of new incoming weights for GradMax's outgoing ones over that for random ones.

    Units with tanh, whose slope at 0 is 1, so that incoming weights can be zero as in the source.
    """
    rng, best, ratios = np.random.default_rng(0), 0.0, []
    for seed in range(_count(scale, 5, 50)):
        layers = Batch.initial(1, [6, 5, 8], seed=seed, dtype=np.float64).module(0)
        model = nn.Sequential(layers[0], nn.Tanh(), layers[2])
        X, y = torch.from_numpy(rng.normal(size=(100, 6))), torch.from_numpy(rng.normal(size=(100, 8)))
        proposal = gradmax(model, "0", [(X, y)], nn.MSELoss())
        out = proposal.fan_out["2"]
        ours = _arriving(model, proposal.place, X, y, out)
        best = max(best, abs(ours / proposal.explanation["gradient"] - 1))
        for _ in range(20):
            drawn = torch.from_numpy(rng.normal(size=out.shape))
            ratios.append(_arriving(model, proposal.place, X, y, drawn * out.norm() / drawn.norm()) / ours)
    return {"cases": len(ratios), "largest ratio": max(ratios), "mean ratio": np.mean(ratios), "against autograd": best}


def _arriving(model: nn.Sequential, place: Place, X: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> float:
    """Squared norm of the gradient of a new unit's incoming weights and bias, these zero, by autograd."""
    grown = deepcopy(model)
    widen(grown, place, torch.zeros(1, X.shape[1], dtype=X.dtype), torch.zeros(1, dtype=X.dtype), {"2": out})
    torch.autograd.backward(nn.functional.mse_loss(grown(X), y))
    layer: Any = grown[0]
    return float(layer.weight.grad[-1].square().sum() + layer.bias.grad[-1].square())


def nearest_point(scale: Scale) -> dict[str, Any]:
    """Slide 31: the closed form of the nearest point on the boundary, against least squares."""
    worst, cases = 0.0, 0
    for problem, model in _trained(scale):
        net = creases.read(model)
        wrong = np.flatnonzero(np.asarray(net(problem.X)).argmax(axis=1) != problem.y)[:5]
        for t in wrong:
            j = int(problem.y[t])
            found = local_fold_point(net, problem.X[t].astype(np.float64), 1 - j, j)
            if isinstance(found, str):
                continue
            cases += 1
            x = problem.X[t]
            step = np.linalg.lstsq(found.normal[None], np.array([-(found.normal @ x + found.offset)]), rcond=None)[0]
            worst = max(worst, float(np.abs(x + step - found.x).max() / (1 + np.abs(found.x).max())))
    return {"deviation": worst, "cases": cases}


def feet_off_the_boundary(scale: Scale) -> dict[str, Any]:
    """Milestone 2: how many closed-form fold points are not on the boundary, and how the exact ones are found.

    At the typical mis-predictions of trained 2-2-2 networks.
    """
    found: dict[str, int] = {}
    feet, off = 0, 0
    for problem, model in _trained(scale):
        tail = subnetwork_at(model, creases.places(model)[0])
        state = decisions(tail.outputs(problem.X.astype(np.float64)), problem.y)
        X = problem.X.astype(np.float64)
        for one in typical_mispredictions(X, state.loss, state.wrong, k=3, restarts=2, seed=0, weight=state.weight):
            i, j = int(state.predicted[one.index]), int(state.true[one.index])
            raw = local_fold_point(tail.net, X[one.index], i, j)
            if not isinstance(raw, str):
                feet += 1
                off += raw.residual > 1e-9 * (1 + float(np.abs(state.z[one.index]).max()))
            exact = fold_point(tail.net, X, state.predicted, one.index, i, j)
            how = "none" if isinstance(exact, str) else exact.found
            found[how] = found.get(how, 0) + 1
    cases = sum(found.values())
    return {
        "cases": cases,
        "no_foot": cases - feet,
        "off": off,
        "useless": (cases - feet + off) / cases,
        "found": found,
    }


def dead_layers(scale: Scale) -> dict[str, Any]:
    """Slide 31: how many trained 2-2-2 networks have a hidden layer that no instance activates."""
    shares = {}
    for name in PROBLEMS:
        problem, batch = get(name), small_networks(name, _count(scale, 20, 1000), 0, GROWN)
        dead = [
            bool(dead_layer_reason(subnetwork_at(model, creases.places(model)[0]), problem.X.astype(np.float64)))
            for model in (batch.module(k).double() for k in range(batch.count))
        ]
        shares[name] = float(np.mean(dead))
    return {"shares": shares, "networks": _count(scale, 20, 1000)}
