"""Reports of comparisons: a folder in, one HTML file out.

Small networks that the comparison saved are mapped, on their inputs or on a plane through three samples.
"""

from __future__ import annotations

import base64
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from creases._document import Document, Section, table
from creases._files import open_npz, parse_json, write_json
from creases._text import plural
from creases._typing import Floats
from creases.compare import Difference, Similarity
from creases.compare.differences import PartitionDifference, difference_on_line, difference_on_plane
from creases.errors import CreasesError, FileError
from creases.network import Network, read
from creases.regions import PlanePartition
from creases.regions.geometry import slice_through
from creases.show._viewer._frames import partition_frame
from creases.show.report._maps import samples_json
from creases.show.report._page import (
    COMPARISON,
    check_html_name,
    format_float,
    format_percent,
    render_themes,
    write_sections,
    write_viewer,
)
from creases.show.report._slices import Slice
from creases.show.report._subject import ROWS, count_parameters, map_box
from creases.tables import data_box

# The similarity measures of a comparison: names, meanings and values.

#: Measures by name, with their meaning.
MEASURES = {
    "agreement": "fraction of samples with the same predicted class",
    "cka": "centered kernel alignment of coefficients: 1 if pieces are equal up to rotation and scale",
    "distance": "mean squared distance of coefficients, scaled: 0 for equal networks",
    "cross_entropy": "cross-entropy of the column's softmax outputs relative to the row's; on the diagonal its entropy",
    "mapped": "accuracy of the row's coefficients, linearly mapped to the column's; on the diagonal its own",
}

#: Measures with two values for two networks, with the meaning of these.
OF_PAIRS = {
    "cross_entropy": "cross-entropy of softmax outputs: b in place of a, a in place of b",
    "mapped": "accuracy of coefficients after the best linear map: a to b, b to a",
}

#: Measures whose small values mean similar networks.
DISTANCES = ("distance", "cross_entropy")

#: Measures with the accuracies on the diagonal of their heat map.
WITH_ACCURACY = ("agreement", "cka", "distance")


def measure_title(key: str) -> str:
    """Return the name of a measure for humans."""
    names = {"cka": "CKA", "cross_entropy": "Cross-entropy", "mapped": "Accuracy after mapping"}
    return names.get(key, key.capitalize())


def similarity_document(similarity: Similarity) -> Document:
    """Return the accuracy of each network, then every measure: of two networks in one table, of more one for each."""
    names, order, scores = similarity.names, similarity.order(), similarity.accuracy
    title = f"{len(names)} networks at {similarity.samples:,} samples"
    known = [[]] * len(names) if scores is None else [[f"{100 * score:.2f}%"] for score in scores]
    rows = [[name, *score] for name, score in zip(names, known, strict=True)]
    sections = [table("Networks", ["network", "accuracy"][: len(rows[0])], rows)]
    measures = {key: values for key in MEASURES if (values := getattr(similarity, key)) is not None}
    if len(names) == 2:
        rows = []
        for key, values in measures.items():
            both = key in OF_PAIRS  # it is not symmetric
            value = ", ".join(format_float(values[i, 1 - i], 3) for i in range(1 + both))
            rows.append([measure_title(key), value, OF_PAIRS.get(key, MEASURES[key])])
        sections.append(table("Similarity", ["measure", "value", "meaning"], rows))
        return Document(title, "", sections, similarity.to_dict())
    for key, values in measures.items():
        rows = [[names[i], *(format_float(values[i, j], 3) for j in order)] for i in order]
        heads, text = ["", *(names[i] for i in order)], f"{measure_title(key)}: {MEASURES[key]}."
        sections.append(table(measure_title(key), heads, rows, text=text))
    return Document(title, "", sections, similarity.to_dict())


#: Pairs of classes of a difference that are listed.
PAIRS = 20


def difference_document(difference: Difference) -> Document:
    """Return the difference of two networks in words, and which decisions changed at samples."""
    verdict = "the same everywhere compared" if difference.empty else "the networks differ"
    samples = difference.samples
    sections: list[Section] = [{"title": "In words", "text": str(difference)}]
    if samples is not None and len(samples.differ):
        confusion = samples.confusion()
        pairs = [(int(i), int(j)) for i, j in np.argwhere(confusion) if i != j]
        pairs.sort(key=lambda pair: -confusion[pair])
        rows = [[str(i), str(j), f"{confusion[i, j]:,}"] for i, j in pairs[:PAIRS]]
        sections.append(table("Changed decisions", ("a predicts", "b predicts", "samples"), rows))
    return Document(f"Difference: {verdict}", "", sections)


def plot_measure(similarity: Similarity, key: str) -> Any:
    """Plot the heat map of a measure, with similar networks side by side."""
    from creases.show import plot_similarity
    from creases.show._style import new_figure

    size = 2.6 + 0.5 * len(similarity.names)
    figure, (ax,) = new_figure(size + 0.8, size)
    plot_similarity(
        getattr(similarity, key),
        similarity.names,
        ax=ax,
        accuracy=similarity.accuracy if key in WITH_ACCURACY else None,
        distance=key in DISTANCES,
        order=similarity.order(),
        label=measure_title(key),
    )
    return figure


# Maps of the networks of a comparison on a common plane, and where the first two disagree.

#: Largest numbers of networks mapped, of their units, and of input columns of samples shown.
NETWORKS, UNITS, COLUMNS = 8, 1000, 64

#: Margin of a plane around its three samples, as a fraction of their range.
MARGIN = 0.4

#: Samples are collinear within this fraction of the range of the data.
FLAT = 1e-6


@dataclass(frozen=True, eq=False)
class Planes:
    """The maps of a comparison for the viewer."""

    nets: list[Network]
    frames: list[bytes]  #: one for each
    counts: list[int]  #: regions of each
    where: str  #: the domain, in a few words
    problem: dict[str, Any]  #: the problem of the viewer's run, without its name
    difference: Section  #: where the first two disagree


def map_networks(folder: Path, comparison: dict[str, Any]) -> Planes | None:
    """Map the networks that a comparison saved on a common plane; None if there are none, or large ones."""
    files, samples = comparison.get("networks") or [], comparison.get("kept_samples")
    if not files or not samples:
        return None
    nets = [read(folder / name) for name in files[:NETWORKS]]
    if any(net.n_units > UNITS for net in nets):
        return None
    try:
        with open_npz(folder / samples) as arrays:
            X = np.asarray(arrays["X"], np.float64)
            y = np.asarray(arrays["y"]) if "y" in arrays else None
    except (OSError, ValueError, KeyError) as error:
        raise FileError(f"cannot read {folder / samples}: {error}") from None
    X = X.reshape(len(X), -1)
    place = _choose_domain(nets[0], X, y, [row["sample"] for row in comparison.get("listed", [])])
    if place is None:
        return None
    partitions = [map_box(net, place.box, place.origin, place.basis) for net in nets]
    shown: dict[str, Any] = {} if y is None or nets[0].n_in > COLUMNS else {"X": X[:ROWS], "y": y[:ROWS]}
    points = shown.get("X") if nets[0].n_in > 2 else None
    frames = [partition_frame(p, points=points, about={"moment": 0, "slice": k}) for k, p in enumerate(partitions)]
    classes = [f"class {index}" for index in range(max(2, nets[0].n_out))]
    counts, problem = [partition.count for partition in partitions], samples_json(nets[0], "", classes, **shown)
    difference = _difference_section(nets[0], nets[1], place, comparison["names"])
    return Planes(nets, frames, counts, place.name, problem, difference)


def _choose_domain(net: Network, X: Floats, y: NDArray[Any] | None, listed: list[int]) -> Slice | None:
    """Choose the domain: the input space of one or two inputs, or a plane through three samples."""
    if not len(X):
        return None
    if net.n_in <= 2:
        where = "in the interval" if net.n_in == 1 else "in the box"
        box = np.array(data_box(X))
        return Slice(where, np.zeros(net.n_in), np.eye(net.n_in), box, fixed=where)
    rows = _choose_three(X, [*_typical_samples(X, y), *listed])
    if rows is None:
        return None
    origin, basis, t = slice_through(net, list(X[rows]))
    low, high = t.min(axis=0), t.max(axis=0)
    pad = MARGIN * (high - low).max()  # the same on all sides: nearly collinear samples would give a strip
    box, where = np.stack([low - pad, high + pad], axis=1), "on the plane through samples {}, {} and {}".format(*rows)
    return Slice("on the plane", origin, basis, box, fixed=where)


def _typical_samples(X: Floats, y: NDArray[Any] | None) -> list[int]:
    """Return the samples nearest to the means of the three largest classes; none without classes."""
    if y is None:
        return []
    kinds, counts = np.unique(y, return_counts=True)
    nearest = []
    for kind in kinds[np.argsort(-counts, kind="stable")[:3]]:
        rows = np.flatnonzero(y == kind)
        nearest.append(int(rows[np.linalg.norm(X[rows] - X[rows].mean(axis=0), axis=1).argmin()]))
    return nearest


def _choose_three(X: Floats, preferred: list[int]) -> list[int] | None:
    """Return three samples that are not collinear: preferred ones if possible, otherwise the farthest."""
    size = float(np.ptp(X, axis=0).max())
    first = preferred[0] if preferred else 0
    rows, away = [first], X - X[first]
    while len(rows) < 3:
        distance = np.linalg.norm(away, axis=1)
        far = distance > FLAT * size
        if not far.any():
            return None
        new = next((row for row in preferred if far[row]), int(distance.argmax()))
        rows.append(new)
        along = away[new] / distance[new]
        away = away - (away @ along)[:, None] * along
    return rows


def _difference_section(a: Network, b: Network, place: Slice, names: list[str]) -> Section:
    """Return the section about where two networks disagree, which is exact."""
    if len(place.box) == 1:
        difference = difference_on_line(a, b, place.box[:, 0], place.box[:, 1])
    else:
        difference = difference_on_plane(a, b, place.box, place.origin, place.basis)
    section: Section = {"title": "Where they disagree", "text": _describe(difference, names, place)}
    sizes: dict[tuple[int, int], list[float]] = {}
    for part in difference.parts():
        sizes.setdefault(part.classes, []).append(part.size)
    if sizes:
        total, ordered = float(difference.sizes.sum()), sorted(sizes.items(), key=lambda item: -sum(item[1]))
        rows = [
            [f"{i} and {j}", plural(len(parts), "part"), format_percent(sum(parts) / total)]
            for (i, j), parts in ordered[:PAIRS]
        ]
        columns = [f"{names[0]} and {names[1]} predict", "in", "fraction of the inputs"]
        section["table"] = {"columns": columns, "rows": rows}
    if isinstance(partition := difference.partition, PlanePartition):

        def draw() -> Figure:
            from creases.show import plot_disagreement
            from creases.show._figures._plane import plane_height
            from creases.show._style import new_figure

            figure, (ax,) = new_figure(4.6, plane_height(partition, 4.6) + 0.4)
            plot_disagreement(difference, ax=ax, names=names[:2])
            return figure

        section["picture"] = render_themes(draw)
    return section


def _describe(difference: PartitionDifference, names: list[str], place: Slice) -> str:
    worst = int(difference.largest.argmax())
    if difference.empty:
        return f"{names[0]} and {names[1]} are the same function {place.fixed}, up to rounding."
    text = f"{names[0]} and {names[1]} agree everywhere {place.fixed}."
    if difference.differ.any():
        share = format_percent(difference.share)
        text = f"{names[0]} and {names[1]} disagree on {share} of the inputs {place.fixed}."
    largest = format_float(float(difference.largest[worst]))
    return f"{text} Their outputs differ by at most {largest} (output {worst}). Both numbers are exact."


#: Required entries of a comparison; networks and samples are optional.
_PARTS = ("accuracy", "agreement", "cka", "distance", "cross_entropy", "mapped")
_NEEDED = ("names", "samples", "samples_of", "changes", "decided_differently", *_PARTS)


def write_comparison_report(folder: Path, out: Path, record: Mapping[str, Any] | None = None) -> Path:
    """Write the report of a comparison to an HTML file.

    Parameters
    ----------
    folder
        A folder that ``creases compare`` wrote.
    out
        The HTML file to write.
    record
        A comparison as plain values to write into the folder before.
    """
    check_html_name(out)
    if record is not None:
        write_json(record, folder / COMPARISON)
    comparison = _read(folder / COMPARISON)
    try:
        return _write(comparison, folder, out)
    except CreasesError:
        raise
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise FileError(f"cannot read {folder / COMPARISON}: it is damaged: {error}") from error


def _write(comparison: dict[str, Any], folder: Path, out: Path) -> Path:
    similarity = Similarity(
        tuple(comparison["names"]),
        comparison["samples"],
        *(None if comparison[part] is None else np.array(comparison[part], np.float64) for part in _PARTS),  # type: ignore[arg-type]
    )
    planes = map_networks(folder, comparison)
    networks, *measures = similarity.describe().sections
    titles = {measure_title(key): key for key in MEASURES}
    for section in measures:  # of more than two networks, each measure has its heat map
        if key := titles.get(section["title"]):
            section["picture"] = render_themes(partial(plot_measure, similarity, key))
    sections = [
        *([networks] if planes is None else [_add_sizes(networks, planes), planes.difference]),
        *_changes(similarity, comparison, folder),
        *measures,
        *([{"title": "Reproduce it", "code": shlex.join(comparison["command"])}] if comparison.get("command") else []),
    ]
    name = f"{len(similarity.names)} networks compared"
    lead = f"{', '.join(similarity.names)}, on {comparison['samples_of']}."
    if planes is None:
        return write_sections(out, name, lead, sections)
    problem, names = {**planes.problem, "name": name, "about": lead}, similarity.names[: len(planes.nets)]
    return write_viewer(out, name, problem, planes.frames, planes.counts[0], sections, names, "Network")


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise FileError(f"cannot read {path}: there is no such file; pass a folder written by creases compare")
    try:
        comparison = parse_json(path.read_text("utf-8"))
        missing = [name for name in _NEEDED if name not in comparison]
    except (OSError, ValueError, TypeError) as error:
        raise FileError(f"cannot read {path}: it is damaged: {error}") from None
    if missing:
        raise FileError(f"cannot read {path}: it is damaged or from another version; missing: {', '.join(missing)}")
    return dict(comparison)


def _add_sizes(networks: Section, planes: Planes) -> Section:
    """Return the table of networks with their sizes and regions."""
    columns = [*networks["table"]["columns"], "parameters", "units", f"regions {planes.where}"]
    mapped = zip(planes.nets, planes.counts, strict=True)
    sizes = [[f"{n:,}" for n in (count_parameters(net), net.n_units, count)] for net, count in mapped]
    rows = networks["table"]["rows"]
    sizes += [["–"] * 3] * (len(rows) - len(sizes))
    return table("Networks", columns, [[*row, *size] for row, size in zip(rows, sizes, strict=True)])


def _changes(similarity: Similarity, comparison: dict[str, Any], folder: Path) -> list[Section]:
    """Return the changes between the first two networks at the samples, and the samples they classify differently."""
    a, b, *_ = similarity.names
    sections: list[Section] = [{"title": f"From {a} (a) to {b} (b)", "text": " ".join(comparison["changes"])}]
    listed, count = comparison.get("listed", []), len(comparison["decided_differently"])
    if not listed:
        return sections
    left = f", {len(listed)} of {count}" if len(listed) < count else ""
    heads = {"sample": "sample", "a": "a predicts", "b": "b predicts", "truth": "truth"}
    keys = [key for key in heads if key in listed[0]]
    rows = [[str(row[key]) for key in keys] for row in listed]
    section: Section = {"title": f"Classified differently{left}, largest changes first"}
    picture = folder / "differences.png"
    if picture.is_file():
        section["text"] = "Below each image are the class of a, the class of b and, in parentheses, the true class."
        section["picture"] = f"data:image/png;base64,{base64.b64encode(picture.read_bytes()).decode()}"
    return [*sections, {**section, "table": {"columns": [heads[key] for key in keys], "rows": rows}}]
