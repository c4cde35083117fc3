"""``creases demo``: a small network is trained on circle against annulus, mapped exactly and drawn."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from creases.cli import output, summary
from creases.cli.console import out, print_table, progress
from creases.cli.kernels import load_kernels

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

    from creases.regions.plane import PlanePartition

BOX = [(-1.0, 1.0), (-1.0, 1.0)]
EPOCHS = 60


def run_demo(
    folder: Annotated[Path, typer.Option("--out", help="Folder for the picture and the summary.")] = Path("out"),
    seed: Annotated[int, typer.Option(help="Seed of the data, the network and the training.")] = 0,
) -> None:
    """Train a small network on circle against annulus, map it exactly, draw it."""
    import creases
    from creases.problems import circle_annulus

    folder.mkdir(parents=True, exist_ok=True)
    with progress(5) as begin:
        begin("training 2-16-16-1")
        X, y = circle_annulus(1000, seed=seed)
        model = train(X, y, seed)
        net = creases.read(model)
        begin("loading the kernels")
        load_kernels()
        begin("finding the regions")
        start = perf_counter()
        partition = creases.plane(net, BOX)
        seconds = perf_counter() - start
        begin("checking the pieces")
        result = summary.summarise(partition, seconds)
        result["accuracy"] = float(((net(X).ravel() > 0) == (y == 1)).mean())
        begin("drawing")
        picture = draw(partition, X, y, folder / "demo.png")
        written = output.write_json(result, folder / "demo.json")
    accuracy = ("accuracy", f"{result['accuracy']:.1%} of {len(X):,} training points")
    print_table("Circle against annulus", [accuracy, *summary.rows(result)])
    out.print(f"\nOpen {picture} to see the folded plane; {written} holds these numbers.", soft_wrap=True)


def train(X: NDArray[np.float64], y: NDArray[np.int64], seed: int) -> torch.nn.Module:
    """A 2-16-16-1 ReLU network whose sign tells the classes apart, after a few seconds of Adam."""
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        layers = (torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Linear(16, 16), torch.nn.ReLU())
        model = torch.nn.Sequential(*layers, torch.nn.Linear(16, 1)).double()
    points, targets = torch.from_numpy(X), torch.from_numpy(y).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(EPOCHS):
        order = torch.randperm(len(points), generator=generator)
        for start in range(0, len(order), 100):
            batch = order[start : start + 100]
            logits = model(points[batch]).squeeze(1)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, targets[batch])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return model


def draw(
    partition: PlanePartition, X: NDArray[np.float64], y: NDArray[np.int64], path: Path, *, dpi: int = 160
) -> Path:
    """What the network decides, with the data, beside what it computes."""
    from creases.show import new_figure, plot_plane, save_figure, styled

    figure, (decision, value) = new_figure(12, 5.7, panels=2)
    with styled():
        plot_plane(partition, ax=decision, color="class", data=X, labels=y)
        decision.set_title(f"What it decides: {partition.count} regions, the boundary in black")
        plot_plane(partition, ax=value, color="value")
        value.set_title("What it computes: one affine function on each region")
    return save_figure(figure, path, dpi=dpi)
