"""The breakpoints of a model during training, and their record: births, deaths and crossings of samples."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from creases._files import open_npz, parse_json, read_text, write_atomically
from creases._text import OneLine
from creases._typing import Bools, Floats, Ints
from creases._validation import check_column, check_count, check_index, check_number
from creases.errors import FileError, InputError
from creases.network import as_network
from creases.splines._convert import from_module, to_spline
from creases.splines._deep import deep_breakpoints
from creases.splines._spline import Pieces, Shallow

#: What can happen to a breakpoint between two records.
EventKind = Literal["birth", "death", "crossing"]
EVENTS: tuple[EventKind, ...] = ("birth", "death", "crossing")


class Event(NamedTuple):
    """A birth, death or crossing between two records, at the step of the later one."""

    step: int
    kind: EventKind
    track: int  #: number of the breakpoint
    x: float  #: the first or last position, or the sample's
    sample: int  #: index of the sample it crossed; -1 for births and deaths


class Frame(NamedTuple):
    """The breakpoints at one step."""

    step: int
    track: Ints  #: (k,) number of each breakpoint, the same as long as it lives
    x: Floats  #: (k,)
    jump: Floats  #: (k,) slope change from left to right
    layer: Ints  #: (k,)
    unit: Ints  #: (k,)
    direction: Ints  #: (k,) +1: its unit turns on from left to right
    active: Bools  #: (k,) whether it reaches the output
    pieces: Pieces  #: the function


class Track(NamedTuple):
    """One breakpoint in all frames in which it exists."""

    step: Ints  #: (n,)
    x: Floats  #: (n,)
    jump: Floats  #: (n,)
    layer: int
    unit: int


@dataclass(frozen=True, eq=False, repr=False)
class History(OneLine):
    """The T frames that a :class:`Tracker` recorded, as flat arrays; frame t is ``starts[t]:starts[t + 1]``."""

    steps: Ints  #: (T,)
    starts: Ints  #: (T + 1,)
    track: Ints  #: (n,) and so on: see :class:`Frame`
    x: Floats
    jump: Floats
    layer: Ints
    unit: Ints
    direction: Ints
    active: Bools
    knot_starts: Ints  #: (T + 1,) of the knots of each function, which has one slope and one value more than knots
    knots: Floats
    slopes: Floats
    values: Floats
    event_step: Ints  #: (E,) the latest events
    event_kind: Ints  #: (E,) index in ``EVENTS``
    event_track: Ints
    event_x: Floats
    event_sample: Ints
    totals: Ints  #: (3,) all births, deaths and crossings, including those no longer among the events
    data: Floats  #: (N,) inputs of the samples

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def births(self) -> int:
        """Number of breakpoints that appeared."""
        return int(self.totals[0])

    @property
    def deaths(self) -> int:
        """Number of breakpoints that vanished."""
        return int(self.totals[1])

    @property
    def crossings(self) -> int:
        """How often a breakpoint moved past a sample."""
        return int(self.totals[2])

    @property
    def counts(self) -> Ints:
        """Number of breakpoints (T,) in every frame."""
        return np.diff(self.starts)

    def frame(self, t: int) -> Frame:
        """Return the breakpoints of frame t."""
        t = check_index(t, len(self), "t")
        rows = slice(int(self.starts[t]), int(self.starts[t + 1]))
        first, last = int(self.knot_starts[t]), int(self.knot_starts[t + 1])
        slopes = slice(first + t, last + t + 1)
        pieces = Pieces(self.knots[first:last], self.slopes[slopes], self.values[slopes])
        names = ("track", "x", "jump", "layer", "unit", "direction", "active")
        return Frame(step=int(self.steps[t]), pieces=pieces, **{name: getattr(self, name)[rows] for name in names})

    def tracks(self) -> dict[int, Track]:
        """Return every breakpoint of the frames by its number."""
        step = np.repeat(self.steps, self.counts)
        order = np.argsort(self.track, kind="stable")
        numbers, first = np.unique(self.track[order], return_index=True)
        groups = np.split(order, first)[1:]
        return {
            number: Track(step[rows], self.x[rows], self.jump[rows], int(self.layer[rows[0]]), int(self.unit[rows[0]]))
            for number, rows in zip(numbers.tolist(), groups, strict=True)
        }

    def events(self) -> list[Event]:
        """Return the latest births, deaths and crossings, in order."""
        columns = (self.event_step, self.event_kind, self.event_track, self.event_x, self.event_sample)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return [Event(step, EVENTS[kind], track, x, sample) for step, kind, track, x, sample in rows]

    def save(self, path: str | Path) -> Path:
        """Write the history to a ``.npz`` or ``.json`` file, atomically."""
        path = Path(path)
        _check_name(path)
        arrays = {field.name: getattr(self, field.name) for field in fields(self)}
        with write_atomically(path) as temporary:
            if path.suffix == ".json":
                temporary.write_text(json.dumps({name: array.tolist() for name, array in arrays.items()}))
            else:
                np.savez_compressed(temporary, **arrays)
        return path

    @classmethod
    def load(cls, path: str | Path) -> History:
        """Read a history that :meth:`save` wrote."""
        path = Path(path)
        _check_name(path)
        arrays: dict[str, NDArray[Any]]
        try:
            if path.suffix == ".json":
                read = parse_json(read_text(path))
                arrays = {name: np.array(values, dtype=_dtype(cls, name)) for name, values in read.items()}
            else:
                with open_npz(path) as stored:
                    arrays = {name: stored[name] for name in stored.files}
        except FileNotFoundError:
            raise FileError(f"cannot read {path}: no such file") from None
        except (OSError, OverflowError, ValueError, TypeError, AttributeError) as error:
            raise FileError(f"cannot read {path}: not a history saved by creases, or damaged: {error}") from None
        expected = {field.name for field in fields(cls)}
        if arrays.keys() != expected:
            missing = ", ".join(sorted(expected - arrays.keys()))
            problem = f"it has no {missing}" if missing else "it has unknown fields"
            raise FileError(f"cannot read {path}: not a history saved by this version of creases: {problem}")
        problem = _find_damage(arrays)
        if problem:
            raise FileError(f"cannot read {path}: it is damaged: {problem}")
        return cls(**arrays)


def _find_damage(arrays: dict[str, NDArray[Any]]) -> str:
    """Return what is wrong with the arrays of a history, "" if nothing is."""
    for name, array in arrays.items():
        dtype = np.dtype(_dtype(History, name))
        if array.ndim != 1 or array.dtype != dtype:
            return f"{name} must be a vector of {dtype}"
        if dtype.kind == "f" and not np.isfinite(array).all():
            return f"{name} must be finite"
    count, n, knots = (len(arrays[name]) for name in ("steps", "track", "knots"))
    for name, total in (("starts", n), ("knot_starts", knots)):
        starts = arrays[name]
        if len(starts) != count + 1 or starts[0] != 0 or starts[-1] != total or (np.diff(starts) < 0).any():
            return f"{name} must rise from 0 to {total} in {count} steps"
    lengths = dict.fromkeys(("x", "jump", "layer", "unit", "direction", "active"), n)
    lengths |= {"slopes": knots + count, "values": knots + count, "totals": len(EVENTS)}
    lengths |= dict.fromkeys(("event_kind", "event_track", "event_x", "event_sample"), len(arrays["event_step"]))
    for name, length in lengths.items():
        if len(arrays[name]) != length:
            return f"{name} must have {length} entries"
    known = (arrays["event_kind"] >= 0) & (arrays["event_kind"] < len(EVENTS))
    return "" if known.all() else "event_kind must be 0, 1 or 2"


def _check_name(path: Path) -> None:
    if path.suffix not in (".npz", ".json"):
        raise InputError("path", "end in .npz or .json", repr(path.name))


def _dtype(cls: type[History], name: str) -> type:
    kind = cls.__dataclass_fields__[name].type if name in cls.__dataclass_fields__ else "Floats"
    return {"Ints": np.int64, "Bools": np.bool_}.get(str(kind), np.float64)


# The breakpoints of a model at one moment, and their matching with those at another.


@dataclass(frozen=True, eq=False, repr=False)
class Breakpoints(OneLine):
    """The k breakpoints of a function; a unit of a deep network may have none or many."""

    x: Floats  #: (k,)
    jump: Floats  #: (k,) slope change from left to right
    layer: Ints  #: (k,) index of the unit's bend
    unit: Ints  #: (k,) index of the unit in its bend
    direction: Ints  #: (k,) +1: the unit turns on from left to right; -1: off
    active: Bools  #: (k,) whether it reaches the output
    pieces: Pieces  #: the function

    @property
    def owners(self) -> Ints:
        """Layer, unit and direction (k, 3); only breakpoints with the same owner can match."""
        return np.stack([self.layer, self.unit, self.direction], -1)


def breakpoints(model: Any) -> Breakpoints:
    """Return the breakpoints of a model with one input and one output.

    A unit with zero weights has none, nor has a unit of a deep network that never changes side.

    Parameters
    ----------
    model
        A network, a torch module or a file name, or a :class:`~creases.splines.Shallow`.
    """
    if isinstance(model, Shallow):
        return _shallow_breakpoints(model)
    net = as_network(model)
    if len(net.bends) == 1 and net.steps[net.bends[0]].op == "relu" and net.n_in == 1:
        return _shallow_breakpoints(from_module(net))
    deep = deep_breakpoints(net)
    return Breakpoints(deep.x, deep.jump, deep.layer, deep.unit, deep.direction, deep.active, deep.pieces)


def match_breakpoints(before: Breakpoints, after: Breakpoints, gate: float) -> tuple[Ints, Ints]:
    """Return which breakpoints (m,) before match which (m,) after: as many as possible, with the least total distance.

    Two can match only if they have the same owner and ``|arctan x - arctan x'| <= gate``.
    """
    owners = np.concatenate([before.owners, after.owners])
    _, owner = np.unique(owners, axis=0, return_inverse=True)
    first, second = np.split(owner.reshape(-1), [len(before.x)])
    had, has = (np.bincount(part, minlength=len(owners)) for part in (first, second))
    old, new = np.arctan(before.x), np.arctan(after.x)
    alone = (had == 1) & (has == 1)
    pairs = [(_members(first, alone), _members(second, alone))]
    for group in np.flatnonzero((had > 0) & (has > 0) & ~alone).tolist():
        i, j = np.flatnonzero(first == group), np.flatnonzero(second == group)
        distance = np.abs(old[i][:, None] - new[j])  # pi at most
        row, column = linear_sum_assignment(np.where(distance <= gate, distance, 4.0 * max(distance.shape)))
        pairs.append((i[row], j[column]))
    i, j = (np.concatenate(part) for part in zip(*pairs, strict=True))
    near = np.abs(old[i] - new[j]) <= gate
    return i[near], j[near]


def _members(owner: Ints, selected: Bools) -> Ints:
    """Return the breakpoints of wanted owners, which have one each, in the order of owners."""
    index = np.flatnonzero(selected[owner])
    return index[np.argsort(owner[index])]


def _shallow_breakpoints(net: Shallow) -> Breakpoints:
    form = to_spline(net)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        unit = np.flatnonzero(np.isfinite(net.b / net.w))
    layer = np.zeros(len(unit), np.int64)
    return Breakpoints(form.beta, form.jumps, layer, unit, form.s.astype(np.int64), form.mu != 0, form.pieces())


# Record the breakpoints of a model during training.


class Tracker:
    """Recorder of the breakpoints and delta-slopes of a model of one input during training.

    Call it with the model once before the first step and after each step. Every ``every``-th call is recorded: each
    breakpoint is matched with one of the previous record, of the same unit and direction and at most ``gate`` away in
    arctan. Breakpoints without a match were born or have died, so the initial breakpoints plus births minus deaths are
    always the current ones.

    Parameters
    ----------
    x
        Inputs (N,) of the samples, to count how often breakpoints cross them.
    every
        Calls between records. A breakpoint that moves further than ``gate`` in between counts as a new one.
    max_frames
        Frames kept. When there are more, every second one is dropped and only half as many are kept from then on, so
        the history spans the training; births, deaths and crossings are still counted at every record (the latest
        ``100 max_frames`` as single events, all of them in the totals).
    gate
        The largest distance between records, in arctan of the input.

    Examples
    --------
    >>> import torch
    >>> from creases.splines import Tracker
    >>> x = torch.linspace(-1, 1, 9)[:, None]
    >>> model = torch.nn.Sequential(torch.nn.Linear(1, 5), torch.nn.ReLU(), torch.nn.Linear(5, 1))
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    >>> tracker = Tracker(x)
    >>> for _ in range(3):
    ...     tracker(model)
    ...     optimizer.zero_grad()
    ...     torch.nn.functional.mse_loss(model(x), x**2).backward()
    ...     optimizer.step()
    >>> history = tracker.history()
    >>> history.steps.tolist(), history.counts.tolist()
    ([0, 1, 2], [5, 5, 5])
    """

    def __init__(self, x: Any = None, *, every: int = 1, max_frames: int = 500, gate: float = 0.15) -> None:
        self.x = np.zeros(0) if x is None else check_column(x, "x")
        self.every, self.max_frames = check_count(every, "every"), check_count(max_frames, "max_frames")
        self.gate = check_number(gate, "gate", least=0)
        self._order = np.argsort(self.x, kind="stable")
        self._calls = 0
        self._stride = 1  # records per frame that is kept
        self._n_records = 0
        self._frames: list[Frame] = []
        self._latest: tuple[Breakpoints, Ints] | None = None  # the latest record, and the tracks of its breakpoints
        self._n_tracks = 0
        self._events: deque[Event] = deque(maxlen=100 * self.max_frames)
        self._totals: dict[EventKind, int] = dict.fromkeys(EVENTS, 0)

    def __call__(self, model: Any, step: int | None = None) -> None:
        """Record the breakpoints of the model, every ``every``-th call.

        Parameters
        ----------
        model
            The model, which is not changed.
        step
            The number of the step; by default the number of calls before.
        """
        if self._calls % self.every == 0:
            self._record(breakpoints(model), self._calls if step is None else step)
        self._calls += 1

    def history(self) -> History:
        """Return everything recorded so far, including the latest record."""
        frames = list(self._frames)
        if self._latest is not None and frames[-1].step != self._step:
            frames.append(_frame(self._step, *self._latest))
        return _collect(frames, list(self._events), [self._totals[kind] for kind in EVENTS], self.x)

    def _record(self, current: Breakpoints, step: int) -> None:
        if self._latest is None:
            tracks = np.arange(len(current.x))
            self._n_tracks = len(tracks)
        else:
            tracks = self._match(*self._latest, current, step)
        self._latest, self._step = (current, tracks), step
        if self._n_records % self._stride == 0:
            self._frames.append(_frame(step, current, tracks))
            if len(self._frames) > self.max_frames:
                self._frames = self._frames[::2]
                self._stride *= 2
        self._n_records += 1

    def _match(self, before: Breakpoints, old: Ints, after: Breakpoints, step: int) -> Ints:
        """Return the tracks of the current breakpoints, and add the events since the previous record."""
        i, j = match_breakpoints(before, after, self.gate)
        tracks = np.full(len(after.x), -1)
        tracks[j] = old[i]
        for dead in np.setdiff1d(np.arange(len(old)), i).tolist():
            self._add_event(step, "death", int(old[dead]), float(before.x[dead]))
        for new in np.setdiff1d(np.arange(len(tracks)), j).tolist():
            tracks[new] = self._n_tracks
            self._n_tracks += 1
            self._add_event(step, "birth", int(tracks[new]), float(after.x[new]))
        data = self.x[self._order]
        start, stop = np.searchsorted(data, before.x[i]), np.searchsorted(data, after.x[j])
        for k in np.flatnonzero(start != stop).tolist():
            passed = np.arange(min(start[k], stop[k]), max(start[k], stop[k]))
            for sample in passed if stop[k] > start[k] else passed[::-1]:
                self._add_event(step, "crossing", int(old[i[k]]), float(data[sample]), int(self._order[sample]))
        return tracks

    def _add_event(self, step: int, kind: EventKind, track: int, x: float, sample: int = -1) -> None:
        self._events.append(Event(step, kind, track, x, sample))
        self._totals[kind] += 1


def _frame(step: int, current: Breakpoints, tracks: Ints) -> Frame:
    fields = (current.x, current.jump, current.layer, current.unit, current.direction, current.active, current.pieces)
    return Frame(step, tracks, *fields)


def _collect(frames: list[Frame], events: list[Event], totals: list[int], data: Floats) -> History:
    ints, floats = np.zeros(0, np.int64), np.zeros(0)

    def starts(sizes: list[int]) -> Ints:
        return np.concatenate([[0], np.cumsum(np.array(sizes, np.int64))])

    def rows(name: str, empty: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([empty, *(getattr(frame, name) for frame in frames)])

    pieces = [frame.pieces for frame in frames]
    return History(
        steps=np.array([frame.step for frame in frames], np.int64),
        starts=starts([len(frame.x) for frame in frames]),
        **{name: rows(name, ints) for name in ("track", "layer", "unit", "direction")},
        **{name: rows(name, floats) for name in ("x", "jump")},
        active=rows("active", np.zeros(0, bool)),
        knot_starts=starts([len(function.knots) for function in pieces]),
        **{
            name: np.concatenate([floats, *(getattr(function, name) for function in pieces)])
            for name in ("knots", "slopes", "values")
        },
        event_step=np.array([event.step for event in events], np.int64),
        event_kind=np.array([EVENTS.index(event.kind) for event in events], np.int64),
        event_track=np.array([event.track for event in events], np.int64),
        event_x=np.array([event.x for event in events], np.float64),
        event_sample=np.array([event.sample for event in events], np.int64),
        totals=np.array(totals, np.int64),
        data=data,
    )
