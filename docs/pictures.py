"""Make the pictures of the README: ``make pictures``."""

from pathlib import Path

import creases
from creases.cli.demo import BOX, draw, train
from creases.problems import circle_annulus


def main() -> None:
    X, y = circle_annulus(1000, seed=0)
    partition = creases.plane(creases.read(train(X, y, seed=0)), BOX)
    draw(partition, X, y, Path(__file__).with_name("circle-annulus.png"), dpi=80)


if __name__ == "__main__":
    main()
