"""``creases compare``: how similar networks are, and what changed between two of them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from rich.markup import escape

from creases._files import write_atomically
from creases.cli._arguments import parse_shape
from creases.cli._model import load_model, read_points
from creases.cli._options import HELP_OR_RUN, TABLES, AsJson, InputShape, check_model, complete_files, complete_model
from creases.cli._sections import section_parts
from creases.cli.console import argument, note, option, out, print_json, print_next, repeat_command, show_progress
from creases.errors import FileError, InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from creases.compare import Similarity
    from creases.compare.differences import SampleDifference
    from creases.network import Network


#: Sets of images by name.
IMAGES = ("mnist", "cifar10")

#: Number of samples with different decisions to list, and to draw if they are images.
_LISTED, _DRAWN = 20, 5

#: Parameters that networks may have together, and bytes that samples may take, to be stored with the numbers.
_PARAMETERS, _BYTES = 10_000_000, 2**25


def compare_networks(
    models: Annotated[
        list[str], argument("MODEL MODEL ...", HELP_OR_RUN, autocompletion=complete_model, callback=check_model)
    ],
    data: Annotated[
        str,
        option(
            "DATA",
            f"Samples to compare on: {' or '.join(IMAGES)}, or a table (.csv, .npz, ...).",
            autocompletion=complete_files(*TABLES),
        ),
    ],
    target: Annotated[str | None, option("COLUMN", "Column of the table with the classes; default: the last.")] = None,
    samples: Annotated[int, option("N", "Number of samples to compare on.", min=2)] = 1000,
    train: Annotated[
        int, option("N", "Number of further samples, to fit maps between the networks' coefficients.", min=0)
    ] = 0,
    normalise: Annotated[
        bool, option("", "Scale images to mean 0 and standard deviation 1 in each channel.", "--normalise")
    ] = False,
    input_shape: InputShape = None,
    folder: Annotated[
        Path | None, option("DIR", "Folder for comparison.json, networks, pictures and report.html.", "--out")
    ] = None,
    device: Annotated[str, option("DEVICE", "Torch device: cpu, cuda, cuda:1, ...")] = "cpu",
    json: AsJson = False,
) -> None:
    """Compare the decisions and coefficients of networks.

    Takes two or more networks of any architecture with the same inputs.

    For example:
      creases compare old.onnx new.onnx --data test.csv --out out/compare
    """
    if data not in IMAGES and not Path(data).is_file():
        raise InputError("data", "be an existing file", data)
    if folder is not None and folder.exists() and not folder.is_dir():
        raise FileError(f"cannot write to {folder}: it is a file; give a folder")
    from creases.compare import similarity
    from creases.compare.differences import difference_at_samples

    with show_progress(6 + 2 * len(models)) as begin:
        begin("reading the networks")
        nets = _read(models, parse_shape(input_shape), device)
        begin("reading the samples")
        rows = read_samples(data, next(iter(nets.values())), samples, train, target=target, normalise=normalise)
        fitted = rows.train if rows.y is not None else None
        result = similarity(nets, rows.X, y=rows.y, train=fitted, progress=lambda what, done, total: begin(what))
        begin("finding what changed")
        first, second, *_ = nets.values()
        changed = difference_at_samples(first, second, rows.X, rows.y)
        if folder is not None:
            begin("writing")
            write_comparison(result, changed, rows, nets, folder, ["creases", *sys.argv[1:]])
    if train and rows.y is None:
        note(f"--train ignored: {data} has no classes to measure the accuracy of maps")
    if json:
        print_json(as_json(result, changed, rows))
        return
    _print(result, changed, rows.source)
    if folder is None:
        print_next(repeat_command("--out", "comparison"), "save the comparison as an HTML report")
    else:
        print_next(f"python -m webbrowser {shlex.quote(str(folder / 'report.html'))}", "open the report")


def _read(models: list[str], shape: tuple[int, ...] | None, device: str) -> dict[str, Network]:
    import torch

    if len(models) < 2:
        raise InputError("models", "be at least two networks", "one")
    names = [Path(name).stem if Path(name).suffix else name for name in models]
    short = names if len(set(names)) == len(names) else models
    if len(set(short)) < len(short):
        raise InputError("models", "be different networks", "the same twice")
    nets = {name: load_model(path, shape) for name, path in zip(short, models, strict=True)}
    # Networks of images are in float32, in which they were trained; small ones stay in float64.
    return {name: (net if net.n_in <= 256 else net.to(torch.float32)).to(device) for name, net in nets.items()}


def _print(result: Similarity, changed: SampleDifference, source: str) -> None:
    from creases.compare import Difference

    a, b, *_ = result.names
    out.print(escape(f"{len(result.names)} networks at {source}"), style="bold")
    words, *tables = Difference(samples=changed).describe().sections
    changes = {**words, "title": f"from {a} (a) to {b} (b)"}
    for part in section_parts([*result.describe().sections, changes, *tables]):
        out.print(part, soft_wrap=isinstance(part, str))


# Samples that networks are compared at: images by name, or a file.


@dataclass(frozen=True, eq=False)
class Samples:
    """Inputs (p, n_in) to compare at, their classes (p,) if known, and others to fit maps to, if asked for."""

    X: NDArray[Any]
    y: NDArray[np.int64] | None
    train: NDArray[Any] | None
    source: str  #: in words
    image: tuple[int, ...] | None = None  #: (c, h, w) where samples are images


def read_samples(
    data: str, net: Network, samples: int, train: int, *, target: str | None = None, normalise: bool = False
) -> Samples:
    """Return the samples that ``--data`` names, as the network takes them, and others to fit maps to.

    These are the first test images and the first training images, or the first rows of a file and those that follow.
    """
    if data in IMAGES:
        if target is not None:
            raise InputError("target", f"be left out for {data}, whose classes are known", repr(target))
        X, y = _images(data, "test", net, samples, normalise)
        other = _images(data, "train", net, train, normalise)[0].reshape(train, -1) if train else None
        kind = "normalised pixels" if normalise else "pixels from 0 to 1"
        source = f"{len(X)} test images of {data}, {kind}"
        return Samples(X.reshape(len(X), -1), y, other, source, X.shape[1:])
    if normalise:
        raise InputError("normalise", f"be left out for files; it is for images ({', '.join(IMAGES)})")
    points, classes = read_points(Path(data), target, net.n_in, net.n_out)
    if train and len(points) < samples + train:
        raise InputError(
            "train",
            f"leave {samples} of the {len(points)} rows of {data} to compare at",
            f"{train}",
            "use fewer samples or fewer training samples",
        )
    X, others = points[:samples], points[samples : samples + train]
    known = None if classes is None else classes[:samples]
    return Samples(X, known, others if train else None, f"{len(X)} rows of {data}")


def _images(
    data: str, split: Literal["train", "test"], net: Network, count: int, normalise: bool
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return images (count, c, h, w) in the size that the network takes, and their classes."""
    import numpy as np

    from creases.problems import cifar10, mnist
    from creases.problems.images import channel_statistics, to_color_32
    from creases.problems.images import normalise as standardize_pixels

    read = {"mnist": mnist, "cifar10": cifar10}[data]
    images = read(split)
    pixels = images.images[:count]
    size = pixels[0].size
    if net.n_in == 3072 and size == 784:
        pixels = to_color_32(pixels)
    elif net.n_in != size:
        raise InputError("data", f"have {net.n_in} inputs, as the network", f"images of {data} with {size} pixels")
    if not normalise:
        return pixels / 255.0, images.labels[:count]
    mean, spread = channel_statistics(read("train").images)
    repeats = pixels.shape[1] // len(mean)
    scaled = standardize_pixels(pixels, (np.repeat(mean, repeats), np.repeat(spread, repeats)))
    return scaled, images.labels[:count]


# A comparison in a folder: the numbers as JSON, the networks and samples, pictures, and one HTML page of all of it.


def write_comparison(
    result: Similarity,
    changed: SampleDifference,
    samples: Samples,
    nets: Mapping[str, Network],
    folder: Path,
    command: Sequence[str],
) -> Path:
    """Write ``comparison.json``, networks, samples, pictures and ``report.html``; no file is left incomplete.

    Networks and samples are left out if they are large. ``changed`` is the difference of the first two networks,
    ``command`` repeats the comparison.
    """
    import numpy as np

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
    listed = changed.differ[np.argsort(-changed.change[changed.differ], kind="stable")]
    if samples.image is not None and len(listed):
        save_figure(_draw_images(changed, samples, listed[:_DRAWN]), folder / "differences.png")
    rows = []
    for i in listed[:_LISTED].tolist():
        row = {"sample": i, "a": int(changed.class_a[i]), "b": int(changed.class_b[i])}
        rows.append(row if changed.y is None else {**row, "truth": int(changed.y[i])})
    record = {
        **as_json(result, changed, samples),
        "listed": rows,
        "networks": _save_networks(nets, folder),
        "kept_samples": _save_samples(samples, folder),
        "command": list(command),
    }
    return write_comparison_report(folder, folder / "report.html", record)


def as_json(result: Similarity, changed: SampleDifference, samples: Samples) -> dict[str, Any]:
    """Return the comparison as plain values, with the samples that the first two networks decide differently."""
    return {
        "samples_of": samples.source,
        **result.to_dict(),
        "changes": str(changed).splitlines(),
        "decided_differently": [int(i) for i in changed.differ],
    }


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
    import numpy as np

    if samples.X.nbytes > _BYTES:
        return None
    with write_atomically(folder / "samples.npz") as temporary:
        if samples.y is None:
            np.savez_compressed(temporary, X=samples.X)
        else:
            np.savez_compressed(temporary, X=samples.X, y=samples.y)
    return "samples.npz"


def _draw_images(changed: SampleDifference, samples: Samples, which: Any) -> Any:
    import numpy as np

    from creases.show import plot_images

    def pixels(i: int) -> Any:
        image = np.asarray(samples.X[i], np.float64).reshape(samples.image or ())
        image = (image - image.min()) / max(float(np.ptp(image)), 1e-300)
        return image[0] if len(image) == 1 else image.transpose(1, 2, 0)

    truth = ["" if changed.y is None else f" ({changed.y[i]})" for i in which]
    names = [f"{changed.class_a[i]}, {changed.class_b[i]}{text}" for i, text in zip(which, truth, strict=True)]
    return plot_images([[pixels(i) for i in which]], [""], names)
