"""A session's work: every message of a page, answered or refused in its place."""

from __future__ import annotations

import base64
import copy
import itertools

import numpy as np
import pytest
import torch

import creases
from creases.growth.policies import Stages
from creases.show.studio._limits import Limits
from report_pages import decode_frame
from studio_page import DRAWN, FORMULA, IRIS, LINE, MOONS, TABLE, Page


def same(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    a, b = one.state_dict(), other.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("problem", [MOONS, TABLE, FORMULA, DRAWN, LINE, IRIS])
def test_a_problem_is_shown_before_anything_is_trained(problem):
    page = Page()
    page.send("problem", problem=problem)
    assert page.status["state"] == "idle"
    assert page.run["moments"] == []
    shown = page.run["problem"]
    assert len(shown["X"]) == len(shown["y"]) == len(shown["split"])
    assert len(shown["X"][0]) == len(shown["features"])


@pytest.mark.parametrize("problem", [MOONS, TABLE, FORMULA, DRAWN, LINE, IRIS])
def test_a_run_of_every_kind_of_problem_gives_a_frame(problem):
    page = Page().start(problem)
    page.work(3)
    page.send("pause")
    assert page.status["state"] in ("paused", "ended")
    last = page.run["moments"][-1]
    (frame,) = page.send("frame", moment=last["id"], slice=0)
    header, arrays = decode_frame(frame)
    assert header["moment"] == last["id"]
    if problem is LINE:
        assert header["kind"] == "line"
        assert len(arrays["x"]) == last["regions"] + 1
    else:
        assert header["kind"] == "plane"
        assert len(arrays["starts"]) == last["regions"] + 1
    assert header["layers"] == [{"name": "hidden1", "width": page.live.units}]
    assert ("points" in arrays) == (problem is IRIS)


def test_a_run_to_its_end_is_told_piece_by_piece_as_it_is_told_whole(ended):
    assert ended.status["state"] == "ended"
    assert ended.status["message"].startswith("Finished: ")
    assert ended.run["ended"]
    assert ended.run["kept"] == ended.live.history.kept
    kinds = [one["kind"] for one in ended.run["moments"]]
    assert kinds[0] == "start"
    assert kinds[-1] == "end"
    assert kinds.count("grown") == kinds.count("before") == len(ended.run["records"]) > 0
    assert ended.as_told()


def test_a_step_is_one_epoch_and_a_moment_to_see_it_by():
    page = Page().start()
    page.send("pause")
    before = len(page.run["epochs"]["epoch"])
    for k in range(1, 3):
        page.send("step")
        assert page.run["epochs"]["epoch"] == list(range(1, before + k + 1))
        assert page.run["moments"][-1]["epoch"] == before + k
        assert page.status["state"] == "paused"
    assert page.as_told()


def test_grow_now_adds_a_unit_and_says_why():
    page = Page().start().work(1)
    page.send("pause")
    units, steps = page.live.units, len(page.run["records"])
    page.send("grow")
    assert page.live.units == units + 1
    assert [one["kind"] for one in page.run["moments"][-2:]] == ["before", "grown"]
    assert page.run["moments"][-1]["record"] == page.run["records"][-1]["number"] == steps + 1
    assert "mis-predicted" in page.run["records"][-1]["text"] or "because" in page.run["records"][-1]["text"]
    assert page.status["state"] == "paused"


@pytest.mark.slow
@pytest.mark.parametrize("by_hand", [True, False])
def test_undo_restores_network_history_and_moments_bit_for_bit(by_hand):
    page = Page().start(when="1000" if by_hand else "12").work(11)
    page.send("pause")
    if not by_hand:
        straight = copy.deepcopy(page.live.run)  # its next epoch would grow: this one must not
        straight.when = lambda state: False
        straight.epoch()
        page.send("step")
        assert len(page.run["records"]) == 1
        network, epochs = copy.deepcopy(straight.state.model), 12
    else:
        page.send("step")
        network, epochs = copy.deepcopy(page.model), 12
        page.send("grow")
    page.steps(2)
    ids = {one["id"] for one in page.run["moments"]}
    page.send("undo")
    assert same(page.model, network)
    assert page.run["records"] == []
    assert page.run["epochs"]["epoch"] == list(range(1, epochs + 1))
    assert page.run["moments"][-1]["kind"] == "before"
    assert page.status["state"] == "paused"
    assert page.as_told()
    page.send("step")
    new = page.run["moments"][-1]["id"]
    assert new not in ids
    assert page.as_told()


@pytest.mark.slow
def test_undo_takes_a_run_back_from_its_end_to_the_start_of_growth():
    page = Page().start(FORMULA, when="7", epochs=30, lr=0.02).work()
    assert page.status["state"] == "ended"
    count = len(page.run["records"])
    assert count >= 3
    for left in range(count - 1, -1, -1):
        page.send("undo")
        assert len(page.run["records"]) == left
        assert page.run["ended"] == ""
        assert page.as_told()
    assert page.refused("undo") == ("run", "There is no growth step to undo")
    page.send("go")
    assert page.work().status["state"] == "ended"


STAGES = {"epochs": 200, "batch": 5, "how": "random"}  # growth takes a few dozen epochs


@pytest.fixture
def judged(monkeypatch):
    """The first stage pays, no other does; the samples are enough for both."""
    monkeypatch.setattr("creases.growth.policies._stages.LEAST_WIDTH", 4)
    gains = itertools.chain([1.0], itertools.repeat(-9.0))
    monkeypatch.setattr("creases.growth._sized.compare_losses", lambda *losses: (next(gains), 0.0))


def paused(**options):
    page = Page().start(FORMULA, **STAGES | options)
    page.send("pause")
    return page


def step_until(page, is_reached):
    while not is_reached(page.live):
        page.send("step")
    return page


def is_training_on(live):
    race = live.run.state.race
    return race is not None and race.best is None and len(live.history.epochs) > race.epoch


def has_grown(live):
    race = live.run.state.race
    return race is not None and race.best is not None and len(live.history.epochs) > race.epoch


@pytest.mark.slow
def test_a_page_follows_stages_that_pay_and_stages_that_do_not(judged):
    page, lengths, phases = paused(), [], set()
    assert page.run["phase"] == ""  # before the first stage; each of the others begins where one ends
    while not page.live.history.growth_ended:
        page.send("step")
        lengths.append(len(page.run["epochs"]["epoch"]))
        assert page.run["epochs"]["epoch"] == list(range(1, lengths[-1] + 1))
        phases.add(page.run["phase"])
        assert page.as_told()
    assert min(np.diff(lengths)) < 0  # it goes back to the beginning of a stage
    on, grown = "training the network as it is, for comparison.", "training a wider network that began alike"
    assert f"Stage 1: {on}" in phases
    assert all(any(phase.startswith(f"Stage {number}: {grown}") for phase in phases) for number in (1, 2))
    assert [stage["pays"] for stage in page.live.history.stages][:2] == [True, False]
    tags = [(record["undone"], record["tag"]) for record in page.run["records"]]
    assert tags[:2] == [(False, ""), (True, "undone: no improvement")]
    assert page.run["growth_ended"] in page.run["phase"]
    shown = {moment["record"] for moment in page.run["moments"]} - {None}
    assert shown == {record["number"] for record in page.run["records"] if not record["undone"]}


@pytest.mark.slow
@pytest.mark.parametrize("is_reached", [is_training_on, has_grown])
def test_growing_by_hand_ends_a_stage_with_the_present_network(is_reached):
    page = step_until(paused(), is_reached)
    before, records, units = page.live.run.snapshot(), len(page.run["records"]), page.live.units
    network = copy.deepcopy(page.model)
    page.send("grow")
    assert page.live.run.state.race is None
    assert page.live.units == units + 1
    assert not any(record["undone"] for record in page.run["records"])
    assert page.as_told()
    page.send("undo")
    assert same(page.model, network)
    assert len(page.run["records"]) == records
    assert page.as_told()
    now = page.live.run.snapshot()
    assert (now["stage_end"], now["race"]["epoch"]) == (before["stage_end"], before["race"]["epoch"])
    assert now["spent"]["epochs"] == before["spent"]["epochs"]


@pytest.mark.slow
def test_undoing_a_stage_keeps_the_network_that_was_trained_on(monkeypatch):
    losses = itertools.count(100, -1)  # every look is the best so far
    monkeypatch.setattr("creases.growth._sized.block_losses", lambda *arguments: [float(next(losses))])
    page = step_until(paused(), has_grown)
    best = page.live.run.state.race.best
    trained_on = len(best.epochs)
    began = page.live.run.state.race.epoch
    page.steps(1)
    page.send("undo")
    tensors = page.model.state_dict()
    assert all(torch.equal(value, tensors[name]) for name, value in best.network.network.tensors.items())
    assert page.run["records"] == []
    assert page.run["epochs"]["epoch"] == list(range(1, began + trained_on + 1))
    assert page.run["moments"][-1]["epoch"] == began + trained_on
    assert page.as_told()
    assert page.live.run.state.race is None
    step_until(page, is_training_on)  # another stage is planned from here
    assert page.live.run.state.race.epoch > began + trained_on
    assert step_until(page, has_grown).as_told()


@pytest.mark.slow
def test_undo_passes_over_a_stage_that_did_not_pay(judged, monkeypatch):
    monkeypatch.setattr(Stages, "obstacle", lambda self, state, *_: "enough" * (len(state.history.stages) == 2))
    page = step_until(paused(), lambda live: live.history.growth_ended)
    assert [record["undone"] for record in page.run["records"]] == [False, True]
    page.send("undo")
    assert page.run["records"] == []
    assert page.as_told()
    assert page.refused("undo") == ("run", "There is no growth step to undo")


def test_more_than_two_inputs_have_the_slices_asked_for():
    page = Page().start(IRIS).work(2)
    page.send("pause")
    assert page.run["slices"] == ["petal length (cm) × petal width (cm)"]  # those that matter most
    (told,) = page.send("slice", columns=[0, 1])
    assert told["slices"][told["slice"]] == "sepal length (cm) × sepal width (cm)"
    (told,) = page.send("slice", rows=[0, 60, 120])
    assert told["slice"] == 2
    for number in range(3):
        (frame,) = page.send("frame", moment=page.run["moments"][-1]["id"], slice=number)
        assert decode_frame(frame)[0]["slice"] == number
    (again,) = page.send("slice", columns=[0, 1])
    assert again["slice"] == 1
    assert page.as_told()


def test_a_run_is_shown_first_on_the_slice_chosen_before_the_start():
    page = Page()
    page.send("start", problem=IRIS, slice={"columns": [0, 3]})
    assert page.run["slices"] == ["sepal length (cm) × petal width (cm)"]
    assert page.refused("start", problem=IRIS, slice={"columns": [0, 9]})[1].startswith("Columns must be two")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"columns": [1, 1]}, "Columns must be two different numbers from 0 to 3"),
        ({"columns": [1, 9]}, "Columns must be two different numbers from 0 to 3"),
        ({"columns": "ab"}, "Columns must be two different numbers from 0 to 3"),
        ({"rows": [1, 2]}, "Rows must be three different numbers from 0 to 149"),
        ({"rows": [1, 2, None]}, "Rows must be three different numbers"),
        ({"rows": [1, 2, 500]}, "Rows must be three different numbers"),
        ({}, "Columns must be two different numbers from 0 to 3"),
    ],
)
def test_a_slice_that_is_none_is_refused_in_its_place(options, expected):
    page = Page().start(IRIS)
    where, message = page.refused("slice", **options)
    assert where == "slice"
    assert message.startswith(expected)


BAD_TABLES = [
    ("", "got an empty file"),
    ("a,b\n", "must have rows of values, got none"),
    ("a\n1\n2\n", "an input and a target, got only 'a'"),
    ("a,b\n1,x\n2,x\n3,x\n", "must have different values, got 'x' in all 3 rows of column 'b'"),
    ("a,b\n" + "1,1\n,0\n" * 9, "The problem must have no missing values, got 'a' 9"),
    ("a,b\n" + "1,0\nNaN,1\n" * 9, "The problem must have no missing values, got 'a' 9 (the first in row 1"),
    ("a,b\n1,2\n1,2,3\n", "very line of mine.csv must have 2 cells, as the first, got line 3 with 3"),
    ("a,b\n" + "".join(f"w{k},{k % 2}\n" for k in range(40)), "'a'"),
    ("a,1\n2,3\n", "with both numbers and text in it"),
    ("a,b\n" + "1,1\n2,0\n" * 3, "has 6 rows; at least"),
    ("a,b\ninf,1\n" + "1,0\n" * 20, "infinite|not finite|'a'"),
    ("\0\0\1", "is not a text file"),
]


@pytest.mark.parametrize(("text", "told"), BAD_TABLES)
def test_a_bad_table_is_refused_in_words_for_a_page(text, told):
    where, message = Page().refused("start", problem={**TABLE, "text": text})
    assert where == "problem"
    assert any(part in message for part in told.split("|")), message
    assert "--" not in message
    assert '="' not in message
    assert "Traceback" not in message


def test_the_words_for_missing_values_say_what_can_be_done():
    _, message = Page().refused("problem", problem={**TABLE, "text": "a,b\n" + "1,0\nNaN,1\n" * 9})
    assert message.endswith("drop those rows with the option below, or add an indicator column with the option below")


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        ({}, "Unknown kind of problem"),
        ({"kind": "pickle"}, "Unknown kind of problem 'pickle'"),
        ({"kind": "builtin", "name": "moon"}, "got 'moon'; did you mean 'moons'?"),
        ({"kind": "builtin", "name": 7}, "Name must be a text"),
        ({"kind": "builtin", "name": "mnist"}, "too large for the studio"),
        ({**TABLE, "target": "colour"}, "Column to predict must be a column of mine.csv, got 'colour'"),
        ({**TABLE, "text": 5}, "Table must be a text"),
        ({**TABLE, "text": ""}, "mine.csv must have a row of column names and rows of values, got an empty file"),
        ({**TABLE, "text": "," * 2**18}, "mine.csv must have rows of values, got only separators"),
        (
            {**TABLE, "text": "a,b\n" + "1e301,0\n2,1\n" * 9},
            "A has values beyond 1e+100, which is too large to",
        ),
        ({**TABLE, "text": "a,b\n" + "3,-1e301\n2,1.5\n" * 9}, "The column to predict has values beyond 1e+100"),
        ({**TABLE, "text": "a,b\n" + "1,2\n" * 50_000}, "mine.csv has more than 20000 rows"),
        ({**TABLE, "text": "a,b\n" + "1,2\n2,1\n" * 15_000}, "Mine has 30000 rows (limit 20000)"),
        (
            {**TABLE, "text": ",".join(f"c{k}" for k in range(600)) + "\n" + "\n".join([",".join("12" * 300)] * 9)},
            "mine.csv must have a column to predict from, got columns that are constant ('c0', 'c1', 'c2'",
        ),
        ({**FORMULA, "formula": "import os"}, "The formula must be an expression, got 'import os'"),
        (
            {**FORMULA, "formula": "log(x)"},
            "The formula must be finite for x and y from -1 to 1, got an infinite or undefined value of 'log(x)'",
        ),
        ({**FORMULA, "rows": 10**9}, "Points must be an integer from 20 to 20000"),
        ({**FORMULA, "noise": float("nan")}, "Noise must be a number from 0 to 1"),
        ({**FORMULA, "seed": -1}, "Seed must be an integer"),
        ({**DRAWN, "y": [0] * 40}, "Points must have at least two classes"),
        ({**DRAWN, "X": [[1, 2]]}, "Points must have coordinates and a class each"),
        ({**DRAWN, "X": [[1, 2, 3]] * 40}, "Points must have two coordinates each"),
        ({**DRAWN, "X": [[1, 1e300]] * 40}, "Points must be a number from"),
        ({**DRAWN, "X": [["a", "b"]] * 40}, "Points must be a number from"),
        ({**DRAWN, "y": [99] * 40}, "Class must be an integer from 0 to 9"),
        ({"kind": "draw", "X": [[0, k] for k in range(6)], "y": [0, 1] * 3}, "Drawn has 6 rows; at least"),
    ],
)
def test_a_bad_problem_is_refused_in_its_place(problem, told):
    where, message = Page().refused("start", problem=problem)
    assert message.startswith(told) or told in message, message
    assert where == "problem"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"how": "magic"}, "Method must be one of auto, tiny, "),
        ({"how": "steepest_split"}, "Method must be one of auto, tiny, "),
        (
            {"where": "attic"},
            "Where to grow must be 'all', 'hidden1', got",
        ),
        (
            {"when": "never"},
            "When to grow must be 'stages', a number of epochs, or a function",
        ),
        ({"hidden": []}, "Hidden layers must be auto, or 1 to 8 widths"),
        ({"hidden": [2.5]}, "Hidden layers must be an integer from 1 to 2000, got 2.5"),
        ({"hidden": [1500, 1500]}, "Hidden layers must have at most 2000 units, got 3000"),
        ({"seed": "x"}, "Seed must be an integer"),
        ({"lr": 0}, "Learning rate must be a number from"),
        ({"epochs": 10**9}, "Epochs must be an integer from 1 to 20000"),
    ],
)
def test_a_bad_setting_is_refused_beside_the_method(options, expected):
    where, message = Page().refused("start", problem=MOONS, **options)
    assert where == "method"
    assert message.startswith(expected), message


@pytest.mark.parametrize("do", ["pause", "go", "step", "grow", "undo", "frame", "slice", "export"])
def test_what_needs_a_run_says_so(do):
    assert "press Start" in Page().refused(do, moment=0)[1]


@pytest.mark.slow
def test_frames_and_exports_that_are_not_there_are_refused(ended):
    assert ended.refused("frame", moment=10**6) == ("plane", "Moment 1000000 is no longer stored; choose another")
    assert ended.refused("frame", moment=0, slice=5) == ("plane", "Slice must be from 0 to 0, got 5")
    assert ended.refused("frame", moment="0")[0] == "plane"
    assert ended.refused("export", what="house")[1].startswith("Unknown export 'house'")
    for do in ("go", "step", "grow"):
        assert ended.refused(do)[1].startswith("The run is finished")


def test_too_many_regions_are_told_where_the_plane_is():
    page = Page(regions=1).start().work(2)
    assert page.run["moments"][0]["regions"] is None
    where, message = page.refused("frame", moment=0)
    assert where == "plane"
    assert "at most 1 regions" in message


def test_a_run_pauses_after_so_much_work_and_at_so_many_units():
    page = Page(work=0.0).start().work()
    assert page.status["state"] == "paused"
    assert "Press Resume" in page.status["message"]
    page = Page(units=3).start(when="3").work(30)
    assert page.status["message"].startswith("Paused: the network reached 3 units")
    assert "the limit of the studio" in page.refused("go")[1]
    assert "the limit of the studio" in page.refused("grow")[1]


@pytest.mark.slow
def test_frames_are_kept_within_bounds():
    page = Page(frames=1).start().work(40)
    assert len(page.live._frames) == 1


def test_diverged_training_pauses_with_what_to_do():
    page = Page().start(LINE, lr=10.0)
    page.live.run.state.model[0].weight.data.fill_(float("nan"))
    page.work(1)
    assert page.status["state"] == "paused"
    (error,) = [one for one in page.said if one.get("type") == "error"]
    assert error["where"] == "run"
    assert error["message"].startswith("The training loss must stay finite, got nan in epoch 1")
    assert error["message"].endswith("lower the learning rate, or scale the data")


def test_a_run_that_paused_for_its_work_goes_on_for_as_long_again():
    page = Page(work=0.05).start(FORMULA, when="10", epochs=1000).work()
    first = len(page.run["epochs"]["epoch"])
    assert page.status["state"] == "paused"
    page.controller._limits = Limits(work=1e6)
    page.controller._worked = 1e7  # as if it had worked for long
    page.send("go")
    page.work(3)
    assert page.status["state"] == "running"
    assert len(page.live.history.epochs) == first + 3


def test_undo_from_the_end_leaves_no_moment_of_the_end():
    page = Page().start(FORMULA, when="7", epochs=30).work()
    assert page.run["moments"][-1]["kind"] == "end"
    page.send("undo")
    assert "end" not in {moment.kind for moment in page.live.snapshots}
    assert "end" not in {moment["kind"] for moment in page.run["moments"]}


@pytest.mark.parametrize(
    ("limits", "told"),
    [({"columns": 1}, "2 columns"), ({"numbers": 119}, "60 x 2 numbers"), ({"rows": 59}, "60 rows")],
)
def test_a_table_is_bounded_in_rows_columns_and_numbers(limits, told):
    where, message = Page(**limits).refused("problem", problem=TABLE)
    assert where == "problem"
    assert told in message, message
    Page(columns=2, numbers=120, rows=60).send("problem", problem=TABLE)


def test_gaps_of_a_table_are_filled_where_that_is_asked_for():
    page = Page()
    gaps = {**TABLE, "text": "a,b\n" + "1,0\nNaN,1\n2,1\n" * 9}
    page.send("problem", problem={**gaps, "missing": "drop"})
    assert len(page.run["problem"]["X"]) == 18
    page.send("problem", problem={**gaps, "missing": "mean"})
    assert len(page.run["problem"]["X"]) == 27
    assert page.refused("problem", problem={**gaps, "missing": "guess"})[1].startswith("Missing values must be")


def test_a_model_file_is_shown_as_a_map_or_refused_in_its_place(tmp_path):
    page = Page().start()
    for d in (1, 2, 4):
        rng = np.random.default_rng(d)
        layers = [(rng.normal(size=(5, d)), rng.normal(size=5)), (rng.normal(size=(2, 5)), np.zeros(2))]
        net = creases.read(layers)
        net.save(tmp_path / "net.safetensors")
        content = base64.b64encode((tmp_path / "net.safetensors").read_bytes()).decode()
        page.send("model", name="net.safetensors", content=content, **{"from": -2, "to": 2})
        assert (page.status["state"], page.run["problem"]["features"][-1]) == ("idle", f"x{d}")
        header, arrays = decode_frame(page.send("frame", moment=0, slice=0)[0])
        starts = arrays["x"][1:] if d == 1 else arrays["starts"][1:]
        assert len(starts) == page.run["moments"][0]["regions"] > 1
        assert page.as_told()
    assert header["origin"] == [0.0] * 4
    page.send("slice", columns=[3, 1])
    assert page.run["slices"] == ["x1 × x2", "x4 × x2"]
    assert decode_frame(page.send("frame", moment=0, slice=1)[0])[0]["axes"] == ["x4", "x2"]
    assert "press Start" in page.refused("export", what="model")[1]
    for name, sent, told in [
        ("net.pt", content, "is not a model file"),
        ("net.safetensors", content[: len(content) // 8 * 4], "net.safetensors"),
        ("net.onnx", content, "net.onnx"),
        ("net.safetensors", "?", "received completely"),
    ]:
        place, words = page.refused("model", name=name, content=sent)
        assert (place, told in words, "/tmp" in words) == ("problem", True, False), words
    assert "too large" in Page(model=100).refused("model", name="net.safetensors", content=content)[1]
    page.start()
    assert len(page.run["moments"]) == 1


@pytest.mark.parametrize("problem", [MOONS, FORMULA, DRAWN])
def test_a_page_that_comes_back_is_told_what_was_asked_for(problem):
    page = Page()
    page.send("problem", problem=problem)
    first, _ = page.send("hello")
    assert first["problem"] == problem


def test_a_page_that_comes_back_gets_no_table_again():
    page = Page()
    page.send("problem", problem=TABLE)
    first, _ = page.send("hello")
    assert first["problem"] == {name: value for name, value in TABLE.items() if name != "text"}
