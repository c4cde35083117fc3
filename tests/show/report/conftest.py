import pytest

from creases.show.report import _comparisons as comparisons
from creases.show.report import _pieces as pieces
from creases.show.report import _planes as planes
from creases.show.report import _sensitivity as sensitivity
from creases.show.report import _sweeps as sweeps


@pytest.fixture
def drawn(monkeypatch):
    """The pictures of reports, drawn once and not coded, which takes most of the time: a list of figures."""
    figures = []

    def once(draw):
        figures.append(draw())
        return {"light": "data:,", "dark": "data:,"}

    for room in (comparisons, pieces, planes, sensitivity, sweeps):
        monkeypatch.setattr(room, "both", once)
    return figures
