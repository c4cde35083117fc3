"""Record the breakpoints of a model during training."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats, Ints
from creases._validation import check_column, check_count, check_number
from creases.splines._dynamics.history import (
    EVENTS,
    Breakpoints,
    Event,
    EventKind,
    Frame,
    History,
    breakpoints,
    match_breakpoints,
)


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
