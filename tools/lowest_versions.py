"""Print the lowest versions that pyproject.toml names, as constraints for pip: ``python tools/lowest_versions.py``."""

from __future__ import annotations

import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
EXTRAS = ("onnx", "studio", "video")


def lowest_versions() -> list[str]:
    """Return ``name==version`` for each requirement of the package and of the extras that its tests need."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    requirements = [
        *project["dependencies"],
        *(name for extra in EXTRAS for name in project["optional-dependencies"][extra]),
    ]
    return [requirement.replace(">=", "==") for requirement in requirements]


if __name__ == "__main__":
    print(*lowest_versions(), sep="\n")
