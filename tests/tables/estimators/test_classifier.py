"""Facts about the classifier that grows."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, learning_curve
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import creases
from creases import GrowingClassifier
from creases.errors import InputError
from creases.growth.methods import Fold
from creases.growth.methods._fold.explanation import fold_entries

#: Four stages of growth, on a few hundred rows.
SHORT: dict[str, Any] = {"budget": 60, "batch_size": 10, "growth_share": 0.5, "random_state": 0}


@pytest.fixture(scope="module")
def moons() -> tuple[np.ndarray, np.ndarray]:
    return make_moons(200, noise=0.1, random_state=0)


@pytest.fixture(scope="module")
def grown(moons: tuple[np.ndarray, np.ndarray]) -> GrowingClassifier:
    X, y = moons
    model = GrowingClassifier(how="fold", budget=250, growth_share=0.5, random_state=0)
    return model.fit(X * [10, 1] + [100, 0], np.array(["dark", "light"])[y])


@pytest.fixture(scope="module")
def short(moons: tuple[np.ndarray, np.ndarray]) -> GrowingClassifier:
    return GrowingClassifier(how="fold", **SHORT).fit(*moons)


@pytest.fixture(scope="module")
def shown(moons: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    return moons[0] * [10, 1] + [100, 0]


@pytest.mark.slow
def test_it_starts_linear_and_grows_to_what_a_linear_model_cannot_do(moons: Any, grown: Any, shown: Any) -> None:
    labels = np.array(["dark", "light"])[moons[1]]
    assert LogisticRegression().fit(moons[0], moons[1]).score(*moons) < 0.9
    assert grown.score(shown, labels) > 0.97
    assert grown.history_.epochs[0]["widths"] == {"hidden1": 2}
    assert grown.hidden_[0] > 2
    assert grown.n_iter_ == len(grown.loss_curve_) == len(grown.history_.epochs)


def test_probabilities_logs_decisions_and_predictions_agree(grown: Any, shown: Any) -> None:
    z, p = grown.decision_function(shown), grown.predict_proba(shown)
    assert z.shape == (200,)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(np.log(p[:, 1] / p[:, 0]), z, atol=1e-6)
    np.testing.assert_allclose(grown.predict_log_proba(shown), np.log(p), atol=1e-9)
    np.testing.assert_array_equal(grown.predict(shown), grown.classes_[(z > 0).astype(int)])


@pytest.mark.slow
def test_many_classes_have_a_logit_each() -> None:
    X, y = load_iris(return_X_y=True)
    model = GrowingClassifier(**SHORT).fit(X, y)
    z, p = model.decision_function(X), model.predict_proba(X)
    assert z.shape == p.shape == (150, 3)
    assert model.history_.epochs[0]["widths"] == {"hidden1": 6}
    np.testing.assert_allclose(np.log(p[:, 1] / p[:, 0]), z[:, 1] - z[:, 0], atol=1e-9)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(p), atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), p.argmax(axis=1))


@pytest.mark.slow
def test_a_change_of_a_row_is_in_the_datas_units_and_the_network_decides_so(grown: Any, shown: Any) -> None:
    row = shown[grown.predict(shown) == "dark"][0]
    (answer,) = grown.counterfactual(row).answers
    assert answer.prediction.startswith("light")
    assert grown.predict([answer.x]) == ["light"]
    (held,) = grown.counterfactual(row, to="light", fixed=["x1"]).answers
    assert [change.column for change in held.changes] == ["x0"]
    assert held.size >= answer.size
    with pytest.raises(InputError, match="to must be one of dark, light, got 'grey'"):
        grown.counterfactual(row, to="grey")


def test_rows_are_explained_by_columns(grown: Any, shown: Any) -> None:
    answer = grown.explain(shown[:3])
    np.testing.assert_allclose(answer.parts.sum(axis=1), grown.decision_function(shown[:3]), atol=1e-9)
    assert "for the average row" in str(answer[0])
    assert str(answer).count("for this row") == 3


def test_the_network_is_exact_in_the_datas_own_units(grown: Any, shown: Any) -> None:
    net = grown.network_
    assert isinstance(net, creases.Network)
    logits = net(shown)
    np.testing.assert_allclose(logits[:, 1] - logits[:, 0], grown.decision_function(shown), rtol=1e-9, atol=1e-9)
    partition = creases.plane(net, box=[(80, 130), (-1, 2)])
    assert partition.count > 2
    assert isinstance(grown.module_, torch.nn.Sequential)
    assert grown.module_[0].out_features == grown.hidden_[0]


def test_the_account_names_classes_features_and_rows(grown: Any, moons: Any, shown: Any) -> None:
    text = grown.summary()
    record = next(record for record in grown.history_.records if record.method == "fold")
    why = fold_entries(record.explanation)[0]["why"]
    row = why["instance"]
    assert f"row {row} (x0 {shown[row, 0]:.3g}" in text
    assert "'dark' rows were misclassified as 'light'" in text or "'light' rows were misclassified as 'dark'" in text
    assert np.array(["dark", "light"])[moons[1][row]] == grown.classes_[why["true"]]
    assert text.startswith(f"The network is 2-{grown.hidden_[0]}-2 ")
    assert text.endswith(f"Stopped: {grown.history_.ending}.")


@pytest.mark.slow
def test_growth_steps_that_were_not_kept_are_told_apart(moons: Any, short: Any) -> None:
    X, noise = moons[0], np.random.default_rng(0).integers(0, 2, 200)  # nothing to find: growth cannot pay for long
    seen = set()
    for model in (short, GrowingClassifier(**SHORT).fit(X, noise)):
        records = model.history_.records
        for record in records:
            text = model.summary().split("\n\n")[record.number]
            assert ("so it was undone." in text) == (record.undone and not record.replaced)
            assert ("took its place." in text) == record.replaced
            seen.add(record.undone)
        widths = [record.width[1] for record in records if model.history_.keeps(record)]
        assert model.hidden_[0] == (widths or [2])[-1]  # without dead units, if growth found any
    assert seen == {False, True}


@pytest.mark.thorough
def test_of_one_random_state_it_is_one_network_and_torchs_numbers_are_left_alone(moons: Any) -> None:
    before = torch.random.get_rng_state()
    one, two = (GrowingClassifier(**SHORT).fit(*moons) for _ in range(2))
    other = GrowingClassifier(**{**SHORT, "random_state": 1}).fit(*moons)
    np.testing.assert_array_equal(one.decision_function(moons[0]), two.decision_function(moons[0]))
    assert not np.array_equal(one.decision_function(moons[0]), other.decision_function(moons[0]))
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["fold", "tiny"])
def test_weights_are_repetition_to_the_last_bit(moons: Any, how: str) -> None:
    X, y = moons
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, len(X))
    X2, y2 = X.repeat(weight, axis=0), y.repeat(weight)
    order = rng.permutation(len(X2))
    weighted = GrowingClassifier(how=how, **SHORT).fit(X, y, sample_weight=weight)
    repeated = GrowingClassifier(how=how, **SHORT).fit(X2[order], y2[order])
    assert weighted.history_.records
    np.testing.assert_array_equal(weighted.decision_function(X), repeated.decision_function(X))


@pytest.mark.slow
def test_it_is_pickled_and_cloned(grown: Any, shown: Any) -> None:
    twin = pickle.loads(pickle.dumps(grown))
    np.testing.assert_array_equal(twin.predict_proba(shown), grown.predict_proba(shown))
    assert twin.summary() == grown.summary()
    fresh = clone(GrowingClassifier(how=Fold(k=5), hidden=(3,)))
    assert fresh.get_params()["how"] == Fold(k=5)
    with pytest.raises(NotFittedError):
        fresh.summary()


@pytest.mark.thorough
def test_it_works_in_pipelines_searches_and_curves(moons: Any) -> None:
    X, y = moons
    model = GrowingClassifier(**{**SHORT, "budget": 10})
    scores = cross_val_score(make_pipeline(PolynomialFeatures(2, include_bias=False), model), X, y, cv=3)
    assert scores.min() > 0.7
    search = GridSearchCV(model, {"hidden": ["auto", (4,)], "weight_decay": [0.0, 0.01]}, cv=2).fit(X, y)
    assert set(search.best_params_) == {"hidden", "weight_decay"}
    sizes, train, test = learning_curve(model, X, y, cv=2, train_sizes=[0.3, 1.0])
    assert train.shape == test.shape == (2, 2)
    assert sizes[-1] == 100


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.fit([[0.0], [1.0]], ["a", "a"]), "y must have at least 2 classes, got one class"),
        (
            lambda m: m.fit([[0.0], [1.0]], [0, 1], sample_weight=[0, 1]),
            "sample_weight must leave rows of at least 2 classes with a positive weight, got one class",
        ),
        (
            lambda m: m.fit([[0.0], [1.0]], [0, 1], sample_weight=[0, 0]),
            "(sample_weight must have at least one positive entry)|(at least one non-zero number)",
        ),
        (lambda m: m.fit([[0.0], [1.0]], [0, 1], sample_weight=[1, -1]), "Negative values in data"),
        (lambda m: m.fit([[0.0]], [0]), "minimum of 2 is required"),
        (lambda m: m.fit([[np.nan], [1.0]], [0, 1]), "Input X contains NaN"),
        (lambda m: m.fit([[0.0], [1.0]], [0.5, 1.2]), "Unknown label type"),
    ],
)
def test_data_that_cannot_be_fitted_is_refused_by_name(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(GrowingClassifier())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"how": "magic"}, "how must be a function or one of"),
        ({"hidden": ()}, r"hidden must be 'auto', or positive widths .* got \(\)"),
        ({"hidden": (2, 0)}, "hidden must be"),
        ({"hidden": "wide"}, "hidden must be"),
        ({"hidden": 2.5}, "hidden must be"),
        ({"max_units": 0}, "max_units must be a positive integer, got 0"),
        ({"max_parameters": -1}, "max_parameters must be"),
        ({"weight_decay": -1}, "weight_decay must be a finite number at least 0, got -1"),
        ({"lr": 0}, "lr must be a finite number above 0, got 0"),
        ({"batch_size": 0}, "batch_size must be 'auto', None"),
        ({"budget": 0}, "budget must be positive and finite, got 0 epochs"),
        ({"budget": "soon"}, "budget must be 'auto', a number of epochs, or a text such as .* got 'soon'"),
        ({"growth_share": 1.0}, "growth_share must be 'auto' or a number above 0 and below 1, got 1.0"),
        ({"growth_patience": 0}, "growth_patience must be"),
        ({"validation_fraction": 1.0}, "validation_fraction must be a finite number at least 0 and below 1, got 1.0"),
    ],
)
def test_parameters_that_make_no_sense_are_refused_by_name(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        GrowingClassifier(**given).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.slow
def test_the_run_ends_with_its_budget_and_growth_with_its_share_of_it(moons: Any) -> None:
    patient = GrowingClassifier(growth_patience=9, **SHORT).fit(*moons)  # stages that do not pay end nothing
    history = patient.history_
    assert history.ended.startswith("the budget of 60 epochs is spent")
    assert history.growth_ended == "a wider network would have more than a unit for every 3 samples"
    assert history.growth_spent <= 0.5
    assert history.last["epochs"] == pytest.approx(60, abs=0.5)
    assert all(record.epoch < 30 for record in history.records)


@pytest.mark.thorough
def test_the_network_stays_within_its_limits_of_size(moons: Any) -> None:
    model = GrowingClassifier(how="tiny", max_units=5, early_stopping=False, **SHORT).fit(*moons)
    assert 2 < model.hidden_[0] <= 5
    model = GrowingClassifier(max_parameters=17, early_stopping=False, **SHORT).fit(*moons)
    assert sum(parameter.numel() for parameter in model.module_.parameters()) <= 17


@pytest.mark.thorough
def test_layers_can_be_several_and_batches_any_size(moons: Any) -> None:
    X, y = moons
    for size in (None, 7, 1000):
        model = GrowingClassifier(hidden=(2, 3), **{**SHORT, "budget": 6, "batch_size": size}).fit(X, y)
        assert list(model.history_.epochs[0]["widths"]) == ["hidden1", "hidden2"]
    assert GrowingClassifier(hidden=3, **{**SHORT, "budget": 2}).fit(X, y).history_.last["widths"] == {"hidden1": 3}


@pytest.mark.slow
@pytest.mark.parametrize("how", ["fold", pytest.param("random", marks=pytest.mark.thorough)])
def test_a_constant_feature_counts_for_nothing(moons: Any, how: str) -> None:
    X = np.column_stack([moons[0], np.full(200, 7.0)])
    model = GrowingClassifier(how=how, **SHORT).fit(X, moons[1])
    assert model.hidden_[0] > 2
    moved = X + np.array([0, 0, 5.0])
    np.testing.assert_allclose(model.decision_function(moved), model.decision_function(X), rtol=1e-9, atol=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "size", [1e-200, *(pytest.param(size, marks=pytest.mark.thorough) for size in (1e-6, 1e9)), 1e200]
)
def test_the_size_of_columns_makes_no_difference(moons: Any, size: float) -> None:
    X, y = moons
    model = GrowingClassifier(**{**SHORT, "budget": 20}).fit(X * [1, size], y)
    assert model.score(X * [1, size], y) > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int64])
def test_any_numbers_are_taken(moons: Any, dtype: Any) -> None:
    X = (moons[0] * 10).astype(dtype)
    model = GrowingClassifier(**{**SHORT, "budget": 5}).fit(X, moons[1])
    assert model.predict(X.tolist()).shape == (200,)
    assert model.predict_proba(X).dtype == np.float64


@pytest.mark.slow
def test_columns_of_a_dataframe_go_by_name(moons: Any) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(moons[0], columns=["length", "width"])
    model = GrowingClassifier(how="fold", **SHORT).fit(frame, moons[1])
    assert list(model.feature_names_in_) == ["length", "width"]
    assert "(length " in model.summary()


@pytest.mark.slow
def test_known_names_of_features_are_told(short: Any) -> None:
    model = copy.copy(short)
    model.feature_names_in_ = np.array(["length", "width"], object)
    assert "(length " in model.summary()


def test_a_budget_that_ends_before_held_out_rows_are_predicted_gives_no_validation_score() -> None:
    X, y = load_iris(return_X_y=True)
    model = GrowingClassifier(budget=20, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.history_.last["validation_score"] is None
    assert "validation" not in model.summary()


def test_labels_of_text_and_numbers_are_refused_in_plain_words() -> None:
    with pytest.raises(InputError, match=r"y must have labels that are all text or all numbers, got 'a' and 1"):
        GrowingClassifier().fit(np.arange(40.0)[:, None], np.array(["a", 1] * 20, object))


def test_a_budget_of_a_few_epochs_ends_with_all_directions_of_the_linear_model() -> None:
    X, y = make_blobs(n_samples=300, random_state=0)
    assert GrowingClassifier(budget=8, random_state=0).fit(X, y).score(X, y) > 0.9
