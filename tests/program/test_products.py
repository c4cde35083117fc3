from __future__ import annotations

import pytest
import torch

import creases
from creases._program._affine import linear_map, matrix_product

WIDTHS = [300, 500, 1000]


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize("terms", WIDTHS)
@pytest.mark.parametrize("shape", [(1,), (5,), (2, 3)])
def test_products_in_blocks_are_those_of_torch(shape: tuple[int, ...], terms: int) -> None:
    x, weight, offset = normal(*shape, terms), normal(600, terms), normal(600)
    torch.testing.assert_close(linear_map(x, weight), x @ weight.T)
    torch.testing.assert_close(linear_map(x, weight, offset), x @ weight.T + offset)
    torch.testing.assert_close(matrix_product(weight, x.mT if x.ndim > 1 else x), weight @ (x.mT if x.ndim > 1 else x))


@pytest.mark.parametrize(("units", "terms"), [(3, 300), (300, 3), (300, 300)])
def test_gradients_of_products_in_blocks_are_those_of_torch(units: int, terms: int) -> None:
    x, weight, offset = (normal(*shape).requires_grad_() for shape in ((4, terms), (units, terms), (units,)))
    factor = normal(4, units)
    ours = torch.autograd.grad((linear_map(x, weight, offset) * factor).sum(), (x, weight, offset))
    expected = torch.autograd.grad(((x @ weight.T + offset) * factor).sum(), (x, weight, offset))
    for gradient, other in zip(ours, expected, strict=True):
        torch.testing.assert_close(gradient, other)


def test_a_convolution_of_one_image_is_that_of_torch() -> None:
    conv = torch.nn.Conv2d(60, 40, 3, padding=1, dtype=torch.float64)
    net = creases.read(torch.nn.Sequential(conv, torch.nn.ReLU()), input_shape=(60, 8, 8))
    x = normal(1, 60, 8, 8)
    torch.testing.assert_close(net(x), conv(x).relu().detach())
