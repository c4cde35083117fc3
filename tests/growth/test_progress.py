"""What a growth run shows while it goes on."""

from __future__ import annotations

import sys

import pytest

import creases
from creases.errors import InputError
from creases.growth import grow
from growth_runs import classes, mlp


def run(**options):
    return grow(mlp(3, 2, 2, 2, seed=3), classes(), "classification", how="random", when=3, **{"budget": 10, **options})


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
        callbacks=[lambda state: lines.append(creases.growth._progress.progress_line(state))],
    )
    (line,) = lines
    assert line.startswith("epoch 1, loss ")
    assert "validation" in line
    assert line.endswith("widths 2-2, 20 parameters")


def test_tensorboard_gets_curves_and_texts(tmp_path):
    pytest.importorskip("tensorboard")
    run(tensorboard=tmp_path, validation=0.2)
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(tmp_path)).Reload()
    assert set(events.Tags()["scalars"]) == {
        *("loss", "score", "validation_loss", "validation_score", "parameters", "width/0", "width/2")
    }
    assert len(events.Scalars("loss")) == 10
    assert any("growth" in tag for tag in events.Tags()["tensors"])


def test_tensorboard_that_is_missing_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(InputError, match=r"TensorBoard is not installed, .* run pip install tensorboard"):
        run(tensorboard=tmp_path)
