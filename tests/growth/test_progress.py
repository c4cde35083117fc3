"""What a growth run shows while it goes on."""

from __future__ import annotations

import pytest

import creases
from creases.growth import grow
from growth_runs import classes, mlp


def run(**options):
    return grow(mlp(3, 2, 2, 2, seed=3), classes(), "classification", how="random", when=3, **{"budget": 10, **options})


@pytest.mark.slow
def test_progress_is_shown_when_asked_for_and_is_quiet_otherwise(capsys):
    run(progress=False)
    run()
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")
    grown = run(progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("epoch ") == len({record.epoch for record in grown.history.records}) + 1
    assert captured.err.splitlines()[-1].startswith("epoch 10, loss ")


def test_a_line_says_how_far_the_run_is():
    lines = []
    run(
        validation=0.2,
        budget=1,
        callbacks=[lambda state: lines.append(creases.growth._loop.progress_line(state))],
    )
    (line,) = lines
    assert line.startswith("epoch 1, loss ")
    assert "validation" in line
    assert line.endswith("widths 2-2, 20 parameters")
