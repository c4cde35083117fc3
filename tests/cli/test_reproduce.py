"""creases reproduce: lists, runs, draws, resumes, counts."""

from __future__ import annotations

import json
import signal
import sys
import time

import pytest

from creases.reproduce import running
from creases.reproduce.claim import Claim
from interrupts import interruptible

QUICK = ("003-kernel-sketch", "003-theorem-4b")


def test_the_list_has_every_claim_with_its_status(run):
    result = run("reproduce", "--list", "--source", "003")
    assert result.exit_code == 0
    assert "003-table-1  agrees in kind" in result.stdout
    assert "000-slide-36" not in result.stdout
    assert "not computable here" in result.stdout.splitlines()[-1]


def test_the_list_is_json_on_request(run):
    found = json.loads(run("reproduce", "--list", "--json").stdout)["claims"]
    one = {claim["id"]: claim for claim in found}["000-slide-36"]
    assert one["printed"] == "65 of 1000; 360 of 1000"
    assert one["status"] == "agrees in kind"


def test_claims_are_run_printed_kept_and_drawn(run, tmp_path):
    result = run("reproduce", *QUICK, "--out", "found")
    assert result.exit_code == 0, result.output
    assert "0.3931" in result.stdout  # printed beside ours
    assert "2 claims: 1 agrees, 0 agrees in kind, 1 disagrees, 0 not computable here" in result.stdout
    files = sorted(path.name for path in (tmp_path / "found").iterdir())
    assert files == ["003-kernel-sketch.json", "003-theorem-4b.json", "003-theorem-4b.png"]


def test_what_is_kept_is_not_run_again(run, tmp_path):
    run("reproduce", QUICK[0], "--out", "found")
    before = (tmp_path / "found" / f"{QUICK[0]}.json").read_text()
    first = json.loads(run("reproduce", QUICK[0], "--out", "found", "--json").stdout)
    assert first["results"] == [json.loads(before)]
    assert first["counts"]["agrees"] == 1


def test_a_claim_that_fails_makes_exit_code_1(run, monkeypatch):
    def fail(scale):
        raise ValueError("no [luck]")

    bad = Claim(QUICK[0], "p", "s", "", fail, lambda numbers: None)
    monkeypatch.setattr(running, "find", lambda id: bad)
    result = run("reproduce", QUICK[0])
    assert result.exit_code == 1
    assert "no [luck]" in result.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "ID: expected ids of claims, --all or --list"),
        (["003-tabel-1"], "did you mean 003-table-1"),
        (["003-table-1", "--all"], "ID: give ids, or --all"),
        (["--all", "--source", "9"], "source: expected one of 000, 001, 002, 003, got '9'"),
        ([QUICK[0], "--processes", "0"], "--processes: expected at least 1, got 0"),
    ],
)
def test_bad_words_are_refused(run, words, message):
    result = run("reproduce", *words)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_file_is_no_folder(run, tmp_path):
    (tmp_path / "file").write_text("")
    assert "is a file" in run("reproduce", QUICK[0], "--out", "file").stderr


@pytest.mark.slow
def test_an_interrupted_run_keeps_what_was_done(tmp_path):
    words = [sys.executable, "-m", "creases.cli", "reproduce", QUICK[0], "003-suboptimal", "--out", str(tmp_path)]
    program = interruptible(words, stdout=-1, stderr=-1, text=True)
    while not (tmp_path / f"{QUICK[0]}.json").exists():
        assert program.poll() is None
        time.sleep(0.05)
    program.send_signal(signal.SIGINT)
    _, told = program.communicate(timeout=60)
    assert program.returncode == 130
    assert "what was done is kept" in told
