from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from studio_page import FORMULA, Page
from studio_wire import Studio


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A studio that takes few connections and small messages."""
    started = Studio(tmp_path_factory.mktemp("studio"), message=2**20, connections=30)
    yield started
    assert started.end() == (0, "")


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """As a worker, and as the exported code: sums of floats depend on it."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def ended():
    """A run that has ended by itself."""
    return Page().start(FORMULA, when="10", epochs=60).work()
