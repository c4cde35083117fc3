"""The controller of a session: handles messages of a page, sends messages and frames to it."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from creases.errors import CreasesError, RequestError
from creases.problems import Problem
from creases.show._viewer._run import problem_json, score_name
from creases.show.report._page import run_without_growth
from creases.show.studio._exports import Export, export
from creases.show.studio._limits import Limits, is_out_of_memory
from creases.show.studio._live_run import ENDED, LiveRun
from creases.show.studio._model_view import ModelView
from creases.show.studio._page_input import make_config, make_problem, render_error, table_name
from creases.tables import RunSettings

if TYPE_CHECKING:
    from creases.show.studio._table_view import TableView

State = Literal["idle", "running", "paused", "ended"]

#: Seconds between messages about a run that is running.
PACE = 0.15

#: Where a page shows errors of its messages; all others are about the run.
_PLACES = {
    "problem": "problem",
    "model": "problem",
    "fit": "problem",
    "edit": "table",
    "start": "method",
    "frame": "plane",
    "slice": "slice",
    "export": "export",
}

_NO_RUN = "no run yet; press Start first"


class Controller:
    """A session, which sends its messages by ``say``: a dict (JSON), bytes (a frame) or an Export.

    A message of the page is handled by the method of its name.

    ``sign`` is called regularly during long work; ``folder`` is that of a model of a table to open, if any.
    """

    def __init__(
        self,
        say: Callable[[dict[str, Any] | bytes | Export], None],
        limits: Limits,
        sign: Callable[[], None] = lambda: None,
        folder: str = "",
    ) -> None:
        self._say, self._limits, self._sign, self._folder = say, limits, sign, folder
        self._problem_spec: Mapping[str, Any] = {}
        self._problem: Problem | None = None
        self._live: LiveRun | None = None
        self._view: ModelView | None = None
        self._table: TableView | None = None
        self.state: State = "idle"
        self._message = ""
        self._last_update = 0.0  #: time of the last message to the page about the run
        self._worked = 0.0  #: seconds of training since the last action of the user

    def handle(self, text: str) -> None:
        """Handle a message; report any error to the page, at the widget that sent the message."""
        request: Any = None
        try:
            request = _read(text)
            getattr(self, f"do_{request['do']}")(request)
        except Exception as problem:
            do = request.get("do") if isinstance(request, dict) else None
            of = (
                {key: request[key] for key in ("moment", "slice") if isinstance(request.get(key), int)}
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
            return self._set_state("paused")
        self._worked += time.monotonic() - began
        if live.history.ended:
            self._send_changes()
            self._set_state("ended", f"Finished: {live.history.ending}.")
        elif live.units >= self._limits.units:
            self._pause(f"Paused: the network reached {live.units} units, the limit of the studio.")
        elif self._worked > self._limits.work:
            self._pause(f"Paused after {self._limits.work:.0f} seconds of training. Press Resume to continue.")
        elif live.state.record is not None or time.monotonic() - self._last_update > PACE:
            self._send_changes()

    def do_hello(self, request: Mapping[str, Any]) -> None:
        """Send the state of the session to a page that reconnects; open the folder if there is nothing yet."""
        shown = self._live or self._view or self._table
        if shown is not None:
            self._say({"type": "run", "run": shown.to_json(), "problem": self._problem_message()})
        elif self._folder and self._problem is None:
            from creases.show.studio._table_view import TableView

            return self._show(_table=TableView.from_folder(self._folder, self._limits, self._sign))
        elif self._problem is not None:
            content = _problem_only_json(self._problem)
            self._say({"type": "run", "run": content, "problem": self._problem_message()})
        self._set_state(self.state, self._message)

    def _problem_message(self) -> dict[str, Any]:
        """Return what a page asked for, so that one that comes back offers it again; of a table not its text."""
        if self._view is not None or self._table is not None:
            return {"kind": "model" if self._table is None else "csv"}
        return {name: value for name, value in self._problem_spec.items() if name != "text"}

    def do_problem(self, request: Mapping[str, Any]) -> None:
        """Show a problem, without a run."""
        spec = request.get("problem", {})
        problem = make_problem(spec, self._limits)
        self._clear()
        self._problem, self._problem_spec = problem, spec
        self._say({"type": "run", "run": _problem_only_json(problem)})
        self._set_state("idle")

    def do_model(self, request: Mapping[str, Any]) -> None:
        """Show the map of a network that is sent."""
        self._show(_view=ModelView.from_request(request, self._limits, self._sign))

    def do_fit(self, request: Mapping[str, Any]) -> None:
        """Fit curves to a table and show them."""
        from creases.show.studio._table_view import TableView  # with matplotlib

        problem = make_problem(request.get("problem", {}), self._limits)
        self._show(_table=TableView.from_problem(problem, self._limits, self._sign))

    def do_edit(self, request: Mapping[str, Any]) -> None:
        """Change the model of a table by hand."""
        if self._table is None:
            raise RequestError("no model of a table is open; fit one first")
        self._table.edit(request)
        self._say({"type": "table", "table": self._table.table_json()})

    def _show(self, **shown: ModelView | TableView) -> None:
        """Show a network or a model of a table instead of what was shown."""
        self._clear()
        ((name, view),) = shown.items()
        setattr(self, name, view)
        self._say({"type": "run", "run": view.to_json()})
        self._set_state("idle", view.summary)

    def _clear(self) -> None:
        """Let go of what is shown."""
        self._live = self._view = self._table = self._problem = None

    def do_start(self, request: Mapping[str, Any]) -> None:
        """Start a new run."""
        spec = request.get("problem", {})
        try:
            problem = make_problem(spec, self._limits)
        except CreasesError as refused:
            return self._refuse("problem", refused)
        name = table_name(spec) if spec["kind"] == "csv" else problem.name
        settings = RunSettings(name, config=make_config(request, self._limits))
        live = LiveRun(problem, settings, self._limits)
        if request.get("slice") is not None and problem.X.shape[1] > 2:
            live.choose_slice(request["slice"] if isinstance(request["slice"], Mapping) else {})
        self._clear()
        self._problem_spec, self._problem, self._live, self._worked = spec, problem, live, 0.0
        self._say({"type": "run", "run": live.to_json()})
        self._set_state("running")

    def do_go(self, request: Mapping[str, Any]) -> None:
        """Continue a paused run."""
        live = self._run()
        if live.history.ended:
            raise RequestError(ENDED)
        if live.units >= self._limits.units:
            raise RequestError(f"the network has {live.units} units, the limit of the studio; undo a growth step first")
        self._worked = 0.0
        self._set_state("running")

    def do_train_on(self, request: Mapping[str, Any]) -> None:
        """Continue a run that has ended."""
        live = self._run()
        live.train_on(request.get("epochs"))
        self._worked = 0.0
        self._send_changes()
        self._set_state("running")

    def do_pause(self, request: Mapping[str, Any]) -> None:
        """Pause the run on request of the user."""
        self._run()
        if self.state == "running":
            self._pause("")

    def do_step(self, request: Mapping[str, Any]) -> None:
        """Train one epoch and send a snapshot."""
        live = self._run()
        live.epoch()
        live.look()
        self._send_changes()
        if live.history.ended:
            self._set_state("ended", f"Finished: {live.history.ending}.")
        else:
            self._set_state("paused")

    def do_grow(self, request: Mapping[str, Any]) -> None:
        self._run().grow()
        self._worked = 0.0
        self._send_changes()

    def do_undo(self, request: Mapping[str, Any]) -> None:
        """Undo the last growth step, or the last change of a model of a table."""
        if self._table is not None:
            self._table.undo()
            return self._say({"type": "table", "table": self._table.table_json()})
        self._say({"type": "changes", **self._run().undo()})
        self._set_state("paused")

    def do_frame(self, request: Mapping[str, Any]) -> None:
        moment, number = request.get("moment"), request.get("slice", 0)
        if not isinstance(moment, int) or not isinstance(number, int):
            raise RequestError("a frame request needs the numbers of a moment and a slice")
        self._say(self._current().frame(moment, number))

    def do_slice(self, request: Mapping[str, Any]) -> None:
        shown = self._current()
        number = shown.add_slice(request)
        self._say({"type": "slices", **shown.slices_json(), "slice": number})

    def do_export(self, request: Mapping[str, Any]) -> None:
        if self._table is not None:
            return self._say(self._table.export(request.get("what"), request.get("name")))
        live = self._run()
        live.look()
        self._send_changes()
        self._say(export(request.get("what"), self._problem_spec, live, self._sign))

    def _run(self) -> LiveRun:
        """Return the run; raise an error if there is none."""
        if self._live is None:
            raise RequestError(_NO_RUN)
        return self._live

    def _current(self) -> LiveRun | ModelView:
        """Return what the page shows: a run, or the network of a file."""
        return self._run() if self._view is None else self._view

    def _pause(self, message: str) -> None:
        """Send the last changes, then pause."""
        self._run().look()
        self._send_changes()
        self._set_state("paused", message)

    def _send_changes(self) -> None:
        """Send what is new in the run."""
        if changes := self._run().changes():
            self._say({"type": "changes", **changes})
        self._last_update = time.monotonic()

    def _set_state(self, state: State, message: str = "") -> None:
        """Set the state of the session and send it."""
        self.state, self._message = state, message
        self._say({"type": "status", "state": state, **({"message": message} if message else {})})

    def _refuse(self, place: str, problem: Exception, **of: int) -> None:
        """Send an error to the page; ``of`` names the frame that was requested, if any."""
        if isinstance(problem, CreasesError):
            message = render_error(problem)
        elif is_out_of_memory(problem):
            limit = self._limits.memory / 2**30
            message = (
                f"this needs more than {limit:g} GB of memory, the limit of a session; use fewer rows, columns or units"
            )
        else:
            traceback.print_exc()  # on the studio's terminal
            message = f"unexpected error in the studio ({type(problem).__name__}: {problem}); please report it"
        if "." not in message.partition(" ")[0]:  # the name of a file stays as it is
            message = message[:1].upper() + message[1:]
        self._say({"type": "error", "where": place, "message": message, **of})


def _read(text: str) -> dict[str, Any]:
    """Parse a message of a page; raise an error if it is not a valid one."""
    try:
        request = json.loads(text)
    except (ValueError, RecursionError):  # no JSON, a number of thousands of digits, brackets without end
        request = None
    if not isinstance(request, dict) or not hasattr(Controller, f"do_{request.get('do')}"):
        raise RequestError("the page sent a request that the studio does not know; reload the page")
    return request


def _problem_only_json(problem: Problem) -> dict[str, Any]:
    """Return the viewer's JSON of a problem without a run."""
    run = run_without_growth(problem_json(problem), [])
    return {**run, "measure": score_name(problem.task), "growth_ended": "", "kept": None}
