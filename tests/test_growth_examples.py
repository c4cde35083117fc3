"""The growth examples of the pages: the networks grow, and beat a linear model on the test rows."""

import pytest
from sklearn.linear_model import LogisticRegression

import creases
from documents import ROOT, run_until


def accuracy(model, X, y):
    return (creases.read(model)(X).argmax(1) == y).mean()


def check_growth(model, history, train, test):
    """A network that began with two units grew, and is right more often than logistic regression by 0.05."""
    kept = [record for record in history.records if history.keeps(record)]
    assert kept
    assert model[0].out_features == 2 + sum(len(record.units) for record in kept) > 2
    assert any(stage["pays"] for stage in history.stages)
    assert accuracy(model, *test) > LogisticRegression().fit(*train).score(*test) + 0.05


@pytest.mark.slow
def test_that_of_the_tutorial_grows_and_beats_a_linear_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run_until(ROOT / "docs" / "tutorial.md", "creases.grow(")
    check_growth(names["small"], names["history"], names["train"], names["test"])


@pytest.mark.slow
def test_that_of_the_concept_grows_and_beats_a_linear_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run_until(ROOT / "docs" / "concepts" / "growth.md", "creases.grow(")
    train, test = ((names[f"X{part}"], names[f"y{part}"]) for part in ("", "_test"))
    check_growth(names["model"], names["history"], train, test)
