"""Make the page of the command line from its own help: ``python docs/cli.py``."""

from pathlib import Path
from typing import Any

import click
from typer.main import get_command

from creases.cli import app

PAGE = Path(__file__).parent / "reference" / "cli.md"


def page() -> str:
    """The whole page."""
    root = get_command(app)
    parts = [
        "# The command line",
        "Made from `creases --help`; `creases COMMAND --help` says the same.",
        root.help or "",
    ]
    for name, command in commands(root, "creases"):
        parts += [f"## `{name}`", *told(command)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def commands(group: Any, name: str) -> list[tuple[str, Any]]:
    """Every command under a group, in the order of the help."""
    found = []
    context = click.Context(group)
    for key in group.list_commands(context):
        command = group.get_command(context, key)
        found.append((f"{name} {key}", command))
        if hasattr(command, "commands"):
            found += commands(command, f"{name} {key}")
    return found


def told(command: Any) -> list[str]:
    """What one command does, its arguments and options."""
    rows = []
    for parameter in command.params:
        if parameter.param_type_name == "option":
            names = ", ".join(f"`{one}`" for one in [*parameter.opts, *parameter.secondary_opts])
        else:
            names = f"`{parameter.metavar or parameter.name.upper()}`"
        help_text = " ".join((getattr(parameter, "help", None) or "").split()).replace("|", "\\|")
        rows.append(f"| {names} | {help_text} | {default(parameter)} |")
    paragraphs = [" ".join(part.split()) for part in (command.help or "").split("\n\n")]
    return [*paragraphs, *(["\n".join(["| | | default |", "|---|---|---|", *rows])] if rows else [])]


def default(parameter: Any) -> str:
    """A parameter's default as text; nothing where there is none worth telling."""
    value = parameter.default
    if value is None or value is False or value == () or callable(value) or parameter.required:
        return ""
    return f"`{getattr(value, 'value', value)}`"


if __name__ == "__main__":
    PAGE.write_text(page())
