"""``creases prune``: a smaller network of the same function, or of the same accuracy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from creases._files import write_json
from creases.cli import _model as model
from creases.cli import _output as output
from creases.cli._arguments import parse_numbers, parse_shape
from creases.cli._console import note, print_json, print_table, show_progress
from creases.errors import InputError

if TYPE_CHECKING:
    from torch import nn

    from creases import prune
    from creases.cli.prune._data import Data

INTERRUPTED = 130

#: Samples on which the coefficients of the pruned network are compared with those of the original.
COMPARED = 300


class Method(StrEnum):
    """How units or weights are chosen."""

    channels = "channels"
    magnitude = "magnitude"


def prune_model(
    model_: Annotated[str, typer.Argument(metavar="MODEL", help=model.HELP, show_default=False)],
    data: Annotated[
        str | None,
        typer.Option(help="A table, or a built-in problem (moons, mnist, ...): prune while the accuracy is kept."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The table's column of classes; else the last.")
    ] = None,
    keep: Annotated[
        float, typer.Option("--keep-accuracy", metavar="SHARE", help="Of the accuracy it has, how much must stay.")
    ] = 0.99,
    method: Annotated[Method, typer.Option(help="Remove units by the loss without them, or the smallest weights.")] = (
        Method.channels
    ),
    per_step: Annotated[int, typer.Option(min=1, help="Units removed at a time.")] = 1,
    epochs: Annotated[int, typer.Option(min=0, help="Epochs of fine-tuning after each removal.")] = 1,
    lr: Annotated[float, typer.Option(help="Learning rate of the fine-tuning (Adam).")] = 1e-3,
    box: Annotated[
        str | None,
        typer.Option(metavar="LO,HI,...", help="Inputs that count: one range for all, or one for each; else all."),
    ] = None,
    input_shape: Annotated[str | None, typer.Option(metavar="C,H,W", help="Shape of one input.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write the network: .safetensors or .onnx.")
    ] = None,
    record: Annotated[Path | None, typer.Option(metavar="FILE", help="Where to write all steps, as .json.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the division of the rows and of their order.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Make a network smaller. Without data: the same function, with a proof. With data: the same accuracy.

    First units that are never active, unread, doubled or never bend in the box (with data: the data's range) are taken
    away, which changes nothing. With --data, units or weights are then removed and the rest is fine-tuned, as long as
    the accuracy stays.
    """
    output.check_outputs([out] if out else [], (".safetensors", ".onnx"))
    output.check_outputs([record] if record else [], (".json",), "--record")
    if not 0 < keep <= 1:
        raise InputError(f"--keep-accuracy: expected a share above 0 and at most 1, such as 0.99, got {keep:g}")
    with show_progress(4 if data else 3) as begin:
        begin("reading the network")
        asked = Asked(data, target, keep, method, per_step, epochs, lr, box, seed)
        original, shape = _loaded(model_, parse_shape(input_shape), out)
        result = _pruned(original, shape, asked, begin)
        begin("writing")
        files = _written(result, out, record)
    if as_json:
        print_json(result.summary() | {"files": [str(path) for path in files]})
    else:
        print_table("Pruned", [*result.rows(), *(("written", str(path)) for path in files)])
        if not files:
            note("nothing was written; name a file with --out small.safetensors")
    if result.by_data is not None and result.by_data.ended == "interrupted":
        note("stopped; this is the smallest network so far that keeps the accuracy")
        raise typer.Exit(INTERRUPTED)


class Asked(NamedTuple):
    """The options of a pruning."""

    data: str | None
    target: str | None
    keep: float
    method: Method
    per_step: int
    epochs: int
    lr: float
    box: str | None
    seed: int


@dataclass(eq=False)
class Result:
    """What was done to a network."""

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
        """Before and after."""
        return self.exact.parameters_before, sum(p.numel() for p in self.model.parameters())

    def summary(self) -> dict[str, Any]:
        """For machines."""
        before, after = self.parameters()
        found: dict[str, Any] = {"parameters_before": before, "parameters_after": after, "exact": self.exact.to_dict()}
        if self.by_data is not None:
            found |= {"by_data": self.by_data.to_dict(), "similarity": self.similarity}
        return found

    def rows(self) -> list[tuple[str, ...]]:
        """For people."""
        before, after = self.parameters()
        rows: list[tuple[str, ...]] = [("parameters", f"{before:,} -> {after:,}")]
        for step in self.exact.reductions:
            units = "unit" if len(step.units) == 1 else "units"
            rows.append((f"{step.where}: {step.kind}", f"{len(step.units)} {units} of {step.old_width}: {step.reason}"))
        if not self.exact.reductions:
            rows.append(("exactly", "no unit is proved to be spare"))
        rows.append(
            ("change", f"at most {self.exact.bound:.2g} but for rounding (proved), {self.exact.change:.2g} found")
        )
        for one in self.exact.undecided:
            count = len(one.dead) + len(one.linear)
            text = f"{count} of the units that are left look spare on samples; without a proof they stay"
            rows.append((f"{one.where}: undecided", text))
        if self.by_data is not None and self.data is not None:
            rows += self._rows_by_data(self.by_data, self.data)
        return rows

    def _rows_by_data(self, found: prune.PruningResult, data: Data) -> list[tuple[str, ...]]:
        where = "held-out rows" if data.held_out else "all rows"
        widths = [f"{name}: {found.first.widths[name]} -> {width}" for name, width in found.last.widths.items()]
        rows: list[tuple[str, ...]] = [
            ("accuracy", f"{found.first.accuracy:.4g} -> {found.last.accuracy:.4g} on {where} of {data.name}"),
            ("steps", f"{found.kept} kept of {len(found.steps)}; ended: {found.ended}"),
            ("widths", ", ".join(widths)),
        ]
        if found.settings["method"] == "magnitude":
            rows.append(("not zero", f"{found.last.nonzero:,} of {found.first.parameters:,}"))
        if self.similarity is not None:
            rows.append(("similarity", f"{self.similarity:.3f} (CKA of linear coefficients with the original)"))
        return rows


def _loaded(name: str, shape: tuple[int, ...] | None, out: Path | None) -> tuple[nn.Module, tuple[int, ...] | None]:
    """The module to prune; refused before the work if what is left of it could not be written after."""
    from tempfile import TemporaryDirectory

    from creases import read
    from creases.cli.prune._module import load_module

    model, shape = load_module(name, shape)
    if out is not None and out.suffix == ".onnx":
        with TemporaryDirectory() as folder:
            read(model, shape).save(Path(folder, "net.onnx"))
    return model, shape


def _pruned(original: nn.Module, shape: tuple[int, ...] | None, asked: Asked, begin: Callable[[str], None]) -> Result:
    from creases import prune
    from creases.cli.prune._data import read_data

    if asked.data is None:
        begin("looking for spare units")
        return Result(original, shape, prune.exact(original, _box(asked.box), input_shape=shape))
    if asked.box is not None:
        raise InputError("--box: with --data the box is the range of the data; leave it out")
    data = read_data(asked.data, asked.target, original, shape, asked.seed)
    begin("looking for spare units")
    result = Result(original, shape, prune.exact(original, data.box, input_shape=shape), data=data)
    begin("pruning")
    result.by_data = _by_data(result.exact.model, data, asked, begin)
    result.similarity = _similarity(result, data)
    return result


def _by_data(model: nn.Module, data: Data, asked: Asked, begin: Callable[[str], None]) -> prune.PruningResult:
    from creases import prune
    from creases.prune import check_samples, evaluate

    judge = check_samples(model, *data.judge, names="--data")
    tune = prune.tuner(*data.tune, epochs=asked.epochs, optimizer="adam", lr=asked.lr, seed=asked.seed)
    steps: list[prune.PruningStep] = []

    def follow(step: prune.PruningStep, now: nn.Module) -> None:
        steps.append(step)
        begin(f"pruning: step {len(steps)}, {step.parameters:,} parameters, accuracy {step.accuracy:.4g}")

    common: dict[str, Any] = {"keep": asked.keep * evaluate(model, *judge)[1], "judge": judge, "tune": tune}
    if asked.method is Method.channels:
        return prune.channels(model, *data.tune, per_step=asked.per_step, progress=follow, **common)
    return prune.magnitude(model, *data.tune, progress=follow, **common)


def _similarity(result: Result, data: Data) -> float:
    from creases import read
    from creases.compare import coefficients
    from creases.compare.measures import coefficient_cka

    x = data.judge.X[:COMPARED]
    pair = [coefficients(read(one, result.shape), x.double()) for one in (result.original, result.model)]
    return float(coefficient_cka(pair)[0, 1])


def _box(text: str | None) -> Any:
    if text is None:
        return None
    numbers = parse_numbers(text, "--box").tolist()
    if len(numbers) % 2:
        raise InputError(f"--box: expected pairs lo,hi, got {len(numbers)} numbers: {text!r}")
    return tuple(numbers) if len(numbers) == 2 else list(zip(numbers[::2], numbers[1::2], strict=True))


def _written(result: Result, out: Path | None, record: Path | None) -> list[Path]:
    from creases import read

    files = []
    if out is not None:
        dtype = next(p for p in result.model.parameters()).dtype
        files.append(read(result.model, result.shape).to(dtype).save(out))
    if record is not None:
        files.append(write_json(result.summary(), record))
    return files
