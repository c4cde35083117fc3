"""What a growth run shows while it goes on."""

from __future__ import annotations

import pytest

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
    grown = run(progress=True, validation=0.2)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("epoch ") == len({record.epoch for record in grown.history.records}) + 1
    last = captured.err.splitlines()[-1]
    widths, parameters = grown.history.last["widths"].values(), grown.history.last["parameters"]
    assert last.startswith("epoch 10, loss ")
    assert ", validation " in last
    assert last.endswith(f"widths {'-'.join(map(str, widths))}, {parameters} parameters")
