"""The built viewer in the package is what its sources give, and small."""

import hashlib
import re
from pathlib import Path

import pytest

import creases.show._viewer

WEB = Path(__file__).parents[2] / "web"
BUILT = Path(creases.show._viewer.__file__).parent / "built"
pytestmark = pytest.mark.skipif(not WEB.is_dir(), reason="the viewer's sources are in the repository only")
CONFIGS = ("package.json", "package-lock.json", "page.html", "tsconfig.json", "vite.config.ts")


def test_the_built_viewer_is_of_the_present_sources():
    inside = [path.relative_to(WEB).as_posix() for path in (WEB / "src").rglob("*") if path.is_file()]
    digest = hashlib.sha256()
    for name in sorted([*CONFIGS, *inside]):
        digest.update(name.encode() + b"\0" + (WEB / name).read_bytes() + b"\0")
    assert (BUILT / "source.sha256").read_text().strip() == digest.hexdigest(), "make viewer, and commit what it built"


def test_the_built_viewer_is_small_and_whole():
    sizes = {path.name: path.stat().st_size for path in BUILT.iterdir()}
    assert sorted(sizes) == ["index.html", "report.html", "source.sha256", "studio.css", "studio.js"]
    assert sum(sizes.values()) < 300_000


def test_the_built_viewer_names_no_other_machine():
    """Namespaces of XML are names, not addresses."""
    for name in ("index.html", "report.html", "studio.css", "studio.js"):
        found = re.findall(r"https?://[\w.-]+", (BUILT / name).read_text())
        assert set(found) <= {"http://www.w3.org"}, name


def test_the_lock_of_the_sources_names_no_registry():
    assert '"resolved"' not in (WEB / "package-lock.json").read_text()


def test_the_sources_are_short_files():
    for path in (WEB / "src").rglob("*.ts*"):
        assert len(path.read_text().splitlines()) < 400, path.name
