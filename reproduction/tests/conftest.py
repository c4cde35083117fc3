import pytest
from typer.testing import CliRunner

from creases.cli import app


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the command line in an empty folder: ``run("reproduce", "--list")``."""
    monkeypatch.chdir(tmp_path)

    def invoke(*words):
        return CliRunner().invoke(app, [str(word) for word in words])

    return invoke
