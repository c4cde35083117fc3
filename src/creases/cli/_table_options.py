"""Options of every command that reads a table to learn from, made of what configurations say of their fields."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import MISSING, fields
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creases.cli._options import complete_data
from creases.cli.console import argument, option_panels
from creases.cli.console import option as make_option

if TYPE_CHECKING:
    from creases._options import Option

data_option, model_option, output_option = option_panels("Data", "Model", "Output")

FILES = (
    "A .csv, .tsv, .parquet, .feather or .npz file, a pattern in quotes ('part-*.parquet') or a folder of files that "
    "are one table"
)

Force = Annotated[bool, output_option("", "Overwrite another model in the folder.", "--force")]
AsJson = Annotated[bool, output_option("", "Print the result as JSON.", "--json")]


#: Of names that are not written here: mypy knows no such enumerations.
_make_enum: Any = StrEnum


def data_argument(metavar: str, text: str) -> Any:
    """Return the argument that names a table."""
    return argument(metavar, text, autocompletion=complete_data)


def takes_options(*configs: type[Any], without: Collection[str] = ()) -> Callable[[Callable[..., None]], Any]:
    """Give a command, behind its context and its data, an option for each one that configurations declare.

    The command finds their values with :func:`read_options`.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = signature(command, eval_str=True).parameters
        made = {each.name: each for config in configs for each in _parameters(config) if each.name not in without}
        first, second, *others = own.values()

        @wraps(command)
        def run(**values: Any) -> None:
            command(**{name: value for name, value in values.items() if name in own})

        parameters = [first, second, *(each for name, each in made.items() if name not in own), *others]
        run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorate


def _parameters(config: type[Any]) -> Iterator[Parameter]:
    """Yield a parameter, as typer reads it, for each option of a configuration."""
    for entry in fields(config):
        option: Option | None = entry.metadata.get("option")
        if option is None or option.type is None:
            continue
        default: Any = None if entry.default in (MISSING, ()) else entry.default
        kind: Any = option.type
        if option.choices:
            kind = _make_enum(entry.name.capitalize(), option.choices)
        elif default is not None:
            default = kind(default)
        flag = option.flag or f"--{entry.name.replace('_', '-')}"
        if option.type is bool and default is None:
            flag += f"/--no-{entry.name}"
        shown = make_option(option.metavar, option.help.partition("\n")[0], flag, rich_help_panel=option.panel)
        yield Parameter(
            entry.name,
            Parameter.POSITIONAL_OR_KEYWORD,
            default=default,
            annotation=Annotated[kind if default is not None else kind | NoneType, shown],
        )


def read_options(ctx: typer.Context, config: type[Any]) -> dict[str, Any]:
    """Return the options of a configuration that were given on the command line, as it takes them."""
    given = given_options(ctx)
    options = {each.name: each.metadata["option"] for each in fields(config) if each.name in given and each.metadata}
    words = {name: getattr(ctx.params[name], "value", ctx.params[name]) for name in options}
    return {name: option.read(words[name], name) for name, option in options.items()}


def given_options(ctx: typer.Context) -> set[str]:
    """Return the options and arguments that were given on the command line."""
    return {name for name in ctx.params if ctx.get_parameter_source(name).name == "COMMANDLINE"}  # type: ignore[union-attr]
