"""Create the figures of the README: ``make pictures``."""

from pathlib import Path
from tempfile import TemporaryDirectory

from creases.cli.demo import EPOCHS, PROBLEM
from creases.cli.grow import grow_into
from creases.cli.grow._write import draw
from creases.growth import GrowthConfig
from creases.growth.experiment import RunSettings


def main() -> None:
    with TemporaryDirectory() as folder:
        report, _ = grow_into(
            RunSettings(PROBLEM, config=GrowthConfig(max_epochs=EPOCHS)), Path(folder), force=False, fresh=True
        )
    draw(report, Path(__file__).with_name("growth.png"), dpi=95)


if __name__ == "__main__":
    main()
