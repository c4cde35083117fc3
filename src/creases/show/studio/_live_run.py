"""A growth run that a page watches and controls: one epoch at a time, growth on demand, undo, frames."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from creases.errors import CreasesError, RequestError
from creases.growth import GrowthConfig, RunState
from creases.growth.experiment import Experiment, RunSettings, Snapshots, TableSplit
from creases.problems import Problem
from creases.show.studio import _slices as views
from creases.show.studio._limits import Limits
from creases.show.viewer import epochs_json, moment_json, record_json, run_json

if TYPE_CHECKING:
    from creases.growth import History, Record, State
    from creases.network import Network

#: Maximum number of snapshots of a run, and of the bytes of their networks together.
MAX_SNAPSHOTS = 2_000
MAX_BYTES = 2**28


@dataclass(frozen=True, eq=False)
class _Step:
    """A growth step that can be undone."""

    before: RunState
    last_snapshot: int  #: the number of the last snapshot before it
    by_hand: bool


class LiveRun:
    """A run on a problem; :meth:`changes` returns what is new since the last call.

    What the user did is in ``by_hand`` (the epochs after which "grow now" was pressed) and ``undone`` (those whose
    growth step was undone): with the settings, enough to repeat the run.
    """

    def __init__(self, problem: Problem, settings: RunSettings, limits: Limits) -> None:
        self.settings, self.limits = settings, limits
        self.data = TableSplit.from_problem(problem, settings.config)
        self.snapshots = Snapshots(self.data.scaling, max_snapshots=MAX_SNAPSHOTS, max_bytes=MAX_BYTES)
        experiment = Experiment(self.data, settings.config, snapshots=self.snapshots)
        self.slices = views.first_slices(experiment.network, self.data)
        self.by_hand: list[int] = []
        self.undone: set[int] = set()
        self._steps: deque[_Step] = deque(maxlen=limits.marks)
        self._before: RunState | None = None
        self._frames: OrderedDict[tuple[int, int], bytes] = OrderedDict()
        self._regions: dict[int, int | None] = {}
        self._crowded: int | None = None  #: units of a network that had too many regions to be drawn
        self._page = _PageState()
        self.run = experiment.create_run()
        self.run.grower.before_decision.append(self._mark)
        self.run.start()
        self.snapshots.start(experiment.model)

    @property
    def config(self) -> GrowthConfig:
        """Options of the run."""
        return self.settings.config

    @property
    def history(self) -> History:
        """Epochs and growth steps so far."""
        return self.run.history

    @property
    def state(self) -> State:
        """State of the grower."""
        return self.run.grower.state

    @property
    def net(self) -> Network:
        """The network as it is now, for the data's own units."""
        return self.snapshots.in_data_units(self.state.model)

    @property
    def units(self) -> int:
        """Number of hidden units."""
        return sum(self.run.grower.widths.values())

    def epoch(self) -> None:
        """Train for one epoch; grow, or end, if it is time."""
        if self.history.ended:
            raise RequestError("the run has ended; undo a growth step, or restart")
        self._before = None
        self.run.epoch()
        self._after(by_hand=False)
        if self.history.ended:
            self.run.finish()
            self.snapshots.end(self.state.model, self.history.best["epoch"])

    def grow(self) -> None:
        """Add units now."""
        if self.history.ended:
            raise RequestError("the run has ended; undo a growth step, or restart")
        if self.units >= self.limits.units:
            raise RequestError(f"the network has {self.units} units, as many as the studio takes")
        self._before = self.run.snapshot()
        self.snapshots.hold(self.state.model)
        if self.run.grow_now() is None:
            self.run.restore(self._before)
            raise RequestError(f"nothing can be added now ({self._refusals()}); train on, or choose another method")
        self._after(by_hand=True)

    def look(self) -> None:
        """Take a snapshot of the network as it is, if there is none of this epoch."""
        if not self.history.ended:
            self.snapshots.take_now(self.state)

    def undo(self) -> dict[str, Any]:
        """Undo the last growth step and everything after it; return the message for the page."""
        if not self._steps:
            raise RequestError("there is no growth step to undo")
        step = self._steps.pop()
        self.run.restore(step.before)
        self.snapshots.keep_only(lambda snapshot: snapshot.id <= step.last_snapshot)
        epoch = len(self.history.epochs)
        self.undone = {undone for undone in self.undone if undone <= epoch}
        if step.by_hand:
            self.by_hand.pop()
        else:
            self.undone.add(epoch)
        return self._page.cut(self)

    def add_slice(self, request: Mapping[str, Any]) -> int:
        """Add the slice that a page requests; return its number."""
        view = views.make_slice(request, self.net, self.data)
        names = [view.name for view in self.slices]
        if view.name in names:
            return names.index(view.name)
        if len(self.slices) >= self.limits.slices:
            raise RequestError(f"{self.limits.slices} slices are there already; restart to choose others")
        self.slices.append(view)
        return len(self.slices) - 1

    def frame(self, moment: int, number: int) -> bytes:
        """Return the frame of a snapshot in one of the slices."""
        frame = self._frames.pop((moment, number), None)
        if frame is None:
            at = next((snapshot for snapshot in self.snapshots if snapshot.id == moment), None)
            if at is None:
                raise RequestError(f"moment {moment} is not kept any more; choose another")
            frame, regions = views.draw(at.net, self.data, self.slices, number, moment, self.limits.regions)
            if number == 0:
                self._regions[moment] = regions
        self._frames[moment, number] = frame
        while sum(map(len, self._frames.values())) > self.limits.frames and len(self._frames) > 1:
            self._frames.popitem(last=False)
        return frame

    def regions(self, moment: int) -> int | None:
        """Return the number of regions of a snapshot's first slice; None if there are too many to draw."""
        if moment not in self._regions:
            self._regions[moment] = None
            if self._crowded is not None and self.units >= self._crowded:
                return None  # finding that out again would take longer than the training
            try:
                self.frame(moment, 0)
            except CreasesError:
                self._crowded = self.units
                return None  # the page is told when it asks for the frame
        return self._regions[moment]

    def to_json(self) -> dict[str, Any]:
        """Return the run so far as the viewer's JSON; :meth:`changes` continues from here."""
        self._page = _PageState()
        moments = [moment_json(snapshot, self.regions(snapshot.id)) for snapshot in self.snapshots]
        self._page.note(self)
        return run_json(self.data, self.settings, self.history, moments, slices=[view.name for view in self.slices])

    def changes(self) -> dict[str, Any]:
        """Return what is new since the last call, as the viewer's message; empty if nothing is."""
        return self._page.news(self)

    def record(self, record: Record) -> dict[str, Any]:
        """Return a growth step as the viewer's JSON."""
        best_epoch = self.history.best["epoch"] if self.history.ended else None
        return record_json(record, self.data, best_epoch)

    def _mark(self, state: State) -> None:
        """Remember the run before a growth step, to undo it."""
        if state.due:
            self._before = self.run.snapshot()

    def _after(self, *, by_hand: bool) -> None:
        """Take the snapshots due after an epoch or a growth step, and make the step undoable."""
        last = max((moment.id for moment in self.snapshots), default=-1)
        self.snapshots.after(self.state)
        if self.state.record is not None and self._before is not None:
            self._steps.append(_Step(self._before, last + 1, by_hand))  # one more: the snapshot just before the step
            if by_hand:
                self.by_hand.append(len(self.history.epochs))
        self._before = None

    def _refusals(self) -> str:
        """Return why the method adds no unit."""
        state = self.state
        reasons = [str(state.propose(place).explanation.get("reason", "")) for place in state.where(state)]
        return "; ".join(reason for reason in reasons if reason)[:300] or "no unit is worth adding"


class _PageState:
    """What a page knows about a run."""

    def __init__(self) -> None:
        self.epochs = 0
        self.records: list[dict[str, Any]] = []
        self.moments: list[int] = []
        self.ended = ""

    def note(self, live: LiveRun) -> None:
        """Note that the page has the run so far."""
        self.epochs, self.ended = len(live.history.epochs), live.history.ended
        self.records = [live.record(record) for record in live.history.records]
        self.moments = [moment.id for moment in live.snapshots]

    def news(self, live: LiveRun) -> dict[str, Any]:
        """Return what is new: epochs, growth steps, snapshots, outcomes of earlier steps, the end."""
        history, news = live.history, dict[str, Any]()
        if len(history.epochs) > self.epochs:
            news["epochs"] = epochs_json(history.epochs[self.epochs :])
            self.epochs = len(history.epochs)
        if len(history.records) > len(self.records) or history.ended != self.ended:
            news |= self._records(live)
        new = [snapshot for snapshot in live.snapshots if snapshot.id > max(self.moments, default=-1)]
        available = {snapshot.id for snapshot in live.snapshots}
        if removed := [moment for moment in self.moments if moment not in available]:
            news["gone"] = removed
        if new:
            news["moments"] = [moment_json(snapshot, live.regions(snapshot.id)) for snapshot in new]
        self.moments = [snapshot.id for snapshot in live.snapshots]
        return news

    def _records(self, live: LiveRun) -> dict[str, Any]:
        """Return new growth steps, changed outcomes of earlier ones, and the end of the run."""
        now, known = [live.record(record) for record in live.history.records], len(self.records)
        news: dict[str, Any] = {"records": now[known:]} if now[known:] else {}
        if later := {
            str(record["number"]): record for k, record in enumerate(now[:known]) if record != self.records[k]
        }:
            news["later"] = later
        if live.history.ended != self.ended:
            news |= {"ended": live.history.ended, "kept": live.history.best["epoch"] if live.history.ended else None}
        self.records, self.ended = now, live.history.ended
        return news

    def cut(self, live: LiveRun) -> dict[str, Any]:
        """Return what remains after a growth step was undone; the outcome of the step before is unknown again."""
        available = {snapshot.id for snapshot in live.snapshots}
        remaining = [moment for moment in self.moments if moment in available]
        counts = {"epochs": len(live.history.epochs), "records": len(live.history.records), "moments": len(remaining)}
        self.epochs, self.moments = counts["epochs"], remaining
        self.records = self.records[: counts["records"]]
        return {"keep": counts, "ended": "", "kept": None, **self._records(live)}
