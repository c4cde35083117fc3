"""Create the figures of the README, ``docs/growth.png`` and ``docs/rides.png``: ``make pictures``."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

import creases
from creases import explain, problems, show
from creases.growth import GrowthConfig
from creases.growth.experiment import Experiment, data_box

FOLDER = Path(__file__).parent


def picture_growth() -> None:
    problem = problems.get("circle")
    with TemporaryDirectory() as folder:  # for the network before growth
        experiment = Experiment.from_problem(problem, GrowthConfig(max_units=16), folder=Path(folder))
        history = experiment.run(progress=False)
        assert experiment.snapshots is not None
        start = experiment.snapshots.before_growth
    assert start is not None
    before, after = (creases.plane(net, data_box(problem.X)) for net in (start, experiment.network))
    figure = show.plot_growth(
        history,
        view=show.GrowthView(before, after, problem.X, problem.y, problem.features, problem.classes),
        kept_epoch=experiment.best_epoch,
        scaling=experiment.data.scaling,
        score="accuracy",
    )
    show.save_figure(figure, FOLDER / "growth.png", dpi=95)


def picture_rides() -> None:
    """Picture the effect of a column in the README's table."""
    rng = np.random.default_rng(0)
    numbers = {"temperature": rng.uniform(-5, 38, 500).round(1), "rain": rng.exponential(3, 500).round(1)}
    days = pd.DataFrame({**numbers, "weekend": rng.choice(["yes", "no"], 500)})
    pleasant, hot = days.temperature.clip(upper=25), (days.temperature - 25).clip(lower=0)
    weekend = 40 * (days.weekend == "yes")
    days["rides"] = 60 + 9 * pleasant - 6 * hot - 5 * days.rain + weekend + rng.normal(0, 15, 500)
    result = creases.grow(days, "rides", max_units=3, progress=False)
    X, names = result.problem.X, result.problem.features
    effect = explain.effects(result.network, X, "temperature", names=names, target="rides")
    show.save_figure(show.plot_effect(effect).figure, FOLDER / "rides.png", dpi=95)


if __name__ == "__main__":
    picture_growth()
    picture_rides()
