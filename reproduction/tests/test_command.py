"""creases reproduce: lists, runs, draws, resumes, counts."""

from __future__ import annotations

import json
import signal
import sys
import time
from io import StringIO

import pytest
from rich.console import Console

from creases.cli import reproduce as command
from creases_reproduction import catalogue
from creases_reproduction import runner as running
from creases_reproduction.catalogue import list_claims
from creases_reproduction.claim import Claim, Judgement
from interrupts import interruptible

QUICK = ("splines/kernel-sketch", "splines/theorem-4b")


def test_the_list_has_every_claim_with_its_status(run):
    result = run("reproduce", "--list", "--source", "003")
    assert result.exit_code == 0
    lines = {line.split()[0]: line.split(maxsplit=1)[1] for line in result.stdout.splitlines()[1:-2]}
    assert len(lines) == len(list_claims("003"))
    assert lines["splines/theorem-4b"].startswith("disagrees With H uniformly spaced breakpoints")
    assert lines["splines/table-1"].startswith("in kind   Breakpoints")
    assert lines["splines/neurons"].startswith("not here  Saturating")
    assert "not computable here" in result.stdout.splitlines()[-1]
    assert "creases reproduce --list ID" in result.stderr


def test_the_list_is_cut_to_the_terminal(run, monkeypatch):
    monkeypatch.setattr(
        command, "out", Console(force_terminal=True, color_system=None, width=60, file=(said := StringIO()))
    )
    run("reproduce", "--list", "--source", "000")
    lines = [line for line in said.getvalue().splitlines() if line.startswith("000-")]
    assert len(lines) == len(list_claims("000"))
    assert max(map(len, lines)) <= 60
    assert lines[0].endswith("\u2026")


def test_the_list_of_an_id_tells_all_about_it(run):
    told = run("reproduce", "--list", "splines/theorem-4b", "tiny/figure-5", "splines/neurons").stdout
    assert "printed: 1 - exp(-N^2 / (H + 1))" in told
    assert "disagrees: N = 20" in told
    assert "run: creases reproduce splines/theorem-4b --scale full" in told
    assert "found by: python -m creases_reproduction.tiny.schedule" in told
    assert "not computable here: an outlook" in told


def test_the_list_is_json_on_request(run):
    found = json.loads(run("reproduce", "--list", "--json").stdout)["claims"]
    one = {claim["id"]: claim for claim in found}["xng/slide-36"]
    assert one["printed"] == "65 of 1000; 360 of 1000"
    assert one["status"] == "agrees in kind"
    assert one["full"]["command"] == "creases reproduce xng/slide-36 --scale full"
    assert set(one["full"]["versions"]) >= {"python", "creases", "torch"}


def test_claims_are_run_printed_kept_and_drawn(run, tmp_path):
    result = run("reproduce", *QUICK, "--out", "found")
    assert result.exit_code == 0, result.output
    assert "0.3931" in result.stdout  # printed beside ours
    counted = "1 agrees, 0 agrees in kind, 1 disagrees, 0 not computable here"
    assert f"2 claims at quick scale: {counted}" in result.stdout
    assert f"2 claims at full scale (stored): {counted}" in result.stdout
    files = sorted(path.name for path in (tmp_path / "found").iterdir())
    assert files == ["splines/kernel-sketch.json", "splines/theorem-4b.json", "splines/theorem-4b.png"]


def test_what_is_kept_is_not_run_again(run, tmp_path):
    run("reproduce", QUICK[0], "--out", "found")
    before = (tmp_path / "found" / f"{QUICK[0]}.json").read_text()
    first = json.loads(run("reproduce", QUICK[0], "--out", "found", "--json").stdout)
    assert first["results"] == [{**json.loads(before), "full": "agrees"}]
    assert first["counts"]["agrees"] == 1


def test_a_figure_of_what_is_kept_is_not_drawn_again(run, tmp_path):
    run("reproduce", QUICK[1], "--out", "found")
    drawn = tmp_path / "found" / f"{QUICK[1]}.png"
    before = drawn.stat().st_mtime_ns
    run("reproduce", QUICK[1], "--out", "found")
    assert drawn.stat().st_mtime_ns == before
    run("reproduce", QUICK[1], "--out", "found", "--again")
    assert drawn.stat().st_mtime_ns > before


def test_a_quick_verdict_is_told_beside_the_full_one(run, monkeypatch):
    other = Claim(QUICK[0], "p", "s", "7", lambda scale: {}, lambda numbers: Judgement("disagrees", "too few"))
    monkeypatch.setattr(running, "find", lambda id: other)
    monkeypatch.setattr(catalogue, "claims", lambda source: [other])
    monkeypatch.setattr(catalogue, "find", lambda id: other)
    in_full = run("reproduce", QUICK[0]).stdout
    assert "printed: 7\ndisagrees: too few (quick" in in_full
    assert "at full scale agrees: Holds" in in_full
    briefly = run("reproduce", "--source", "003").stdout
    assert "disagrees (full: agrees) too few" in briefly


def test_a_claim_that_fails_makes_exit_code_1(run, monkeypatch):
    def fail(scale):
        raise ValueError("no [luck]")

    bad = Claim(QUICK[0], "p", "s", "", fail, lambda numbers: None)
    monkeypatch.setattr(running, "find", lambda id: bad)
    result = run("reproduce", QUICK[0])
    assert result.exit_code == 1
    assert "no [luck]" in result.stderr
    monkeypatch.setattr(catalogue, "claims", lambda source: [bad])
    briefly = run("reproduce", "--all")
    assert briefly.exit_code == 1
    assert f"{QUICK[0]}            failed    ValueError: no [luck]" in briefly.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "ID: expected ids of claims, --all or --list"),
        (["splines/tabel-1"], "did you mean splines/table-1"),
        (["splines/table-1", "--all"], "ID: give ids, or --all"),
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
    words = [sys.executable, "-m", "creases.cli", "reproduce", QUICK[0], "splines/suboptimal", "--out", str(tmp_path)]
    program = interruptible(words, stdout=-1, stderr=-1, text=True)
    while not (tmp_path / f"{QUICK[0]}.json").exists():
        assert program.poll() is None
        time.sleep(0.05)
    program.send_signal(signal.SIGINT)
    _, told = program.communicate(timeout=60)
    assert program.returncode == 130
    assert "what was done is kept" in told
