"""A comparison in a folder: the numbers as JSON, the networks and samples, pictures, and one HTML page of all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from creases._files import write_atomically, write_json
from creases.errors import FileError

if TYPE_CHECKING:
    from creases.cli.compare._data import Samples
    from creases.compare import Similarity
    from creases.compare.differences import SampleDifference
    from creases.network import Network

#: Number of samples with different decisions to list, and to draw if they are images.
_LISTED, _DRAWN = 20, 5

#: Parameters that networks may have together, and bytes that samples may take, to be stored with the numbers.
_PARAMETERS, _BYTES = 10_000_000, 2**25


def write(
    result: Similarity,
    changed: SampleDifference,
    samples: Samples,
    nets: Mapping[str, Network],
    folder: Path,
    command: Sequence[str],
) -> Path:
    """Write ``comparison.json``, networks, samples, pictures and ``report.html``; no file is left incomplete.

    Parameters
    ----------
    result
        The similarity of all networks.
    changed
        The difference of the first two networks.
    samples
        The samples that the networks were compared at.
    nets
        The networks by name; stored in ``networks/`` unless they are large, as the samples are in ``samples.npz``.
    folder
        Where to write; made if missing.
    command
        The command line that repeats the comparison.
    """
    from creases.show import save_figure
    from creases.show.report import MEASURES, plot_measure, write_comparison_report

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileError(f"cannot make the folder {folder}: {problem.strerror}; give another one") from None
    if len(result.names) > 2:
        for key in MEASURES:
            if getattr(result, key) is not None:
                save_figure(plot_measure(result, key), folder / f"{key}.png")
    listed = _order(changed)
    if samples.image is not None and len(listed):
        save_figure(_images(changed, samples, listed[:_DRAWN]), folder / "differences.png")
    record = {
        **as_json(result, changed, samples),
        "listed": _table(changed, listed),
        "networks": _save_networks(nets, folder),
        "kept_samples": _save_samples(samples, folder),
        "command": list(command),
    }
    write_json(record, folder / "comparison.json")
    return write_comparison_report(folder, folder / "report.html")


def as_json(result: Similarity, changed: SampleDifference, samples: Samples) -> dict[str, Any]:
    """Return the comparison as plain values, with the samples that the first two networks decide differently."""
    return {
        "samples_of": samples.source,
        **result.to_dict(),
        "changes": str(changed).splitlines(),
        "decided_differently": [int(i) for i in changed.differ],
    }


def _order(changed: SampleDifference) -> Any:
    """Return the samples with different decisions, the most changed first."""
    return changed.differ[np.argsort(-changed.change[changed.differ], kind="stable")]


def _table(changed: SampleDifference, order: Any) -> list[dict[str, int]]:
    """Return the first samples with different decisions: number, classes of a and b, and the truth if known."""
    rows = []
    for i in order[:_LISTED].tolist():
        row = {"sample": i, "a": int(changed.class_a[i]), "b": int(changed.class_b[i])}
        rows.append(row if changed.y is None else {**row, "truth": int(changed.y[i])})
    return rows


def _save_networks(nets: Mapping[str, Network], folder: Path) -> list[str]:
    """Write the networks, unless they are large; return their file names, relative to the folder."""
    count = sum(t.numel() for net in nets.values() for step in net.steps for t in step.tensors.values())
    if count > _PARAMETERS:
        return []
    (folder / "networks").mkdir(exist_ok=True)
    files = [f"networks/{k}.safetensors" for k in range(len(nets))]
    for name, net in zip(files, nets.values(), strict=True):
        net.save(folder / name)
    return files


def _save_samples(samples: Samples, folder: Path) -> str | None:
    """Write the samples, unless they are large; return the name of their file."""
    if samples.X.nbytes > _BYTES:
        return None
    with write_atomically(folder / "samples.npz") as temporary:
        if samples.y is None:
            np.savez_compressed(temporary, X=samples.X)
        else:
            np.savez_compressed(temporary, X=samples.X, y=samples.y)
    return "samples.npz"


def _images(changed: SampleDifference, samples: Samples, which: Any) -> Any:
    from creases.show import plot_images

    def pixels(i: int) -> Any:
        image = np.asarray(samples.X[i], np.float64).reshape(samples.image or ())
        image = (image - image.min()) / max(float(np.ptp(image)), 1e-300)
        return image[0] if len(image) == 1 else image.transpose(1, 2, 0)

    truth = ["" if changed.y is None else f" ({changed.y[i]})" for i in which]
    names = [f"{changed.class_a[i]}, {changed.class_b[i]}{text}" for i, text in zip(which, truth, strict=True)]
    return plot_images([[pixels(i) for i in which]], [""], names)
