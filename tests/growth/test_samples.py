"""The samples of a run: arrays, Datasets and loaders, refused with a reason where they cannot be."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from creases import problems
from creases.errors import InputError
from creases.growth._samples import DatasetSamples, InMemorySamples, LoaderSamples, as_samples
from growth_runs import classes, mlp

MODEL = mlp(3, 2, 2)


class Pairs(Dataset):
    """A Dataset that is no TensorDataset."""

    def __init__(self, X, y):
        self.X, self.y = X, y

    def __len__(self):
        return len(self.X)

    def __getitem__(self, row):
        return self.X[row], self.y[row]


def numbered(n: int):
    """Samples whose first input is their number."""
    x = torch.arange(n, dtype=torch.float64)[:, None].repeat(1, 3)
    return x, torch.arange(n) % 2


def kinds(n: int):
    x, y = numbered(n)
    loader = DataLoader(TensorDataset(x, y), batch_size=7, shuffle=True)
    return {"arrays": (x, y), "dataset": Pairs(x, y), "loader": loader}


def rows(batches) -> list[int]:
    return torch.cat([batch[0][:, 0] for batch in batches]).long().tolist()


@pytest.mark.parametrize("kind", ["arrays", "dataset", "loader"])
def test_an_epoch_has_every_sample_once_in_an_order_by_seed(kind):
    data = as_samples(kinds(30)[kind], MODEL)

    def order(seed):
        torch.manual_seed(seed)
        return rows(data.epoch(7, seed))

    with torch.random.fork_rng():
        one, again, other = order(1), order(1), order(2)
    assert one == again != other
    assert sorted(one) == sorted(other) == list(range(30))


@pytest.mark.parametrize("kind", ["arrays", "dataset", "loader"])
def test_parts_are_all_samples_in_the_same_order_each_time(kind):
    data = as_samples(kinds(30)[kind], MODEL)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        one = rows(data.parts())
        torch.manual_seed(0)
        assert one == rows(data.parts())
    assert sorted(one) == list(range(30))


@pytest.mark.parametrize("kind", ["arrays", "dataset", "loader"])
@pytest.mark.parametrize(("n", "held"), [(10, 10), (24, 6), (100, 6), (1, 1)])
def test_drawn_samples_and_those_held_out_are_different_ones(kind, n, held):
    data = as_samples(kinds(30)[kind], MODEL)
    first, rest = data.draw(n, seed=3)
    one, two = rows(first), rows(rest)
    assert (len(one), len(two)) == (min(n, 24), held)
    assert len({*one, *two}) == len(one) + len(two)
    assert rows(data.draw(n, seed=3)[0]) == one
    assert n == 1 or rows(data.draw(n, seed=4)[0]) != one


@pytest.mark.parametrize("kind", ["arrays", "dataset", "loader"])
def test_where_hardly_any_are_left_none_are_held_out(kind):
    assert as_samples(kinds(4)[kind], MODEL).draw(10, seed=0)[1] is None


@pytest.mark.parametrize("kind", ["arrays", "dataset", "loader"])
def test_looking_at_samples_leaves_the_users_random_numbers_alone(kind):
    given = kinds(30)[kind]
    data, before = as_samples(given, MODEL), torch.random.get_rng_state()
    data.draw(10, 3), data.arrays(10), data.example()
    assert torch.equal(before, torch.random.get_rng_state())


def test_a_loaders_own_generator_is_left_as_it_was():
    x, y = numbered(30)
    numbers = torch.Generator().manual_seed(5)
    data = as_samples(DataLoader(TensorDataset(x, y), batch_size=7, shuffle=True, generator=numbers), MODEL)
    before = numbers.get_state()
    one = rows(data.epoch(1, seed=1))
    assert rows(data.epoch(1, seed=1)) == one != rows(data.epoch(1, seed=2))
    data.draw(10, 3), data.arrays(10), data.example(), rows(data.parts())
    assert torch.equal(before, numbers.get_state())


def test_the_epoch_of_a_distributed_sampler_is_put_back():
    x, y = numbered(30)
    sampler = torch.utils.data.DistributedSampler(TensorDataset(x, y), num_replicas=1, rank=0)
    data = as_samples(DataLoader(TensorDataset(x, y), batch_size=7, sampler=sampler), MODEL)
    sampler.set_epoch(4)
    assert rows(data.epoch(1, seed=1)) == rows(data.epoch(1, seed=1)) != rows(data.epoch(1, seed=2))
    assert sampler.epoch == 4


@given(st.integers(1, 60), st.integers(1, 70))
def test_batches_are_as_even_as_can_be_and_no_larger_than_asked(n, size):
    sizes = [total for _, _, total in InMemorySamples(*numbered(n)).epoch(size, 0)]
    assert sum(sizes) == n
    assert len(sizes) == -(-n // size)
    assert max(sizes) <= size
    assert max(sizes) - min(sizes) <= 1


def test_some_of_many_are_the_same_ones_each_time_with_their_numbers():
    for data in (as_samples(numbered(50), MODEL), as_samples(Pairs(*numbered(50)), MODEL)):
        seen = data.arrays(20)
        assert seen.X[:, 0].long().tolist() == seen.rows.tolist() == sorted(seen.rows.tolist())
        assert torch.equal(data.arrays(20).rows, seen.rows)
        assert data.arrays(50).rows is None


def test_a_part_keeps_the_numbers_and_has_weights_of_mean_one():
    x, y = numbered(6)
    data = as_samples((x, y, [1, 1, 1, 1, 2, 6]), MODEL)
    part = data.part(torch.tensor([0, 4, 5]), "data").part(torch.tensor([1, 2]), "data")
    assert part.rows.tolist() == part.X[:, 0].tolist() == [4, 5]
    assert part.weight.tolist() == [0.5, 1.5]


def test_samples_come_in_the_models_dtype_and_classes_as_integers():
    X, y = np.arange(6).reshape(3, 2).astype(np.uint8), np.array([0, 1, 1], np.int32)
    data = as_samples((X, y), mlp(2, 2, 2, dtype=torch.float32))
    assert (data.X.dtype, data.y.dtype) == (torch.float32, torch.int64)
    assert as_samples((X, y.astype(bool)), mlp(2, 2, 2)).X.dtype == torch.float64
    embedding = nn.Sequential(nn.Embedding(9, 2), nn.Flatten(), nn.Linear(4, 2))
    assert as_samples((X.astype(np.int64), y), embedding).X.dtype == torch.int64


def test_lists_read_only_and_reversed_arrays_and_problems_are_data():
    frozen = np.ones((4, 3))
    frozen.flags.writeable = False
    for X in (frozen, frozen.tolist(), np.ones((4, 6))[::-1, ::2], np.asfortranarray(frozen)):
        data = as_samples((X, [0, 1, 0, 1]), MODEL)
        assert (data.X.shape, data.y.tolist()) == ((4, 3), [0, 1, 0, 1])
    assert len(as_samples(problems.get("moons", n=50), mlp(2, 2, 2))) == 50


def test_a_tensor_dataset_is_in_memory_and_others_are_fetched():
    x, y = numbered(5)
    assert isinstance(as_samples(TensorDataset(x, y), MODEL), InMemorySamples)
    assert isinstance(as_samples(Pairs(x, y), MODEL), DatasetSamples)
    assert isinstance(as_samples(DataLoader(Pairs(x, y)), MODEL), LoaderSamples)


class Endless(IterableDataset):
    def __iter__(self):
        return iter([])


X3, Y3 = np.ones((4, 3)), np.array([0, 1, 0, 1])


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (X3, r"data must be \(X, y\)"),
        (np.ones((2, 5)), r"data must be \(X, y\)"),
        (torch.ones(2, 5), r"data must be \(X, y\)"),
        ({"X": X3, "y": Y3}, r"data must be \(X, y\)"),
        (7, r"data must be \(X, y\)"),
        ((X3,), r"data must be \(X, y\)"),
        ((X3, Y3[:3]), r"as many targets as inputs, got X \(4, 3\) and y \(3,\)"),
        ((X3, 1), r"as many targets as inputs, got X \(4, 3\) and y \(\)"),
        ((X3[:0], Y3[:0]), r"data must have samples, got X of shape \(0, 3\)"),
        ((np.where(X3 > 0, np.nan, X3), Y3), r"data must be finite, got NaN or infinite entries in X.* fill them in"),
        ((X3, np.array([0, 1, np.inf, 0])), "data must be finite, got NaN or infinite entries in y"),
        ((X3, ["a", "b", "a", "b"]), "data.y must be an array of numbers"),
        ((X3.astype(complex), Y3), "data.X must be real, got complex numbers"),
        ((X3, Y3, np.ones(3)), "a finite, non-negative weight for each of the 4 samples, got weights of shape"),
        ((X3, Y3, [1, 1, 1, -1]), "a finite, non-negative weight for each of the 4 samples"),
        ((X3, Y3, [1, 1, 1, np.nan]), "a finite, non-negative weight for each of the 4 samples"),
        ((X3, Y3, np.zeros(4)), "at least one positive weight, got 4 samples of weight 0"),
        (Endless(), "be in a DataLoader"),
        (Pairs([], []), "data must have samples, got an empty Dataset"),
    ],
)
def test_what_is_no_data_is_refused_with_what_to_give(data, says):
    with pytest.raises(InputError, match=says):
        as_samples(data, MODEL)


def test_values_too_large_for_the_models_dtype_are_refused():
    with pytest.raises(InputError, match=r"got NaN or infinite entries in X \(torch.float32\)"):
        as_samples((np.full((3, 3), 1e300), [0, 1, 0]), mlp(3, 2, 2, dtype=torch.float32))


def test_loaders_of_other_things_than_pairs_are_refused():
    x, y = numbered(5)
    for wrong, says in [(TensorDataset(x, y, y), "got 3 parts"), (TensorDataset(x), "got 1 parts")]:
        with pytest.raises(InputError, match=f"data must give pairs of tensors x, y, {says}"):
            as_samples(DataLoader(wrong), MODEL).example()
    with pytest.raises(InputError, match="data must have samples, got an empty loader"):
        as_samples(DataLoader(Pairs([], [])), MODEL).example()


def test_data_of_a_run_are_taken_as_they_are():
    data = as_samples(classes(), MODEL)
    assert as_samples(data, MODEL) is data
