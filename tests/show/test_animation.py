"""Growth and training through time: the pictures of an animation are those of its moments."""

import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.collections import LineCollection, PolyCollection
from PIL import Image

import creases
from creases.errors import FileError, InputError
from creases.growth import History
from creases.show import animate, theme
from creases.show._animation import Scene, Stage, _shots
from show.pictures import FOLDS, LABELS, POINTS, RECORD, history


@dataclass
class Moment:
    epoch: int
    kind: str
    record: int | None
    net: Any


def before():
    """The folds without their last unit."""
    first, _, last = FOLDS.steps
    layers = [
        (first.tensors["weight"][:4].numpy(), first.tensors["offset"][:4].numpy()),
        (last.tensors["weight"][:, :4].numpy(), last.tensors["offset"].numpy()),
    ]
    return creases.read(layers)


RECORDED = replace(RECORD, explanation={**RECORD.explanation, "method": "hand", "place": "layers.0", "units": 1})
MOMENTS = [
    Moment(0, "start", None, before()),
    Moment(12, "grown", 3, FOLDS),
    Moment(18, "end", None, FOLDS),
]
TOLD = History(epochs=history().epochs, records=[RECORDED])
LOOK: dict[str, Any] = {"history": TOLD, "X": POINTS, "y": LABELS, "dpi": 30}


def animate_networks(networks, path, **options):
    return animate(dict(enumerate(networks)), path, **options)


def pictures(path):
    with Image.open(path) as image:
        found = []
        for k in range(image.n_frames):
            image.seek(k)
            found.append((np.asarray(image.convert("RGB")), image.info["duration"]))
        return found


@pytest.mark.slow
def test_every_moment_is_a_picture_and_growth_steps_stay_longer(tmp_path):
    path = animate(MOMENTS, tmp_path / "growth.gif", fps=5, **LOOK)
    found = pictures(path)
    assert [duration for _, duration in found] == [200, 800, 2200]
    assert len({picture.tobytes() for picture, _ in found}) == 3
    assert [entry.name for entry in tmp_path.iterdir()] == ["growth.gif"]


def stage(beside=("curves", "network"), records=(None, RECORDED, None), **scene):
    nets = [moment.net for moment in MOMENTS]
    shots = _shots(nets, [moment.epoch for moment in MOMENTS], records, {"box": [(-1, 1), (-1, 1)]})
    given: dict[str, Any] = {"X": POINTS, "y": LABELS, "history": TOLD, **scene}
    return Stage(shots, Scene(**given), beside, 30)


@pytest.mark.slow
def test_a_picture_shows_its_moment_and_nothing_of_the_one_before():
    film = stage()
    for shot in (*film.shots, film.shots[0]):
        film.picture(shot)
        sheets = [c for c in film.main.collections if isinstance(c, PolyCollection)]
        assert len(sheets) == 1
        assert len(sheets[0].get_paths()) == len(shot.partition.boundary().part_class)
        marks = {line.get_label() for line in film.main.lines}
        assert marks == (set() if shot.record is None else {"typical mistake", "fold point"})
        assert film.now.get_xdata() == [shot.epoch, shot.epoch]
        assert f"epoch {shot.epoch}, {shot.partition.net.n_units} units, {shot.partition.count} regions" in shot.title
        assert bool(film.why.get_text()) == (shot.record is not None)


def test_axes_stand_still():
    film = stage(("dual",))
    limits = []
    for shot in film.shots:
        film.picture(shot)
        limits.append([(*ax.get_xlim(), *ax.get_ylim(), *ax.get_position().bounds) for ax in film.figure.axes])
        segments = [
            s for c in film.panels["dual"].collections if isinstance(c, LineCollection) for s in c.get_segments()
        ]
        low, high = np.array(film.slopes).T
        assert ((np.concatenate(segments) >= low) & (np.concatenate(segments) <= high)).all()
    assert limits[0] == limits[1] == limits[2]


def test_it_is_drawn_in_the_active_theme(tmp_path):
    with theme("dark"):
        path = animate(MOMENTS[:1], tmp_path / "dark.gif", beside=(), **LOOK)
    assert np.abs(pictures(path)[0][0][0, 0].astype(int) - [0x18, 0x1B, 0x20]).max() < 8


@pytest.mark.slow
def test_an_mp4_lasts_as_long_as_its_pictures(tmp_path):
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    path = animate(MOMENTS, tmp_path / "growth.mp4", fps=5, **LOOK)
    meta = next(ffmpeg.read_frames(str(path)))
    assert meta["duration"] == pytest.approx(0.2 + 0.8 + 2.2, abs=0.11)
    assert meta["codec"] == "h264"
    assert [entry.name for entry in tmp_path.iterdir()] == ["growth.mp4"]


def test_without_ffmpeg_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(
        InputError, match=r"path must end in \.gif without imageio-ffmpeg, .* pip install 'creases\[video\]'"
    ):
        animate(MOMENTS, tmp_path / "growth.mp4", **LOOK)


def test_a_network_recorded_in_a_training_loop_is_shown_as_it_was_at_that_epoch(tmp_path):
    model, networks = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1)), {}
    for epoch in (20, 0, 10):  # in any order
        torch.nn.init.constant_(model[0].weight, 1 + epoch)
        networks[epoch] = creases.read(model)
    alone = [pictures(animate({e: networks[e]}, tmp_path / "one.gif", dpi=30))[0][0] for e in (0, 10, 20)]
    film = [picture for picture, _ in pictures(animate(networks, tmp_path / "film.gif", dpi=30))]
    assert all((one == other).all() for one, other in zip(film, alone, strict=True))
    assert (film[0] != film[2]).any()


def test_a_film_shows_some_of_many_networks_the_first_and_the_last_among_them(tmp_path):
    told = []
    networks = [creases.read([([[1.0, k / 10]], [0.0]), ([[1.0]], [-0.2])]) for k in range(10)]
    path = animate_networks(networks, tmp_path / "t.gif", frames=4, dpi=30, progress=lambda *done: told.append(done))
    assert len(pictures(path)) == 4
    assert told == [("writing frames", k, 4) for k in (1, 2, 3, 4)]


def test_one_input_is_shown_as_a_function_over_its_data(tmp_path):
    networks = [creases.read([([[1.0]], [-k / 4]), ([[k]], [0.0])]) for k in range(3)]
    x = np.linspace(-1, 2, 9)[:, None]
    path = animate_networks(networks, tmp_path / "t.gif", X=x, y=np.abs(x[:, 0]), features=["load"], dpi=30)
    assert len(pictures(path)) == 3


def test_classes_of_one_input_are_shown_as_outputs_over_their_samples():
    net = creases.read([([[1.0]], [0.0]), ([[1.0], [-1.0]], [0.0, 0.5])])
    x, labels = np.array([[-0.5], [0.5], [0.6]]), np.array([1, 0, 0])
    film = Stage(_shots([net], [0], [None], {"a": [-1], "b": [1]}), Scene(x, labels, ("in", "out")), (), 30)
    film.picture(film.shots[0])
    lines = {tuple(line.get_xdata()): line for line in film.main.lines}
    ends, (first, second) = (-1.0, 0.0, 1.0), (line for line in film.main.lines if len(line.get_xdata()) == 3)
    assert tuple(first.get_xdata()) == tuple(second.get_xdata()) == ends
    assert np.array_equal(np.stack([first.get_ydata(), second.get_ydata()], axis=1), net(np.array(ends)[:, None]))
    assert [text.get_text() for text in film.main.get_legend().get_texts()] == ["in", "out"]
    assert first.get_color() == lines[(0.5, 0.6)].get_color() != lines[(-0.5,)].get_color()
    assert film.range[1] < 1.1  # made for the outputs, not for the numbers of the classes


@pytest.mark.parametrize(
    ("networks", "options", "message"),
    [
        ([FOLDS, creases.read([([[1.0]], [0.0])])], {}, "networks must all have 2 inputs, got a network with"),
        ([creases.read([([[1.0]], [0.0])])], {"box": [(0, 1), (0, 1)]}, r"box must be \(lo, hi\), or 1 pairs of them"),
        ([FOLDS], {"X": POINTS, "y": ["a"] * len(POINTS)}, "y must be an array of numbers"),
    ],
)
def test_networks_that_cannot_be_animated_are_refused(networks, options, message, tmp_path):
    with pytest.raises(InputError, match=message):
        animate_networks(networks, tmp_path / "t.gif", **options)
    assert not list(tmp_path.iterdir())


def test_more_inputs_are_shown_on_a_slice(tmp_path):
    net = creases.read([(np.eye(3), np.zeros(3)), ([[1.0, -1.0, 1.0]], [0.1])])
    cut = {"origin": np.zeros(3), "basis": np.eye(3)[:, :2], "box": [(-1, 1), (-1, 1)]}
    assert animate_networks([net], tmp_path / "t.gif", dpi=30, features=["a", "b"], **cut).is_file()
    with pytest.raises(InputError, match="origin must come with basis and box for a network of 3 inputs"):
        animate_networks([net], tmp_path / "t.gif")


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (
            {"path": "growth.avi"},
            InputError,
            r"path must end in \.gif or \.mp4, got 'growth\.avi'",
        ),
        ({"path": "none/growth.gif"}, FileError, "there is no folder"),
        ({"moments": []}, InputError, "networks must have at least one network, got none"),
        ({"frames": 0}, InputError, "frames must be a positive integer"),
        ({"fps": 0}, InputError, "fps must be above 0 and at most 100"),
        ({"dpi": 900}, InputError, "dpi must give frames of at most 4 million pixels, got .* pixels"),
        ({"beside": ["film"]}, InputError, "beside must be 'curves', 'network' or 'dual', got 'film'"),
        ({"history": None, "beside": ["curves"]}, InputError, "history must have epochs for the curves"),
        ({"features": ["a"]}, InputError, "features must have 2 names, got 1"),
        ({"X": np.full((48, 2), np.nan)}, InputError, "X must be finite"),
    ],
)
def test_what_cannot_be_animated_are_refused_and_nothing_is_written(options, kind, message, tmp_path):
    given = {"moments": MOMENTS, "path": "growth.gif", **LOOK, **options}
    with pytest.raises(kind, match=message):
        animate(given.pop("moments"), tmp_path / given.pop("path"), **given)
    assert not list(tmp_path.iterdir())
