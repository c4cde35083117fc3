"""Pages with an example of growth: every block runs, the network grows and beats a linear model on the test rows."""

import pytest
from sklearn.linear_model import LogisticRegression

import creases
from documents import ROOT, run_blocks


def accuracy(model, X, y):
    return (creases.read(model)(X).argmax(1) == y).mean()


def check_growth(model, history, train, test):
    """A network grew from the linear model by folds, and is right more often than logistic regression by 0.05."""
    assert history.loop.startswith("explained growth")
    kept = [record for record in history.records if history.keeps(record)]
    assert model[0].out_features == sum(record.width[1] - record.width[0] for record in kept) > 2
    assert accuracy(model, *test) > LogisticRegression().fit(*train).score(*test) + 0.05


@pytest.mark.thorough
def test_the_tutorial_runs_and_its_network_grows_and_beats_a_linear_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def check(names):
        check_growth(names["small"], names["history"], names["train"], names["test"])

    run_blocks(ROOT / "docs" / "tutorial.md", {"creases.grow(": check})


@pytest.mark.slow
def test_the_concept_runs_and_its_network_grows_and_beats_a_linear_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def check(names):
        train, test = ((names[f"X{part}"], names[f"y{part}"]) for part in ("", "_test"))
        check_growth(names["model"], names["history"], train, test)

    run_blocks(ROOT / "docs" / "concepts" / "growth.md", {"creases.grow(": check})
