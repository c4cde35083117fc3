"""Sections of image networks: the three images, and a table from networks of any weights."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
import torch

from creases.errors import InputError
from creases_reproduction.experiment import stored_table
from creases_reproduction.linearity import image_sections as module
from creases_reproduction.linearity.chapter6_sections import sections_from_table
from creases_reproduction.linearity.image_networks import network, plans
from creases_reproduction.linearity.image_sections import image_sections, nearest_three


@pytest.mark.parametrize("classes", [(0, 0, 0), (0, 0, 1), (2, 0, 1), None])
def test_of_the_classes_the_three_images_have_the_least_sum_of_distances(classes: tuple[int, int, int] | None) -> None:
    draw = torch.Generator().manual_seed(0)
    x, y = torch.randn(40, 1, 3, 3, generator=draw), torch.randint(3, (40,), generator=draw)
    flat = x.flatten(1)
    apart = torch.cdist(flat, flat)
    triples = list(combinations(range(40), 3))
    if classes:
        triples = [t for t in triples if sorted(y[list(t)].tolist()) == sorted(classes)]
    best = min(triples, key=lambda t: float(apart[t[0], t[1]] + apart[t[0], t[2]] + apart[t[1], t[2]]))
    assert tuple(sorted(nearest_three(x, y, classes))) == best


def test_copies_of_an_image_are_not_taken_together() -> None:
    x, y = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, 2.0]]), torch.zeros(4, dtype=torch.int64)
    three = nearest_three(x, y, (0, 0, 0))
    assert len({tuple(x[i].tolist()) for i in three}) == 3
    with pytest.raises(InputError, match="x must have three different images"):
        nearest_three(x[:3], y[:3], (0, 0, 0))
    with pytest.raises(InputError, match="x must have at least three images of the classes, got 2"):
        nearest_three(x[:2], y[:2], (0, 0, 0))


def test_the_stored_counts_show_what_grids_miss_and_count_twice() -> None:
    table = stored_table("image_sections").table
    assert len(table) == 36
    assert (table["seen"] < table["regions"]).all()
    assert (table["by_pattern"] >= table["seen"]).all()
    fine = table[(table["grid"] == 24) & (table["tolerance"] == 1e-6)]
    convolutional = fine[fine["network"] != "dense"]
    assert (convolutional["by_coefficients"] < convolutional["by_pattern"]).all()  # as the dissertation says
    assert (fine["by_pattern"] > fine["seen"]).sum() >= 8  # slanting regions are counted again


def test_the_stored_plane_of_convolutional_networks_is_said_to_be_another() -> None:
    numbers, _ = sections_from_table("cifar10")
    assert numbers["plane"] == "through the three nearest test images, of any class"
    assert numbers["network"] == ["simple", "complex"] * 2


@pytest.mark.slow
def test_every_network_has_a_row_for_each_grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from safetensors.torch import save_file

    drawn = torch.randn(10, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    classes = torch.tensor([0, 4] * 5)
    monkeypatch.setattr(module, "images", lambda name, split, count=None: (drawn, classes))
    monkeypatch.setitem(module.PARTS, "quick", (0.05, 1e-4))
    monkeypatch.setitem(module.GRIDS, "quick", ((3, 1e-6), (4, 1e-2)))
    for plan in plans("cifar10"):
        save_file(network(plan.kind, plan.seed).state_dict(), tmp_path / plan.file)
    table = image_sections(tmp_path, "quick", data=["cifar10"]).table
    assert table[["network", "optimizer", "grid"]].drop_duplicates().shape[0] == len(table) == 12
    assert (table["seen"] <= table["regions"]).all()
    assert (table["by_pattern"] >= table["seen"]).all()
    with pytest.raises(InputError, match="scale must be 'quick' or 'full'"):
        image_sections(tmp_path, "huge")  # type: ignore[arg-type]
