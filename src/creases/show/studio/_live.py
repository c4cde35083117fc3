"""A growth run that a page watches and steers: an epoch at a time, growth at will, the way back, frames."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from creases.errors import InputError
from creases.growth import Run, RunState
from creases.growth.experiment import Settings, Snapshots, options, split_problem, start
from creases.problems import Problem
from creases.show.studio import _slices as views
from creases.show.studio._limits import Limits
from creases.show.viewer import epochs_json, moment_json, record_json, run_json

if TYPE_CHECKING:
    from creases.growth import History, Record, State
    from creases.network import Network

#: Moments that a run keeps, and what their networks may take together, in bytes.
MOMENTS = 2_000
MEMORY = 2**28


@dataclass(frozen=True, eq=False)
class _Step:
    """A growth step that can be taken back."""

    mark: RunState  #: the run before it
    moments: int  #: the number up to which moments are from before it
    by_hand: bool


class Live:
    """A run on a problem; its changes are told once, by :meth:`changes`.

    What the user did is in ``by_hand`` (the epochs after which "grow now" was pressed) and ``undone`` (those whose own
    growth step was taken back): with the settings, all that the run can be made again from.
    """

    def __init__(self, problem: Problem, settings: Settings, limits: Limits) -> None:
        self.settings, self.limits = settings, limits
        self.data = split_problem(problem, settings)
        model = start(settings, self.data)
        self.moments = Snapshots(self.data, most=MOMENTS, memory=MEMORY)
        self.slices = views.first_slices(self.moments.own_units(model), self.data)
        self.by_hand: list[int] = []
        self.undone: set[int] = set()
        self._steps: deque[_Step] = deque(maxlen=limits.marks)
        self._mark: RunState | None = None
        self._frames: OrderedDict[tuple[int, int], bytes] = OrderedDict()
        self._regions: dict[int, int | None] = {}
        self._crowded: int | None = None  #: units of a network that had too many regions to be drawn
        self._told = _Told()
        self.run = Run.of(model, **options(settings, self.data, first=[self.moments.before, self._before]))
        self.run.start()
        self.moments.start(model)

    @property
    def history(self) -> History:
        """Epochs and growth steps so far."""
        return self.run.history

    @property
    def state(self) -> State:
        return self.run.grower.state

    @property
    def net(self) -> Network:
        """The network as it is now, for the data's own units."""
        return self.moments.own_units(self.state.model)

    @property
    def units(self) -> int:
        return sum(self.run.grower.widths.values())

    def epoch(self) -> None:
        """Train one epoch, grow if it is time, end if that is due."""
        if self.history.ended:
            raise InputError("the run has ended; take a growth step back, or start anew")
        self._mark = None
        self.run.epoch()
        self._after(by_hand=False)
        if self.history.ended:
            self.run.finish()
            self.moments.end(self.state.model, self.history.best["epoch"])

    def grow(self) -> None:
        """Add units now."""
        if self.history.ended:
            raise InputError("the run has ended; take a growth step back, or start anew")
        if self.units >= self.limits.units:
            raise InputError(f"the network has {self.units} units, as many as the studio takes")
        self._mark = self.run.mark()
        self.moments.hold(self.state.model)
        if self.run.grow_now() is None:
            self.run.back(self._mark)
            raise InputError(f"nothing can be added now ({self._refusals()}); train on, or choose another method")
        self._after(by_hand=True)

    def look(self) -> None:
        """Take a moment of the network as it is, if there is none of this epoch."""
        if not self.history.ended:
            self.moments.look(self.state)

    def undo(self) -> dict[str, Any]:
        """Take the last growth step back, and all that came after it; what the page is told."""
        if not self._steps:
            raise InputError("there is no growth step to take back")
        step = self._steps.pop()
        self.run.back(step.mark)
        self.moments.keep(lambda moment: moment.id <= step.moments)
        epoch = len(self.history.epochs)
        self.undone = {one for one in self.undone if one <= epoch}
        if step.by_hand:
            self.by_hand.pop()
        else:
            self.undone.add(epoch)
        return self._told.cut(self)

    def add_slice(self, asked: Mapping[str, Any]) -> int:
        """The slice that a page asks for; its number."""
        view = views.asked_slice(asked, self.net, self.data)
        names = [one.name for one in self.slices]
        if view.name in names:
            return names.index(view.name)
        if len(self.slices) >= self.limits.slices:
            raise InputError(f"{self.limits.slices} slices are there already; start anew to choose others")
        self.slices.append(view)
        return len(self.slices) - 1

    def frame(self, moment: int, number: int) -> bytes:
        """The frame of a moment in one of the slices."""
        found = self._frames.pop((moment, number), None)
        if found is None:
            at = next((one for one in self.moments if one.id == moment), None)
            if at is None:
                raise InputError(f"moment {moment} is not kept any more; choose another")
            found, regions = views.draw(at.net, self.data, self.slices, number, moment, self.limits.regions)
            if number == 0:
                self._regions[moment] = regions
        self._frames[moment, number] = found
        while sum(map(len, self._frames.values())) > self.limits.frames and len(self._frames) > 1:
            self._frames.popitem(last=False)
        return found

    def regions(self, moment: int) -> int | None:
        """How many regions a moment's first slice has; None where they are too many to be drawn."""
        if moment not in self._regions:
            self._regions[moment] = None
            if self._crowded is not None and self.units >= self._crowded:
                return None  # finding that out again would take longer than the training
            try:
                self.frame(moment, 0)
            except InputError:
                self._crowded = self.units
                return None  # the page is told when it asks for the frame
        return self._regions[moment]

    def whole(self) -> dict[str, Any]:
        """The run so far as the viewer's JSON; what is told next is what comes after."""
        self._told = _Told()
        moments = [moment_json(one, self.regions(one.id)) for one in self.moments]
        self._told.note(self)
        return run_json(self.data, self.settings, self.history, moments, slices=[one.name for one in self.slices])

    def changes(self) -> dict[str, Any]:
        """What is new since the last time, as the viewer's message; empty where nothing is."""
        return self._told.news(self)

    def record(self, record: Record) -> dict[str, Any]:
        """A growth step as the viewer's JSON."""
        kept = self.history.best["epoch"] if self.history.ended else None
        return record_json(record, self.data, kept)

    def _before(self, state: State) -> str:
        """Not a reason to end: asked before every growth step, it marks the run to go back to."""
        if state.due:
            self._mark = self.run.mark()
        return ""

    def _after(self, *, by_hand: bool) -> None:
        last = max((moment.id for moment in self.moments), default=-1)
        self.moments.after(self.state)
        if self.state.record is not None and self._mark is not None:
            self._steps.append(_Step(self._mark, last + 1, by_hand))  # one more: the moment just before the step
            if by_hand:
                self.by_hand.append(len(self.history.epochs))
        self._mark = None

    def _refusals(self) -> str:
        state = self.state
        reasons = [str(state.propose(place).explanation.get("reason", "")) for place in state.where(state)]
        return "; ".join(reason for reason in reasons if reason)[:300] or "no unit is worth adding"


class _Told:
    """What a page knows of a run."""

    def __init__(self) -> None:
        self.epochs = 0
        self.records: list[dict[str, Any]] = []
        self.moments: list[int] = []
        self.ended = ""

    def note(self, live: Live) -> None:
        """The page has been given the whole run."""
        self.epochs, self.ended = len(live.history.epochs), live.history.ended
        self.records = [live.record(record) for record in live.history.records]
        self.moments = [moment.id for moment in live.moments]

    def news(self, live: Live) -> dict[str, Any]:
        """What is new: epochs, growth steps, moments, what became of earlier steps, the end."""
        history, found = live.history, dict[str, Any]()
        if len(history.epochs) > self.epochs:
            found["epochs"] = epochs_json(history.epochs[self.epochs :])
            self.epochs = len(history.epochs)
        if len(history.records) > len(self.records) or history.ended != self.ended:
            found |= self._records(live)
        new = [one for one in live.moments if one.id > max(self.moments, default=-1)]
        there = {one.id for one in live.moments}
        if gone := [one for one in self.moments if one not in there]:
            found["gone"] = gone
        if new:
            found["moments"] = [moment_json(one, live.regions(one.id)) for one in new]
        self.moments = [one.id for one in live.moments]
        return found

    def _records(self, live: Live) -> dict[str, Any]:
        now, known = [live.record(record) for record in live.history.records], len(self.records)
        found: dict[str, Any] = {"records": now[known:]} if now[known:] else {}
        if later := {str(one["number"]): one for k, one in enumerate(now[:known]) if one != self.records[k]}:
            found["later"] = later
        if live.history.ended != self.ended:
            found |= {"ended": live.history.ended, "kept": live.history.best["epoch"] if live.history.ended else None}
        self.records, self.ended = now, live.history.ended
        return found

    def cut(self, live: Live) -> dict[str, Any]:
        """What remains after a growth step was taken back; what became of the step before it is unknown again."""
        there = {one.id for one in live.moments}
        kept = [one for one in self.moments if one in there]
        counts = {"epochs": len(live.history.epochs), "records": len(live.history.records), "moments": len(kept)}
        self.epochs, self.moments = counts["epochs"], kept
        self.records = self.records[: counts["records"]]
        found = {"keep": counts, "ended": "", "kept": None, **self._records(live)}
        return found
