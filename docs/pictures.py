"""Create the pictures of the README, the landing page and the tutorial: ``make pictures``.

The pages save pictures in their own code blocks; this runs those blocks in the light and the dark theme and keeps what
they save in ``docs/pictures``. The first picture of the README and the report of the
landing page are made here.
"""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

import creases
from creases import problems, show
from creases.tables import data_box

DOCS = Path(__file__).parent
PICTURES = DOCS / "pictures"
sys.path += [str(DOCS), str(DOCS.parent / "tests")]

from gallery import compress  # noqa: E402

from documents import run_blocks, run_line, run_until  # noqa: E402

#: Files that the code blocks of a page leave, and the names of the pictures.
PAGES = {
    "README.md": {
        "curves.png": "curves",
        "map.png": "map",
        "run/growth.png": "growth",
        "safety.png": "safety",
        "difference.png": "difference",
    },
    "docs/tutorial.md": {
        f"{name}.png": f"tutorial-{name}" for name in ("regions", "surface", "cell", "grown", "pruned", "changes")
    },
    "docs/how-to/spline.md": {"conditions.png": "spline-conditions", "motion.png": "spline-motion"},
}
THEMES = ("light", "dark")
WIDTH = 1200  #: of the widest picture, in pixels


def run_page(page: str, saved: dict[str, str], theme: str) -> None:
    """Run a page's code and keep the pictures that it saves."""
    with TemporaryDirectory() as folder, chdir(folder), show.theme(theme):
        run_blocks(DOCS.parent / page)
        for file, name in saved.items():
            store(Path(file), PICTURES / f"{name}-{theme}.png")


def store(picture: Path, path: Path) -> None:
    """Keep a picture, at most as wide as a page, in few colors."""
    from PIL import Image

    with Image.open(picture) as image:
        image.thumbnail((WIDTH, WIDTH))
        image.save(path)
    compress(path)


def write_report() -> None:
    """Write the report of the landing page, a short run on points inside and outside a circle."""
    with TemporaryDirectory() as folder, chdir(folder):
        run_line("creases grow circle --out run")
        run_line(f"creases report run --out {shlex.quote(str(PICTURES / 'report.html'))}")


def grow_on_spirals() -> tuple[list[creases.Network], creases.growth.History]:
    """Return the network that growth starts as, the one half-way and the one at the end, and the history."""
    spirals = problems.get("spirals")
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 2))
    networks: dict[int, creases.Network] = {}

    def keep(state) -> None:
        network = creases.read(state.model)
        networks.setdefault(network.n_units, network)

    model, history = creases.grow(model, tuple(spirals), "classification", callbacks=[keep])
    last = creases.read(model)
    return [networks[min(networks)], networks[(min(networks) + last.n_units) // 2], last], history


def draw_hero(networks: list[creases.Network], history: creases.growth.History, theme: str) -> None:
    """Draw three maps of one growing network."""
    from matplotlib import pyplot

    spirals = problems.get("spirals")
    with show.theme(theme):
        figure, axes = show.new_figure(13, 4.2, panels=len(networks))
        for ax, network in zip(axes, networks, strict=True):
            partition = creases.plane(network, data_box(spirals.X))
            show.plot_plane(partition, ax=ax, color="class", X=spirals.X, y=spirals.y, history=history)
            ax.set_title(f"{network.n_units} units, {partition.count} regions")
        compress(show.save_figure(figure, PICTURES / f"hero-{theme}.png", dpi=90))
    pyplot.close("all")


def draw_beside_ebm(theme: str) -> None:
    """Draw what the temperature of the README's table adds, by EBM and by creases; needs interpret."""
    import numpy as np
    from interpret.glassbox import ExplainableBoostingRegressor

    days = run_until(DOCS.parent / "README.md", "creases.fit_table(")
    table, curve = days["days"], days["model"].curves["temperature"]
    boosted = ExplainableBoostingRegressor(random_state=0).fit(table.drop(columns="rides"), table["rides"])
    edges = [table["temperature"].min(), *boosted.bins_[0][0], table["temperature"].max()]
    with show.theme(theme):
        low, high = np.min(curve.values) - 25, np.max(curve.values) + 25
        figure, axes = show.new_figure(8, 2.8, panels=2)
        axes[0].stairs(boosted.term_scores_[0][1:-1], edges, baseline=None)
        axes[1].plot(curve.knots, curve.values[:, 0], "o-", markersize=3.5)
        for ax, name in zip(axes, ("EBM (interpret)", "creases"), strict=True):
            ax.set(title=name, xlabel="temperature", ylabel="rides", ylim=(low, high))
        compress(show.save_figure(figure, PICTURES / f"peers-ebm-{theme}.png", dpi=110))


def main(names: list[str]) -> None:
    os.environ["CI"] = "true"  # no progress bars
    PICTURES.mkdir(exist_ok=True)
    if not names or "report" in names:
        write_report()
    grown = grow_on_spirals() if not names or "hero" in names else None
    for theme in THEMES:
        if grown is not None:
            draw_hero(*grown, theme)
        if not names or "ebm" in names:
            draw_beside_ebm(theme)
        for page, saved in PAGES.items():
            if not names or Path(page).stem in names:
                run_page(page, saved, theme)


if __name__ == "__main__":
    main(sys.argv[1:])
