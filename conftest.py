"""Settings of all tests."""

import gc
import os
import random
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

ROOT = Path(__file__).parent

#: Folders whose tests take long: browsers, pages, and every claim of the sources.
SLOW_FOLDERS = (*(ROOT / "tests" / part for part in ("web", "show/report", "show/studio")), ROOT / "reproduction")

# Everybody tests the same examples; `make random` draws new ones.
settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.register_profile("random", deadline=None, print_blob=True)
settings.load_profile("fixed")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the folders that take long where their tests would be deselected: to collect them takes long, too."""
    return True if "not slow" in config.option.markexpr and collection_path in SLOW_FOLDERS else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of the folders that take long."""
    folders = tuple(f"{folder}{os.sep}" for folder in SLOW_FOLDERS)
    for item in items:
        if str(item.path).startswith(folders):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Seed global random numbers, so that no test depends on those that ran before it in its process."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)


def pytest_collection_finish() -> None:
    """Exempt everything imported and collected from garbage collection; with it each full collection takes a second."""
    gc.collect()
    gc.freeze()
