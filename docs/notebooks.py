"""Run the tutorials, notebooks in ``docs/tutorials``, and show them on the site.

``python docs/notebooks.py [NAME ...]`` runs notebooks and stores what they print and draw, as Jupyter does; figures for
the dark theme go to ``docs/tutorials/dark``. While the site is built, mkdocs calls ``on_files``, which makes a page of
each notebook. Neither needs Jupyter.
"""

from __future__ import annotations

import ast
import base64
import json
import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "tutorials"


def run_notebook(notebook: dict[str, Any]) -> Iterator[tuple[str, list[bytes]]]:
    """Run the code cells in order; yield what each prints and the figures (PNG) it leaves."""
    from matplotlib import pyplot

    names: dict[str, Any] = {}
    for number, cell in enumerate(code_cells(notebook), 1):
        printed = StringIO()
        with redirect_stdout(printed):
            result = run_cell("".join(cell["source"]), f"cell {number}", names)
        shown = [result] if hasattr(result, "savefig") else []
        figures = []
        for figure in [*map(pyplot.figure, pyplot.get_fignums()), *shown]:
            file = BytesIO()
            figure.savefig(file, format="png", dpi=90)
            figures.append(file.getvalue())
        pyplot.close("all")
        yield printed.getvalue(), figures


def run_cell(source: str, name: str, names: dict[str, Any]) -> Any:
    """Run code and return the value of its last line, if that is an expression."""
    tree = ast.parse(source, name)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), name, "eval"), names)


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def store_outputs(path: Path) -> None:
    """Run a notebook in both themes; store the light outputs in it and the dark figures beside it."""
    import torch

    from creases import show

    notebook = json.loads(path.read_text())
    for theme in ("light", "dark"):
        torch.manual_seed(0)
        with show.theme(theme):
            results = list(run_notebook(notebook))
        for number, (cell, (printed, figures)) in enumerate(zip(code_cells(notebook), results, strict=True), 1):
            figures = [reduce_colors(figure) for figure in figures]
            if theme == "light":
                cell.update(execution_count=number, outputs=cell_outputs(printed, figures))
            for k, figure in enumerate(figures if theme == "dark" else []):
                dark_figure(path.stem, number, k).write_bytes(figure)
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


def cell_outputs(printed: str, figures: list[bytes]) -> list[dict[str, Any]]:
    text = {"output_type": "stream", "name": "stdout", "text": printed.splitlines(keepends=True)}
    images = [{"image/png": base64.b64encode(figure).decode()} for figure in figures]
    shown = [{"output_type": "display_data", "data": image, "metadata": {}} for image in images]
    return [*([text] if printed else []), *shown]


def reduce_colors(png: bytes) -> bytes:
    """Reduce an image to 255 colors, a third of the bytes."""
    from PIL import Image

    file = BytesIO()
    with Image.open(BytesIO(png)) as image:
        reduced = image.convert("RGB").quantize(255, Image.Quantize.MAXCOVERAGE, kmeans=8, dither=Image.Dither.NONE)
    reduced.save(file, format="png", optimize=True)
    return file.getvalue()


def dark_figure(name: str, cell: int, k: int) -> Path:
    return FOLDER / "dark" / f"{name}-{cell}-{k}.png"


def to_page(path: Path) -> tuple[str, dict[str, bytes]]:
    """Return a notebook as Markdown, and the figures of the light theme by their paths in its folder."""
    notebook = json.loads(path.read_text())
    parts, figures, number = [], {}, 0
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(re.sub(r"\]\(([^):]*)\.ipynb\)", r"](\1.md)", source))
            continue
        number += 1
        parts.append(f"```python\n{source}\n```")
        printed = ["".join(output["text"]) for output in cell["outputs"] if output["output_type"] == "stream"]
        parts += [f"```text\n{text.rstrip()}\n```" for text in printed]
        images = [output["data"]["image/png"] for output in cell["outputs"] if output["output_type"] == "display_data"]
        for k, image in enumerate(images):
            dark = dark_figure(path.stem, number, k)
            light = f"light/{dark.name}"
            figures[light] = base64.b64decode(image)
            parts.append(f"![the figure]({light}#only-light)\n![the figure](dark/{dark.name}#only-dark)")
    parts.append(f"[Download this page as a notebook]({path.name}){{ download }}")
    return "\n\n".join(parts) + "\n", figures


def on_files(files: Any, config: Any) -> Any:
    """Add a page for each notebook (a hook of mkdocs)."""
    from mkdocs.structure.files import File

    for path in sorted(FOLDER.glob("*.ipynb")):
        page, figures = to_page(path)
        for name, content in {f"{path.stem}.md": page, **figures}.items():
            files.append(File.generated(config, f"tutorials/{name}", content=content))
    return files


def main(names: list[str]) -> None:
    (FOLDER / "dark").mkdir(parents=True, exist_ok=True)
    for path in sorted(FOLDER.glob("*.ipynb")):
        if not names or path.stem in names:
            store_outputs(path)


if __name__ == "__main__":
    main(sys.argv[1:])
