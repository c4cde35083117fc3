"""A reader of VNN-LIB files [1]_: the subset of SMT-LIB in which verification problems of networks are exchanged.

A file states what must *not* happen: the property holds if its assertions together cannot be satisfied ("unsat").
Constants ``X_0, X_1, ...`` are the inputs, ``Y_0, Y_1, ...`` the outputs; assertions are made of ``and``, ``or``,
``<=``, ``>=`` and ``=`` between linear terms (``+``, ``-``, ``*`` by a number). They are multiplied out to cases, each
a polytope of inputs and outputs. Strict comparisons are read as ``<=`` and ``>=``. Numbers are taken as they are
written, as fractions: nothing is rounded.

References
----------
.. [1] Guidotti, Demarchi, Tacchella, Pulina, "The Verification of Neural Networks Library (VNN-LIB)", vnnlib.org.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from pathlib import Path

from creases._files import read_text
from creases.certify.properties._property import Case, Property, as_numbers
from creases.errors import FileError

#: The most cases that assertions may multiply out to.
MAX_CASES = 20_000

#: Numbers must be below this in magnitude, and a written one must have an exponent below this many digits of 10.
LARGEST, MAX_EXPONENT, MAX_DIGITS = Fraction(10) ** 300, 1000, 4000

_TOKEN = re.compile(r"[()]|[^\s()]+")
_VARIABLE = re.compile(r"([XY])_([0-9]+)")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([+-]?[0-9]{1,6}))?")
_IGNORED = ("set-logic", "set-info", "set-option", "check-sat", "get-model", "exit")

Expression = str | list["Expression"]


@dataclass
class Linear:
    """A linear term: coefficients of inputs and outputs, and a constant."""

    of: dict[tuple[str, int], Fraction] = field(default_factory=dict)
    constant: Fraction = Fraction(0)

    def scaled(self, factor: Fraction | int) -> Linear:
        """Return the term times a number."""
        return Linear({key: factor * value for key, value in self.of.items()}, factor * self.constant)

    def plus(self, other: Linear) -> Linear:
        """Return the sum of two terms."""
        total = dict(self.of)
        for key, value in other.of.items():
            total[key] = total.get(key, Fraction(0)) + value
        return Linear(total, self.constant + other.constant)


Conjunction = tuple[Linear, ...]  # each term is at most 0


def read_vnnlib(path: str | Path) -> Property:
    """Read a property from a VNN-LIB file; see :func:`parse_vnnlib`."""
    path = Path(path)
    try:
        text = read_text(path)
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
        match = _VARIABLE.fullmatch(name) if isinstance(name, str) else None
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
        less = self._check_range(left.plus(right.scaled(-1)))
        if name == "=":
            return [(less, less.scaled(-1))]
        return [(less if name in ("<=", "<") else less.scaled(-1),)]

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
            return first.scaled(-1) if not others else first.plus(_sum(others).scaled(-1))
        if name == "*":
            constants = [term.constant for term in terms if not term.of]
            variable = [term for term in terms if term.of]
            if len(variable) > 1:
                raise self.fail(f"{_show(part)} is not linear")
            return (variable[0] if variable else Linear(constant=Fraction(1))).scaled(prod(constants))
        if name == "/" and len(others) == 1 and not others[0].of and others[0].constant:
            return first.scaled(1 / others[0].constant)
        raise self.fail(f"{name} is not supported in a term; use +, - and * by a number")

    def _atom(self, text: str) -> Linear:
        match = _VARIABLE.fullmatch(text)
        if match is not None:
            key = (match[1], int(match[2]))
            if key not in self.variables:
                raise self.fail(f"{text} is used before it is declared")
            return Linear({key: Fraction(1)})
        number = _NUMBER.fullmatch(text)
        if number is None:
            raise self.fail(f"{_show(text)!r} is neither a number nor a declared constant")
        if len(text) > MAX_DIGITS or abs(int(number[1] or 0)) > MAX_EXPONENT:
            raise self.fail(f"the number {_show(text)} is too long, or its exponent is beyond {MAX_EXPONENT}")
        return Linear(constant=Fraction(text))

    # -- cases --------------------------------------------------------------------------------------------------------

    def _case(self, terms: Conjunction, n: int, m: int) -> Case:
        """Return a conjunction as a box, rows of inputs and rows of outputs; terms are at most 0."""
        zero = Fraction(0)
        box: list[list[Fraction | None]] = [[None, None] for _ in range(n)]
        inputs: list[tuple[list[Fraction], Fraction]] = []
        outputs: list[tuple[list[Fraction], list[Fraction], Fraction]] = []
        for term in terms:
            limit, used = -term.constant, {key: value for key, value in term.of.items() if value}
            if any(kind == "Y" for kind, _ in used):
                outputs.append((_row(used, "Y", m), _row(used, "X", n), limit))
            elif len(used) == 1:
                ((_, j), factor), end = next(iter(used.items())), self._divide(limit, *used.values())
                low, high = box[j]
                if factor > 0:
                    box[j][1] = end if high is None else min(high, end)
                else:
                    box[j][0] = end if low is None else max(low, end)
            else:
                inputs.append((_row(used, "X", n), limit))
        ends = [self._ends(j, *pair) for j, pair in enumerate(box)]
        if any(low > high for low, high in ends):  # no input is in the case: state that by a row
            inputs.append(([zero] * n, Fraction(-1)))
            ends = [(min(pair), max(pair)) for pair in ends]
        return Case(
            as_numbers(ends, (n, 2)),
            as_numbers([row for row, _ in inputs], (-1, n)),
            as_numbers([limit for _, limit in inputs], (-1,)),
            as_numbers([row for row, _, _ in outputs], (-1, m)),
            as_numbers([row for _, row, _ in outputs], (-1, n)),
            as_numbers([limit for _, _, limit in outputs], (-1,)),
        )

    def _ends(self, j: int, low: Fraction | None, high: Fraction | None) -> tuple[Fraction, Fraction]:
        if low is None or high is None:
            raise self.fail(f"X_{j} has no {'lower' if low is None else 'upper'} bound")
        return low, high

    def _divide(self, limit: Fraction, factor: Fraction) -> Fraction:
        end = limit / factor
        self._check_range(Linear(constant=end))
        return end

    def _check_range(self, term: Linear) -> Linear:
        if any(abs(value) >= LARGEST for value in (*term.of.values(), term.constant)):
            raise self.fail("a coefficient or limit is 1e300 or larger once its terms are multiplied out")
        return term


def _row(of: dict[tuple[str, int], Fraction], kind: str, size: int) -> list[Fraction]:
    """Return the coefficients of inputs (X) or outputs (Y)."""
    row = [Fraction(0)] * size
    for (name, number), value in of.items():
        if name == kind:
            row[number] = value
    return row


def _sum(terms: list[Linear]) -> Linear:
    total = Linear()
    for term in terms:
        total = total.plus(term)
    return total


def _show(part: Expression) -> str:
    text = part if isinstance(part, str) else f"({' '.join(_show(item) for item in part)})"
    return text if len(text) <= 60 else text[:57] + "..."
