"""``creases problems``: the built-in data sets."""

from __future__ import annotations

from math import prod
from typing import Any

from creases.cli._options import AsJson
from creases.cli.console import print_json, print_next, print_table
from creases.errors import FileError


def list_problems(as_json: AsJson = False) -> None:
    """List the built-in data sets.

    Each name can be used wherever a command takes data: creases grow moons --out out/moons.
    """
    from creases.problems import names

    rows = [_describe(name) for name in names()]
    if as_json:
        print_json({"problems": rows})
        return
    cells: list[tuple[str, ...]] = []
    for row in rows:
        target = "number" if row["classes"] is None else f"{row['classes']} classes"
        counts = ("-", "-", "-") if row["task"] is None else (f"{row['rows']:,}", f"{row['inputs']:,}", target)
        cells.append((row["name"], *counts, row["description"]))
    print_table("Built-in problems", cells, ("name", "rows", "inputs", "target", "description"), left=(0, 4))
    print_next("creases grow moons --out out/moons")


def _describe(name: str) -> dict[str, Any]:
    """Return what a problem holds, of images as they are stored: the rows of the problem would take gigabytes."""
    import creases.problems as problems

    if name not in ("mnist", "cifar10"):
        return dict(problems.get(name).describe().values)
    try:
        images = getattr(problems, name)()
    except FileError:
        need = "images; set CREASES_DATA to the folder with its files"
        return {"name": name, "rows": None, "inputs": None, "classes": None, "task": None, "description": need}
    return {
        "name": name,
        "rows": len(images.images),
        "inputs": prod(images.images.shape[1:]),
        "classes": len(images.classes),
        "task": "classification",
        "description": images.description,
    }
