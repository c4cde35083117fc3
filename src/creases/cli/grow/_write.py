"""The files of a finished growth run."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from creases._files import write_atomically, write_json
from creases.cli.grow._report import Report, text
from creases.tables import RunFile, data_box, metrics_summary

if TYPE_CHECKING:
    from creases.network import Network
    from creases.regions import LinePartition, PlanePartition
    from creases.show import GrowthView


def write(report: Report, folder: Path) -> dict[str, Path]:
    """Write the network, its description, the history, the picture and the report; return the files by name."""
    net, history, data = report.experiment.network, report.experiment.history, report.data
    files = {"picture": folder / RunFile.PICTURE, "report": folder / RunFile.REPORT}
    files["network"] = net.save(folder / RunFile.MODEL)
    model = report.experiment.table_model()
    description = report.description() | {
        "ranges": model.schema.ranges.tolist(),
        "regions": model.regions,
        "same": model.same,
    }
    files["description"] = write_json(description, folder / RunFile.DESCRIPTION)
    if data.problem.encoding is not None:
        files["table encoding"] = folder / RunFile.ENCODING  # written before the run began
    metrics = metrics_summary(report.baselines, data, report.experiment.threshold)
    files["metrics"] = write_json(metrics, folder / RunFile.METRICS)
    if find_spec("onnx") is not None:
        files["ONNX"] = net.save(folder / RunFile.ONNX)
    named = {"features": data.problem.features, "classes": data.problem.classes, "scaling": data.scaling.to_dict()}
    files["history"] = replace(history, setting=history.setting | named).save(folder / RunFile.HISTORY)
    with write_atomically(files["report"]) as temporary:
        temporary.write_text(text(report), encoding="utf-8")
    draw(report, files["picture"])
    return files


def draw(report: Report, path: Path, *, dpi: int = 160) -> None:
    """Draw the growth as a picture."""
    from creases.show import plot_growth, save_figure

    figure = plot_growth(
        report.experiment.history,
        view=view(report),
        kept_epoch=report.experiment.best_epoch,
        score=report.measure,
    )
    save_figure(figure, path, dpi=dpi)


def view(report: Report) -> GrowthView | None:
    """Return the network on its one or two inputs; None if it has more."""
    from creases.show import GrowthView

    problem, snapshots = report.data.problem, report.experiment.snapshots
    inputs = problem.X.shape[1]
    if inputs > 2 or (inputs == 1 and problem.classes is not None):
        return None
    first = None if snapshots is None else snapshots.before_growth
    before = None if first is None else _partition(first, report)
    after = _partition(report.experiment.network, report)
    return GrowthView(before, after, problem.X, problem.y, problem.features, problem.classes)


def _partition(net: Network, report: Report) -> LinePartition | PlanePartition:
    from creases.cli._kernels import load_kernels
    from creases.regions import line, plane

    around = data_box(report.data.problem.X)
    if len(around) == 1:
        ((low, high),) = around
        return line(net, [low], [high])
    load_kernels()
    return plane(net, around)
