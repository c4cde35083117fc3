"""The gallery's page is what its code makes, and its pictures are there and small."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def gallery():
    spec = importlib.util.spec_from_file_location("gallery", DOCS / "gallery.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["gallery"] = module  # dataclasses look there
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        del sys.modules["gallery"]


def test_the_page_is_what_the_code_makes(gallery):
    assert (DOCS / "gallery.md").read_text() == gallery.page(), "make it again: make pictures"


def test_every_picture_is_there_on_light_and_on_dark_and_all_are_small(gallery):
    named = set(re.findall(r"\]\(gallery/([^#)]+)#only-(?:light|dark)\)", gallery.page()))
    files = {path.name: path.stat().st_size for path in (DOCS / "gallery").iterdir()}
    assert set(files) == named
    assert sum(files.values()) < 2_500_000
