"""Reports inside a notebook: the page that ``creases report`` writes, in a frame of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from html import escape, unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from creases._files import write_atomically
from creases._text import format_number, plural
from creases._typing import Progress
from creases._validation import check_box, check_count
from creases.errors import InputError
from creases.growth import GrowthConfig, History
from creases.network import Network, as_network
from creases.regions import LinePartition, PlanePartition
from creases.show._figures._growth import plot_growth
from creases.show.report import kind_of_result, write_comparison_report, write_growth_report, write_map_report
from creases.show.report._growth import write_run_report
from creases.show.report._maps import write_partition_report
from creases.show.report._network_sections import network_sections
from creases.show.report._page import render_themes, write_sections
from creases.show.report._subject import map_box
from creases.show.report._table_model import words_section, write_model_report, write_table_report
from creases.tables import GrownModel, SavedRun, TableModel

# Pages without a viewer: a history alone, an estimator, a network of many inputs.

#: The box of a network that is reported on, where none is given.
BOX = (-1.0, 1.0)


def write_history_page(history: History, out: Path, *, estimator: Any = None) -> None:
    """Write the curves and growth steps of a run, with the names that an estimator knows."""
    if not history.epochs:
        raise InputError("history", "have at least one epoch", "none")
    document = history.describe()
    overview, *others = document.sections
    picture = render_themes(lambda: plot_growth(history, score=history.measure), dpi=110)
    text = history.explain() if estimator is None else estimator.summary()
    sections = [
        overview,
        *([] if estimator is None else [words_section(estimator.model_)]),
        {"title": "Curves", "picture": picture, "note": "Each mark above a curve is a growth step.", "size": "wide"},
        *others,
        {"title": "How it grew", "text": text, "size": "full"},
    ]
    title = document.title if estimator is None else document.title.replace("Growth", type(estimator).__name__, 1)
    write_sections(out, title, document.lead, sections)


def write_network_page(net: Network, out: Path, box: Any) -> None:
    """Write the map of a network of one or two inputs, or the statistics of one with more, in a box."""
    limits = check_box(BOX if box is None else box, net.n_in)
    if net.n_in <= 2:
        write_partition_report(map_box(net, limits), out, name="network")
    else:
        lead = f"In the box {BOX} of every input." if box is None else "In the given box of inputs."
        title = f"network: {plural(net.n_in, 'input')}, {plural(net.n_units, 'unit')}"
        write_sections(out, title, lead, network_sections(net, box=limits))


#: Pixels of the frame: tall enough for the map and the curves beside it.
HEIGHT = 720


#: A frame has no address of its own, in which the viewer could keep what is shown.
_NO_ADDRESS = "<script>history.replaceState = () => {};</script>"


@dataclass(frozen=True, eq=False)
class NotebookReport:
    """A report as one HTML page; a notebook shows it in a frame that cannot reach the notebook."""

    title: str
    html: str  #: the whole page, which needs no server and no network access
    height: int = HEIGHT  #: of the frame, in pixels

    def save(self, path: str | Path) -> Path:
        """Write the page to an ``.html`` file."""
        if Path(path).suffix not in (".html", ".htm"):
            raise InputError("path", "end in .html", repr(Path(path).name))
        with write_atomically(path) as temporary:
            temporary.write_text(self.html, encoding="utf-8")
        return Path(path)

    def __repr__(self) -> str:
        size = format_number(len(self.html) / 1e6)
        return f"NotebookReport({self.title!r}, {size} MB; save it with .save('report.html'))"

    def _repr_html_(self) -> str:
        page = self.html.replace("<head>", f"<head>{_NO_ADDRESS}", 1)
        return (
            f'<iframe title="{escape(self.title)}" sandbox="allow-scripts allow-downloads" '
            f'srcdoc="{escape(page)}" width="100%" height="{self.height}" '
            'style="border: 1px solid rgba(128,128,128,.35); border-radius: 6px"></iframe>'
        )


def report(result: Any, *, box: Any = None, height: int = HEIGHT, progress: Progress | None = None) -> NotebookReport:
    """Return the report of a result, to be shown in a notebook or saved as an HTML file.

    Parameters
    ----------
    result
        The model of a table, a grown network, a history, a growth run, a fitted estimator, a partition of a line
        or plane, a network, a torch module, or the name of a file or folder that ``creases report`` takes.
    box
        For a network: the inputs to report on, ``(lo, hi)`` or a pair for each; from -1 to 1 by default.
    height
        Height of the frame in a notebook, in pixels.
    progress
        Called as ``progress(what, done, total)`` as each part of a growth run's report begins.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-1.0])])
    >>> page = creases.report(net)
    >>> page.title
    'network: 4 regions'
    >>> page.save("network.html")  # doctest: +SKIP
    """
    check_count(height, "height")
    with TemporaryDirectory(prefix="creases-report-") as folder:
        path = Path(folder, "report.html")
        _write(result, path, box, progress)
        html = path.read_text(encoding="utf-8")
    title = re.search("<title>(.*?)</title>", html, re.DOTALL)
    return NotebookReport(unescape(title[1]) if title else "report", html, height)


def _write(result: Any, out: Path, box: Any, progress: Progress | None) -> None:
    """Write the page of a result by the writer of its kind."""
    if isinstance(result, str | Path):
        _write_file(Path(result), out, box, progress)
        return
    if hasattr(result, "get_params"):
        if hasattr(result, "kinds") and not hasattr(result, "model_"):
            raise InputError("result", "be fitted", type(result).__name__, "call fit first")
        model = getattr(result, "model_", None)
        result = model if isinstance(model, TableModel) else result
    if isinstance(result, TableModel):
        _write_table(result, out)
    elif isinstance(result, GrownModel):
        run, again = _run_of(result), _code(result)
        write_run_report(run, out, model="model.safetensors", again=again, progress=progress)
    elif isinstance(result, SavedRun):
        again = result.settings.command("run")
        write_run_report(result, out, model="model.safetensors", again=again, progress=progress)
    elif isinstance(result, History):
        write_history_page(result, out)
    elif isinstance(result, LinePartition | PlanePartition):
        write_partition_report(result, out, name="map")
    elif hasattr(result, "history_"):
        write_history_page(result.history_, out, estimator=result)
    else:
        write_network_page(as_network(result), out, box)


def _write_table(model: TableModel, out: Path) -> None:
    """Write the report of a model that was fitted in this program."""
    if model.data is None or model.data.source is None:
        hint = "report on the folder that creases fit wrote, or on one target"
        raise InputError("result", "be a model that was fitted in this program", "a loaded model", hint)
    target = f", {model.schema.target!r}" if model.schema.target else ""
    write_model_report(model, out, model_name="model", again=f"model = creases.fit_table(table{target})")


def _run_of(model: GrownModel) -> SavedRun:
    """Return the run of a model that was fitted in this program."""
    if model.run is None:
        expected = "be a network that grew in this program"
        raise InputError("result", expected, repr(model), "creases grow writes a folder to report on")
    return model.run


def _code(model: GrownModel) -> str:
    """Return the code that repeats a run on a table in memory."""
    config, usual = _run_of(model).settings.config, GrowthConfig()
    changed = [entry.name for entry in fields(config) if getattr(config, entry.name) != getattr(usual, entry.name)]
    options = "".join(f", {name}={getattr(config, name)!r}" for name in changed)
    target = f", {model.schema.target!r}" if model.schema.target else ""
    fit = f"model = creases.tables.grow_table(table{target}{options})"
    return f"{fit}\nmodel.network.save('model.safetensors')"


def _write_file(path: Path, out: Path, box: Any, progress: Progress | None) -> None:
    kind = kind_of_result(path)
    if kind == "growth run":
        write_growth_report(path, out, progress=progress)
    elif kind == "model of a table":
        write_table_report(path, out)
    elif kind == "map":
        write_map_report(path, out, box=box)
    else:
        write_comparison_report(path, out)
