import io
import os

import numpy as np
import pytest
from PIL import Image

from creases.errors import FileError, InputError
from creases.show import plot_plane, save_figure
from creases.show._save import reduce_colors
from creases.show._style import new_figure


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
