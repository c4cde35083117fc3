"""Phrases that sound translated are found wherever users may read them; ``make lint`` looks for them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

spec = importlib.util.spec_from_file_location("check_words", ROOT / "tools" / "check_words.py")
assert spec is not None
assert spec.loader is not None
check_words = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_words)

#: Sentences that users once met.
TRANSLATED = [
    "what gradient descent falls short of it is a number",
    "Killed and started again, it goes on where it was",
    "37 points of class even, such as point 4, were taken for odd",
    "the neighbourhood there, 93 points, has 45% of the loss",
    "30 to see when to stop, 30 to test with, never seen before",
    "the mean of its column put for 47 missing values",
    "3 growth steps have not bettered the validation loss",
    "Most parameters that the network may have",
    "Of the accuracy it has, how much must stay",
    "These points are to be told apart",
    "Keep this picture beside those to come",
    "Rooms with more, imported when first asked for",
    "takes away what no input of a box can tell",
    "Share of the rows that tells when to stop",
    "How new units are set",
    "Grow spare units anew",
    "the verdict of the stored full run, which counts, is told beside its own",
    "Units that leave the model are no place",
    "sample_weight: is 0 for every row; some must count",
    "This address is of another start of the studio",
    "Go on",
    "Start anew",
    "Let the crease go dark",
    "Its own piece is y = 2 x + 1",
    "Networks of one input as splines: breakpoints and slopes",
    "that instance is right now",
    "history.json: ended is no text",
]


@pytest.mark.parametrize("sentence", TRANSLATED)
def test_every_translated_sentence_is_found(sentence, tmp_path):
    file = tmp_path / "texts.py"
    file.write_text(f"# {sentence}\nTEXT = {sentence!r}\n")
    found = list(check_words.violations(file))
    assert found
    assert all(problem.startswith(f"{file}:2: ") and "; write: " in problem for problem in found)


def test_phrases_are_found_in_docstrings_f_strings_pages_and_across_lines(tmp_path):
    python, page, script = (tmp_path / name for name in ("texts.py", "page.md", "View.tsx"))
    python.write_text('"""One.\n\nTen were taken\nfor odd.\n"""\nn = 1\ntext = f"{n} are to be told"\n')
    page.write_text("# Title\n\nTen points were taken\nfor odd.\n")
    script.write_text("export const x = <p title='Keep it beside those to come'>x</p>;\n")
    assert [problem.split(": ")[0] for problem in check_words.violations(python)] == [f"{python}:3", f"{python}:7"]
    assert [problem.split(": ")[0] for problem in check_words.violations(page)] == [f"{page}:3"]
    assert list(check_words.violations(script))


def test_names_in_code_and_plain_sentences_are_left_alone(tmp_path):
    file = tmp_path / "texts.py"
    file.write_text("def anew():\n    return isinstance(1, int), 'there is no number of steps', 'the right side'\n")
    assert list(check_words.violations(file)) == []
