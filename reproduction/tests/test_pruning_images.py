import os

import pandas as pd
import pytest

from creases_reproduction.linearity.pruning_images import ENOUGH, Settings, near_original, pruned_images


def test_the_least_share_near_the_original_is_the_one_before_the_first_drop():
    accuracy = [0.98, 0.975, 0.98, 0.9, 0.98]
    table = pd.DataFrame({"data": "mnist", "method": "channels", "share": [1, 0.8, 0.6, 0.4, 0.2]})
    table = table.assign(accuracy=accuracy, widths=["32 32 32"] * 5)
    (row,) = near_original(table).to_dict("records")
    assert (row["share"], row["accuracy"], row["printed_share"]) == (0.6, 0.98, 0.2)


@pytest.mark.data
@pytest.mark.skipif("CREASES_DATA" not in os.environ, reason="CREASES_DATA names no folder with the image data")
@pytest.mark.thorough
def test_images_are_pruned_both_ways(monkeypatch):
    monkeypatch.setitem(ENOUGH, "mnist", 0.0)
    settings = Settings(epochs=1, per_step=40, images=80, tested=40, scored=20, compared=4, often=1)
    table = pruned_images("mnist", settings).table
    assert set(table["method"]) == {"channels", "magnitude"}
    assert table.loc[table["method"] == "channels", "widths"].iloc[-1] == "1 1 1"
    assert (table.loc[table["step"] == 0, "cka"] == 1).all()
    assert table["cka"].between(0, 1).all()
    assert table.loc[table["method"] == "magnitude", "share"].min() < 0.02
