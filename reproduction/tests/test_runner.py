"""Running claims: they are measured, judged, stored as JSON, and resumed."""

from __future__ import annotations

import json
from concurrent.futures import Future
from dataclasses import replace

import numpy as np
import pytest

from creases.errors import FileError, InputError, ReadError
from creases_reproduction import runner
from creases_reproduction.catalogue import find_claim
from creases_reproduction.claim import Claim, Judgement
from creases_reproduction.results import Failure, count_verdicts, read_result, to_json, write_result
from creases_reproduction.runner import run_claim, run_claims


@pytest.fixture
def counted():
    """A claim that counts how often it is measured."""
    calls = []

    def measure(scale):
        calls.append(scale)
        return {"calls": len(calls), 3: np.array([1.0, np.nan])}

    def judge(numbers):
        return Judgement("agrees" if numbers["3"][1] is None else "disagrees", f"call {numbers['calls']}")

    return Claim("xng/test", "a test", "says", "", measure, judge)


def test_a_result_is_judged_as_json_gives_it_back(counted, tmp_path):
    result = run_claim(counted, "quick", folder=tmp_path)
    assert (result.verdict, result.numbers) == ("agrees", {"calls": 1, "3": [1.0, None]})
    assert result.command == "creases reproduce xng/test --scale quick"
    assert set(result.versions) == {"python", "creases", "torch", "numpy"}
    assert "cores" in result.machine
    assert read_result(tmp_path / "xng/test.json") == result
    json.loads((tmp_path / "xng/test.json").read_text(), parse_constant=pytest.fail)


def test_a_result_of_the_same_scale_and_version_is_kept_unless_asked_again(counted, tmp_path):
    first = run_claim(counted, "quick", folder=tmp_path)
    assert run_claim(counted, "quick", folder=tmp_path) == first
    assert run_claim(counted, "quick", folder=tmp_path, overwrite=True).numbers["calls"] == 2
    assert run_claim(counted, "full", folder=tmp_path).numbers["calls"] == 3
    old = read_result(tmp_path / "xng/test.json")
    write_result(replace(old, versions={**old.versions, "creases": "0.0"}), tmp_path)
    assert run_claim(counted, "full", folder=tmp_path).numbers["calls"] == 4


def test_a_result_of_other_code_is_measured_again(counted, tmp_path, monkeypatch):
    assert run_claim(counted, "quick", folder=tmp_path).numbers["calls"] == 1
    monkeypatch.setattr(runner, "fingerprint", lambda claim: "changed")
    assert run_claim(counted, "quick", folder=tmp_path).numbers["calls"] == 2
    assert run_claim(counted, "quick", folder=tmp_path).numbers["calls"] == 2


def test_a_result_that_is_kept_is_judged_as_now(counted, tmp_path):
    run_claim(counted, "quick", folder=tmp_path)
    stricter = replace(counted, judge=lambda numbers: Judgement("disagrees", f"of call {numbers['calls']}"))
    found = run_claim(stricter, "quick", folder=tmp_path)
    assert (found.verdict, found.why) == ("disagrees", "of call 1")


def test_what_cannot_be_computed_gives_its_reason():
    claim = Claim("xng/test", "a test", "says", "", None, cannot="no data")
    result = run_claim(claim)
    assert (result.verdict, result.why, result.numbers) == ("not computable here", "no data", {})


def test_one_that_fails_does_not_stop_the_rest(tmp_path, monkeypatch):
    def fail(scale):
        raise ValueError("no luck")

    claims = {"xng/bad": Claim("xng/bad", "p", "s", "", fail, lambda numbers: Judgement("agrees", ""))}
    claims["splines/kernel-sketch"] = find_claim("splines/kernel-sketch")
    monkeypatch.setattr(runner, "find_claim", claims.__getitem__)
    bad, good = run_claims(list(claims.values()), "quick", folder=tmp_path / "new")
    assert isinstance(bad, Failure)
    assert "no luck" in bad.error
    assert good.verdict == "agrees"
    assert count_verdicts([bad, good]) == {
        "agrees": 1,
        "agrees in kind": 0,
        "disagrees": 0,
        "not comparable": 0,
        "not computable here": 0,
        "failed": 1,
    }


class Pool:
    """A pool whose jobs are done at once, and their ids."""

    def __init__(self):
        self.ids = []

    def submit(self, _function, id, *_):
        self.ids.append(id)
        done = Future()
        done.set_result(id)
        return done


@pytest.mark.thorough
def test_several_processes_give_the_same_results(tmp_path):
    some = [find_claim(id) for id in ("splines/kernel-sketch", "xng/lemma-1", "splines/neurons")]
    alone = {one.id: one for one in run_claims(some, "quick", folder=tmp_path / "one")}
    both = {one.id: one for one in run_claims(some, "quick", folder=tmp_path / "two", n_jobs=2)}
    assert set(both) == set(alone)
    for id in alone:
        assert both[id].numbers == alone[id].numbers


def test_claims_that_one_module_measures_share_a_process_and_each_runs_once():
    some = [find_claim(f"linearity/{name}") for name in ("figure-3.7", "table-3.5", "figure-3.8", "section-3.4.4-15x4")]
    groups = runner._group_claims(some)
    assert [[claim.id.partition("-")[2] for claim in group] for group in groups] == [
        ["3.7", "3.8"],
        ["3.5", "3.4.4-15x4"],
    ]
    pools = [Pool(), Pool()]
    assert len(list(runner._run_in_lanes(pools, groups, "quick", "", False))) == len(some)
    assert [pool.ids for pool in pools] == [[claim.id for claim in group] for group in groups]
    idle = [Pool(), Pool(), Pool()]
    assert len(list(runner._run_in_lanes(idle, groups, "quick", "", False))) == len(some)
    assert all(pool.ids for pool in idle)


def test_numbers_are_made_plain():
    given = {1: np.float32(0.5), "a": (np.int64(2), True), "b": {"c": np.inf}, "d": None, "e": 1 / 3}
    assert to_json(given) == {"1": 0.5, "a": [2, True], "b": {"c": None}, "d": None, "e": 0.33333333}
    with pytest.raises(TypeError, match="got complex"):
        to_json({"z": 1j})


def test_wrong_scales_and_files_are_refused(counted, tmp_path):
    with pytest.raises(InputError, match="scale must be 'quick' or 'full', got 'huge'"):
        run_claim(counted, "huge")
    with pytest.raises(FileError, match="cannot read"):
        read_result(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text('{"id": 1}')
    with pytest.raises(ReadError, match=r"cannot read .* as the result of a claim"):
        read_result(tmp_path / "bad.json")
