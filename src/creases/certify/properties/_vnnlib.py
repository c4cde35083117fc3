"""A reader of VNN-LIB files [1]_: the subset of SMT-LIB in which verification problems of networks are exchanged.

A file states what must *not* happen: the property holds if its assertions together cannot be satisfied ("unsat").
Constants ``X_0, X_1, ...`` are the inputs, ``Y_0, Y_1, ...`` the outputs; assertions are made of ``and``, ``or``,
``<=``, ``>=`` and ``=`` between linear terms (``+``, ``-``, ``*`` by a number). They are multiplied out to cases, each
a polytope of inputs and outputs. Strict comparisons are read as ``<=`` and ``>=``. Numbers are taken as they are
written, as fractions: nothing is rounded.

Version 2.0 declares networks with named inputs and outputs, ``(declare-network f (declare-input X real [5])
(declare-output Y real [2]))``, whose entries are ``X[0]``, ``X[1]``, ...; strict comparisons of outputs stay strict
there. A file about two networks is a property of both side by side: inputs that it says are equal are one input.

References
----------
.. [1] Guidotti, Demarchi, Tacchella, Pulina, "The Verification of Neural Networks Library (VNN-LIB)", vnnlib.org.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

from creases._files import read_text
from creases.certify._case import Case
from creases.certify.properties._property import PartNetwork, Property, as_numbers
from creases.errors import FileError

#: The most cases that assertions may multiply out to.
MAX_CASES = 20_000

#: The most entries of a declared tensor.
MAX_ENTRIES = 10_000_000

#: Numbers must be below this in magnitude, and a written one must have an exponent below this many digits of 10.
LARGEST, MAX_EXPONENT, MAX_DIGITS = Fraction(10) ** 300, 1000, 4000

_TOKEN = re.compile(r"[()]|[^\s()]+")
_ENTRY = re.compile(r"([^\s()\[\]]+)\[([0-9]+(?:,[0-9]+)*)\]")
_COMPARISONS = ("<=", ">=", "<", ">", "=", "==")
_TYPES = ("real", "float16", "float32", "float64")
_VARIABLE = re.compile(r"([XY])_([0-9]+)")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([+-]?[0-9]{1,6}))?")
_IGNORED = ("vnnlib-version", "set-logic", "set-info", "set-option", "check-sat", "get-model", "exit")

Expression = str | list["Expression"]


@dataclass
class Linear:
    """A linear term: coefficients of inputs and outputs, and a constant."""

    of: dict[tuple[str, int], Fraction] = field(default_factory=dict)
    constant: Fraction = Fraction(0)
    is_strict: bool = False  #: whether it must be below 0, not only at most 0

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


@dataclass(frozen=True)
class _Tensor:
    """A declared input or output of version 2.0."""

    kind: str  #: X or Y
    shape: tuple[int, ...]
    first: int  #: the number of its first entry among all inputs or outputs


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.variables: set[tuple[str, int]] = set()
        self.tensors: dict[str, _Tensor] = {}  # by name; version 2.0
        self.networks: dict[str, tuple[list[int], list[int]]] = {}  # the numbers of inputs and outputs of each
        self.same_as: dict[int, int] = {}  # inputs that are equal to one with a smaller number

    def fail(self, problem: str) -> FileError:
        return FileError(f"cannot read {self.source} as a VNN-LIB file: {problem}")

    def read(self, text: str) -> Property:
        cases: list[Conjunction] = [()]
        commands = list(self._expressions(text))
        for command in commands:
            if not isinstance(command, list) or not command or not isinstance(command[0], str):
                raise self.fail(f"{_show(command)} is not a command")
            name = command[0]
            if name in ("declare-const", "declare-fun"):
                self._declare(command)
            elif name == "declare-network":
                self._declare_network(command)
            elif name == "assert":
                if len(command) != 2:
                    raise self.fail(f"{_show(command)} must have one statement")
                if not self._joins_inputs(command[1]):
                    cases = self._product([cases, self._statement(command[1])])
            elif name not in _IGNORED:
                raise self.fail(f"the command {name} is not known; use declare-const and assert")
        n, m = (self._count(kind) for kind in "XY")
        if not self.networks:
            return Property(n, m, tuple(self._case(terms, n, m) for terms in cases))
        kept = [j for j in range(n) if j not in self.same_as]  # an input that equals another one is that one
        column = {j: kept.index(self._first_equal(j)) for j in range(n)}
        renamed = [tuple(_rename(term, column) for term in terms) for terms in cases]
        outputs = [[t for t in terms if any(k == "Y" and v for (k, _), v in t.of.items())] for terms in renamed]
        return Property(
            len(kept),
            m,
            tuple(self._case(terms, len(kept), m) for terms in renamed),
            strict=tuple(tuple(k for k, term in enumerate(rows) if term.is_strict) for rows in outputs),
            networks=tuple(
                PartNetwork(name, tuple(column[j] for j in inputs), len(outputs))
                for name, (inputs, outputs) in self.networks.items()
            )
            if len(self.networks) > 1
            else (),
        )

    # -- syntax -------------------------------------------------------------------------------------------------------

    def _expressions(self, text: str) -> Iterator[Expression]:
        """Yield the expressions at the top level."""
        without_comments = re.sub(r";[^\n]*", "", text)
        without_comments = re.sub(r"\[[^\]()]*\]", lambda part: re.sub(r"\s", "", part[0]), without_comments)
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

    def _declare_network(self, command: list[Expression]) -> None:
        if len(command) < 2 or not isinstance(command[1], str) or command[1] in self.networks:
            raise self.fail(f"{_show(command)} must declare a network with a name of its own")
        numbers: dict[str, list[int]] = {"X": [], "Y": []}
        for part in command[2:]:
            if not isinstance(part, list) or not part:
                raise self.fail(f"{_show(part)} is no declaration of an input or output")
            if part[0] in ("equal-to", "isomorphic-to"):
                if part[1:] not in [[name] for name in self.networks]:
                    raise self.fail(f"{_show(part)} names no network that is declared before it")
                continue
            kind = {"declare-input": "X", "declare-output": "Y"}.get(str(part[0]))
            if kind is None:
                raise self.fail(f"{_show(part)} is not supported; use declare-input and declare-output")
            numbers[kind] += self._declare_tensor(part, kind)
        if not numbers["X"] or not numbers["Y"]:
            raise self.fail(f"the network {command[1]} must have an input and an output")
        self.networks[command[1]] = numbers["X"], numbers["Y"]

    def _declare_tensor(self, part: list[Expression], kind: str) -> range:
        name, type_, shape = part[1:] if len(part) == 4 else ("", "", "")
        match = re.fullmatch(r"\[([0-9]+(?:,[0-9]+)*)?\]", shape) if isinstance(shape, str) else None
        if not isinstance(name, str) or match is None or name in self.tensors:
            raise self.fail(f"{_show(part)} must have a name of its own, a type and a shape, such as X real [5]")
        if str(type_).lower() not in _TYPES:
            raise self.fail(f"{name} must be real, got {_show(type_)}")
        sizes = tuple(map(int, match[1].split(","))) if match[1] else ()
        first = sum(1 for k, _ in self.variables if k == kind)
        if prod(sizes) > MAX_ENTRIES:
            raise self.fail(f"{name} has more than {MAX_ENTRIES:,} entries")
        self.tensors[name] = _Tensor(kind, sizes, first)
        numbers = range(first, first + prod(sizes))
        self.variables.update((kind, number) for number in numbers)
        return numbers

    def _joins_inputs(self, part: Expression) -> bool:
        """Whether an assertion says that two inputs are equal; they are one input then."""
        if len(self.networks) < 2 or not isinstance(part, list) or len(part) != 3 or part[0] not in ("=", "=="):
            return False
        keys = [self._entry(side) if isinstance(side, str) else None for side in part[1:]]
        if any(key is None or key[0] != "X" for key in keys):
            return False
        low, high = sorted(self._first_equal(key[1]) for key in keys if key is not None)
        if low != high:
            self.same_as[high] = low
        return True

    def _first_equal(self, number: int) -> int:
        while number in self.same_as:
            number = self.same_as[number]
        return number

    def _entry(self, text: str) -> tuple[str, int] | None:
        """Return the input or output that a name with an index means; None if it is none."""
        match = _ENTRY.fullmatch(text)
        tensor = self.tensors.get(match[1] if match else text)
        if tensor is None:
            return None
        index = tuple(map(int, match[2].split(","))) if match else ()
        if len(index) != len(tensor.shape) or any(i >= size for i, size in zip(index, tensor.shape, strict=True)):
            raise self.fail(f"{text} is no entry of a tensor of shape {list(tensor.shape)}")
        number = 0
        for i, size in zip(index, tensor.shape, strict=True):
            number = number * size + i
        return tensor.kind, tensor.first + number

    def _count(self, kind: str) -> int:
        numbers = {number for k, number in self.variables if k == kind}
        missing = sorted(set(range(len(numbers))) - numbers)
        if missing or not numbers:
            raise self.fail(f"{kind}_{missing[0] if missing else 0} is not declared")
        return len(numbers)

    # -- statements ---------------------------------------------------------------------------------------------------

    def _statement(self, root: Expression) -> list[Conjunction]:
        """Return a statement as a disjunction of conjunctions, from its innermost parts outwards."""
        parts, waiting = list[tuple[Expression, bool]](), [(root, True)]  # and whether each is a statement
        while waiting:
            part, is_statement = waiting.pop()
            if isinstance(part, list) and len(part) == 3 and part[0] not in _COMPARISONS and part[1] in _COMPARISONS:
                part[:2] = part[1::-1]  # a comparison may stand between its terms
            if is_statement:
                if not isinstance(part, list) or not part or not isinstance(part[0], str):
                    raise self.fail(f"{_show(part)} is not a statement")
                if part[0] not in ("and", "or", *_COMPARISONS):
                    raise self.fail(f"{part[0]} is not supported in a statement; use and, or, <=, >=")
            parts.append((part, is_statement))
            if isinstance(part, list):
                waiting += [(argument, is_statement and part[:1] in (["and"], ["or"])) for argument in part[1:]]
        values: dict[int, Any] = {}
        for part, is_statement in reversed(parts):
            arguments = [values[id(argument)] for argument in part[1:]] if isinstance(part, list) else []
            values[id(part)] = (self._combine if is_statement else self._term)(part, arguments)
        statement: list[Conjunction] = values[id(root)]
        return statement

    def _combine(self, part: Expression, arguments: list[Any]) -> list[Conjunction]:
        """Return a statement from its arguments."""
        name = part[0]
        if name == "and":
            return self._product([[()], *arguments])
        if name == "or":
            return self._check_size([case for argument in arguments for case in argument])
        if len(arguments) != 2:
            raise self.fail(f"{_show(part)} must compare two terms")
        left, right = arguments
        less = self._check_range(left.plus(right.scaled(-1)))
        if name in ("=", "=="):
            return [(less, less.scaled(-1))]
        term = less if name in ("<=", "<") else less.scaled(-1)
        return [(replace(term, is_strict=name in ("<", ">") and bool(self.networks)),)]

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

    def _term(self, part: Expression, terms: list[Linear]) -> Linear:
        """Return a linear term from its parts."""
        if isinstance(part, str):
            return self._atom(part)
        if not part or not isinstance(part[0], str) or len(part) < 2:
            raise self.fail(f"{_show(part)} is not a linear term")
        name = part[0]
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
        entry = self._entry(text)
        if entry is not None:
            return Linear({entry: Fraction(1)})
        match = _VARIABLE.fullmatch(text)
        if match is not None and not self.networks:
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
                (((_, j), factor),) = used.items()
                end = self._check_range(Linear(constant=limit / factor)).constant
                low, high = box[j]
                if factor > 0:
                    box[j][1] = end if high is None else min(high, end)
                else:
                    box[j][0] = end if low is None else max(low, end)
            else:
                inputs.append((_row(used, "X", n), limit))
        if any(end is None for pair in box for end in pair):
            _imply_ends(box, inputs)
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

    def _check_range(self, term: Linear) -> Linear:
        if any(abs(value) >= LARGEST for value in (*term.of.values(), term.constant)):
            raise self.fail("a coefficient or limit is 1e300 or larger once its terms are multiplied out")
        return term


def _imply_ends(box: list[list[Fraction | None]], rows: list[tuple[list[Fraction], Fraction]]) -> None:
    """Fill ends that are missing with what rows of inputs, at most a limit each, imply from the others."""
    for _ in range(len(box)):
        for row, limit in rows:
            used = [(j, a) for j, a in enumerate(row) if a]
            least = [None if (end := box[j][0 if a > 0 else 1]) is None else a * end for j, a in used]
            for k, (j, a) in enumerate(used):
                others = [value for i, value in enumerate(least) if i != k]
                side = 1 if a > 0 else 0
                if box[j][side] is None and None not in others:
                    box[j][side] = (limit - sum((value for value in others if value is not None), Fraction(0))) / a


def _rename(term: Linear, column: dict[int, int]) -> Linear:
    """Return a term of other inputs; terms of inputs that are now one are added up."""
    total = Linear({}, term.constant, term.is_strict)
    for (kind, number), value in term.of.items():
        key = (kind, column[number] if kind == "X" else number)
        total.of[key] = total.of.get(key, Fraction(0)) + value
    return total


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
    text, waiting = "", [part]
    while waiting and len(text) <= 60:
        item = waiting.pop()
        if isinstance(item, list):
            waiting += [")", *reversed(item), "("]
        else:
            text += item if item == ")" or text[-1:] in ("", "(") else f" {item}"
    return text if len(text) <= 60 else text[:57] + "..."
