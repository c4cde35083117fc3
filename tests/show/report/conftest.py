import pytest

from creases.show.report import _comparisons as comparisons
from creases.show.report import _network_sections as network_sections


@pytest.fixture
def drawn(monkeypatch):
    """The figures of reports as a list: drawn once and not encoded, which takes most of the time."""
    figures = []

    def once(draw):
        figures.append(draw())
        return {"light": "data:,", "dark": "data:,"}

    for room in (comparisons, network_sections):
        monkeypatch.setattr(room, "render_themes", once)
    return figures
