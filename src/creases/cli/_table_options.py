"""Options of every command that reads a table to learn from."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from inspect import Signature, signature
from typing import Annotated, Any

import typer

from creases.cli._options import complete_data
from creases.cli.console import option_panels
from creases.errors import InputError

data_option, model_option, output_option = option_panels("Data", "Model", "Output")

FILES = (
    "A .csv, .tsv, .parquet, .feather or .npz file, a pattern in quotes ('part-*.parquet') or a folder of files that "
    "are one table"
)

#: What is predicted, and what to do about missing values.
Task = StrEnum("Task", ["classification", "regression"])
Missing = StrEnum("Missing", ["indicate", "mean", "drop", "error"])


def data_argument(metavar: str, text: str) -> Any:
    """Return the argument that names a table."""
    return typer.Argument(metavar=metavar, help=text, autocompletion=complete_data)


#: The default of every configuration, which the help shows.
TEST_FRACTION = 0.2


def _declare(
    target: Annotated[
        str | None, data_option(metavar="COLUMN", help="Column to predict, by name or number; default: the last.")
    ] = None,
    task: Annotated[
        Task | None,
        data_option(
            "--task", metavar="TASK", help="classification or regression; default: inferred from the target column."
        ),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        data_option(
            metavar="COLUMN",
            help="Column to predict from, even if it looks like an ID or text; may be repeated. Default: all usable.",
        ),
    ] = None,
    drop: Annotated[list[str] | None, data_option(metavar="COLUMN", help="Column to ignore; may be repeated.")] = None,
    kinds: Annotated[
        list[str] | None,
        data_option(
            "--kind-of",
            metavar="COLUMN=KIND",
            help="Read a column as number, quantity, share, category, ordinal, interval, date, month, time or "
            "duration, or give its values in order: heat=cold<warm<hot; may be repeated.",
        ),
    ] = None,
    codes: Annotated[
        list[str] | None,
        data_option(
            "--code",
            metavar="COLUMN=NUMBER",
            help="A number that stands for something else, such as income=-999, as a level of its own; may be "
            "repeated.",
        ),
    ] = None,
    missing_marks: Annotated[
        list[str] | None,
        data_option(
            "--missing-mark",
            metavar="TEXT",
            help="A text that stands for a missing value, instead of NA, N/A, NaN, null, None and ?; '' for empty "
            "cells alone; may be repeated.",
        ),
    ] = None,
    missing: Annotated[
        Missing,
        data_option(
            "--missing",
            metavar="HOW",
            help="Missing values: indicate (fill with the mean and add an indicator column), mean (fill with the mean, "
            "or the most frequent category), drop (drop the rows), or error.",
        ),
    ] = Missing.indicate,
    header: Annotated[
        bool | None, data_option("--header/--no-header", help="Whether the first row of a CSV file holds column names.")
    ] = None,
    test_fraction: Annotated[
        float, data_option(metavar="F", help="Fraction of rows held out for testing.")
    ] = TEST_FRACTION,
    class_weight: Annotated[
        str | None, data_option(metavar="W", help="Class weights: balanced, or for each class, such as yes=5,no=1.")
    ] = None,
    threshold: Annotated[
        str,
        data_option(
            metavar="P",
            help="Two classes: predict the second above this probability; or choose it to maximize f1, "
            "balanced_accuracy or accuracy.",
        ),
    ] = "0.5",
) -> None:
    """Declare the options, as typer reads them; a command finds their values in its context."""


def learns_from_table(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command, behind its context and its data, the options of every command that learns from a table."""
    shared = signature(_declare, eval_str=True).parameters
    first, second, *others = signature(command, eval_str=True).parameters.values()

    @wraps(command)
    def run(**values: Any) -> None:
        command(**{name: value for name, value in values.items() if name not in shared})

    parameters = [first, second, *shared.values(), *others]
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


Force = Annotated[bool, output_option("--force", help="Overwrite another model in the folder.")]
AsJson = Annotated[bool, output_option("--json", help="Print the result as JSON.")]


def read_source(values: dict[str, Any]) -> dict[str, Any]:
    """Return how to read a table, by the names of settings, from the values of the options above."""
    return {
        "target": values["target"],
        "task": None if values["task"] is None else values["task"].value,
        "missing": values["missing"].value,
        "header": values["header"],
        "inputs": _split_names(values["inputs"]) or None,
        "drop": _split_names(values["drop"]),
        "kinds": parse_pairs(values["kinds"], "kinds", "be a column and a kind such as when=category") or None,
        "codes": _parse_codes(values["codes"]) or None,
        "missing_marks": tuple(values["missing_marks"]) if values["missing_marks"] else None,
    }


def read_decisions(values: dict[str, Any]) -> dict[str, Any]:
    """Return what every configuration has, from the values of the options above."""
    return {
        "test_fraction": values["test_fraction"],
        "class_weight": _parse_class_weight(values["class_weight"]),
        "threshold": _parse_number_or_name(values["threshold"]),
        "seed": values["seed"],
    }


def given_options(ctx: typer.Context) -> set[str]:
    """Return the options and arguments that were given on the command line."""
    return {name for name in ctx.params if ctx.get_parameter_source(name).name == "COMMANDLINE"}  # type: ignore[union-attr]


def parse_pairs(values: list[str] | None, param: str, expected: str) -> dict[str, str]:
    """Return what an option gives to each column; a name may hold an equals sign."""
    pairs = {}
    for text in values or ():
        name, separator, value = text.rpartition("=")
        if not separator:
            raise InputError(param, expected, repr(text))
        pairs[name.strip()] = value.strip()
    return pairs


def _split_names(values: list[str] | None) -> tuple[str, ...]:
    """Return the names of columns, in options that may be repeated and may each hold several, with commas between."""
    return tuple(name.strip() for value in values or () for name in value.split(",") if name.strip())


def _parse_codes(values: list[str] | None) -> dict[str, list[float]]:
    """Return numbers that are levels of their own by column."""
    codes: dict[str, list[float]] = {}
    for text in values or ():
        name, _, value = text.rpartition("=")
        try:
            codes.setdefault(name.strip(), []).append(float(value))
        except ValueError:
            raise InputError("codes", "be a column and a number such as income=-999", repr(text)) from None
    return codes


def _parse_class_weight(text: str | None) -> str | dict[str, float] | None:
    if text is None or "=" not in text:
        return text
    pairs = [part.rpartition("=") for part in text.split(",")]
    try:
        return {name.strip(): float(value) for name, _, value in pairs}
    except ValueError:
        raise InputError("class_weight", "be balanced, or weights such as yes=5,no=1", repr(text)) from None


def _parse_number_or_name(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text
