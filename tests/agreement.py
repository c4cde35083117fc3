"""What it means that a network agrees with the torch module it was read from."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

import creases


class Lambda(nn.Module):
    """A module from a function, with parameters of its own where it needs some."""

    def __init__(self, function, **tensors) -> None:
        super().__init__()
        self.function = function
        for name, tensor in tensors.items():
            self.register_buffer(name, tensor)

    def forward(self, x: Tensor) -> Tensor:
        buffers = dict(self.named_buffers())
        return self.function(x, **buffers) if buffers else self.function(x)


def seeded(model: nn.Module, seed: int = 0) -> nn.Module:
    """The module with every parameter and running statistic drawn anew, none of them at a default."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
            if tensor.is_floating_point():
                drawn = torch.randn(tensor.shape, generator=generator, dtype=torch.float64)
                tensor.copy_(
                    drawn.abs() + 0.5 if name.endswith("running_var") else drawn / max(1, tensor[:1].numel()) ** 0.5
                )
    return model


def points(shape: tuple[int, ...], count: int = 4, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, *shape, generator=generator, dtype=torch.float64)


def assert_agrees(
    model: nn.Module, shape: tuple[int, ...], net: creases.Network | None = None, count: int = 4
) -> creases.Network:
    """At ``count`` points values to 1e-12 and pieces equal to autograd's Jacobian; returns the network."""
    reference = copy.deepcopy(model).eval()
    net = creases.read(reference, shape) if net is None else net
    reference = reference.double()
    x = points(shape, count)
    with torch.no_grad():
        expected = reference(x)
    torch.testing.assert_close(net(x).flatten(1), expected.reshape(len(x), -1), rtol=1e-12, atol=1e-12)
    J, y = net.piece(x)
    for i in range(count):
        jacobian = torch.autograd.functional.jacobian(lambda point: reference(point[None]).flatten(), x[i])
        torch.testing.assert_close(J[i], jacobian.reshape(net.n_out, net.n_in), rtol=1e-10, atol=1e-12)
    rebuilt = torch.einsum("bmd,bd->bm", J, x.flatten(1)) + y
    torch.testing.assert_close(rebuilt, expected.reshape(len(x), -1), rtol=1e-10, atol=1e-10)
    return net
