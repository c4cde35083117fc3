"""Light and dark: what is told apart by normal sight is told apart without red or green, and stands out from paper."""

import io
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from matplotlib import rcParams
from matplotlib.colors import to_rgb
from PIL import Image

from creases.errors import FileError, InputError
from creases.show import plot_plane, save_figure, theme
from creases.show._style import contrast, luminance, new_figure, readable_color, reduce_colors
from creases.show._themes import DARK, LIGHT, active_theme

#: What is left of linear RGB without one kind of cone (Machado, Oliveira and Fernandes 2009, severity 1).
SIGHTS = {
    "normal": np.eye(3),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
}
_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
themes = pytest.mark.parametrize("one", [LIGHT, DARK], ids=["light", "dark"])


def lab(colors, sight):
    """CIELAB (n, 3) of colours as they are seen."""
    rgb = np.array([to_rgb(color) for color in colors])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = np.clip(linear @ SIGHTS[sight].T, 0, 1) @ _XYZ.T / [0.9505, 1.0, 1.089]
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


def least_difference(colors, sight):
    seen = lab(colors, sight)
    return min(np.linalg.norm(a - b) for i, a in enumerate(seen) for b in seen[:i])


@themes
@pytest.mark.parametrize("sight", SIGHTS)
def test_classes_are_told_apart_by_every_sight(one, sight):
    """Just noticeable is 2.3; the first three classes are far apart, six clearly, all ten still."""
    few, six, ten = (least_difference(one.classes[:n], sight) for n in (3, 6, 10))
    assert few > 35
    assert six > 8.5
    assert ten > 5.5


@themes
@pytest.mark.parametrize("sight", SIGHTS)
def test_creases_boundary_and_newest_are_told_apart_by_every_sight(one, sight):
    lines = [one.crease_first, one.crease_last, one.boundary, one.accent, one.paper]
    assert least_difference(lines, sight) > 18


def ratio(first, second):
    return contrast(luminance(first), luminance(second))


@themes
def test_everything_stands_out_from_the_paper(one):
    assert ratio(one.ink, one.paper) > 12
    assert ratio(one.boundary, one.paper) > 15
    assert ratio(one.accent, one.paper) > 4.5
    assert ratio(one.quiet, one.paper) > 3
    assert min(ratio(color, one.paper) for color in one.classes) > 2
    assert max(ratio(sheet, one.paper) for sheet in (one.sheet_light, one.sheet_dark)) < 2.5  # regions are pale
    assert ratio(one.ink, one.sheet_dark) > 5


@themes
def test_text_on_any_class_can_be_read(one):
    with theme(one.name):
        for color in one.classes:
            assert ratio(readable_color(color), color) > 4


def test_a_theme_ends_with_its_block_even_by_an_error():
    assert active_theme() is LIGHT
    with theme("dark"):
        assert active_theme() is DARK
        with theme("light"):
            assert active_theme() is LIGHT
        with pytest.raises(ZeroDivisionError), theme("light"):
            1 / 0  # noqa: B018
        assert active_theme() is DARK
    assert active_theme() is LIGHT


def test_a_figure_made_in_the_dark_is_dark_when_saved_later(fold, tmp_path):
    before = dict(rcParams)
    with theme("dark"):
        figure, (ax,) = new_figure(2, 2)
        plot_plane(fold, ax=ax, color="class")
    from PIL import Image

    save_figure(figure, tmp_path / "dark.png", dpi=60)
    figure.savefig(tmp_path / "own.png", dpi=60)
    assert dict(rcParams) == before
    for name in ("dark.png", "own.png"):
        pixels = np.asarray(Image.open(tmp_path / name).convert("RGB")).reshape(-1, 3)
        np.testing.assert_array_equal(pixels[0], [0x18, 0x1B, 0x20])
        assert pixels.sum(axis=1).min() >= 0x18 + 0x1B + 0x20 - 12  # no black text or ticks on it


def test_threads_draw_in_their_own_themes(fold, tmp_path):
    def draw(k):
        name = ("light", "dark")[k % 2]
        with theme(name):
            figure, (ax,) = new_figure(2, 2)
            plot_plane(fold, ax=ax, color="class")
            colors = {text.get_color() for text in ax.get_legend().get_texts()} | {ax.xaxis.label.get_color()}
            return colors == {active_theme().ink} and tuple(figure.get_facecolor()[:3]) == to_rgb(active_theme().paper)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(draw, range(16)))


def test_other_themes_are_refused():
    with pytest.raises(InputError, match="name must be 'light' or 'dark', got 'sepia'"), theme("sepia"):
        pass


@pytest.mark.parametrize(("ending", "head"), [(".png", b"\x89PNG"), (".svg", b"<?xml")])
def test_the_same_picture_is_the_same_file(fold, tmp_path, ending, head):
    contents = []
    for name in ("a", "b"):
        figure, (ax,) = new_figure(3, 3)
        plot_plane(fold, ax=ax, color="class")
        contents.append(save_figure(figure, tmp_path / f"{name}{ending}").read_bytes())
    assert contents[0].startswith(head)
    assert contents[0] == contents[1]
    assert sorted(os.listdir(tmp_path)) == [f"a{ending}", f"b{ending}"]


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"path must end in \.png or \.svg, got 'a\.gif'"):
        save_figure(new_figure()[0], tmp_path / "a.gif")


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileError, match="there is no folder"):
        save_figure(new_figure()[0], tmp_path / "nowhere" / "a.png")


def test_a_picture_with_fewer_colors_is_smaller_and_looks_the_same(fold, tmp_path):
    figure, (ax,) = new_figure(4, 4)
    plot_plane(fold, ax=ax, color="class")
    before = save_figure(figure, tmp_path / "a.png").read_bytes()
    after = reduce_colors(before)
    assert len(after) < 0.7 * len(before)
    pixels = [np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), float) for png in (before, after)]
    assert np.abs(pixels[0] - pixels[1]).mean() < 1.0


def test_few_points_of_a_class_keep_their_color_in_a_picture_of_fewer_colors():
    shades = np.linspace(200, 255, 300)
    pixels = np.stack(np.broadcast_arrays(shades[:, None], shades[None], 240.0), axis=2).astype(np.uint8)
    for number, color in enumerate(LIGHT.classes[:3]):
        pixels[10:14, 20 * number : 20 * number + 10] = np.round(255 * np.array(to_rgb(color)))
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    reduced = np.asarray(Image.open(io.BytesIO(reduce_colors(buffer.getvalue(), 64))).convert("RGB"), float)
    for number in range(3):
        dot = slice(10, 14), slice(20 * number, 20 * number + 10)
        assert np.abs(reduced[dot] - pixels[dot]).max() < 8
