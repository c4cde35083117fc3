from __future__ import annotations

from collections.abc import Iterator

import pytest

from studio_wire import Studio


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A studio with short patience."""
    started = Studio(tmp_path_factory.mktemp("studio"), away=3.0, message=2**20, sessions=4)
    yield started
    assert started.end() == (0, "")
