"""A growth run that a page watches and controls: one epoch at a time, growth on demand, undo, frames."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from creases.errors import CreasesError, RequestError
from creases.problems import Problem
from creases.show._viewer._run import epochs_json, moment_json, record_json, run_json
from creases.show.report._slices import Slice, choose_slices, multiply_slices, slice_frame, slices_json
from creases.show.studio import _model_view as views
from creases.show.studio._limits import Limits
from creases.show.studio._page_input import check_integer
from creases.tables import Experiment, RunSettings, SavedRun, Snapshots, TableSplit, data_box

if TYPE_CHECKING:
    from creases.growth import History, State
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
    log: list[Any]  #: what had been done before it, with the epoch trained without it
    last_snapshot: int  #: the number of the last snapshot before it
    by_hand: bool


class LiveRun:
    """A run on a problem; :meth:`changes` returns what is new since the last call.

    Its ``log`` repeats it, with the settings: True is an epoch of training, False one whose growth step the user undid,
    ``"grow"`` a growth step by hand, and a number the epochs that the run may take in all from there on.
    """

    def __init__(self, problem: Problem, settings: RunSettings, limits: Limits) -> None:
        self.settings, self.limits = settings, limits
        self.data = TableSplit.from_problem(problem, settings.config)
        self.snapshots = Snapshots(self.data.scaling, max_snapshots=MAX_SNAPSHOTS, max_bytes=MAX_BYTES)
        self._experiment = Experiment(self.data, settings.config, snapshots=self.snapshots)
        first = next(iter(choose_slices(self._experiment.network, self.data)), None)  # none for one input
        self.slices: list[Slice] = []
        self.multiples = ""
        if first is not None:
            self._show_slice(first)
        self.log: list[bool | int | str] = []
        self._steps: deque[_Step] = deque(maxlen=limits.marks)
        self._before: Any = None  #: the state of the run before a growth step
        self._end: Any = None  #: the state of the run when it ended, before its best network was chosen
        self._frames: OrderedDict[tuple[int, int], bytes] = OrderedDict()
        self._regions: dict[int, int | None] = {}
        self._crowded: int | None = None  #: units of a network that had too many regions to be drawn
        self._told: dict[str, Any] = {}  #: what the page knows of the run
        self.run = self._experiment.create_run()
        self.run.before_decision.append(self._mark)
        self.run.start()
        self.snapshots.start(self._experiment.model)

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

    def epoch(self) -> None:
        """Train for one epoch; grow, or end, if it is time."""
        if self.history.ended:
            raise RequestError(ENDED)
        self._before = None
        self.run.epoch()
        self.log.append(True)
        self._after([*self.log[:-1], False], by_hand=False)
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
        self._end = None
        self.log.append(spent + more)
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
        self._after(list(self.log), by_hand=True)
        self.log.append("grow")

    def saved_run(self) -> SavedRun:
        """Return the run so far as one of a folder."""
        return SavedRun(self.settings, self.data, self.history, tuple(self.snapshots), "")

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
        self.snapshots.keep_only(lambda snapshot: snapshot.id <= step.last_snapshot)
        self.log = [*step.log, *(done for done in self.log[len(step.log) :] if type(done) is int)]  # budgets stay
        if not step.by_hand:
            self.run.leave_stage()
        self.look()
        return self.changes()

    def choose_slice(self, request: Mapping[str, Any]) -> None:
        """Show the slice that a page requests first, with its small multiples."""
        self._show_slice(views.make_slice(request, self.net, self.data))
        self._frames.clear()
        self._regions.clear()

    def _show_slice(self, first: Slice) -> None:
        self.multiples, multiples = multiply_slices(self._experiment.network, self.data, first)
        self.slices = [first, *multiples]

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
        self._told = {}
        state = self._state()
        content = run_json(self.data, self.settings, self.history, state["moments"])
        return {**content, **self.slices_json(), "phase": self.run.phase}

    def slices_json(self) -> dict[str, Any]:
        """Return the slices as the viewer's JSON."""
        return slices_json(self.slices, self.multiples)

    def changes(self) -> dict[str, Any]:
        """Return what is new since the last call, as the viewer's message; empty if nothing is.

        Of epochs, growth steps and moments these are how many of them stay, and those that follow: where the run goes
        back, by an undo or by itself in a stage, the others are gone.
        """
        before = self._told
        now, news = self._state(), dict[str, Any]()
        for name, value in now.items():
            if name in ("epochs", "records", "moments"):
                pairs = zip(before[name], value, strict=False)
                same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1] or pair[0] == pair[1], pairs))
                if same < max(len(before[name]), len(value)):
                    news[name] = [same, epochs_json(value[same:]) if name == "epochs" else value[same:]]
            elif value != before[name]:
                news.setdefault("values", {})[name] = value
        return news

    def _state(self) -> dict[str, Any]:
        """Return what a page knows of the run from now on; what cannot have changed is as it was."""
        history, told = self.history, self._told
        epochs, moments = list(history.epochs), {moment["id"]: moment for moment in told.get("moments", [])}
        judged = len(history.records), len(history.stages), history.growth_ended, history.ending
        if told.get("judged") != judged:
            records = [record_json(record, self.data, history) for record in history.records]
        else:
            records = told["records"]
        for snapshot in self.snapshots:
            if snapshot.id not in moments:
                moments[snapshot.id] = moment_json(snapshot, history, self.regions(snapshot.id))
        self._told = {
            "epochs": epochs,
            "records": records,
            "moments": [moments[snapshot.id] for snapshot in self.snapshots],
            "growth_ended": history.growth_ended,
            "ended": history.ending,
            "kept": history.best_epoch if history.ended else None,
            "phase": self.run.phase,
            "judged": judged,
        }
        return {name: value for name, value in self._told.items() if name != "judged"}

    def _mark(self, state: State) -> None:
        """Remember the run before a growth step, to undo it; of a stage the network that was trained on."""
        if state.due and self._before is None:
            self._before = self.run.snapshot()

    def _after(self, log: list[Any], *, by_hand: bool) -> None:
        """Take the snapshots due after an epoch or a growth step, and make the step undoable, back to a log."""
        last = max((moment.id for moment in self.snapshots), default=-1)
        self.snapshots.after(self.state)
        if self.state.record is not None and self._before is not None:
            # one snapshot more: that just before the step
            self._steps.append(_Step(self.state.record.number, self._before, log, last + 1, by_hand))
        self._before = None

    def _refusals(self) -> str:
        """Return why the method adds no unit."""
        state = self.state
        reasons = [str(state.propose(place).explanation.get("reason", "")) for place in state.where(state)]
        return "; ".join(reason for reason in reasons if reason)[:300] or "no unit is worth adding"
