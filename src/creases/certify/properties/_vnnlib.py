"""A reader of VNN-LIB files [1]_: the subset of SMT-LIB in which verification problems of networks are exchanged.

A file states what must *not* happen: the property holds if its assertions together cannot be satisfied ("unsat").
Constants ``X_0, X_1, ...`` are the inputs, ``Y_0, Y_1, ...`` the outputs; assertions are made of ``and``, ``or``,
``<=``, ``>=`` and ``=`` between linear terms (``+``, ``-``, ``*`` by a number). They are multiplied out to cases, each
a polytope of inputs and outputs. Strict comparisons are read as ``<=`` and ``>=``.

References
----------
.. [1] Guidotti, Demarchi, Tacchella, Pulina, "The Verification of Neural Networks Library (VNN-LIB)", vnnlib.org.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from creases._typing import Floats
from creases.certify.properties._property import Case, Property
from creases.errors import FileError

#: The most cases that assertions may multiply out to.
MAX_CASES = 20_000

_TOKEN = re.compile(r"[()]|[^\s()]+")
_VARIABLE = re.compile(r"([XY])_(\d+)$")
_IGNORED = ("set-logic", "set-info", "set-option", "check-sat", "get-model", "exit")

Expression = str | list["Expression"]


@dataclass
class Linear:
    """A linear term: coefficients of inputs and outputs, and a constant."""

    of: dict[tuple[str, int], float] = field(default_factory=dict)
    constant: float = 0.0

    def scaled(self, factor: float) -> Linear:
        """Return the term times a number."""
        return Linear({key: factor * value for key, value in self.of.items()}, factor * self.constant)

    def plus(self, other: Linear) -> Linear:
        """Return the sum of two terms."""
        total = dict(self.of)
        for key, value in other.of.items():
            total[key] = total.get(key, 0.0) + value
        return Linear(total, self.constant + other.constant)


Conjunction = tuple[Linear, ...]  # each term is at most 0


def read_vnnlib(path: str | Path) -> Property:
    """Read a property from a VNN-LIB file; see :func:`parse_vnnlib`."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileError(f"cannot read {path}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path} as a VNN-LIB file: {error}") from None
    return parse_vnnlib(text, str(path))


def parse_vnnlib(text: str, source: str = "property") -> Property:
    """Return the property that the text of a VNN-LIB file states; ``source`` names it in errors.

    Every input needs a lower and an upper bound in every case.

    Examples
    --------
    >>> prop = parse_vnnlib('''
    ... (declare-const X_0 Real)
    ... (declare-const Y_0 Real)
    ... (declare-const Y_1 Real)
    ... (assert (and (>= X_0 0.0) (<= X_0 1.0)))
    ... (assert (or (<= Y_0 Y_1) (>= Y_0 3.5)))
    ... ''')
    >>> len(prop.cases), prop.cases[0].box.tolist(), prop.cases[0].C.tolist(), prop.cases[1].d.tolist()
    (2, [[0.0, 1.0]], [[1.0, -1.0]], [-3.5])
    """
    return _Reader(source).read(text)


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.variables: set[tuple[str, int]] = set()

    def fail(self, problem: str) -> FileError:
        return FileError(f"cannot read {self.source} as a VNN-LIB file: {problem}")

    def read(self, text: str) -> Property:
        cases: list[Conjunction] = [()]
        for command in self._expressions(text):
            if not isinstance(command, list) or not command or not isinstance(command[0], str):
                raise self.fail(f"{_show(command)} is not a command")
            name = command[0]
            if name in ("declare-const", "declare-fun"):
                self._declare(command)
            elif name == "assert":
                if len(command) != 2:
                    raise self.fail(f"{_show(command)} must have one statement")
                cases = self._product([cases, self._statement(command[1])])
            elif name not in _IGNORED:
                raise self.fail(f"the command {name} is not known; use declare-const and assert")
        n, m = (self._count(kind) for kind in "XY")
        return Property(n, m, tuple(self._case(terms, n, m) for terms in cases))

    # -- syntax -------------------------------------------------------------------------------------------------------

    def _expressions(self, text: str) -> Iterator[Expression]:
        """Yield the expressions at the top level."""
        without_comments = re.sub(r";[^\n]*", "", text)
        stack: list[list[Expression]] = []
        for token in _TOKEN.findall(without_comments):
            if token == "(":
                stack.append([])
            elif token == ")":
                if not stack:
                    raise self.fail("a closing parenthesis has no opening one")
                done = stack.pop()
                if stack:
                    stack[-1].append(done)
                else:
                    yield done
            elif stack:
                stack[-1].append(token)
            else:
                raise self.fail(f"{token!r} is outside parentheses")
        if stack:
            raise self.fail("a parenthesis is not closed")

    def _declare(self, command: list[Expression]) -> None:
        name, kind = (command[1], command[-1]) if len(command) >= 3 else ("", "")
        match = _VARIABLE.match(name) if isinstance(name, str) else None
        if match is None:
            raise self.fail(f"{_show(command)} must declare X_0, X_1, ... or Y_0, Y_1, ...")
        if kind != "Real":
            raise self.fail(f"{name} must be Real, got {_show(kind)}")
        self.variables.add((match[1], int(match[2])))

    def _count(self, kind: str) -> int:
        numbers = {number for k, number in self.variables if k == kind}
        missing = sorted(set(range(len(numbers))) - numbers)
        if missing or not numbers:
            raise self.fail(f"{kind}_{missing[0] if missing else 0} is not declared")
        return len(numbers)

    # -- statements ---------------------------------------------------------------------------------------------------

    def _statement(self, part: Expression) -> list[Conjunction]:
        """Return a statement as a disjunction of conjunctions."""
        if not isinstance(part, list) or not part or not isinstance(part[0], str):
            raise self.fail(f"{_show(part)} is not a statement")
        name, arguments = part[0], part[1:]
        if name == "and":
            return self._product([[()], *(self._statement(argument) for argument in arguments)])
        if name == "or":
            either = [case for argument in arguments for case in self._statement(argument)]
            return self._check_size(either)
        if name not in ("<=", ">=", "<", ">", "="):
            raise self.fail(f"{name} is not supported in a statement; use and, or, <=, >=")
        if len(arguments) != 2:
            raise self.fail(f"{_show(part)} must compare two terms")
        left, right = (self._term(argument) for argument in arguments)
        less = left.plus(right.scaled(-1.0))
        if name == "=":
            return [(less, less.scaled(-1.0))]
        return [(less if name in ("<=", "<") else less.scaled(-1.0),)]

    def _product(self, parts: list[list[Conjunction]]) -> list[Conjunction]:
        cases: list[Conjunction] = [()]
        for part in parts:
            if len(cases) * len(part) > MAX_CASES:
                self._check_size([()] * (MAX_CASES + 1))
            cases = [(*case, *more) for case in cases for more in part]
        return cases

    def _check_size(self, cases: list[Conjunction]) -> list[Conjunction]:
        if len(cases) > MAX_CASES:
            raise self.fail(f"its disjunctions multiply out to more than {MAX_CASES:,} cases")
        return cases

    def _term(self, part: Expression) -> Linear:
        if isinstance(part, str):
            return self._atom(part)
        if not part or not isinstance(part[0], str) or len(part) < 2:
            raise self.fail(f"{_show(part)} is not a linear term")
        name, terms = part[0], [self._term(argument) for argument in part[1:]]
        first, *others = terms
        if name == "+":
            return _sum(terms)
        if name == "-":
            return first.scaled(-1.0) if not others else first.plus(_sum(others).scaled(-1.0))
        if name == "*":
            constants = [term.constant for term in terms if not term.of]
            variable = [term for term in terms if term.of]
            if len(variable) > 1:
                raise self.fail(f"{_show(part)} is not linear")
            return (variable[0] if variable else Linear(constant=1.0)).scaled(float(np.prod(constants)))
        if name == "/" and len(others) == 1 and not others[0].of and others[0].constant:
            return first.scaled(1.0 / others[0].constant)
        raise self.fail(f"{name} is not supported in a term; use +, - and * by a number")

    def _atom(self, text: str) -> Linear:
        match = _VARIABLE.match(text)
        if match is not None:
            key = (match[1], int(match[2]))
            if key not in self.variables:
                raise self.fail(f"{text} is used before it is declared")
            return Linear({key: 1.0})
        try:
            number = float(text)
        except ValueError:
            raise self.fail(f"{text!r} is neither a number nor a declared constant") from None
        if not np.isfinite(number):
            raise self.fail(f"{text} is not a finite number")
        return Linear(constant=number)

    # -- cases --------------------------------------------------------------------------------------------------------

    def _case(self, terms: Conjunction, n: int, m: int) -> Case:
        """Return a conjunction as a box, rows of inputs and rows of outputs; terms are at most 0."""
        box = np.tile([-np.inf, np.inf], (n, 1))
        inputs: list[tuple[Floats, float]] = []
        outputs: list[tuple[Floats, Floats, float]] = []
        for term in terms:
            of_x, of_y = np.zeros(n), np.zeros(m)
            for (kind, number), value in term.of.items():
                (of_x if kind == "X" else of_y)[number] = value
            limit = 0.0 - term.constant
            if of_y.any():
                outputs.append((of_y, of_x, limit))
            elif np.count_nonzero(of_x) == 1:
                j = int(np.flatnonzero(of_x)[0])
                end = limit / of_x[j] + 0.0  # no negative zero
                box[j] = (box[j, 0], min(box[j, 1], end)) if of_x[j] > 0 else (max(box[j, 0], end), box[j, 1])
            else:
                inputs.append((of_x, limit))
        for j, end in np.argwhere(~np.isfinite(box)):
            raise self.fail(f"X_{j} has no {'upper' if end else 'lower'} bound")
        empty = box[:, 0] > box[:, 1]
        if empty.any():  # no input is in the case: state that by a row
            inputs.append((np.zeros(n), -1.0))
            box[empty] = box[empty][:, ::-1]
        A, b = np.array([row for row, _ in inputs]).reshape(-1, n), np.array([limit for _, limit in inputs])
        return Case(
            box,
            A,
            b.reshape(-1),
            np.array([row for row, _, _ in outputs]).reshape(-1, m),
            np.array([row for _, row, _ in outputs]).reshape(-1, n),
            np.array([limit for _, _, limit in outputs]).reshape(-1),
        )


def _sum(terms: list[Linear]) -> Linear:
    total = Linear()
    for term in terms:
        total = total.plus(term)
    return total


def _show(part: Expression) -> str:
    text = part if isinstance(part, str) else f"({' '.join(_show(item) for item in part)})"
    return text if len(text) <= 60 else text[:57] + "..."
