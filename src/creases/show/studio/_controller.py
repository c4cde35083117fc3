"""One session's work, wherever it is done: messages of a page in, messages and frames for it out."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Literal

from creases.errors import CreasesError, RequestError
from creases.growth.experiment import RunSettings
from creases.problems import Problem
from creases.show.studio._config_input import make_config
from creases.show.studio._exports import Export, export
from creases.show.studio._limits import Limits
from creases.show.studio._live_run import LiveRun
from creases.show.studio._problem_input import make_problem, render_error, table_name
from creases.show.viewer import epochs_json, problem_json
from creases.show.viewer._run import score_name

State = Literal["idle", "running", "paused", "ended"]

#: Seconds between messages about a run that is running.
PACE = 0.15

#: Where a page shows what is wrong with each of its messages; all others are about the run.
_PLACES = {"problem": "problem", "start": "method", "frame": "plane", "slice": "slice", "export": "export"}

_NO_RUN = "there is no run yet; press Start"


class Controller:
    """A session: what it tells goes through ``say``, as a dict (JSON), bytes (a frame) or an Export.

    ``sign`` is called now and then in the middle of long work.
    """

    def __init__(
        self,
        say: Callable[[dict[str, Any] | bytes | Export], None],
        limits: Limits,
        sign: Callable[[], None] = lambda: None,
    ) -> None:
        self._say, self._limits, self._sign = say, limits, sign
        self._given: Mapping[str, Any] = {}
        self._problem: Problem | None = None
        self._live: LiveRun | None = None
        self.state: State = "idle"
        self._message = ""
        self._told = 0.0  #: when the page last heard of the run
        self._worked = 0.0  #: seconds of training since the last word from the user

    def handle(self, text: str) -> None:
        """Do what a message asks for; whatever is wrong with it is answered, in the place where it was asked."""
        asked: Any = None
        try:
            asked = _read(text)
            _ACTS[asked["do"]](self, asked)
        except Exception as problem:
            do = asked.get("do") if isinstance(asked, dict) else None
            of = (
                {key: asked[key] for key in ("moment", "slice") if isinstance(asked.get(key), int)}
                if do == "frame"
                else {}
            )
            self._refuse(_PLACES.get(str(do), "run"), problem, **of)

    def work(self) -> None:
        """Train one epoch of the run that is running."""
        live, began = self._run(), time.monotonic()
        try:
            live.epoch()
        except Exception as problem:
            self._refuse("run", problem)
            return self._become("paused")
        self._worked += time.monotonic() - began
        if live.history.ended:
            self._tell()
            self._become("ended", f"It ended: {live.history.ended}.")
        elif live.units >= self._limits.units:
            self._pause(f"Paused: the network has {live.units} units, as many as the studio takes.")
        elif self._worked > self._limits.work:
            self._pause(f"Paused after {self._limits.work:.0f} seconds of training; press Resume to continue.")
        elif live.state.record is not None or time.monotonic() - self._told > PACE:
            self._tell()

    def _hello(self, asked: Mapping[str, Any]) -> None:
        """Tell a page that came back all it needs to know."""
        if self._live is not None:
            self._say({"type": "run", "run": self._live.whole()})
        elif self._problem is not None:
            self._say({"type": "run", "run": _proposed(self._problem)})
        self._become(self.state, self._message)

    def _propose(self, asked: Mapping[str, Any]) -> None:
        given = asked.get("problem", {})
        self._problem, self._live, self._given = make_problem(given, self._limits), None, given
        self._say({"type": "run", "run": _proposed(self._problem)})
        self._become("idle")

    def _start(self, asked: Mapping[str, Any]) -> None:
        given = asked.get("problem", {})
        try:
            problem = make_problem(given, self._limits)
        except CreasesError as refused:
            return self._refuse("problem", refused)
        name = table_name(given) if given["kind"] == "csv" else problem.name
        settings = RunSettings(name, config=make_config(asked, self._limits))
        live = LiveRun(problem, settings, self._limits)
        self._given, self._problem, self._live, self._worked = given, problem, live, 0.0
        self._say({"type": "run", "run": live.whole()})
        self._become("running")

    def _go(self, asked: Mapping[str, Any]) -> None:
        live = self._run()
        if live.history.ended:
            raise RequestError("the run has ended; undo a growth step, or restart")
        if live.units >= self._limits.units:
            raise RequestError(f"the network has {live.units} units, as many as the studio takes; take a step back")
        self._worked = 0.0
        self._become("running")

    def _halt(self, asked: Mapping[str, Any]) -> None:
        self._run()
        if self.state == "running":
            self._pause("")

    def _step(self, asked: Mapping[str, Any]) -> None:
        live = self._run()
        live.epoch()
        live.look()
        self._tell()
        if live.history.ended:
            self._become("ended", f"It ended: {live.history.ended}.")
        else:
            self._become("paused")

    def _grow(self, asked: Mapping[str, Any]) -> None:
        self._run().grow()
        self._worked = 0.0
        self._tell()

    def _undo(self, asked: Mapping[str, Any]) -> None:
        self._say({"type": "changes", **self._run().undo()})
        self._become("paused")

    def _frame(self, asked: Mapping[str, Any]) -> None:
        moment, number = asked.get("moment"), asked.get("slice", 0)
        if not isinstance(moment, int) or not isinstance(number, int):
            raise RequestError("a frame is asked for by the numbers of its moment and slice")
        self._say(self._run().frame(moment, number))

    def _slice(self, asked: Mapping[str, Any]) -> None:
        live = self._run()
        number = live.add_slice(asked)
        self._say({"type": "slices", "slices": [one.name for one in live.slices], "slice": number})

    def _export(self, asked: Mapping[str, Any]) -> None:
        live = self._run()
        live.look()
        self._tell()
        self._say(export(asked.get("what"), self._given, live, self._sign))

    def _run(self) -> LiveRun:
        if self._live is None:
            raise RequestError(_NO_RUN)
        return self._live

    def _pause(self, message: str) -> None:
        self._run().look()
        self._tell()
        self._become("paused", message)

    def _tell(self) -> None:
        if changes := self._run().changes():
            self._say({"type": "changes", **changes})
        self._told = time.monotonic()

    def _become(self, state: State, message: str = "") -> None:
        self.state, self._message = state, message
        self._say({"type": "status", "state": state, **({"message": message} if message else {})})

    def _refuse(self, place: str, problem: Exception, **of: int) -> None:
        """Say what is wrong, and of which frame where one was asked for."""
        if isinstance(problem, CreasesError):
            message = render_error(problem)
        elif isinstance(problem, MemoryError):
            message = "there is not enough memory for this; take fewer rows, columns or units"
        else:
            traceback.print_exc()  # on the studio's terminal
            message = f"something is wrong in the studio itself ({type(problem).__name__}: {problem}); please report it"
        if "." not in message.partition(" ")[0]:  # the name of a file stays as it is
            message = message[:1].upper() + message[1:]
        self._say({"type": "error", "where": place, "message": message, **of})


_ACTS: Mapping[str, Callable[[Controller, Mapping[str, Any]], None]] = {
    "hello": Controller._hello,
    "problem": Controller._propose,
    "start": Controller._start,
    "pause": Controller._halt,
    "go": Controller._go,
    "step": Controller._step,
    "grow": Controller._grow,
    "undo": Controller._undo,
    "frame": Controller._frame,
    "slice": Controller._slice,
    "export": Controller._export,
}


def _read(text: str) -> dict[str, Any]:
    """Return a page's message; refuse what is none."""
    try:
        asked = json.loads(text)
    except (ValueError, RecursionError):  # no JSON, a number of thousands of digits, brackets without end
        asked = None
    if not isinstance(asked, dict) or not isinstance(asked.get("do"), str) or asked["do"] not in _ACTS:
        raise RequestError("the page and the studio do not understand each other; load the page anew")
    return asked


def _proposed(problem: Problem) -> dict[str, Any]:
    """Return a run that has not begun: the problem alone."""
    return {
        "problem": problem_json(problem),
        "setting": {},
        "measure": score_name(problem.task),
        "epochs": epochs_json([]),
        "records": [],
        "moments": [],
        "ended": "",
        "kept": None,
        "sections": [],
    }
