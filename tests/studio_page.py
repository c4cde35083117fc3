"""A page of the studio and its controller in one process, and problems to give it."""

from __future__ import annotations

import copy
import json

from creases.show._viewer._run import COLUMNS
from creases.show.studio._controller import Controller
from creases.show.studio._limits import Limits

MOONS = {"kind": "builtin", "name": "moons"}
CSV = "a,b,kind\n" + "".join(f"{k % 7},{k % 5 - 2},{'red' if k % 7 > k % 5 else 'blue'}\n" for k in range(60))
TABLE = {"kind": "csv", "name": "mine.csv", "text": CSV, "target": ""}
FORMULA = {"kind": "formula", "formula": "abs(x) - 0.4", "rows": 120, "noise": 0.02, "seed": 3}
DRAWN = {
    "kind": "draw",
    "X": [[k / 20 - 1, (-1) ** k * 0.4 + k / 99] for k in range(40)],
    "y": [k % 2 * 2 for k in range(40)],
}
LINE = {"kind": "builtin", "name": "sine_curve"}
IRIS = {"kind": "builtin", "name": "iris"}


class Page:
    """A page and its controller in one process: sends messages, keeps what it is told as the viewer does."""

    def __init__(self, **limits):
        self.said: list = []
        self.run: dict = {}
        self.status: dict = {}
        self.controller = Controller(self._hear, Limits(**limits))

    def _hear(self, said):
        self.said.append(json.loads(json.dumps(said)) if isinstance(said, dict) else said)
        if not isinstance(said, dict):
            return
        said = self.said[-1]
        if said["type"] == "run":
            self.run = said["run"]
        elif said["type"] == "status":
            self.status = said
        elif said["type"] == "slices":
            self.run |= {name: said[name] for name in ("slices", "fixed", "multiples") if name in said}
        elif said["type"] == "changes":
            self._change(said)

    def _change(self, said):
        stay, epochs = said.get("epochs", (None, {}))
        for name in COLUMNS:
            self.run["epochs"][name] = self.run["epochs"][name][:stay] + epochs.get(name, [])
        for name in ("records", "moments"):
            stay, more = said.get(name, (None, []))
            self.run[name] = self.run[name][:stay] + more
        self.run |= said.get("values", {})

    def send(self, do, **more):
        """What a message is answered with."""
        before = len(self.said)
        self.controller.handle(json.dumps({"do": do, **more}))
        return self.said[before:]

    def refused(self, do, **more):
        """Where, and with which words."""
        (error,) = [one for one in self.send(do, **more) if isinstance(one, dict) and one["type"] == "error"]
        return error["where"], error["message"]

    def start(self, problem=MOONS, **more):
        self.send("start", problem=problem, **more)
        assert self.status["state"] == "running", self.said[-1]
        return self

    def work(self, epochs=10**6):
        for _ in range(epochs):
            if self.controller.state != "running":
                break
            self.controller.work()
        return self

    def steps(self, count):
        for _ in range(count):
            self.send("step")
        return self

    @property
    def live(self):
        return self.controller._live

    @property
    def model(self):
        return self.live.state.model

    def as_told(self):
        """The page's run is what the controller would tell one that comes now."""
        told = copy.deepcopy(self.run)
        self.send("hello")
        return told == self.run
