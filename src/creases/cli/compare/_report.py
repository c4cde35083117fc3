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

#: Samples of different decisions that are listed, and drawn where they are images.
_LISTED, _DRAWN = 20, 5

#: Parameters that networks may have together, and bytes that samples may take, to be kept beside the numbers.
_PARAMETERS, _BYTES = 10_000_000, 2**25


def write(
    found: Similarity,
    changed: SampleDifference,
    samples: Samples,
    nets: Mapping[str, Network],
    folder: Path,
    command: Sequence[str],
) -> Path:
    """Write ``comparison.json``, what it is about, pictures and ``report.html``, each whole or not at all.

    Parameters
    ----------
    changed
        What changed between the first two networks.
    samples
        What the networks were compared at.
    nets
        The networks by name; kept in ``networks/`` unless they are large, as the samples are in ``samples.npz``.
    command
        That makes it again.
    """
    from creases.show import save_figure
    from creases.show.report import MEASURES, plot_measure, write_comparison_report

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileError(f"--out: cannot make the folder {folder}: {problem.strerror}") from None
    if len(found.names) > 2:
        for key in MEASURES:
            if getattr(found, key) is not None:
                save_figure(plot_measure(found, key), folder / f"{key}.png")
    listed = _order(changed)
    if samples.image is not None and len(listed):
        save_figure(_images(changed, samples, listed[:_DRAWN]), folder / "differences.png")
    kept = {"networks": _keep_networks(nets, folder), "kept_samples": _keep_samples(samples, folder)}
    told = {**as_json(found, changed, samples), "listed": _listed(changed, listed), **kept, "command": list(command)}
    write_json(told, folder / "comparison.json")
    return write_comparison_report(folder, folder / "report.html")


def as_json(found: Similarity, changed: SampleDifference, samples: Samples) -> dict[str, Any]:
    """The comparison as plain values, with the samples that the first two networks decide differently."""
    return {
        "samples_of": samples.source,
        **found.to_dict(),
        "changes": str(changed).splitlines(),
        "decided_differently": [int(i) for i in changed.differ],
    }


def _order(changed: SampleDifference) -> Any:
    """The samples of different decisions, the most changed first."""
    return changed.differ[np.argsort(-changed.change[changed.differ], kind="stable")]


def _listed(changed: SampleDifference, order: Any) -> list[dict[str, int]]:
    """The first samples of different decisions: their number, what a and b say, and the truth where it is known."""
    found = []
    for i in order[:_LISTED].tolist():
        row = {"sample": i, "a": int(changed.class_a[i]), "b": int(changed.class_b[i])}
        found.append(row if changed.labels is None else {**row, "truth": int(changed.labels[i])})
    return found


def _keep_networks(nets: Mapping[str, Network], folder: Path) -> list[str]:
    """Write the networks, unless they are large; the names of their files, from the folder."""
    count = sum(t.numel() for net in nets.values() for step in net.steps for t in step.tensors.values())
    if count > _PARAMETERS:
        return []
    (folder / "networks").mkdir(exist_ok=True)
    files = [f"networks/{k}.safetensors" for k in range(len(nets))]
    for name, net in zip(files, nets.values(), strict=True):
        net.save(folder / name)
    return files


def _keep_samples(samples: Samples, folder: Path) -> str | None:
    """Write the samples, unless they are many numbers; the name of their file."""
    if samples.x.nbytes > _BYTES:
        return None
    with write_atomically(folder / "samples.npz") as temporary:
        if samples.labels is None:
            np.savez_compressed(temporary, X=samples.x)
        else:
            np.savez_compressed(temporary, X=samples.x, y=samples.labels)
    return "samples.npz"


def _images(changed: SampleDifference, samples: Samples, which: Any) -> Any:
    from creases.show import plot_images

    def drawn(i: int) -> Any:
        own = np.asarray(samples.x[i], np.float64).reshape(samples.image or ())
        own = (own - own.min()) / max(float(np.ptp(own)), 1e-300)
        return own[0] if len(own) == 1 else own.transpose(1, 2, 0)

    truth = ["" if changed.labels is None else f" ({changed.labels[i]})" for i in which]
    names = [f"{changed.class_a[i]}, {changed.class_b[i]}{one}" for i, one in zip(which, truth, strict=True)]
    return plot_images([[drawn(i) for i in which]], [""], names)
