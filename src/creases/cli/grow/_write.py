"""The files of a finished growth run."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from creases._files import write_atomically, write_json
from creases.cli.grow._report import Report, text
from creases.growth.experiment import _folder as names
from creases.growth.experiment import data_box

if TYPE_CHECKING:
    from creases.network import Network
    from creases.regions import LinePartition, PlanePartition
    from creases.show import GrowthView


def write(report: Report, folder: Path) -> dict[str, Path]:
    """Write the network, its description, the history, the picture and the report; the files by what they are."""
    net, history, data = report.outcome.net, report.outcome.history, report.data
    files = {"picture": folder / names.PICTURE_FILE, "report": folder / names.REPORT_FILE}
    files["network"] = net.save(folder / names.MODEL_FILE)
    files["inputs, classes, scores"] = write_json(report.description(), folder / names.DESCRIPTION_FILE)
    if find_spec("onnx") is not None:
        files["network as ONNX"] = net.save(folder / names.ONNX_FILE)
    named = {"features": data.problem.features, "classes": data.problem.classes, "scaling": data.scaling.to_dict()}
    files["history"] = replace(history, setting=history.setting | named).save(folder / names.HISTORY_FILE)
    with write_atomically(files["report"]) as temporary:
        temporary.write_text(text(report), encoding="utf-8")
    draw(report, files["picture"])
    return files


def draw(report: Report, path: Path, *, dpi: int = 160) -> None:
    """The growth as a picture."""
    from creases.show import plot_growth, save_figure

    outcome = report.outcome
    figure = plot_growth(
        outcome.history,
        view=view(report),
        kept_epoch=outcome.kept,
        scaling=report.data.scaling,
        score=report.measure,
    )
    save_figure(figure, path, dpi=dpi)


def view(report: Report) -> GrowthView | None:
    """The network on its one or two inputs, if it has no more."""
    from creases.show import GrowthView

    problem, outcome = report.data.problem, report.outcome
    inputs = problem.X.shape[1]
    if inputs > 2 or (inputs == 1 and problem.classes is not None):
        return None
    before = None if outcome.first is None else _partition(outcome.first, report)
    after = _partition(outcome.net, report)
    return GrowthView(before, after, problem.X, problem.y, problem.features, problem.classes)


def _partition(net: Network, report: Report) -> LinePartition | PlanePartition:
    import creases
    from creases.cli._kernels import load_kernels

    around = data_box(report.data.problem.X)
    if len(around) == 1:
        ((low, high),) = around
        return creases.line(net, [low], [high])
    load_kernels()
    return creases.plane(net, around)
