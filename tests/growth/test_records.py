"""Records of growth steps: JSON in and out, and in words."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from creases.errors import FileError
from creases.growth import History, grow
from growth_runs import classes, epochs, mlp, record, values

numbers = st.floats(allow_nan=False, allow_infinity=False)

STAGE = {
    "epoch": 3, "steps": 12, "records": [], "factor": 2.0, "widths": {"0": 4}, "widths_before": {"0": 2},
    "loss_grown": 0.2, "loss_training_on": 0.3, "gain": 0.1,
    "error": 0.02, "needed": 0.01, "pays": True,
}  # fmt: skip


@pytest.fixture(scope="module")
def histories() -> dict[str, History]:
    """One short run by every method."""
    found = {}
    for how in ("tiny", "fold", "gradmax", "random", "split"):
        model = mlp(3, 2, 2, 2, seed=5)
        grown = grow(model, classes(), "classification", how=how, when=4, budget=13, lr=0.02, validation=0.2)
        found[how] = grown.history
    return found


@pytest.mark.slow
def test_every_method_leaves_records_that_survive_json(histories):
    for how, history in histories.items():
        assert history.records, how
        again = History.from_json(history.to_json())
        assert again == history
        assert json.loads(history.to_json())["creases-history"] == 3


@pytest.mark.slow
def test_every_record_says_when_where_what_and_what_it_did(histories):
    for how, history in histories.items():
        for number, one in enumerate(history.records, 1):
            assert one.number == number
            assert one.method in (how, "revive")
            assert one.action in ("grow", "revive")
            assert one.epoch == history.epochs[one.epoch - 1]["epoch"]
            assert one.steps == history.epochs[one.epoch - 1]["steps"]
            assert one.width[1] == one.width[0] - len(one.removed) + len(one.units)
            assert one.units == list(range(one.width[1] - len(one.units), one.width[1]))
            if one.action != "revive":
                assert len(one.weights["fan_in"]) == len(one.weights["bias"]) == len(one.units)
            assert one.later["epoch"] > one.epoch
            assert one.later["validation_loss"] is not None
            assert 0 <= one.changed <= 96
        sizes = [one.parameters for one in history.records]
        assert all(before == after for (_, before), (after, _) in pairwise(sizes))


@pytest.mark.slow
def test_every_record_can_be_told_in_words(histories):
    for how, history in histories.items():
        told = history.explain(classes=["no", "yes"])
        assert told.count("Growth step") == len(history.records), how
        assert told.endswith(f"Stopped: {history.ending}.")
        for one in history.records:
            said = one.explain()
            assert said.startswith(f"Growth step {one.number} (epoch {one.epoch}). ")
            assert repr(one.place) in said
            assert "Right after the step, the training loss " in said
            assert "  " not in said


def test_folds_are_told_with_the_instance_and_its_class(histories):
    fold = next(one for one in histories["fold"].records if one.method == "fold")
    instance = fold.explanation["why"]["instance"]
    rows, _ = classes()
    assert 0 <= instance < len(rows)
    assert f"sample {instance}" in fold.explain()
    assert re.search(r"'(no|yes)' samples? w", fold.explain(classes=["no", "yes"]))


def test_instances_are_numbered_as_in_the_users_data_when_some_are_held_out(histories):
    X, _ = classes()
    fold = next(one for one in histories["fold"].records if one.method == "fold")
    why = fold.explanation["why"]
    np.testing.assert_allclose(why["features"], X[why["instance"]].tolist())


def test_revived_units_are_told_as_such():
    dead = record(0, action="revive", removed=[0, 1], units=[0, 1], explanation={"method": "revive", "place": "0"})
    assert "Units 0, 1 of '0' were dead (0 on every sample) and were reinitialised" in dead.explain()
    assert dead.explain().count("added") == 0


def test_changed_decisions_are_counted_in_words():
    said = [record(1, changed=changed).explain() for changed in (None, 0, 1, 2)]
    assert ["changed" in one for one in said] == [False, False, True, True]
    assert said[2].endswith("and 1 prediction changed.")
    assert said[3].endswith("and 2 predictions changed.")


def test_what_came_later_is_told_where_it_is_known():
    assert "After training" not in record(1).explain()
    later = {"epoch": 5, "loss": 0.25, "score": 0.9, "validation_score": 0.8}
    assert "After training: loss 0.25, score 0.9, validation score 0.8." in record(1, later=later).explain()


@pytest.mark.slow
@given(st.lists(numbers, max_size=4), numbers, st.text(max_size=20), st.booleans())
def test_any_history_survives_json(losses, gain, why, valid):
    history = History(
        epochs=epochs(*losses, validation=losses if valid else None),
        records=[record(1, predicted=gain, explanation={"method": "mine", "reason": why, "list": losses})],
        ended=why,
        setting={"how": why},
    )
    assert History.from_json(history.to_json()) == history


def test_what_a_users_method_explains_with_arrays_is_written_as_lists():
    explanation = {"method": "mine", "tensor": torch.ones(2), "array": np.arange(3), "number": np.float32(0.5)}
    history = History(records=[record(1, explanation=explanation)])
    found = History.from_json(history.to_json()).records[0].explanation
    assert found == {"method": "mine", "tensor": [1.0, 1.0], "array": [0, 1, 2], "number": 0.5}


def test_a_stage_that_paid_is_kept_only_if_its_network_is_the_result():
    history = History(epochs=epochs(0.5, 0.4), records=[record(1)], stages=[STAGE])
    stage = {"records": [1], "pays": True}
    outcomes = {kept: replace(history, kept=kept, ended="enough").stage_outcome(stage) for kept in (0, 2)}
    assert outcomes == {0: "not kept", 2: ""}
    assert history.stage_outcome(stage) == ""  # while it runs
    assert history.stage_outcome({"records": [1], "pays": False}) == "undone: no improvement"
    history.records[0].undone = history.records[0].replaced = True
    assert history.stage_outcome(stage) == "until a better size"


def test_a_history_is_saved_whole_and_read_back(tmp_path):
    history = History(epochs=epochs(0.5, 0.4), records=[record(1)], ended="enough", setting={"how": "tiny"})
    assert History.load(history.save(tmp_path / "run.json")) == history
    assert list(tmp_path.iterdir()) == [tmp_path / "run.json"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "this is not a growth history"),
        ("[]", "this is not a growth history"),
        ("{}", "this is not a growth history"),
        ('{"creases-history": 3, "records": [{"number": 1}]}', "this is not a growth history"),
        ('{"creases-history": 99, "records": []}', "expected version 3 of its layout, got 99"),
        ('{"creases-history": 3, "records": [], "more": 1}', "expected version 3"),
    ],
)
def test_other_files_are_refused(tmp_path, text, says):
    (tmp_path / "other.json").write_text(text)
    with pytest.raises(FileError, match=says):
        History.load(tmp_path / "other.json")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "path", "value"),
    [
        ("random", ("explanation", "gain"), []),
        ("random", ("explanation", "seed"), None),
        ("tiny", ("explanation", "line_search"), 3),
        ("tiny", ("explanation", "share_of_goal"), "x"),
        ("gradmax", ("explanation", "start"), "x"),
        ("split", ("explanation", "split"), 7),
        ("fold", ("explanation", "why", "true"), "x"),
        ("fold", ("explanation", "why", "features"), [[1.0], 2.0]),
        ("fold", ("explanation", "where"), {}),
        ("fold", ("explanation", "after", "crease_turned"), float("inf")),
    ],
)
def test_a_damaged_explanation_is_refused_by_the_number_of_its_growth_step(histories, how, path, value):
    content = json.loads(histories[how].to_json())
    number, entry = next((k, one) for k, one in enumerate(content["records"], 1) if one["method"] == how)
    for name in path[:-1]:
        entry = entry[name]
    if value is None:
        del entry[path[-1]]
    else:
        entry[path[-1]] = value
    with pytest.raises(FileError, match=f"explanation of growth step {number} is damaged"):
        History.from_json(json.dumps(content))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"setting": {"loss": 3}}, "a setting is not text"),
        ({"stages": [{**STAGE, "gain": "x"}]}, "the gain of stage 1 must be a number"),
        ({"stages": [STAGE, {**STAGE, "pays": 1}]}, "the pays of stage 2 must be True or False"),
        ({"stages": [{**STAGE, "widths": [2]}]}, "the widths of stage 1 must be a dict"),
        ({"epochs": [epochs(0.5)[0] | {"smoothed_score": "x"}]}, "the smoothed_score of epoch 1 must be a number"),
    ],
)
def test_damaged_settings_stages_and_epochs_are_refused(change, says):
    content = json.loads(History(stages=[STAGE], setting={"loss": "'regression'", "budget": "3 epochs"}).to_json())
    assert History.from_json(json.dumps(content)).measure == "R²"
    with pytest.raises(FileError, match=says):
        History.from_json(json.dumps(content | change))


def test_a_users_method_may_explain_nothing():
    history = History(records=[record(1, method="mine", explanation={})])
    assert "1 unit added to '0' by mine." in History.from_json(history.to_json()).explain()


def test_the_epochs_since_the_last_growth_step():
    history = History(epochs=epochs(5, 4, 3, 2, 1))
    assert len(history.since_growth()) == 5
    history.records.append(record(3))
    assert [epoch["epoch"] for epoch in history.since_growth()] == [4, 5]
    assert history.last["loss"] == 1


def test_regression_records_have_no_decisions():
    grown = grow(mlp(1, 1, 1), values(), "regression", how="fold", when=3, budget=8, lr=0.05)
    assert grown.history.records
    assert all(one.changed is None for one in grown.history.records)
    assert History.from_json(grown.history.to_json()) == grown.history
    assert "predictions" not in grown.history.explain()


def test_each_unit_is_known_by_the_growth_step_that_added_it_through_undone_steps_and_removals() -> None:
    widths = [("grow", 0, 2), ("grow", 2, 3), ("grow", 3, 4), ("grow", 3, 4), ("grow", 4, 5), ("narrow", 5, 4)]
    records = [
        replace(record(k), number=k, action=action, width=(before, after), units=[], removed=[])
        for k, (action, before, after) in enumerate(widths, 1)
    ]
    records[-1] = replace(records[-1], removed=[1])
    history = History(records=records)  # step 3 was undone: step 4 begins with three units again
    assert history.added_by(4) == [1, 2, 4, 5]
    assert history.added_by(5) == [1, 1, 2, 4, 5]
    assert history.added_by(4, until=3) == [1, 1, 2, 3]
    assert history.added_by(9) == []
    assert History(records=[records[0], replace(records[1], place="other")]).added_by(2) == []


def test_the_sizes_next_to_that_of_the_network_are_named_with_their_losses():
    def stage(before: int, after: int, pays: bool, losses: tuple[float, float]) -> dict:
        widths = {"widths_before": {"0": before}, "widths": {"0": after}}
        return {"pays": pays, "loss_training_on": losses[0], "loss_grown": losses[1], **widths}

    stages = [stage(8, 32, True, (0.4, 0.2)), stage(32, 128, False, (0.19, 0.18))]
    history = History(epochs=[{"widths": {"0": 32}}], growth_ended="it is enough", growth_spent=0.2)
    assert history.explain_size() == ""
    history.stages = stages
    assert history.explain_size() == (
        "The network has 32 hidden units. With 8 the held-out loss was 0.4, with these 0.2. "
        "With 128 it was 0.18, with these 0.19: too little gained for a larger network. "
        "Finding the size took 20% of the budget."
    )
