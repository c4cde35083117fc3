"""What both loops of growth share: snapshots, and a checkpoint from which a run resumes exactly."""

from __future__ import annotations

import time
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from creases.growth._checkpoint import blame_checkpoint, load_checkpoint, save_checkpoint
from creases.growth._config import MAY_CHANGE, check_setting
from creases.growth._integrations import _ranks as ranks
from creases.growth._records import History
from creases.growth._state import State


class Resumable:
    """A run whose state is a dict of plain values and tensors: what a snapshot keeps is what its file holds."""

    path: Path | None  #: of the checkpoint
    state: State
    saved = 0.0  #: when the checkpoint was written last
    is_resumed = False  #: whether the run began from its checkpoint

    def full_state(self) -> dict[str, Any]:
        """Return the state of the run; its ``"history"`` is JSON."""
        raise NotImplementedError

    def load_full_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a state of this run, or of one with the same model, data and options."""
        raise NotImplementedError

    def begin(self) -> None:
        """Do what a run does that has no checkpoint to resume from."""

    def check_state(self, saved: Mapping[str, Any], history: History) -> None:
        """Raise ValueError where a state that was read from a file is damaged, as far as loading it would not show."""

    def go_on(self) -> None:
        """Let a run that has ended continue, as its budget or its reasons to stop have changed."""
        raise NotImplementedError

    def snapshot(self) -> dict[str, Any]:
        """Return the run as it is now, to :meth:`restore` later."""
        return deepcopy(self.full_state())

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore an earlier state bit for bit: the network, the optimizer's state, the history."""
        self.load_full_state(deepcopy(dict(state)))

    def start(self) -> None:
        """Resume from the checkpoint, or begin."""
        saved: list[dict[str, Any] | None] = [None]
        with ranks.fail_together():
            if self.path is not None and ranks.rank() == 0 and self.path.exists():
                saved = [load_checkpoint(self.path)]
        (content,) = ranks.from_first(saved)
        if self.path is None or content is None:
            self.begin()
        else:
            with blame_checkpoint(self.path):
                self._resume(self.path, content)
        self.saved = time.monotonic()

    def _resume(self, path: Path, content: Mapping[str, Any]) -> None:
        history, setting = History.from_json(content["history"]), self.state.history.setting
        check_setting(path, history.setting, setting)
        self.check_state(content, history)
        self.load_full_state(content)
        self.is_resumed = True
        if any(history.setting[name] != setting[name] for name in MAY_CHANGE):
            self.go_on()
        self.state.history.setting = setting

    def save(self, seconds: float) -> None:
        """Write the checkpoint after a growth step, at the end, and if the last one is older than ``seconds``."""
        state = self.state
        due = state.record is not None or state.history.ended or time.monotonic() - self.saved >= seconds
        if self.path is not None and due and ranks.rank() == 0:
            save_checkpoint(self.path, self.full_state())
            self.saved = time.monotonic()
