"""Pictures are what they were, pixel for pixel, on light paper and on dark.

After a change that is meant, make the pictures again, look at them, and commit them:

    CREASES_BASELINES=remake pytest tests/show/test_pictures.py
"""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib import rc_context
from matplotlib.colors import to_rgb
from matplotlib.testing.compare import compare_images
from matplotlib.text import Text
from PIL import Image

import creases
from creases.network import Network
from creases.show import _style as style
from creases.show import plot_plane, save_figure, theme
from show.pictures import FOLDS, LABELS, PICTURES, POINTS, RECORD, figure_of, folds

BASELINE = Path(__file__).with_name("baseline")
#: Root mean square over all pixels and channels, of 255: a crease or a few dots less make 2 or more.
TOLERANCE = 1.0
#: matplotlib's own font, with nothing left to the machine's.
PINNED = {"text.hinting": "none", "path.simplify": False}


def save(figure, path):
    with rc_context(PINNED):
        return str(save_figure(figure, path, dpi=26 if "value" in path.name else 42))  # gradients make large files


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize("on", ["light", "dark"])
def test_a_picture_is_what_it_was(name, on, tmp_path):
    kept = BASELINE / f"{name}-{on}.png"
    with theme(on), rc_context(PINNED):
        figure = figure_of(PICTURES[name]())
    made = save(figure, tmp_path / kept.name)
    assert_readable(figure, made, on)
    if os.environ.get("CREASES_BASELINES") == "remake":
        shutil.copyfile(made, kept)
    assert compare_images(str(kept), made, TOLERANCE) is None


def assert_readable(figure, made, on):
    """Every text stands out from the paper, and nothing is cut off: the picture's outermost pixels are paper."""
    with theme(on):
        paper = to_rgb(style.active_theme().paper)
    for text in figure.findobj(Text):
        in_cells = text.axes is not None and text.axes.images  # these have the cells behind them
        if text.get_text().strip() and text.get_bbox_patch() is None and not in_cells:
            ratio = style.contrast(style.luminance(to_rgb(text.get_color())), style.luminance(paper))
            assert ratio > 2, (text.get_text(), text.get_color())
    with Image.open(made) as image:
        pixels = np.asarray(image.convert("RGB"))
    frame = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    assert np.abs(frame - 255 * np.array(paper)).max() < 80


def test_no_baseline_is_left_over_or_large():
    files = {path.name: path.stat().st_size for path in BASELINE.iterdir()}
    assert set(files) == {f"{name}-{on}.png" for name in PICTURES for on in ("light", "dark")}
    assert max(files.values()) < 25_000


def differs(figure, tmp_path, name="plane-class-light.png"):
    return compare_images(str(BASELINE / name), save(figure, tmp_path / "wrong.png"), TOLERANCE) is not None


def test_a_missing_crease_is_noticed(tmp_path):
    part = folds()
    inner = np.flatnonzero(part.edge_units >= 0)
    hidden = part.edge_units.copy()
    hidden[hidden == part.edge_units[inner[0]]] = -1
    with rc_context(PINNED):
        whole = PICTURES["plane-class"]().figure
        lacking = plot_plane(replace(part, edge_units=hidden), color="class", X=POINTS, y=LABELS, record=RECORD)
    assert not differs(whole, tmp_path)
    assert differs(lacking.figure, tmp_path)


def test_a_wrong_colour_is_noticed(tmp_path):
    swapped = LABELS.copy()
    swapped[:4] = 1
    with rc_context(PINNED):
        wrong = plot_plane(folds(), color="class", X=POINTS, y=swapped, record=RECORD)
    assert differs(wrong.figure, tmp_path)


def test_a_boundary_that_moved_is_noticed(tmp_path):
    step = FOLDS.steps[-1]
    moved = replace(step, tensors={**step.tensors, "offset": step.tensors["offset"] + torch.tensor([0.03, -0.03])})
    net = Network([*FOLDS.steps[:-1], moved], FOLDS.input_shape)
    with rc_context(PINNED):
        wrong = plot_plane(creases.plane(net), color="class", X=POINTS, y=LABELS, record=RECORD)
    assert differs(wrong.figure, tmp_path)
