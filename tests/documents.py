"""Documents whose code blocks run: Python in one name space, shell lines of `creases` through the command line."""

import re
import shlex
import subprocess
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from typer.testing import CliRunner

from creases.cli import app

ROOT = Path(__file__).parents[1]

#: What is shown and not run: code and commands that need what is not there, and what depends on time.
SHOWN = ("py", "bash", "console")

#: A number as results print it.
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d*)?(?:e[-+]?\d+)?")

#: Of these only the help is asked for: they would go on for ever.
SERVERS = ("studio",)


def blocks(path):
    """The code blocks of a document, ``(language, text)``; indented ones too."""
    found = re.findall(r"^( *)```(\w*)\n(.*?)^\1```", path.read_text(), re.M | re.S)
    return [(language, re.sub(rf"^{indent}", "", text, flags=re.M)) for indent, language, text in found]


def run_line(line):
    """Run a line of a shell block, and print what `creases` prints."""
    words = shlex.split(line, comments=True)
    if words[0] == "creases":
        words, (_, *file) = (words[: words.index(">")], words[words.index(">") :]) if ">" in words else (words, [""])
        if is_server := words[1] in SERVERS:
            words = [*words[:2], "--help"]
        result = CliRunner().invoke(app, words[1:])
        assert result.exit_code == 0, (line, result.output)
        for name in file:
            Path(name).write_text(result.stdout)
        if not (file or is_server):
            print(result.stdout, end="")
    elif words[0] == "make":  # the set-up is not repeated from inside the tests: make only says what it would do
        subprocess.run(["make", "--dry-run", *words[1:]], cwd=ROOT, check=True, capture_output=True)
    elif words[0] == "python":  # benchmarks and experiments take long: they must be there
        named = Path(words[1])
        if words[1] == "-m":
            root = "reproduction" if words[2].startswith("creases_reproduction") else "src"
            named = Path(root, *words[2].split(".")).with_suffix(".py")
        assert (ROOT / named).is_file(), line
    else:
        assert words[:2] == ["pip", "install"], line


def is_printed(quoted, printed):
    """Return whether a text is what was printed: its words are the same, and its numbers nearly."""
    texts = [[_NUMBER.sub(" # ", text).split(), _NUMBER.findall(text)] for text in (quoted, printed)]
    (words, numbers), (printed_words, printed_numbers) = texts
    if words != printed_words or len(numbers) != len(printed_numbers):
        return False
    values, printed_values = ([float(x.replace(",", "")) for x in each] for each in (numbers, printed_numbers))
    return np.allclose(values, printed_values, rtol=0.05, atol=0.011)


def run_blocks(path, after=None):
    """Run every block of a document in order, in the working directory, and return the names that are left.

    A block of text after others is what the last of them prints. ``after`` gives functions by a call that a Python
    block contains; each gets the names there are after that block.
    """
    checks = dict(after or {})
    names: dict[str, object] = {}
    printed = StringIO()
    with torch.random.fork_rng(), redirect_stdout(printed):
        torch.manual_seed(0)
        for language, text in blocks(path):
            if language in SHOWN:
                continue
            assert language in ("python", "sh", "text"), f"{path.name}: a block of {language!r} is not run"
            if language == "text":
                shown = printed.getvalue()
                assert not shown or is_printed(text, shown), f"{path.name} quotes\n{text}\nprinted is\n{shown}"
                continue
            printed.seek(0)
            printed.truncate()
            if language == "python":
                exec(compile(text, str(path), "exec"), names)
                for call in [call for call in checks if call in text]:
                    checks.pop(call)(names)
            else:
                for line in text.replace("\\\n", " ").splitlines():
                    if line.strip() and not line.startswith("#"):
                        run_line(line)
    plt.close("all")
    assert not checks, f"{path.name}: no block calls {', '.join(checks)}"
    return names
