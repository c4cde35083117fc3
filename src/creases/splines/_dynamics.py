"""The breakpoints of a model during training, and their record: births, deaths and crossings of samples."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from scipy.optimize import linear_sum_assignment

from creases._text import OneLine
from creases._typing import Floats, Ints
from creases._validation import check_column, check_count, check_number, check_numbers, check_points
from creases.errors import InputError
from creases.network import Network, as_network
from creases.splines._coefficients import coefficients
from creases.splines._convert import from_module, to_spline
from creases.splines._deep import Breakpoints, deep_breakpoints
from creases.splines._spline import Shallow


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
    return deep_breakpoints(net)


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
    lone = [np.flatnonzero(alone[part]) for part in (first, second)]  # of owners with one each: in their order
    pairs = [(lone[0][np.argsort(first[lone[0]])], lone[1][np.argsort(second[lone[1]])])]
    for group in np.flatnonzero((had > 0) & (has > 0) & ~alone).tolist():
        i, j = np.flatnonzero(first == group), np.flatnonzero(second == group)
        distance = np.abs(old[i][:, None] - new[j])  # pi at most
        row, column = linear_sum_assignment(np.where(distance <= gate, distance, 4.0 * max(distance.shape)))
        pairs.append((i[row], j[column]))
    i, j = (np.concatenate(part) for part in zip(*pairs, strict=True))
    near = np.abs(old[i] - new[j]) <= gate
    return i[near], j[near]


def _shallow_breakpoints(net: Shallow) -> Breakpoints:
    form = to_spline(net)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        unit = np.flatnonzero(np.isfinite(net.b / net.w))
    layer = np.zeros(len(unit), np.int64)
    return Breakpoints(form.beta, form.jumps, layer, unit, form.s.astype(np.int64), form.mu != 0, form.pieces())


#: What can happen to a breakpoint between two records.
EventKind = Literal["birth", "death", "crossing"]


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
    breakpoints: Breakpoints


class Track(NamedTuple):
    """One breakpoint in all frames in which it exists."""

    step: Ints  #: (n,)
    x: Floats  #: (n,)
    jump: Floats  #: (n,)
    layer: int
    unit: int


@dataclass(frozen=True, eq=False, repr=False)
class History(OneLine):
    """The T frames that a :class:`Tracker` recorded of a model of one input."""

    frames: tuple[Frame, ...]
    events: tuple[Event, ...]  #: the latest
    births: int  #: breakpoints that appeared, including those whose events are no longer kept
    deaths: int  #: breakpoints that vanished
    crossings: int  #: how often a breakpoint moved past a sample
    data: Floats  #: (N,) inputs of the samples

    def __len__(self) -> int:
        return len(self.frames)

    @property
    def steps(self) -> Ints:
        """The step (T,) of every frame."""
        return np.array([frame.step for frame in self.frames], np.int64)

    @property
    def counts(self) -> Ints:
        """Number of breakpoints (T,) in every frame."""
        return np.array([len(frame.track) for frame in self.frames], np.int64)

    @property
    def x(self) -> Floats:
        """All positions of breakpoints, frame by frame."""
        return np.concatenate([np.zeros(0), *(frame.breakpoints.x for frame in self.frames)])

    def tracks(self) -> dict[int, Track]:
        """Return every breakpoint of the frames by its number."""
        rows: dict[int, list[tuple[Any, ...]]] = {}
        for frame in self.frames:
            at = frame.breakpoints
            columns = (frame.track, at.x, at.jump, at.layer, at.unit)
            for number, *values in zip(*(column.tolist() for column in columns), strict=True):
                rows.setdefault(number, []).append((frame.step, *values))
        tracks = {}
        for number in sorted(rows):
            step, x, jump, layer, unit = zip(*rows[number], strict=True)
            tracks[number] = Track(np.array(step), np.array(x), np.array(jump), layer[0], unit[0])
        return tracks


@dataclass(frozen=True, eq=False, repr=False)
class CreaseHistory(OneLine):
    """The creases of a network of d inputs and one hidden layer in T frames: ``xi . x = gamma`` for each of H units.

    All are NaN for a unit with zero weights, which has no crease.
    """

    steps: Ints  #: (T,)
    xi: Floats  #: (T, H, d) unit normals, towards the active side
    gamma: Floats  #: (T, H) offsets: distances of the creases from 0 along the normals
    mu: Floats  #: (T, H) changes of the slope along the normals
    crossings: Ints  #: (H,) how often each crease moved past a sample

    @property
    def angles(self) -> Floats:
        """How far (T, H) each normal has turned since the first frame, in radians."""
        lengths = np.linalg.norm(self.xi - self.xi[:1], axis=-1)
        return np.asarray(2 * np.arcsin(np.minimum(lengths / 2, 1.0)))


class _Creases(NamedTuple):
    """The creases of a network of several inputs at one step, as in :class:`CreaseHistory`."""

    step: int
    xi: Floats
    gamma: Floats
    mu: Floats


class Tracker:
    """Recorder of the breakpoints or creases of a model during training.

    Call it with the model once before the first step and after each step. Every ``every``-th call is recorded. Of a
    model of one input, each breakpoint is matched with one of the previous record, of the same unit and direction and
    at most ``gate`` away in arctan. Breakpoints without a match were born or have died, so the initial breakpoints plus
    births minus deaths are always the current ones. Of a model of several inputs and one hidden layer, the normal and
    the offset of each unit's crease are recorded.

    Parameters
    ----------
    x
        Inputs (N,) or (N, d) of the samples, to count how often breakpoints or creases cross them.
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
        points = np.zeros(0) if x is None else check_numbers(x, "x")
        self._several = points.ndim == 2 and points.shape[1] > 1
        self.x = check_points(points, points.shape[1], "x") if self._several else check_column(points, "x")
        self.every, self.max_frames = check_count(every, "every"), check_count(max_frames, "max_frames")
        self.gate = check_number(gate, "gate", least=0)
        self._order = np.argsort(self.x, kind="stable") if not self._several else np.zeros(0, np.int64)
        self._calls = 0
        self._stride = 1  # records per frame that is kept
        self._n_records = 0
        self._frames: list[Any] = []  # of type Frame, or _Creases
        self._latest: Any = None
        self._n_tracks = 0
        self._crossings: Ints | None = None  # of creases, (H,)
        self._events: deque[Event] = deque(maxlen=100 * self.max_frames)
        self._totals: dict[EventKind, int] = dict.fromkeys(get_args(EventKind), 0)

    def __call__(self, model: Any, step: int | None = None) -> None:
        """Record the breakpoints or creases of the model, every ``every``-th call.

        Parameters
        ----------
        model
            The model, which is not changed.
        step
            The number of the step; by default the number of calls before.
        """
        if self._calls % self.every == 0:
            step = self._calls if step is None else step
            net = model if isinstance(model, Shallow) else as_network(model)
            frame: Any
            if isinstance(net, Network) and net.n_in > 1:
                frame = self._find_creases(net, step)
            else:
                current = breakpoints(net)
                tracks = np.arange(len(current.x)) if self._latest is None else self._match(current, step)
                self._n_tracks = max(self._n_tracks, len(tracks))
                frame = Frame(step, tracks, current)
            self._latest = frame
            if self._n_records % self._stride == 0:
                self._frames.append(frame)
                if len(self._frames) > self.max_frames:
                    self._frames = self._frames[::2]
                    self._stride *= 2
            self._n_records += 1
        self._calls += 1

    def history(self) -> History:
        """Return everything recorded so far of a model of one input, including the latest record."""
        if isinstance(self._latest, _Creases):
            raise InputError("model", "have one input", "several", "use creases()")
        births, deaths, crossings = self._totals.values()
        return History(tuple(self._all_frames()), tuple(self._events), births, deaths, crossings, self.x)

    def creases(self) -> CreaseHistory:
        """Return everything recorded so far of a model of several inputs, including the latest record."""
        if not isinstance(self._latest, _Creases):
            raise InputError("model", "have several inputs and have been recorded", hint="use history() for one input")
        assert self._crossings is not None
        steps, *columns = zip(*self._all_frames(), strict=True)
        xi, gamma, mu = map(np.stack, columns)
        return CreaseHistory(np.array(steps), xi, gamma, mu, self._crossings)

    def _all_frames(self) -> list[Any]:
        is_kept = self._latest is None or self._frames[-1].step == self._latest.step
        return [*self._frames, *([] if is_kept else [self._latest])]

    def _find_creases(self, net: Network, step: int) -> _Creases:
        """Return the creases of a network of several inputs, and count the samples passed since the last record."""
        W, b, v, _, _, leak = coefficients(net)
        length = np.linalg.norm(W, axis=1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            frame = _Creases(step, W / length[:, None], -b / length + 0.0, (1 - leak) * length * v)
        if self._crossings is None:
            self._crossings = np.zeros(len(b), np.int64)
        if self._latest is not None and self._several:
            sides = [self.x @ part.xi.T > part.gamma for part in (self._latest, frame)]  # (N, H)
            self._crossings = self._crossings + (sides[0] != sides[1]).sum(axis=0)
        return frame

    def _match(self, after: Breakpoints, step: int) -> Ints:
        """Return the tracks of the current breakpoints, and add the events since the previous record."""
        _, old, before = self._latest
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
