"""Create the figure of the README, ``docs/growth.png``: ``make pictures``."""

from pathlib import Path
from tempfile import TemporaryDirectory

import creases
from creases import problems, show
from creases.growth import GrowthConfig
from creases.growth.experiment import Experiment, data_box

PICTURE = Path(__file__).with_name("growth.png")


def main() -> None:
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
    show.save_figure(figure, PICTURE, dpi=95)


if __name__ == "__main__":
    main()
