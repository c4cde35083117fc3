"""Breakpoints followed through training: put a tracker into the loop, and look at its history afterwards."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats, Ints
from creases._validation import check_column, check_count, check_number
from creases.errors import InputError
from creases.splines.dynamics._breakpoints import Breakpoints, breakpoints, match_breakpoints
from creases.splines.dynamics._history import EVENTS, Event, EventKind, Frame, History


class Tracker:
    """Records breakpoints and delta-slopes of a model of one input while it trains.

    Call it with the model, once before the first step and after each one; every ``every``-th call it looks. At each
    look every breakpoint is matched with one of the look before, of the same unit and direction and no further than
    ``gate`` away in arctan; what finds no match was born or died, so at any time breakpoints at the start plus births
    minus deaths are those there are.

    Parameters
    ----------
    x
        Inputs (N,) of the data, for crossings: how breakpoints go past them.
    every
        Calls from one look to the next. A breakpoint that goes further than ``gate`` in between counts as another.
    limit
        Frames kept. When there are more, every second one is dropped and from then on half as many are kept, so the
        history spans the whole training; births, deaths and crossings are still told at every look (the latest
        ``100 limit`` of them one by one, all in the totals).
    gate
        The furthest way, in arctan of the input, from one look to the next.

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

    def __init__(self, x: Any = None, *, every: int = 1, limit: int = 500, gate: float = 0.15) -> None:
        self.x = np.zeros(0) if x is None else check_column(x, "x")
        self.every, self.limit, self.gate = check_count(every, "every"), check_count(limit, "limit"), gate
        if check_number(gate, "gate") < 0:
            raise InputError(f"gate: expected 0 or more, got {gate}")
        self._order = np.argsort(self.x, kind="stable")
        self._calls = 0
        self._stride = 1  # of every so many looks a frame is kept
        self._looks = 0
        self._frames: list[Frame] = []
        self._now: tuple[Breakpoints, Ints] | None = None  # the last look, and the numbers of its breakpoints
        self._born = 0  # numbers given so far
        self._events: deque[Event] = deque(maxlen=100 * self.limit)
        self._totals: dict[EventKind, int] = dict.fromkeys(EVENTS, 0)

    def __call__(self, model: Any, step: int | None = None) -> None:
        """Look at the model, if it is time; it is left alone.

        ``step``: its number, where calls are not steps; unless given, the number of calls before.
        """
        if self._calls % self.every == 0:
            self._look(breakpoints(model), self._calls if step is None else step)
        self._calls += 1

    def history(self) -> History:
        """What has been seen so far, the last look included."""
        frames = list(self._frames)
        if self._now is not None and frames[-1].step != self._step:
            frames.append(_frame(self._step, *self._now))
        return _history(frames, list(self._events), [self._totals[kind] for kind in EVENTS], self.x)

    def _look(self, found: Breakpoints, step: int) -> None:
        if self._now is None:
            numbers = np.arange(len(found.x))
            self._born = len(numbers)
        else:
            numbers = self._follow(*self._now, found, step)
        self._now, self._step = (found, numbers), step
        if self._looks % self._stride == 0:
            self._frames.append(_frame(step, found, numbers))
            if len(self._frames) > self.limit:
                self._frames = self._frames[::2]
                self._stride *= 2
        self._looks += 1

    def _follow(self, before: Breakpoints, old: Ints, after: Breakpoints, step: int) -> Ints:
        """Numbers of the breakpoints now, and what happened to them."""
        i, j = match_breakpoints(before, after, self.gate)
        numbers = np.full(len(after.x), -1)
        numbers[j] = old[i]
        for gone in np.setdiff1d(np.arange(len(old)), i).tolist():
            self._tell(step, "death", int(old[gone]), float(before.x[gone]))
        for new in np.setdiff1d(np.arange(len(numbers)), j).tolist():
            numbers[new] = self._born
            self._born += 1
            self._tell(step, "birth", int(numbers[new]), float(after.x[new]))
        data = self.x[self._order]
        start, stop = np.searchsorted(data, before.x[i]), np.searchsorted(data, after.x[j])
        for one in np.flatnonzero(start != stop).tolist():
            passed = np.arange(min(start[one], stop[one]), max(start[one], stop[one]))
            for place in passed if stop[one] > start[one] else passed[::-1]:
                self._tell(step, "crossing", int(old[i[one]]), float(data[place]), int(self._order[place]))
        return numbers

    def _tell(self, step: int, kind: EventKind, track: int, x: float, datum: int = -1) -> None:
        self._events.append(Event(step, kind, track, x, datum))
        self._totals[kind] += 1


def _frame(step: int, found: Breakpoints, numbers: Ints) -> Frame:
    rest = (found.x, found.jump, found.layer, found.unit, found.direction, found.active, found.pieces)
    return Frame(step, numbers, *rest)


def _history(frames: list[Frame], events: list[Event], totals: list[int], data: Floats) -> History:
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
        knot_starts=starts([len(one.knots) for one in pieces]),
        **{
            name: np.concatenate([floats, *(getattr(one, name) for one in pieces)])
            for name in ("knots", "slopes", "values")
        },
        event_step=np.array([event.step for event in events], np.int64),
        event_kind=np.array([EVENTS.index(event.kind) for event in events], np.int64),
        event_track=np.array([event.track for event in events], np.int64),
        event_x=np.array([event.x for event in events], np.float64),
        event_datum=np.array([event.datum for event in events], np.int64),
        totals=np.array(totals, np.int64),
        data=data,
    )
