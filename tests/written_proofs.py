"""Random networks of every kind of bend and scale, and questions whose answers carry a proof or say why not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

import creases
from agreement import Lambda
from creases.certify import decide_sides, holds, lipschitz, monotone, nearest, output_range
from creases.certify.differences import compare_decisions, largest_difference
from creases.certify.proofs import check_proof


class Branch(nn.Module):
    """``x + W relu(V x)``, or both terms beside each other."""

    def __init__(self, size: int, *, is_sum: bool) -> None:
        super().__init__()
        self.inner, self.outer, self.is_sum = nn.Linear(size, size), nn.Linear(size, size), is_sum

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        branch = self.outer(torch.relu(self.inner(x)))
        return x + branch if self.is_sum else torch.cat([x, branch], dim=1)


BENDS = {"relu": nn.ReLU, "leaky": lambda: nn.LeakyReLU(0.2), "clamp": nn.ReLU6, "steep": lambda: nn.LeakyReLU(2.0)}

#: Kinds of networks, those on images of 2 x 2 pixels, and units of their inputs.
NETWORKS = (*BENDS, "residual", "largest")
IMAGES = ("convolution", "max-pooling", "average pooling")
SCALES = (1.0, 1.0, 1e-3, 1e3, 1e-12, 1e12)


def random_model(rng: np.random.Generator, seed: int, kind: str = "") -> tuple[nn.Module, Any, float]:
    """Return a small model, a box, and the unit of its inputs."""
    torch.manual_seed(seed)
    chosen, scale = NETWORKS[rng.integers(len(NETWORKS))], float(SCALES[rng.integers(len(SCALES))])
    n, m, width = int(rng.integers(1, 4)), int(rng.integers(1, 4)), 2 * int(rng.integers(1, 4))
    kind = kind or chosen
    bend = BENDS.get(kind, nn.ReLU)
    layers: list[nn.Module] = [nn.Linear(n, width), bend()]
    if kind in IMAGES:
        n, size = 4, 4 if kind == "convolution" else 1
        pool = {"max-pooling": [nn.MaxPool2d(2)], "average pooling": [nn.AvgPool2d(2)]}.get(kind, [])
        image = [nn.Unflatten(1, (1, 2, 2)), nn.Conv2d(1, 2, 2, padding="same"), nn.ReLU(), *pool, nn.Flatten()]
        layers = [nn.Linear(n, n), *image, nn.Linear(2 * size, width), nn.ReLU()]
    elif kind == "beside":
        layers += [Branch(width, is_sum=False), nn.Linear(2 * width, width), nn.ReLU()]
    elif kind == "residual":
        layers += [Branch(width, is_sum=True), nn.ReLU()]
    elif kind == "largest":
        layers += [Lambda(lambda h: h.reshape(len(h), -1, 2).amax(dim=2)), nn.Linear(width // 2, width), nn.ReLU()]
    elif rng.integers(2):
        layers += [nn.Linear(width, width), bend()]
    model = nn.Sequential(*layers, nn.Linear(width, m)).double()
    with torch.no_grad():
        model[0].weight /= scale
    middle, half = rng.normal(size=n), rng.uniform(0.1, 1.5, size=n)
    return model, scale * np.stack([middle - half, middle + half], axis=1), scale


class Answer(NamedTuple):
    """An answer of a search that can write a proof."""

    kind: str
    seed: int
    claims: bool  #: whether it claims that something is proved
    proof: Any
    note: str  #: why there is no proof
    nets: tuple[Any, ...]

    @property
    def problem(self) -> str:
        """What is wrong: a proof that is refused, or none without a word; "" if nothing is."""
        if self.proof is None:
            return "" if self.note or not self.claims else "no proof, and no word of it"
        answer = check_proof(self.proof, *self.nets)
        return "" if answer else str(answer)


def ask(seed: int, budget: float = 2.0, kind: str = "") -> Iterator[Answer]:
    """Ask every question of a random network, of a kind if one is named."""
    rng = np.random.default_rng(seed)
    model, box, scale = random_model(rng, seed, kind)
    net = creases.read(model, (len(box),))
    x = rng.uniform(box[:, 0], box[:, 1])
    y = net(x)
    for quantity in ("outputs", "differences", "coefficients"):
        if quantity != "differences" or net.n_out > 1:
            found = output_range(net, box, quantity=quantity, budget=budget)  # type: ignore[arg-type]
            yield Answer(f"range of {quantity}", seed, True, found.proof, found.proof_note, (net,))
    for norm in ("l1", "l2", "linf"):
        constant = lipschitz(net, box, norm, budget=budget)  # type: ignore[arg-type]
        yield Answer(f"lipschitz {norm}", seed, True, constant.proof, constant.proof_note, (net,))
    rows = rng.normal(size=(1, len(box))) / scale
    within = output_range(net, box, A=rows, b=rows @ x + 0.1, budget=budget)
    yield Answer("range within rows", seed, True, within.proof, within.proof_note, (net,))
    verdicts = {
        "holds: outputs": holds(net, box, outputs=(np.eye(net.n_out), y + rng.uniform(0, 1)), budget=budget),
        "holds: never": holds(net, box, never=int(rng.integers(max(net.n_out, 2))), budget=budget),
        "monotone": monotone(net, 0, box, tolerance=float(rng.uniform(0, 1) / scale), budget=budget),
    }
    for kind, verdict in verdicts.items():
        claims = verdict.status != "unknown"
        yield Answer(kind, seed, claims, verdict.proof, verdict.proof_note, (net,))
    for norm in ("l1", "l2", "linf"):
        change = nearest(net, x, norm=norm, box=box if rng.integers(2) else None, budget=budget)  # type: ignore[arg-type]
        yield Answer(f"nearest {norm}", seed, True, change.proof, change.proof_note, (net,))
    sides = decide_sides(net, box, rng.uniform(box[:, 0], box[:, 1], (50, len(box))))
    yield Answer("sides of units", seed, bool(sides.off or sides.on), sides.proof, "", (net,))
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(1 + 1e-3 * torch.randn_like(weight))
    other = creases.read(model, (len(box),))
    largest = largest_difference(net, other, box, budget=budget)
    yield Answer("largest difference", seed, True, largest.proof, largest.proof_note, (net, other))
    alike = compare_decisions(net, other, box, budget=budget)
    yield Answer("decisions", seed, alike.verdict != "unknown", alike.proof, alike.proof_note, (net, other))
