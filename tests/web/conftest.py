from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

from browsing import Visit, chromium
from creases.cli import app


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium; for a module at a time, as its driver keeps an event loop running."""
    with chromium() as started:
        yield started


@pytest.fixture
def visit(browser) -> Iterator[Callable[..., Visit]]:
    """Opens pages in contexts of their own; none may have an error on its console."""
    visits: list[Visit] = []

    def opened(size: str = "1280", **more: Any) -> Visit:
        visits.append(Visit(browser, size, **more))
        return visits[-1]

    yield opened
    errors = [one.errors for one in visits]
    for one in visits:
        one.close()
    assert errors == [[] for _ in visits]


def creases(*words: object) -> None:
    """Run a command."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output


@pytest.fixture(scope="session")
def reports(tmp_path_factory) -> Callable[[str], str]:
    """The address of a report, made by the library at first use: plane, line, slices or map."""
    home = tmp_path_factory.mktemp("reports")
    grow = {
        "plane": ("moons", "--budget", 60, "--when", 20),
        "line": ("sine_curve", "--budget", 40, "--when", 10),
        "slices": ("iris", "--budget", 12, "--when", 5),
    }

    def made(name: str) -> str:
        page = home / f"{name}.html"
        if not page.exists() and name == "map":
            made("plane")
            (model,) = (home / "plane").glob("model.safetensors")
            creases("report", model, "--out", page)
        elif not page.exists():
            creases("grow", *grow[name], "--out", home / name)
            creases("report", home / name, "--out", page)
        return page.as_uri()

    return made
