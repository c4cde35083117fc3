"""The report of a growth run, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from creases._text import format_number, plural
from creases.cli._sections import section_parts, write_text
from creases.growth import Record
from creases.show.report import quality_sections
from creases.tables import Baseline, Experiment, RunSettings, TableSplit, baseline_warnings, describe_step

#: Growth steps whose reasons are printed; all are in the report's file.
PRINTED = 12


@dataclass(frozen=True, eq=False)
class Report:
    """A run and its scores."""

    settings: RunSettings
    experiment: Experiment
    baselines: list[Baseline]  #: the network first

    @property
    def data(self) -> TableSplit:
        """The rows, split and scaled."""
        return self.experiment.data

    @property
    def measure(self) -> str:
        """What the scores are."""
        return "R²" if self.data.problem.classes is None else "accuracy"

    def includes(self, record: Record) -> bool:
        """Return whether a growth step is in the final network."""
        return self.experiment.history.keeps(record)

    def description(self) -> dict[str, Any]:
        """Return what users of the network's file need: inputs, classes, widths, scores."""
        problem, net = self.data.problem, self.experiment.network
        return {
            "creases-model": 1,
            "kind": "network",
            "data": problem.name,
            "task": problem.task,
            "target": problem.target,
            "inputs": list(problem.features),
            "classes": None if problem.classes is None else list(problem.classes),
            "outputs": "the target" if problem.classes is None else "one for each class; the largest decides",
            "widths": list(self.experiment.widths),
            "parameters": parameters(self),
            "units": net.n_units,
            "threshold": None if problem.classes is None else self.experiment.threshold,
            "trained_with": self.data.scaling.to_dict(),
            "measure": "r2" if problem.classes is None else "accuracy",
            "scores": {
                baseline.name: {"train": baseline.train, "validation": baseline.validation, "test": baseline.test}
                | ({} if baseline.error is None else {"test_rmse": baseline.error})
                for baseline in self.baselines
            },
        }

    def summary(self, files: dict[str, Path]) -> dict[str, Any]:
        """Return the content of the report as JSON."""
        history, data = self.experiment.history, self.data
        return {
            **self.description(),
            "rows": {"train": len(data.train), "validation": len(data.validation), "test": len(data.test)},
            "how": self.settings.config.how,
            "budget": history.setting["budget"],
            "spent": {name: history.last[name] for name in ("epochs", "seconds", "multiply_adds")},
            "epochs": round(history.last["epochs"], 6),  # of training, those of stages that were undone included
            "epochs_in_history": len(history.epochs),
            "kept_epoch": self.experiment.best_epoch,
            "stages": history.stages,
            "growth_ended": history.growth_ended,
            "ended": history.ended,
            "growth_steps": [self._step(record) for record in history.records],
            "files": {name: str(path) for name, path in files.items()},
        }

    def _step(self, record: Record) -> dict[str, Any]:
        return {
            "number": record.number,
            "epoch": record.epoch,
            "place": record.place,
            "action": record.action,
            "units": record.units,
            "removed": record.removed,
            "width": list(record.width),
            "kept": self.includes(record),
            "undone": record.undone,
            "why": record.why(**self.data.names),
            "loss_before": record.before["loss"],
            "loss_after": record.later.get("loss"),
            "score_after": record.later.get("validation_score"),
        }


def parameters(report: Report) -> int:
    """Return the number of parameters of the final network."""
    return sum(parameter.numel() for parameter in report.experiment.model.parameters())


def text(report: Report) -> str:
    """Return the report as plain text, every growth step in full."""
    return write_text([*parts(report, max_reasons=0), "", "[bold]The growth steps in full[/]", *in_full(report)])


def parts(report: Report, *, max_reasons: int = PRINTED) -> Iterator[RenderableType]:
    """Yield the parts of the report, with the reasons of the first ``max_reasons`` growth steps."""
    yield from _opening(report)
    yield ""
    if report.experiment.history.stages:
        yield "[bold]Stages of growth[/] [dim](validation loss: of this size, and of the best before it)[/]"
        yield _stages(report)
        yield ""
    if report.experiment.history.records:
        yield _steps(report)
        loss = "squared error (1: predicting the mean)" if report.data.problem.classes is None else "cross-entropy"
        yield f"[dim]before the growth step -> after training, before the next one; loss: {loss}[/]"
        if max_reasons:
            yield ""
            yield f"[bold]Why[/] [dim]({report.data.names['instance']}s are numbered from 0)[/]"
            yield from _reasons(report, max_reasons)
        yield ""
    yield _ending(report)
    good = quality_sections(report.data, report.baselines)
    yield from section_parts([{**section, "group": "Is it good?"} for section in good])
    yield f"[dim]{_fitted_rows(report)}[/]"
    for warning in baseline_warnings(report.baselines, report.data):
        yield ""
        text = warning.render(lambda param, value: f"--{param.replace('_', '-')} {value}")
        yield f"[bold yellow]Warning:[/] {escape(text)}"


def _opening(report: Report) -> Iterator[RenderableType]:
    data, history = report.data, report.experiment.history
    problem = data.problem
    yield f"[bold]{escape(problem.name)}: {escape(problem.description)}[/]"
    if problem.classes is not None:
        counts = np.bincount(problem.y, minlength=len(problem.classes))
        labels = [f"{name} {count}" for name, count in zip(problem.classes, counts, strict=True)]
        yield escape(f"classes: {', '.join(labels[:10])}{', ...' if len(labels) > 10 else ''}")
    else:
        low, high, mean = problem.y.min(), problem.y.max(), problem.y.mean()
        yield escape(f"values from {format_number(low)} to {format_number(high)}, mean {format_number(mean)}")
    inputs = plural(len(problem.features), "input")
    if problem.encoding is not None:
        columns = len({feature.column for feature in problem.encoding.features})
        inputs += f" (from {plural(columns, 'column')})" if columns < len(problem.features) else ""
    yield escape(
        f"{inputs}; {plural(len(data.train), 'training row')}, {plural(len(data.validation), 'validation row')}, "
        f"{plural(len(data.test), 'held-out test row')}"
    )
    first, last = history.epochs[0], history.last
    yield escape(
        f"hidden units: {_widths(first['widths'].values())} at the start, {_widths(report.experiment.widths)} at the "
        f"end; parameters: {first['parameters']} and {parameters(report)}"
    )
    yield escape(
        f"budget: {history.setting['budget']}; spent: {last['epochs']:.4g} epochs, {last['seconds']:.3g} s, "
        f"{last['multiply_adds']:.2g} multiply-adds"
    )


def _widths(widths: Iterable[int]) -> str:
    return "-".join(map(str, widths))


def _stages(report: Report) -> Table:
    """Return a table with a row for each stage of growth."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in ("stage", "epoch", "units", "loss", "before", "improvement"):
        table.add_column(head, justify="right")
    table.add_column("kept")
    for number, stage in enumerate(report.experiment.history.stages, 1):
        cells = [str(number), str(stage["epoch"]), _widths(stage["widths"].values())]
        cells += [f"{stage[name]:.4f}" for name in ("loss_grown", "loss_training_on")]
        cells.append(f"{stage['gain']:.4f} ± {stage['error']:.4f}")
        kept = report.experiment.history.stage_outcome(stage)
        table.add_row(*cells, kept, style=None if kept == "yes" else "dim")
    return table


def _steps(report: Report) -> Table:
    """Return a table with a row for each growth step."""
    history, many = report.experiment.history, len(report.experiment.widths) > 1
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("step", justify="right")
    table.add_column("epoch", justify="right")
    table.add_column("what", no_wrap=True)
    table.add_column("units", justify="right")
    table.add_column("training loss", justify="right")
    table.add_column(f"validation {report.measure}", justify="right")
    scored = history.epochs
    for record in history.records:
        what = (
            describe_step(record)
            + (f" in {record.place}" if many else "")
            + (", undone" if record.undone else "" if report.includes(record) else ", not kept")
        )
        before = scored[record.epoch - 1]["validation_score"] if record.epoch else None
        before = record.before.get("validation_score", before)
        after = record.later.get("validation_score")
        table.add_row(
            str(record.number),
            str(record.epoch),
            escape(what),
            str(record.width[1]),
            _arrow(record.before["loss"], record.later.get("loss")),
            _arrow(before, after),
            style=None if report.includes(record) else "dim",
        )
    return table


def _arrow(before: float | None, after: float | None) -> str:
    values = ["?" if value is None else f"{value:.3f}" for value in (before, after)]
    return " -> ".join(values)


def _reasons(report: Report, max_reasons: int) -> Iterator[RenderableType]:
    records = report.experiment.history.records
    for record in records[:max_reasons]:
        yield _numbered(record.number, record.why(**report.data.names))
    if len(records) > max_reasons:
        yield f"... {len(records) - max_reasons} more in the report file"


def in_full(report: Report) -> Iterator[RenderableType]:
    """Yield every growth step with all that is known about it."""
    for record in report.experiment.history.records:
        yield _numbered(record.number, record.explain(**report.data.names))


def _numbered(number: int, text: str) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right", style="dim", width=3)
    table.add_column()
    table.add_row(f"{number}.", escape(text))
    return table


def _ending(report: Report) -> str:
    history = report.experiment.history
    undone = [record.number for record in history.records if record.undone and not record.replaced]
    left_out = [record.number for record in history.records if not record.undone and not report.includes(record)]
    sentences = [f"Growth stopped: {history.growth_ended}."] if history.growth_ended else []
    sentences += filter(None, [history.explain_size()])
    is_linear = report.experiment.best_epoch == 0
    sentences.append(
        f"Training stopped: {history.ended.partition('; the network is')[0] if is_linear else history.ended}."
    )
    if undone:
        did = "brought no improvement and was undone" if len(undone) == 1 else "brought no improvement and were undone"
        sentences.append(f"{_growth_steps(undone)} {did}.")
    if left_out:
        sentences.append(f"{_growth_steps(left_out)} {'is' if len(left_out) == 1 else 'are'} not in the network.")
    if is_linear:
        linear = "The linear model predicts the validation rows equally well, so it is kept (refitted on all of them)."
        sentences.append(f"[bold]{linear}[/]")
    return " ".join(part if part.startswith("[bold]") else escape(part) for part in sentences)


def _growth_steps(numbers: Sequence[int]) -> str:
    """Return growth steps by their numbers: ``Growth steps 3 and 5``."""
    is_row = len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1
    texts = [f"{numbers[0]} to {numbers[-1]}"] if is_row else [str(number) for number in numbers]
    listing = " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))
    return f"Growth step{'s' if len(numbers) > 1 else ''} {listing}"


def _fitted_rows(report: Report) -> str:
    """Return which models have seen the validation rows, so that their scores there say little."""
    history = report.experiment.history
    has_seen = bool(history.refit) or report.experiment.best_epoch == 0
    models = "The network and the other models were" if has_seen else "The other models were"
    return f"{models} fitted on training and validation rows."
