"""Results as notebooks show them: whole, escaped, small, without scripts."""

from __future__ import annotations

import json
from dataclasses import asdict
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import creases
from creases import compare, problems, prune
from creases.errors import InputError
from creases.show.notebook._display import to_html

EVIL = '<img src=x onerror="alert(1)"></style><script>alert(2)</script>'
LIMIT = 200_000
TAGS = {"b", "div", "img", "p", "style", "table", "thead", "tbody", "tr", "th", "td"}


class Elements(HTMLParser):
    """All elements of a card with their attributes; unclosed ones are an error."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag != "img":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def mlp(*widths):
    layers = [nn.Linear(widths[0], widths[1])]
    for a, b in pairwise(widths[1:]):
        layers += [nn.ReLU(), nn.Linear(a, b)]
    return creases.read(nn.Sequential(*layers))


@pytest.fixture(scope="module")
def net():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return mlp(2, 6, 5, 2)


@pytest.fixture(scope="module")
def classifier():
    moons = problems.get("moons", n=120)
    X = pd.DataFrame(moons.X, columns=[EVIL, "b"])
    return creases.GrowingClassifier(budget=20, how="fold", random_state=0).fit(X, np.array(["no", EVIL])[moons.y])


@pytest.fixture(scope="module")
def results(net, classifier):
    deep, flat, solid = nn.Sequential(), mlp(2, 3), mlp(3, 4, 1)
    deep.add_module("a<b", nn.Linear(2, 3))
    deep.add_module("c", nn.ReLU())
    X = problems.get("moons", n=60).X
    return {
        "network": net,
        "network with a name": creases.read(deep),
        "network without bends": flat,
        "piece": net.piece([0.1, 0.2]),
        "pieces": net.piece(torch.zeros(3, 2, dtype=torch.float64)),
        "no pieces": net.piece(np.zeros((0, 2))),
        "cell": creases.cell(net, [0.1, 0.2], box=(-1, 1)),
        "unbounded cell": creases.cell(net, [9.0, 9.0]),
        "cell without creases": creases.cell(flat, [0.0, 0.0]),
        "line": creases.line(net, [-1, -1], [1, 1]),
        "infinite line": creases.line(net, [-1, -1], [1, 1], infinite=True),
        "plane": creases.plane(net, [(-1, 1), (0, 400)]),
        "plane of one region": creases.plane(flat, (-1, 1)),
        "space": creases.space(solid, (-1, 1)),
        "space without vertices": creases.space(solid, (-1, 1), method="lp"),
        "history": classifier.history_,
        "history of nothing": creases.growth.History(),
        "classifier": classifier,
        "regressor": creases.GrowingRegressor(lr=0.5),
        "difference": compare.difference(net, mlp(2, 3, 2), X, box=(-1, 1)),
        "no difference": compare.difference(net, net, X),
        "similarity": compare.similarity({EVIL: net, "b": net}, X),
        "exact pruning": prune.exact(net, (-1, 1)),
        "pruning": prune.channels(net, X, net(X).argmax(1), min_accuracy=0.5),
    }


@pytest.mark.slow
def test_every_result_is_a_small_whole_card_without_scripts(results):
    for name, result in results.items():
        html = result._repr_html_()
        assert len(html.encode()) < LIMIT, name
        elements = Elements(html)
        tags = {tag for tag, _ in elements.seen}
        assert tags <= TAGS, name
        attributes = {key for _, attrs in elements.seen for key in attrs}
        assert not any(key.startswith("on") for key in attributes), name
        sources = [attrs["src"] for tag, attrs in elements.seen if tag == "img"]
        assert all(source.startswith("data:image/png;base64,") for source in sources), name
        assert elements.seen[0][1]["class"] == "creases-card"
        assert sources or name not in ("cell", "line", "infinite line", "plane", "space")  # these have a picture


def test_a_card_says_what_the_result_holds(results, classifier):
    plane, history = results["plane"], classifier.history_
    assert f"<td>{plane.count}</td>" in to_html(plane)
    assert f"<td>{len(history.epochs)}, {history.steps} optimizer steps</td>" in to_html(history)
    assert "&lt;script&gt;" in to_html(classifier)
    assert "2 affine" not in to_html(results["piece"])
    assert "3 affine functions" in to_html(results["pieces"])


def test_results_say_themselves_as_plain_data(results):
    for name in set(results) - {"piece", "pieces", "no pieces", "classifier", "regressor"}:
        document = results[name].describe()
        assert document.title, name
        assert json.loads(json.dumps(asdict(document)))["sections"] or name == "history of nothing"
    a, b = (creases.read([([[1.0]], [0.0]), ([[1.0], [0.0]], [0.0, cut])]) for cut in (0.5, 0.25))  # class 0 beyond
    changed = compare.difference(a, b, [[0.1], [0.3], [0.4], [0.9]]).describe().sections[1]
    assert changed["table"]["rows"] == [["1", "0", "2"]]


@pytest.mark.slow
def test_a_picture_with_more_detail_than_pixels_stays_small():
    from creases.show.notebook._card import draw

    noise = np.random.default_rng(0).random((900, 900, 3))
    assert len(draw(lambda ax: ax.imshow(noise, interpolation="nearest"))) < LIMIT


def test_an_estimator_keeps_scikit_learns_choice_between_text_and_html(classifier):
    from sklearn import config_context

    assert classifier._repr_mimebundle_()["text/html"] == to_html(classifier)
    with config_context(display="text"):
        assert "text/html" not in classifier._repr_mimebundle_()
        assert not hasattr(classifier, "_repr_html_")


def test_what_is_no_result_is_refused():
    with pytest.raises(InputError, match="result must be a result of creases or an estimator"):
        to_html(3)


@pytest.mark.parametrize("classes", [("a", EVIL), None])
def test_a_problem_shows_its_first_rows_with_names_escaped(classes):
    X = np.arange(60.0).reshape(6, 10)
    y = np.arange(6) % 2 if classes else np.linspace(0, 1, 6)
    problem = problems.Problem(EVIL, X, y, tuple(f"{EVIL}{k}" for k in range(10)), classes, EVIL, target=EVIL)
    html = problem._repr_html_()
    assert {tag for tag, _ in Elements(html).seen} <= TAGS
    assert "script" not in html.replace("&lt;script", "").replace("&lt;/script", "")
    assert "…" in html


def test_a_nearest_change_shows_what_moves_and_whether_it_is_proved():
    net = creases.read([([[1.0, 0.0]], [0.0]), ([[1.0], [-1.0]], [0.0, 1.0])])
    html = creases.certify.nearest(net, [2.0, 7.0])._repr_html_()
    assert {tag for tag, _ in Elements(html).seen} <= TAGS
    assert "0 to 1" in html
    assert "proved" in html
    constant = creases.read([([[0.0, 0.0]], [0.0]), ([[0.0], [0.0]], [1.0, 0.0])])
    assert "No other decision" in creases.certify.nearest(constant, [2.0, 7.0])._repr_html_()


def test_words_about_rows_and_a_card_of_points_are_shown_as_they_are_printed():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({EVIL: rng.uniform(size=60), "b": rng.uniform(size=60)})
    model = creases.fit_table(table.assign(y=np.where(table[EVIL] + table.b > 1, "yes", "no")), "y")
    for result in (model.card(), model.changes(table.head(2)), model.changes(table.head(1))[0]):
        html = result._repr_html_()
        assert {tag for tag, _ in Elements(html).seen} <= TAGS
        assert "odds" in html or "instead of" in html or "size" in html
