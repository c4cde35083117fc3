"""``creases prune``: a smaller network with the same function, or with the same accuracy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creases._document import Document, facts
from creases._files import write_json
from creases.cli._arguments import check_outputs, parse_box, parse_shape
from creases.cli._options import Model, complete_data
from creases.cli._table_options import AsJson
from creases.cli.console import (
    INTERRUPTED,
    command,
    note,
    option_panels,
    print_facts,
    print_json,
    print_next,
    repeat_command,
    show_progress,
)
from creases.errors import InputError

if TYPE_CHECKING:
    from torch import nn

    import creases.prune as prune
    from creases.cli.prune._data import Data

data_option, method_option, output_option = option_panels("Data", "Method", "Output")

#: Samples on which the coefficients of the pruned network are compared with those of the original.
COMPARED = 300

#: Fraction of the accuracy to preserve where no size is asked for.
KEEP_ACCURACY = 0.99

#: What is pruned: units or weights.
Method = StrEnum("Method", ["channels", "magnitude"])


def prune_model(
    model_: Model,
    data: Annotated[
        str | None,
        data_option(
            "DATA",
            "A table, or a built-in problem (see: creases problems): prune while the accuracy is preserved.",
            autocompletion=complete_data,
        ),
    ] = None,
    target: Annotated[
        str | None, data_option("COLUMN", "Column of the table with the classes; default: the last.")
    ] = None,
    box: Annotated[
        str | None, data_option("LO,HI,...", "Range of the inputs: one for all, or one for each; default: unbounded.")
    ] = None,
    input_shape: Annotated[str | None, data_option("C,H,W", "Shape of one input.")] = None,
    keep_accuracy: Annotated[
        float | None,
        method_option(
            "FRACTION", f"Fraction of the original accuracy to preserve; default: {KEEP_ACCURACY}, with a size any."
        ),
    ] = None,
    parameters: Annotated[
        float | None,
        method_option(
            "SIZE", "Prune units down to this number of parameters, or to this fraction of them (such as 0.25)."
        ),
    ] = None,
    multiply_adds: Annotated[
        float | None,
        method_option(
            "SIZE", "Prune units down to this number of multiply-adds for one input, or to this fraction of them."
        ),
    ] = None,
    method: Annotated[
        Method, method_option("METHOD", "channels (remove the least important units) or magnitude (smallest weights).")
    ] = Method.channels,
    per_step: Annotated[
        int | None,
        method_option("N", "Units to remove at a time; default: 1, with a size a 32nd of those left.", min=1),
    ] = None,
    epochs: Annotated[int, method_option("N", "Epochs of fine-tuning after each removal.", min=0)] = 1,
    lr: Annotated[float, method_option("RATE", "Learning rate of the fine-tuning (Adam).")] = 1e-3,
    seed: Annotated[int, method_option("N", "Random seed of the train/validation split and the order of samples.")] = 0,
    out: Annotated[
        Path | None, output_option("FILE", "Write the pruned network to a .safetensors or .onnx file.")
    ] = None,
    record: Annotated[Path | None, output_option("FILE", "Write all steps to a .json file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Shrink a network and keep its function or its accuracy.

    First removes units that provably cannot affect the output anywhere in the box (with --data: the range of the data);
    the function stays the same. With --data, then removes units or weights and fine-tunes the rest for as long as the
    accuracy is preserved, or down to the size that --parameters or --multiply-adds asks for. Channels that residual
    sums or grouped convolutions tie together are removed together.

    For example:
      creases prune net.onnx --box 0,1 --out small.onnx
      creases prune net.onnx --data table.csv --keep-accuracy 0.98 --out small.onnx
      creases prune net.onnx --data table.csv --parameters 0.25 --out small.onnx
    """
    check_outputs([out] if out else [], (".safetensors", ".onnx"))
    check_outputs([record] if record else [], (".json",), "--record")
    if keep_accuracy is not None and not 0 < keep_accuracy <= 1:
        raise InputError("keep_accuracy", "be a fraction above 0 and at most 1, such as 0.99", f"{keep_accuracy:g}")
    if parameters is not None and multiply_adds is not None:
        raise InputError("multiply_adds", "be left out with --parameters", f"{multiply_adds:g}")
    sizes = {"parameters": parameters, "multiply_adds": multiply_adds}
    for name, size in sizes.items():
        _check_size(name, size, data, method)
    if data is not None and box is not None:
        raise InputError("box", "be left out with data, whose range is the box", repr(box))
    import creases.prune as prune
    from creases.cli.prune._data import read_data

    with show_progress(4 if data else 3) as begin:
        begin("reading the network")
        original, shape = _load(model_, parse_shape(input_shape), out)
        rows = None if data is None else read_data(data, target, original, shape, seed)
        pairs = parse_box(box) if box is not None else None if rows is None else rows.box
        begin("looking for redundant units")
        limits = pairs[0] if pairs is not None and len(pairs) == 1 and rows is None else pairs  # one for all inputs
        result = Result(original, shape, prune.exact(original, limits, input_shape=shape), data=rows)
        if rows is not None:
            begin("pruning")
            tune = prune.tuner(*rows.tune, epochs=epochs, optimizer="adam", lr=lr, seed=seed)
            options = _size(result, rows, sizes)
            keep = keep_accuracy if keep_accuracy is not None else 0.0 if options else KEEP_ACCURACY
            options |= {"per_step": per_step} if method is Method.channels else {}
            result.by_data = _prune_by_data(result.exact.model, rows, method, keep, begin, {"tune": tune, **options})
            result.similarity = _similarity(result, rows)
        begin("writing")
        files = _write(result, out, record)
    if as_json:
        print_json({**result.describe().values, "files": [str(path) for path in files]})
    else:
        print_facts(result.describe(), [("written", str(path)) for path in files])
        before, after = result.parameters()
        if after < before or out is not None:
            _print_next(model_, data, out)
    if result.by_data is not None and result.by_data.ended == "interrupted":
        note("Interrupted. This is the smallest network so far that preserves the accuracy.")
        raise typer.Exit(INTERRUPTED)


def _check_size(name: str, size: float | None, data: str | None, method: Method) -> None:
    if size is None:
        return
    if data is None:
        raise InputError(name, "be left out without --data, by which units are ranked", f"{size:g}")
    if method is not Method.channels:
        raise InputError(name, "be left out with --method magnitude, which keeps all units", f"{size:g}")
    if not 0 < size < float("inf") or (size > 1 and size != int(size)):
        raise InputError(name, "be a fraction above 0 and up to 1, or a positive integer", f"{size:g}")


def _print_next(model_: str, data: str | None, out: Path | None) -> None:
    """Print how to save the pruned network, or how to compare it with the original."""
    if out is None:
        print_next(repeat_command("--out", "small.safetensors"), "save the pruned network")
    elif data is not None:
        print_next(command("compare", model_, out, "--data", data), "compare it with the original on your data")


@dataclass(eq=False)
class Result:
    """A pruned network and how it was pruned."""

    original: nn.Module
    shape: tuple[int, ...] | None
    exact: prune.ExactResult
    by_data: prune.PruningResult | None = None
    data: Data | None = None
    similarity: float | None = None  #: of the coefficients, with those of the original

    @property
    def model(self) -> nn.Module:
        """The pruned module."""
        return self.exact.model if self.by_data is None else self.by_data.model

    def parameters(self) -> tuple[int, int]:
        """Return the number of parameters before and after."""
        return self.exact.parameters_before, sum(p.numel() for p in self.model.parameters())

    def describe(self) -> Document:
        """Return what was pruned, by how much, and how alike the network is to the original."""
        before, after = self.parameters()
        parts: list[prune.ExactResult | prune.PruningResult] = [self.exact]
        parts += [] if self.by_data is None else [self.by_data]
        rows = [("parameters", f"{before:,} -> {after:,}")]
        rows += [(name, said) for part in parts for name, said in part.describe().sections[0]["table"]["rows"]]
        if self.data is not None:
            held = "held out" if self.data.held_out else "also fine-tuned on: there are few"
            rows.append(("validation data", f"rows of {self.data.name}, {held}"))
        if self.similarity is not None:
            rows.append(("similarity", f"{self.similarity:.3f} (CKA of linear coefficients with the original)"))
        values: dict[str, Any] = {"parameters_before": before, "parameters_after": after, "exact": self.exact.to_dict()}
        if self.by_data is not None:
            values |= {"by_data": self.by_data.to_dict(), "similarity": self.similarity}
        return Document("Pruned", "", [facts("Pruned", rows)], values)


def _load(name: str, shape: tuple[int, ...] | None, out: Path | None) -> tuple[nn.Module, tuple[int, ...] | None]:
    """Return the module to prune; raise an error now if the result could not be written later."""
    from tempfile import TemporaryDirectory

    from creases.cli.prune._data import load_module
    from creases.network import read

    model, shape = load_module(name, shape)
    if out is not None and out.suffix == ".onnx":
        with TemporaryDirectory() as folder:
            read(model, shape).save(Path(folder, "net.onnx"))
    return model, shape


def _prune_by_data(
    model: nn.Module, data: Data, method: Method, keep: float, begin: Callable[[str], None], options: dict[str, Any]
) -> prune.PruningResult:
    """Prune for as long as this share of the accuracy is kept."""
    import creases.prune as prune

    steps: list[prune.PruningStep] = []

    def follow(step: prune.PruningStep, now: nn.Module) -> None:
        steps.append(step)
        begin(f"pruning: step {len(steps)}, {step.parameters:,} parameters, accuracy {step.accuracy:.4g}")

    validation = prune.check_samples(model, *data.validation, name="data")
    run = prune.magnitude if method is Method.magnitude else prune.channels
    options |= {"min_accuracy": keep * prune.evaluate(model, *validation)[1], "validation": validation}
    return run(model, *data.tune, callback=follow, **options)


def _size(result: Result, data: Data, sizes: dict[str, float | None]) -> dict[str, Any]:
    """Return the size to prune to, as an argument; a fraction is one of the original network."""
    from creases.network.surgery import channel_groups, count_multiply_adds

    name, size = next(((name, size) for name, size in sizes.items() if size is not None), ("", 0.0))
    if not name:
        return {}
    whole = result.exact.parameters_before
    if name == "multiply_adds":
        whole = count_multiply_adds(result.original, channel_groups(result.original, X=data.validation.X[:2]).positions)
    return {name: max(1, int(size * whole if size <= 1 else size))}


def _similarity(result: Result, data: Data) -> float:
    from creases.compare import coefficients
    from creases.compare.measures import coefficient_cka
    from creases.network import read

    X = data.validation.X[:COMPARED].double()
    pair = [coefficients(read(model.eval(), result.shape), X) for model in (result.original, result.model)]
    return float(coefficient_cka(pair)[0, 1])


def _write(result: Result, out: Path | None, record: Path | None) -> list[Path]:
    from creases.network import read

    files = []
    if out is not None:
        dtype = next(p for p in result.model.parameters()).dtype
        files.append(read(result.model.eval(), result.shape).to(dtype).save(out))
    if record is not None:
        files.append(write_json(dict(result.describe().values), record))
    return files
