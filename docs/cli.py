"""Write the page of the command line from its own help: ``python docs/cli.py``."""

from pathlib import Path
from textwrap import dedent
from typing import Any

from typer.main import get_command

from creases.cli import app

PAGE = Path(__file__).parent / "reference" / "cli.md"


def page() -> str:
    """Return the text of the page."""
    root = get_command(app)
    parts = [
        "# The command line",
        "`creases COMMAND --help` prints the same.",
        *paragraphs(root.help or ""),
    ]
    for name, command in list_commands(root, "creases"):
        parts += [f"## `{name}`", *paragraphs(command.help or ""), *parameter_table(command.params)]
    return "\n\n".join(parts) + "\n"


def list_commands(group: Any, name: str) -> list[tuple[str, Any]]:
    """Return the commands of a group and of the groups in it, in the order of the help.

    A lazy group has no list of its commands: it imports them one by one when they are asked for.
    """
    commands = []
    context = group.context_class(group)
    for key in group.list_commands(context):
        command = group.get_command(context, key)
        commands.append((f"{name} {key}", command))
        if hasattr(command, "list_commands"):
            commands += list_commands(command, f"{name} {key}")
    return commands


def paragraphs(help_text: str) -> list[str]:
    """Return the paragraphs of a help text; one with indented lines becomes a block of code."""
    parts: list[str] = []
    for part in help_text.split("\n\n"):
        if "\n  " in part:
            first, _, lines = part.partition("\n")
            parts += [first, "```text\n" + dedent(lines).replace("\\[", "[") + "\n```"]
        elif part.strip():
            parts.append(" ".join(part.split()))
    return parts


def parameter_table(parameters: list[Any]) -> list[str]:
    """Return a table of arguments and options for each panel of the help, nothing if there are none."""
    panels: dict[str, list[Any]] = {}
    for parameter in parameters:
        panels.setdefault(getattr(parameter, "rich_help_panel", None) or "", []).append(parameter)
    return [part for title, group in panels.items() for part in panel_table(title, group)]


def panel_table(title: str, parameters: list[Any]) -> list[str]:
    """Return the title of a panel, if it has one, and its table."""
    rows = []
    for parameter in parameters:
        if parameter.param_type_name == "option":
            names = ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
        else:
            names = f"`{parameter.metavar or parameter.name.upper()}`"
        help_text = " ".join((getattr(parameter, "help", None) or "").split()).replace("|", "\\|")
        rows.append(f"| {names} | {help_text} | {format_default(parameter)} |")
    return [*([f"**{title}**"] if title else []), "\n".join(["| | | default |", "|---|---|---|", *rows])]


def format_default(parameter: Any) -> str:
    """Return the default of a parameter, as code; an empty text if there is none worth showing."""
    value = parameter.default
    if value is None or value is False or value == () or callable(value) or parameter.required:
        return ""
    return f"`{getattr(value, 'value', value)}`"


if __name__ == "__main__":
    PAGE.write_text(page())
