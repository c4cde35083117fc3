import os

import pandas as pd
import pytest

from creases_reproduction.experiment import ResultTable, read_table
from creases_reproduction.linearity import pruning_images as module
from creases_reproduction.linearity.pruning_images import ENOUGH, Settings, near_original, pruned_images


def test_the_least_share_near_the_original_is_the_one_before_the_first_drop():
    accuracy = [0.98, 0.975, 0.98, 0.9, 0.98]
    table = pd.DataFrame({"data": "mnist", "method": "channels", "share": [1, 0.8, 0.6, 0.4, 0.2]})
    table = table.assign(accuracy=accuracy, widths=["32 32 32"] * 5)
    (row,) = near_original(table).to_dict("records")
    assert (row["share"], row["accuracy"], row["printed_share"]) == (0.6, 0.98, 0.2)


def test_the_table_says_how_it_was_made(monkeypatch, tmp_path):
    row = {"data": "mnist", "method": "channels", "step": 0, "widths": "1", "share": 1.0, "accuracy": 0.9}
    made = ResultTable(pd.DataFrame([row]), {"data": "mnist", "seconds": "1 training, 2 in all, on cpu"})
    monkeypatch.setattr(module, "pruned_images", lambda *args, **options: made)
    module.main(["mnist", "--device", "cpu", "--out", str(tmp_path / "table.csv")])
    about = read_table(tmp_path / "table.csv").about
    flags = "mnist --device cpu --per-step 2 --out table.csv"
    assert about["command"] == f"python -m creases_reproduction.linearity.pruning_images {flags}"
    assert about["mnist"] == made.about["seconds"]
    assert {"device", "seconds", "python", "creases", "torch"} <= set(about)


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
