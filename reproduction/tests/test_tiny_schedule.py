"""TINY's schedule by the clock, on digits."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from creases_reproduction.tiny import growth_schedule
from creases_reproduction.tiny.growth_schedule import (
    BY_STEPS,
    GROUPS,
    GROWN,
    LARGE,
    TWIN,
    Part,
    Run,
    Setup,
    Size,
    first_samples,
    growth_round,
    hidden,
    main,
    mnist_setup,
    next_samples,
    run,
    run_part,
    start,
)
from creases_reproduction.tiny.schedule_numbers import digit_data

SAMPLES = [600, 300]


@pytest.fixture(scope="module")
def data():
    return digit_data()


def test_a_round_grows_both_layers_and_tells_how_strong_their_units_are(data):
    model = start([1, 1], 0, 64)
    found = growth_round(model, data[0], torch.Generator().manual_seed(0), SAMPLES)
    assert all(width > 1 for width in hidden(model))
    assert all(largest**2 >= mean > 0 for mean, largest in found)


def test_samples_of_a_layer_grow_with_the_root_of_the_wider_layer_beside_it():
    model = start([4, 25], 0, 64)
    assert first_samples(model) == [100, 100]
    assert next_samples(model, 10_000) == [800, 317]  # of 64 and 25, of 4 and 10
    assert next_samples(model, 500) == [500, 317]


def test_a_round_takes_as_many_samples_as_asked_for_its_units_and_factors(data, monkeypatch):
    asked = []
    real = growth_schedule.tiny

    def record(model, place, batches, loss, **options):
        asked.append(sum(len(x) for x, _ in batches))
        assert options == {"as_printed": True}
        return real(model, place, batches, loss, **options)

    monkeypatch.setattr(growth_schedule, "tiny", record)
    monkeypatch.setattr(growth_schedule, "CHUNK", 70)
    growth_round(start([2, 2], 0, 64), data[0], torch.Generator().manual_seed(0), [150, 80])
    assert asked == [150, 80]


def test_the_printed_widths_are_those_of_one_unit_for_every_singular_vector():
    numbers = torch.Generator().manual_seed(0)
    x = torch.randn(2000, 100, generator=numbers)
    data = x, x[:, :10].argmax(1)
    model, rounds = start([1, 1], 0, 100), []
    for _ in range(8):
        growth_round(model, data, numbers, [500, 500])
        rounds.append(hidden(model))
    assert rounds[5] == [110, 51]  # Figure 13
    assert rounds[7] == [222, 71]  # Figure 8


def test_random_units_reach_the_widths_asked_for(data):
    model = start([1, 1], 0, 64)
    assert growth_round(model, data[0], torch.Generator().manual_seed(0), SAMPLES, like=[4, 1]) == []
    assert hidden(model) == [4, 1]


def test_a_run_grows_as_often_as_asked_and_starts_with_kaiming_weights(data):
    model = start([1, 1], 0, 64)
    assert float(start([500, 1], 0, 64)[0].weight.detach().var()) == pytest.approx(2 / 64, rel=0.1)
    found = run(model, data, "grown", 0, seconds=0.6, rounds=2, pause=0.0)
    assert len(found.rounds) == len(found.spectra) == 2
    assert found.widths == hidden(model) == found.rounds[-1]
    assert 0 < found.growing < 60
    assert found.steps > 0


def test_a_run_by_steps_ends_after_them_and_is_measured_on_the_way(data):
    found = run(start([3, 3], 0, 64), data, "fixed", 0, steps=120)
    assert found.steps == 120
    assert [mark for mark, _ in found.by_steps] == [100]


def test_growth_applies_the_best_move_of_existing_weights(data):
    model = start([4, 4], 0, 64)
    before = model[2].weight.detach().clone()
    growth_round(model, data[0], torch.Generator().manual_seed(0), SAMPLES)
    assert not torch.equal(model[2].weight[:4, :4], before)  # gamma_0 dW*


def test_new_units_have_outgoing_weights_of_length_one(data):
    model = start([4, 4], 0, 64)
    growth_round(model, data[0], torch.Generator().manual_seed(0), SAMPLES)
    lengths = model[4].weight[:, 4:].detach().norm(dim=0)
    assert len(lengths)
    assert torch.allclose(lengths, torch.ones_like(lengths), atol=1e-4)


def test_networks_train_for_as_many_steps_each_whatever_the_seconds(data, monkeypatch):
    monkeypatch.setattr(growth_schedule, "MAX_STEPS", 120)
    results = GROUPS["by steps"](0, Setup(data, 0.01, wide=20))
    assert [found.name for found in results] == [GROWN + BY_STEPS, TWIN + BY_STEPS, LARGE + BY_STEPS]
    assert [found.steps for found in results] == [120] * 3
    assert results[0].widths == results[1].widths
    assert results[2].widths == [20, 20]
    assert all(found.by_seconds == [] for found in results)


def test_groups_that_take_long_are_run_for_fewer_seeds():
    parts = Size(seeds=3, fewer=1).parts()
    assert [seed for group, seed in parts if group == "grown"] == [0, 1, 2]
    assert [seed for group, seed in parts if group == "fifteen"] == [0]
    assert {group for group, _ in parts} == set(GROUPS)


def test_the_program_writes_every_run_in_order_with_how_it_was_made(tmp_path, monkeypatch):
    def one_run(group, seed, size):
        return Part(group, seed, [Run(group, seed)], 1.5)

    monkeypatch.setattr(growth_schedule, "ProcessPoolExecutor", lambda *a, **k: ThreadPoolExecutor(2))
    monkeypatch.setattr(growth_schedule, "run_part", one_run)
    main(["--seeds", "2", "--fewer", "1", "--seconds", "0.5", "--out", str(tmp_path / "found.json")])
    written = json.loads((tmp_path / "found.json").read_text())
    assert [(run["name"], run["seed"]) for run in written["runs"]] == [
        *((group, 0) for group in GROUPS),
        ("grown", 1),
        ("large", 1),
    ]
    assert "--seeds 2 --fewer 1 --pixels 28 --wide 1000 --seconds 0.5" in written["about"]["command"]
    assert written["about"]["cpu_seconds"] == "12"
    assert written["size"]["seconds"] == 0.5


def test_a_part_runs_in_one_thread(data, monkeypatch):
    threads = []
    monkeypatch.setattr(growth_schedule, "_cached_setup", lambda *a: Setup(data, 0.01, wide=20))
    monkeypatch.setattr(
        growth_schedule, "GROUPS", {"large": lambda seed, setup: [threads.append(torch.get_num_threads())]}
    )
    part = run_part("large", 4, Size())
    assert threads == [1]
    assert (part.group, part.seed) == ("large", 4)


def test_images_shrink_to_means_of_four_pixels(monkeypatch):
    pixels = torch.arange(28.0 * 28).reshape(1, 1, 28, 28)
    monkeypatch.setattr(growth_schedule, "images", lambda *a, **k: ((pixels, torch.zeros(1)), (pixels, torch.zeros(1))))
    (x, _), _ = mnist_setup(14, 500, 2.0).data
    assert x.shape == (1, 196)
    assert float(x[0, 0]) == (0 + 1 + 28 + 29) / 4
