"""A growth run that a page watches and controls: one epoch at a time, growth on demand, undo, frames."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from creases.errors import CreasesError, RequestError
from creases.growth import GrowthConfig
from creases.problems import Problem
from creases.show._viewer._run import epochs_json, moment_json, record_json, run_json
from creases.show.report._slices import multiply_slices, slice_frame, slices_json
from creases.show.studio import _model_view as views
from creases.show.studio._limits import Limits
from creases.show.studio._page_input import check_integer
from creases.tables import Experiment, RunSettings, Snapshots, TableSplit, data_box

if TYPE_CHECKING:
    from creases.growth import History, Record, State
    from creases.network import Network

#: Maximum number of snapshots of a run, and of the bytes of their networks together.
MAX_SNAPSHOTS = 2_000
MAX_BYTES = 2**28

#: What can be done with a run that has ended.
ENDED = "the run is finished; continue training, undo a growth step, or restart"


@dataclass(frozen=True, eq=False)
class _Step:
    """A growth step that can be undone; it may be of several layers, with a record each."""

    record: int  #: the number of its last record
    before: Any  #: the state of a run of its loop
    turn: int  #: epochs trained until then
    last_snapshot: int  #: the number of the last snapshot before it
    by_hand: bool


class LiveRun:
    """A run on a problem; :meth:`changes` returns what is new since the last call.

    Its turns are the epochs that were trained, those of stages that were undone included. What the user did is in
    ``by_hand`` (the turns after which "grow now" was pressed), ``undone`` (those whose growth step the user undid) and
    ``budgets`` (the epochs that the run may take in all since a turn): with the settings, enough to repeat the run.
    """

    def __init__(self, problem: Problem, settings: RunSettings, limits: Limits) -> None:
        self.settings, self.limits = settings, limits
        self.data = TableSplit.from_problem(problem, settings.config)
        self.snapshots = Snapshots(self.data.scaling, max_snapshots=MAX_SNAPSHOTS, max_bytes=MAX_BYTES)
        self._experiment = Experiment(self.data, settings.config, snapshots=self.snapshots)
        self.slices, self.multiples = views.first_slices(self._experiment.network, self.data)
        self.turn = 0
        self.by_hand: list[int] = []
        self.undone: set[int] = set()
        self.budgets: dict[int, int] = {}
        self._steps: deque[_Step] = deque(maxlen=limits.marks)
        self._before: Any = None  #: the state of the run before a growth step
        self._end: Any = None  #: the state of the run when it ended, before its best network was chosen
        self._frames: OrderedDict[tuple[int, int], bytes] = OrderedDict()
        self._regions: dict[int, int | None] = {}
        self._crowded: int | None = None  #: units of a network that had too many regions to be drawn
        self._page = _PageState()
        self.run = self._experiment.create_run()
        self.run.before_decision.append(self._mark)
        self.run.start()
        self.snapshots.start(self._experiment.model)

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
        return self.run.state

    @property
    def net(self) -> Network:
        """The network as it is now, for the data's own units."""
        return self.snapshots.in_data_units(self.state.model)

    @property
    def units(self) -> int:
        """Number of hidden units."""
        return sum(self.run.widths.values())

    @property
    def phase(self) -> str:
        """What is being trained, in a few words for the page; "" if there is nothing special about it."""
        return self.run.phase

    def epoch(self) -> None:
        """Train for one epoch; grow, or end, if it is time."""
        if self.history.ended:
            raise RequestError(ENDED)
        self._before = None
        self.run.epoch()
        self.turn += 1
        self._after(by_hand=False)
        if self.history.ended:
            self._end = self.run.snapshot()
            self._experiment.finish(self.run)

    def train_on(self, epochs: int | None) -> None:
        """Continue a run that has ended for so many epochs more, as many again by default.

        It continues with the network of its last epoch, not with the one that was chosen at the end.
        """
        if self._end is None or not self.history.ended:
            raise RequestError("the run is not finished; press Resume")
        meter = self.run.state.meter
        spent = int(meter.budget.amount)  # the studio's budgets are in epochs
        if spent > self.limits.epochs:  # without a budget
            spent = int(meter.spent)
        left = self.limits.epochs - spent
        if left < 1:
            raise RequestError(f"the run has used {spent} epochs, the limit of the studio")
        more = min(spent, left) if epochs is None else check_integer(epochs, "budget", 1, left)
        self.run.restore(self._end)
        self.run.extend(spent + more)
        self._end, self.budgets[self.turn] = None, spent + more
        self.snapshots.keep_only(lambda snapshot: snapshot.kind != "end")
        self.look()

    def grow(self) -> None:
        """Add units now."""
        if self.history.ended:
            raise RequestError(ENDED)
        if self.units >= self.limits.units:
            raise RequestError(f"the network has {self.units} units, the limit of the studio")
        self._before = self.run.snapshot()
        self.snapshots.hold(self.state.model)
        if self.run.grow_now() is None:
            self.run.restore(self._before)
            raise RequestError(
                f"no unit can be added now ({self._refusals()}); continue training, or choose another method"
            )
        self._after(by_hand=True)

    def look(self) -> None:
        """Take a snapshot of the network as it is, if there is none of this epoch."""
        if not self.history.ended:
            self.snapshots.take_now(self.state)

    def undo(self) -> dict[str, Any]:
        """Undo the last growth step in the network and everything after it; return the message for the page.

        In the middle of a stage the network that was trained on takes the place of the one that grew.
        """
        while self._steps and self.history.records[self._steps[-1].record - 1].undone:
            self._steps.pop()
        if not self._steps:
            raise RequestError("there is no growth step to undo")
        step = self._steps.pop()
        self.run.restore(step.before)
        self.turn = step.turn
        self.snapshots.keep_only(lambda snapshot: snapshot.id <= step.last_snapshot)
        self.undone = {turn for turn in self.undone if turn <= step.turn}
        self.budgets = {min(turn, step.turn): budget for turn, budget in self.budgets.items()}
        if step.by_hand:
            self.by_hand.pop()
        else:
            self.undone.add(step.turn)
            self.run.leave_stage()
        self.look()
        return self.changes()

    def choose_slice(self, request: Mapping[str, Any]) -> None:
        """Show the slice that a page requests first, with its small multiples."""
        first = views.make_slice(request, self.net, self.data)
        self.multiples, multiples = multiply_slices(self.net, self.data, first)
        self.slices = [first, *multiples]
        self._frames.clear()
        self._regions.clear()

    def add_slice(self, request: Mapping[str, Any]) -> int:
        """Add the slice that a page requests; return its number."""
        return views.append_slice(self.slices, views.make_slice(request, self.net, self.data), self.limits.slices)

    def frame(self, moment: int, number: int) -> bytes:
        """Return the frame of a snapshot in one of the slices."""
        frame = self._frames.pop((moment, number), None)
        if frame is None:
            at = next((snapshot for snapshot in self.snapshots if snapshot.id == moment), None)
            if at is None:
                raise RequestError(f"moment {moment} is no longer stored; choose another")
            ends = data_box(self.data.problem.X)[0]
            partition = views.map_slice(at.net, self.slices, number, ends, self.limits.regions)
            cut = self.slices[number] if self.slices else None
            frame = slice_frame(partition, self.data, cut, moment=moment, number=number)
            if number == 0:
                self._regions[moment] = partition.count
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
            except (CreasesError, MemoryError):
                self._crowded = self.units
                return None  # the page is told when it asks for the frame
        return self._regions[moment]

    def to_json(self) -> dict[str, Any]:
        """Return the run so far as the viewer's JSON; :meth:`changes` continues from here."""
        self._page = _PageState()
        moments = [moment_json(snapshot, self.history, self.regions(snapshot.id)) for snapshot in self.snapshots]
        self._page.note(self)
        content = run_json(self.data, self.settings, self.history, moments)
        return {**content, **self.slices_json(), "phase": self.phase}

    def slices_json(self) -> dict[str, Any]:
        """Return the slices as the viewer's JSON."""
        return slices_json(self.slices, self.multiples)

    def changes(self) -> dict[str, Any]:
        """Return what is new since the last call, as the viewer's message; empty if nothing is."""
        return self._page.news(self)

    def record(self, record: Record) -> dict[str, Any]:
        """Return a growth step as the viewer's JSON."""
        return record_json(record, self.data, self.history)

    def _mark(self, state: State) -> None:
        """Remember the run before a growth step, to undo it; of a stage the network that was trained on."""
        if state.due and self._before is None:
            self._before = self.run.snapshot()

    def _after(self, *, by_hand: bool) -> None:
        """Take the snapshots due after an epoch or a growth step, and make the step undoable."""
        last = max((moment.id for moment in self.snapshots), default=-1)
        self.snapshots.after(self.state)
        if self.state.record is not None and self._before is not None:
            # one snapshot more: that just before the step
            self._steps.append(_Step(self.state.record.number, self._before, self.turn, last + 1, by_hand))
            if by_hand:
                self.by_hand.append(self.turn)
        self._before = None

    def _refusals(self) -> str:
        """Return why the method adds no unit."""
        state = self.state
        reasons = [str(state.propose(place).explanation.get("reason", "")) for place in state.where(state)]
        return "; ".join(reason for reason in reasons if reason)[:300] or "no unit is worth adding"


class _PageState:
    """What a page knows about a run."""

    def __init__(self) -> None:
        self.epochs: list[dict[str, Any]] = []
        self.records: list[dict[str, Any]] = []
        self.moments: list[int] = []
        self.endings = {"growth_ended": "", "ended": "", "phase": ""}
        self._stages = 0  #: judged, when the records were last compared

    def note(self, live: LiveRun) -> None:
        """Note that the page has the run so far."""
        self.epochs, self.endings = list(live.history.epochs), _endings(live)
        self.records = [live.record(record) for record in live.history.records]
        self.moments, self._stages = [moment.id for moment in live.snapshots], len(live.history.stages)

    def news(self, live: LiveRun) -> dict[str, Any]:
        """Return what is new: epochs, growth steps, snapshots, outcomes of earlier steps, the end.

        Where the run went back, by an undo or by itself in a stage, the page keeps only what both have.
        """
        (epochs, keep), (records, keep_records) = self._epochs(live), self._records(live)
        news = {**epochs, **records}
        if keep | keep_records:
            news["keep"] = keep | keep_records
        new = [snapshot for snapshot in live.snapshots if snapshot.id > max(self.moments, default=-1)]
        available = {snapshot.id for snapshot in live.snapshots}
        if removed := [moment for moment in self.moments if moment not in available]:
            news["gone"] = removed
        if new:
            news["moments"] = [moment_json(snapshot, live.history, live.regions(snapshot.id)) for snapshot in new]
        self.moments = [snapshot.id for snapshot in live.snapshots]
        return news

    def _epochs(self, live: LiveRun) -> tuple[dict[str, Any], dict[str, int]]:
        """Return new epochs, and how many the page keeps if not all."""
        before, now = self.epochs, list(live.history.epochs)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], zip(before, now, strict=False)))
        self.epochs = now
        news = {"epochs": epochs_json(now[same:])} if same < len(now) else {}
        return news, {"epochs": same} if same < len(before) else {}

    def _records(self, live: LiveRun) -> tuple[dict[str, Any], dict[str, int]]:
        """Return new growth steps, changed outcomes of earlier ones, why growth or the run ended; and what is kept."""
        history, endings, news = live.history, _endings(live), dict[str, Any]()
        known = min(len(self.records), len(history.records))
        keep = {"records": known} if known < len(self.records) else {}
        changed: dict[str, Any] = {name: text for name, text in endings.items() if text != self.endings[name]}
        if "ended" in changed:
            changed["kept"] = history.best_epoch if history.ended else None
        judged = len(history.stages) != self._stages
        if len(history.records) != len(self.records) or changed.keys() - {"phase"} or judged:
            now = [live.record(record) for record in history.records]
            news |= {"records": now[known:]} if now[known:] else {}
            pairs = zip(now[:known], self.records, strict=False)
            if later := {str(record["number"]): record for record, before in pairs if record != before}:
                news["later"] = later
            self.records = now
        self.endings, self._stages = endings, len(history.stages)
        return {**news, **changed}, keep


def _endings(live: LiveRun) -> dict[str, str]:
    return {"growth_ended": live.history.growth_ended, "ended": live.history.ending, "phase": live.phase}
