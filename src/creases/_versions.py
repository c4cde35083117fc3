"""Versions of the packages that results depend on."""

from __future__ import annotations

import platform
from importlib import metadata

#: Version of a package that runs from its sources without being installed.
NOT_INSTALLED = "not installed"


def version(package: str) -> str:
    """Return a package's version, ``NOT_INSTALLED`` if it has none."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return NOT_INSTALLED


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of Python and of some packages, by name."""
    return {"python": platform.python_version()} | {package: version(package) for package in packages}
