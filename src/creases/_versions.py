"""Versions of what results depend on, for their accounts."""

from __future__ import annotations

import platform
from importlib import metadata

#: Of a package that is run from its sources, without having been installed.
NOT_INSTALLED = "not installed"


def version(package: str) -> str:
    """A package's version; "not installed" where it has none, so that no work is lost for want of it."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return NOT_INSTALLED


def versions(*packages: str) -> dict[str, str]:
    """Python's version and those of some packages, by name."""
    return {"python": platform.python_version()} | {package: version(package) for package in packages}
