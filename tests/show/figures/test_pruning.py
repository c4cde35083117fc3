import pandas as pd
import pytest

from creases.errors import InputError
from creases.show._figures._compare import plot_pruning
from creases.show._style import new_figure


def test_each_way_of_pruning_is_a_curve_and_channels_say_their_widths():
    rows = [("channels", 1 - i / 10, 0.9, f"{32 - i} 32") for i in range(9)]
    rows += [("magnitude", 1 - i / 10, 0.8, "32 32") for i in range(9)]
    _, (ax,) = new_figure()
    plot_pruning(pd.DataFrame(rows, columns=["method", "share", "accuracy", "widths"]), ax=ax)
    assert [line.get_label() for line in ax.lines] == ["channels", "magnitude"]
    assert {text.get_text() for text in ax.texts} <= {row[3] for row in rows[:9]}
    with pytest.raises(InputError, match="table must have a column 'share'"):
        plot_pruning(pd.DataFrame({"method": []}), ax=ax)
