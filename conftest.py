"""Settings of all tests."""

import gc


def pytest_collection_finish() -> None:
    """Exempt everything imported and collected from garbage collection; with it each full collection takes a second."""
    gc.collect()
    gc.freeze()
