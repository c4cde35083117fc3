"""creases reproduce: lists, runs, draws, resumes, counts."""

from __future__ import annotations

import json
import signal
import sys
import time
from io import StringIO

import pytest
from rich.console import Console

from creases_reproduction import catalogue, command, runner
from creases_reproduction.catalogue import list_claims
from creases_reproduction.claim import Claim, Judgement
from interrupts import interruptible

QUICK = ("splines/kernel-sketch", "splines/theorem-4b")


def test_the_list_has_every_claim_with_its_status(run):
    result = run("reproduce", "--list", "--family", "splines")
    assert result.exit_code == 0
    lines = {line.split()[0]: line.split(maxsplit=1)[1] for line in result.stdout.splitlines()[1:-2]}
    assert len(lines) == len(list_claims("splines"))
    assert lines["splines/theorem-4b"].startswith("disagrees With H uniformly spaced breakpoints")
    assert lines["splines/table-2"].startswith("in kind   40 units")
    assert lines["splines/neurons"].startswith("not here  Saturating")
    assert lines["splines/gan-ridge"].startswith("not comp. A minimax algorithm")
    assert "not computable here" in result.stdout.splitlines()[-1]
    assert "creases reproduce --list ID" in result.stderr


def test_the_list_is_cut_to_the_terminal(run, monkeypatch):
    monkeypatch.setattr(
        command, "out", Console(force_terminal=True, color_system=None, width=60, file=(printed := StringIO()))
    )
    run("reproduce", "--list", "--family", "xng")
    lines = [line for line in printed.getvalue().splitlines() if line.startswith("xng/")]
    assert len(lines) == len(list_claims("xng"))
    assert max(map(len, lines)) <= 60
    assert lines[0].endswith("\u2026")


def test_the_list_of_an_id_describes_it(run):
    text = run("reproduce", "--list", "splines/theorem-4b", "tiny/figure-5", "splines/neurons").stdout
    assert "printed: 1 - exp(-N^2 / (H + 1))" in text
    assert "disagrees: N = 20" in text
    assert "run: creases reproduce splines/theorem-4b --scale full" in text
    assert "computed by: python -m creases_reproduction.tiny.growth_schedule" in text
    assert "not computable here: an outlook" in text


def test_the_list_is_json_on_request(run):
    claims = json.loads(run("reproduce", "--list", "--json").stdout)["claims"]
    claim = {claim["id"]: claim for claim in claims}["xng/slide-36"]
    assert claim["printed"] == "65 of 1000; 360 of 1000"
    assert claim["status"] == "not comparable"
    assert claim["full"]["command"].startswith("python -m creases_reproduction.xng.method_comparison ")
    assert set(claim["full"]["versions"]) >= {"python", "creases", "torch"}


def test_claims_are_run_printed_stored_and_drawn(run, tmp_path):
    result = run("reproduce", *QUICK, "--out", "found")
    assert result.exit_code == 0, result.output
    assert "0.3931" in result.stdout  # the printed number
    counted = "1 agrees, 0 agrees in kind, 1 disagrees, 0 not comparable, 0 not computable here"
    assert f"2 claims at quick scale: {counted}" in result.stdout
    assert f"2 claims at full scale (stored): {counted}" in result.stdout
    files = sorted(str(path.relative_to(tmp_path / "found")) for path in (tmp_path / "found").rglob("*.*"))
    assert files == ["splines/kernel-sketch.json", "splines/theorem-4b.json", "splines/theorem-4b.png"]


def test_a_stored_result_is_not_computed_again(run, tmp_path):
    run("reproduce", QUICK[0], "--out", "found")
    before = (tmp_path / "found" / f"{QUICK[0]}.json").read_text()
    first = json.loads(run("reproduce", QUICK[0], "--out", "found", "--json").stdout)
    assert first["results"] == [{**json.loads(before), "full": "agrees"}]
    assert first["counts"]["agrees"] == 1


def test_the_figure_of_a_stored_result_is_not_drawn_again(run, tmp_path):
    run("reproduce", QUICK[1], "--out", "found")
    drawn = tmp_path / "found" / f"{QUICK[1]}.png"
    before = drawn.stat().st_mtime_ns
    run("reproduce", QUICK[1], "--out", "found")
    assert drawn.stat().st_mtime_ns == before
    run("reproduce", QUICK[1], "--out", "found", "--overwrite")
    assert drawn.stat().st_mtime_ns > before


def test_a_quick_verdict_is_printed_beside_the_full_one(run, monkeypatch):
    other = Claim(QUICK[0], "p", "s", "7", lambda scale: {}, lambda numbers: Judgement("disagrees", "too few"))
    monkeypatch.setattr(runner, "find_claim", lambda id: other)
    monkeypatch.setattr(catalogue, "list_claims", lambda family: [other])
    monkeypatch.setattr(catalogue, "find_claim", lambda id: other)
    in_full = run("reproduce", QUICK[0]).stdout
    assert "printed: 7\ndisagrees: too few (quick" in in_full
    assert "at full scale agrees: Holds" in in_full
    briefly = run("reproduce", "--family", "splines").stdout
    assert "disagrees (full: agrees) too few" in briefly


def test_a_claim_that_fails_makes_exit_code_1(run, monkeypatch):
    def fail(scale):
        raise ValueError("no [luck]")

    bad = Claim(QUICK[0], "p", "s", "", fail, lambda numbers: None)
    monkeypatch.setattr(runner, "find_claim", lambda id: bad)
    result = run("reproduce", QUICK[0])
    assert result.exit_code == 1
    assert "no [luck]" in result.stderr
    monkeypatch.setattr(catalogue, "list_claims", lambda family: [bad])
    briefly = run("reproduce", "--all")
    assert briefly.exit_code == 1
    assert f"{QUICK[0]:36} failed    ValueError: no [luck]" in briefly.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "ID must name claims, unless --all, --family or --list is given, got none; creases reproduce --list"),
        (["splines/tabel-1"], "did you mean splines/table-1"),
        (["splines/table-1", "--all"], "ID must not be combined with --all or --family, got splines/table-1"),
        (["--all", "--family", "9"], "--family must be 'xng', 'tiny', 'linearity' or 'splines', got '9'"),
        ([QUICK[0], "--jobs", "0"], "--jobs must be a positive integer, got 0"),
    ],
)
def test_bad_arguments_are_refused(run, words, message):
    result = run("reproduce", *words)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_file_is_no_folder(run, tmp_path):
    (tmp_path / "file").write_text("")
    assert "is a file" in run("reproduce", QUICK[0], "--out", "file").stderr


@pytest.mark.thorough
@pytest.mark.slow
def test_an_interrupted_run_keeps_its_results(tmp_path):
    words = [sys.executable, "-m", "creases", "reproduce", QUICK[0], "splines/suboptimal", "--out", str(tmp_path)]
    program = interruptible(words, stdout=-1, stderr=-1, text=True)
    while not (tmp_path / f"{QUICK[0]}.json").exists():
        assert program.poll() is None
        time.sleep(0.05)
    program.send_signal(signal.SIGINT)
    _, errors = program.communicate(timeout=300)
    assert program.returncode == 130
    assert "repeat the command to resume" in errors
