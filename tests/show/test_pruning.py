import pandas as pd
import pytest

from creases.errors import InputError
from creases.show import new_figure
from creases.show.figures._pruning import plot_pruning, plot_sub_networks


def test_each_way_of_pruning_is_a_curve_and_channels_say_their_widths():
    rows = [("channels", 1 - i / 10, 0.9, f"{32 - i} 32") for i in range(9)]
    rows += [("magnitude", 1 - i / 10, 0.8, "32 32") for i in range(9)]
    _, (ax,) = new_figure()
    plot_pruning(pd.DataFrame(rows, columns=["method", "share", "accuracy", "widths"]), ax)
    assert [line.get_label() for line in ax.lines] == ["channels", "magnitude"]
    assert {text.get_text() for text in ax.texts} <= {row[3] for row in rows[:9]}
    with pytest.raises(InputError, match="table: there is no column 'share'"):
        plot_pruning(pd.DataFrame({"method": []}), ax)


def test_sub_networks_that_are_right_are_drawn_bold():
    rows = [(k, s, e, 1.0, float(s == 1 and e == 1)) for k in (1, 2) for s in (0, 1) for e in (0, 1)]
    _, (ax,) = new_figure()
    plot_sub_networks(pd.DataFrame(rows, columns=["width", "sub_network", "epoch", "loss", "right"]), ax)
    assert [line.get_linewidth() for line in ax.lines] == [0.5, 1.8, 0.5, 1.8]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["width 1", "width 2"]
