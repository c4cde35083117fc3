"""Tables whose names are hostile or odd, and a walk with one through everything that is made of a model.

Columns, levels, classes and targets are called like code, markup, formulas or names of our own steps. Whatever is run
by a name leaves a file in the working directory, or a tag in a page.
"""

from __future__ import annotations

import csv
import re
import traceback
from contextlib import suppress
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from typer.testing import CliRunner

import creases
from creases.cli import app
from creases.errors import CreasesError, InputError
from creases.show.report._table_model import write_model_report
from creases.tables._columns.levels import Levels, YesNo
from run_exports import RUNNERS

#: What a payload creates where it is run.
CANARY = "PWNED"

CODE = (
    '"""+str(__import__("os").system("touch PWNED"))+"""', "'''+open('PWNED','w').name+'''",
    "'+open('PWNED','w').name+'",
    '"\nopen("PWNED","w")\n"', "\\", "\\'", '\\"', "a\\", "\nimport os; os.system('touch PWNED') #", "{0}", "{row}",
    "{open('PWNED','w')}", "%s %(x)s %d", "class", "lambda", "def f():", "__class__", "s[0]", "row", "None", "math",
    "\\N{BULLET}", "\\x41\\u0041", "#", '"""', "'''", "f'", "')", "$(touch PWNED)", "`touch PWNED`", "; touch PWNED",
)  # fmt: skip
SQL = (
    "a\nATTACH 'PWNED' AS q /*", "'); ATTACH 'PWNED' AS p; --", '"; ATTACH \'PWNED\' AS p; --',
    "*/; ATTACH 'PWNED' AS p --",
    "/*", "*/", "--", "a -- b", "a /* b", "' OR 1=1 --", '" FROM rows; --', "select", "from rows", "order", "rows", "t",
    "s", "creases x0", "creases 0", "creases decision", "x`y", "[x]", "x]", "''", '""', "'", '"', "``", "?", ":x", "@x",
    "$1", "$$", "x;y", "%", "_", "E'\\n'", "null", "rowid", "count(*)", "t.*",
)  # fmt: skip
FORMULAS = (
    "=1+1", "=cmd|' /C calc'!A0", "+1+cmd|' /C calc'!A0", "-1+1", "@SUM(A1)", '=HYPERLINK("http://x","y")', "A1",
    "$A$1",
    "model!$A$1", "x0", "x1", "x2", "X1", "score0", "decision", "_x0041_", "_x000D_", "]]>", "&amp;", "<c/>", "&", "<",
    "TRUE", "#REF!", "R1C1",
)  # fmt: skip
MARKUP = (
    "<pwned>", "<img src=x onerror=pwned()>", "<script>pwned()</script>", "</script><pwned>", '"><pwned>', "'><pwned>",
    "</title><pwned>", "<!--", "${pwned()}", "{{pwned()}}", "**b** _i_ [l](x)", "| a | b |", "[bold]x[/bold]", "[/]",
    "\\(x\\)", "$x_$", "<svg onload=pwned()>", "javascript:pwned()",
)  # fmt: skip
OURS = (
    "prediction", "label", "probabilities", "logits", "X", "input0", "column0", "intercept", "units", "curve0_0",
    "unit0_0",
    "power", "power0", "total", "largest", "predicted y", "probability a", "is missing", "a is missing", "a=b", "a=c",
    "a: b", "a × b", "a and b", "other values", "a=other values", "month of a", "score", "value", "region", "outside",
    "outside in",
    "probability_score", "rows", "model", "y", "creases.value0", "creases.constant0", "about",
)  # fmt: skip
LETTERS = (
    "area\n(m2)", "a\tb", "a\r\nb", "\x01", "a\x07b", "\x1b[31mred", "\x7f", "\x85a", "a\x0bb", "a\u2028b", "a\u2029b",
    "\u202egnp.exe", "a\u200bb", "\ufeffa", "a\u00a0b", "e\u0301", "\u00e9", "\U0001f4a5", "\u540d\u524d",
    "\u0438\u043c\u044f",
    "\\xprice", "A", "a", "Stra\u00dfe", "STRASSE", "\u0130", "\u0131", "n" * 300, "n" * 299 + "m", "a" * 70,
    "a" * 69 + "b",
    "a  b", "a b", "x\x00y", "\ud800", "\uffff", "1", "0.5", "1e5", "-", ".", ",", "a,b", "a;b", "a|b", "0", "\u0661",
)  # fmt: skip

LISTS = (CODE, SQL, FORMULAS, MARKUP, OURS, LETTERS)
NAMES = st.one_of(*map(st.sampled_from, LISTS), st.text(max_size=12))


@dataclass(frozen=True)
class HostileTable:
    """Columns of cells, two of numbers and one of categories or more, and the one to predict."""

    columns: dict[str, list[Any]]
    target: str
    task: str
    is_file: bool  #: whether it is given as a CSV file

    @property
    def frame(self) -> pd.DataFrame:
        """The table."""
        cells = pd.DataFrame({k: pd.Series(each, dtype=object) for k, each in enumerate(self.columns.values())})
        return cells.set_axis(pd.Index([*self.columns], dtype=object), axis=1)  # no strings of Arrow


def _is_text(name: str) -> bool:
    """Return whether a CSV file can hold a name as it is."""
    return name.strip() == name != "" and "\0" not in name and not any("\ud800" <= letter < "\ue000" for letter in name)


@st.composite
def hostile_tables(draw: st.DrawFn) -> HostileTable:
    """Draw a table of 60 rows that is easy to predict, with names of every sort."""
    is_file = draw(st.booleans())
    names = NAMES.filter(_is_text if is_file else lambda name: bool(name.strip()))
    distinct = {"unique_by": str.strip}
    first, second, category, target, *more = draw(st.lists(names, min_size=4, max_size=6, **distinct))
    if draw(st.integers(0, 4)) == 0 and second.swapcase() not in (first, second, category, target, *more):
        first = second.swapcase()
    levels = draw(st.lists(names, min_size=3, max_size=4, **distinct))
    task = draw(st.sampled_from(["regression", "classification"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = 60
    a, b = rng.uniform(-3, 3, n).round(2), rng.uniform(0, 50, n).round(1)
    codes = rng.permutation(np.arange(n) % len(levels))
    score = 2 * np.abs(a) + 0.2 * b + 3 * codes + 0.3 * rng.normal(size=n)
    cells: dict[str, list[Any]] = {
        first: a.tolist(),
        second: [None if gone else value for gone, value in zip(rng.random(n) < 0.1, b.tolist(), strict=True)],
        category: [levels[k] for k in codes],
    }
    days = np.datetime64("2020-01-30") + rng.integers(0, 600, n)
    extras = [rng.choice(["yes", "no"], n).tolist(), [str(day) for day in days]]
    cells |= dict(zip(more, extras, strict=False))
    if task == "classification":
        classes = draw(st.lists(names, min_size=2, max_size=3, **distinct))
        cuts = np.quantile(score, np.arange(1, len(classes)) / len(classes))
        cells[target] = [classes[k] for k in np.digitize(score, cuts)]
    else:
        cells[target] = score.round(3).tolist()
    return HostileTable(cells, target, task, is_file)


@dataclass(frozen=True)
class Fault:
    """What went wrong with a table, and where."""

    kind: str  #: "executed", "wrong", "traceback", or "refused", which is none if one line says why
    where: str
    what: str


def walk(table: HostileTable, folder: Path) -> list[Fault]:
    """Return what goes wrong from a table's file to every export; the working directory must be the folder."""
    faults: list[Fault] = []

    def attempt(where: str, step: Any, *arguments: Any) -> Any:
        try:
            return step(*arguments)
        except CreasesError as error:
            lines = str(error).count("\n")
            faults.append(Fault("refused" if not lines else "traceback", where, str(error)))
        except Exception:
            faults.append(Fault("traceback", where, traceback.format_exc(limit=-3)))
        finally:
            for path in folder.rglob("*"):
                if CANARY.lower() in path.name.lower():
                    faults.append(Fault("executed", where, repr(path.name)))
                    path.unlink()
        return None

    model = attempt("fit", _fit, table, folder)
    if model is None:
        return faults
    attempt("save", model.save, folder / "saved")
    loaded = attempt("load", creases.load, folder / "saved")
    if loaded is None:
        return faults
    cells = raw_rows(model, table)
    expected = attempt("predict", expect, model, cells)
    again = attempt("predict", expect, loaded, cells)
    if expected is None or again is None:
        return faults
    if not all(np.array_equal(a, b) for a, b in zip(expected, again, strict=True)):
        faults.append(Fault("wrong", "load", "a loaded model predicts otherwise"))
    attempt("texts", _say, model, table)
    for where, page in (("report", _report), ("notebook", lambda model, _: model._repr_html_())):
        parser = _Tags()
        parser.feed(attempt(where, page, model, folder) or "")
        if parser.hostile:  # a tag that a name made
            faults.append(Fault("executed", where, parser.hostile))
    for suffix in (".py", ".sql", ".xlsx", ".onnx"):
        path = folder / f"model{suffix}"
        export = attempt(f"export {suffix}", model.export, path)
        if export is None:
            if path.exists():
                faults.append(Fault("wrong", suffix, "an export that was refused was written"))
            continue
        answers = attempt(f"run {suffix}", RUNNERS[suffix], path, cells, export.names)
        if answers is None:
            continue
        for part, other in zip(expected, answers, strict=True):
            if wrong := differences(np.asarray(part), np.asarray(other)):
                faults.append(Fault("wrong", f"run {suffix}", wrong))
                break
    attempt("command", _call, "export", str(folder / "run"), str(folder / "again.py"))
    return faults


def _fit(table: HostileTable, folder: Path) -> Any:
    if not table.is_file:
        model = creases.fit_table(table.frame, table.target, task=table.task, n_jobs=1)
        model.save(folder / "run")
        return model
    table.frame.to_csv(folder / "table.csv", index=False, quoting=csv.QUOTE_ALL)
    place = str(list(table.columns).index(table.target))
    words = ["fit", folder / "table.csv", "--target", place, "--task", table.task, "--header", "--out", folder / "run"]
    _call(*map(str, words))
    return creases.load(folder / "run")


def raw_rows(model: Any, table: HostileTable) -> list[dict[str, Any]]:
    """Return rows as they are in the table, and cells of text as people write them: padded, missing, unknown."""
    frame = table.frame
    names = [column.name for column in model.schema.encoder.inputs]
    given = [str(name).strip() for name in frame.columns]
    rows = [{name: frame.iloc[i, given.index(name.strip())] for name in names} for i in range(12)]
    for column in model.schema.encoder.inputs:
        if isinstance(codec := column.kind.codec, Levels) or (isinstance(codec, YesNo) and codec.words):
            level = next(row[column.name] for row in rows if isinstance(row[column.name], str))
            odd: list[Any] = [f" {level}", f"{level}  ", "NULL", "n/a", "", None, "\u2603 unknown", "None"]
        else:
            odd = [None, ""]
        rows += [rows[k] | {column.name: cell} for k, cell in enumerate(odd)]
    return rows


def expect(model: Any, rows: list[dict[str, Any]]) -> tuple[Any, Any]:
    """Return the model's numbers (n, k) and decisions (n,) of rows, each of which is read by itself."""
    frames = [pd.DataFrame([row]).astype(object) for row in rows]
    decisions = np.concatenate([model.predict(frame) for frame in frames])
    if model.classes is None:
        return decisions[:, None].astype(float), decisions
    return np.concatenate([model.predict_proba(frame) for frame in frames]), decisions


def differences(expected: Any, actual: Any) -> str:
    """Say how two arrays differ, "" if they do not."""
    if expected.shape != actual.shape:
        return f"{actual.shape} instead of {expected.shape}"
    if expected.dtype.kind == "f":
        numbers = np.array([np.nan if each is None else each for each in actual.ravel().tolist()], float)
        apart = ~(np.abs(numbers - expected.ravel()) <= 1e-8 * (1 + np.abs(expected.ravel())))
        if not apart.any():
            return ""
        first = f"{numbers[apart][0]} instead of {expected.ravel()[apart][0]}"
        return f"{int(apart.sum())} of {apart.size} numbers, such as {first}"
    apart = expected != actual
    return f"{int(apart.sum())} decisions" if apart.any() else ""


def _say(model: Any, table: HostileTable) -> None:
    str(model), str(model.explain(table.frame.iloc[:2])), repr(model)
    with suppress(InputError):  # sums of several numbers have no card
        str(model.card())


def _report(model: Any, folder: Path) -> str:
    if model.data is None:  # of a run
        _call("report", str(folder / "run"), "--out", str(folder / "report.html"))
    else:
        write_model_report(model, folder / "report.html", model_name="run", again="")
    return (folder / "report.html").read_text(encoding="utf-8", errors="surrogatepass")


def _call(*arguments: str) -> None:
    """Run a command; raise what it raises, or CreasesError with its last line where it ends in one."""
    done = CliRunner().invoke(app, list(arguments))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", done.output)  # what a terminal obeys
    if done.exit_code:
        raise (CreasesError if done.exit_code == 2 else RuntimeError)(done.output.strip()[-300:].replace("\n", " "))


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.hostile = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        events = [name for name, _ in attributes if name.startswith("on")]
        if "pwned" in tag or events:
            self.hostile = self.hostile or self.get_starttag_text() or tag

    def handle_data(self, data: str) -> None:
        if self.lasttag == "script" and re.fullmatch(r"\s*pwned\(\)\s*", data):
            self.hostile = "<script>pwned()"
