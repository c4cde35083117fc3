"""Records of a growth run: each growth step with its reason and what became of it, each epoch's numbers, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Unpack

from creases._files import write_atomically
from creases.errors import FileError
from creases.growth._explanation import explain, explain_outcome, explain_reason
from creases.growth._feature_names import NameOptions

_VERSION = 1


@dataclass
class Record:
    """One growth step: when, where, what, why, and what it did.

    ``before`` and ``after`` are loss and score on all training samples around the step itself; ``later`` the same when
    the network had trained on, just before the next growth step or at the end (with ``validation_`` where there is
    such data). ``predicted`` is the proposal's gain, ``before["loss"] - after["loss"]`` what was gained at once.
    """

    number: int  #: of the growth step, from 1
    action: str  #: "grow", "recycle" (a unit that earned nothing is grown anew) or "revive" (a dead one is)
    epoch: int
    steps: int  #: of the optimizer so far
    place: str
    method: str
    units: list[int]  #: the new units' numbers at the place
    removed: list[int]  #: units that were taken away first
    width: tuple[int, int]  #: of the place, before and after
    parameters: tuple[int, int]  #: of the model, before and after
    predicted: float
    before: dict[str, float | None]
    after: dict[str, float | None]
    changed: int | None  #: training samples whose decision changed at once; None where nothing is decided
    weights: dict[str, Any]  #: fan_in (k, ...), bias (k,), fan_out by consumer, as nested lists
    explanation: dict[str, Any]  #: the method's own
    later: dict[str, float | None] = field(default_factory=dict)

    def explain(self, **names: Unpack[NameOptions]) -> str:
        """The growth step in words; the names are those that :func:`creases.grow.words` takes."""
        said = [f"Growth step {self.number} (epoch {self.epoch}).", *self._made_room(names)]
        if self.action != "revive":
            said.append(explain({key: value for key, value in self.explanation.items() if key != "after"}, **names))
        at_once = f"At once the training loss went from {self.before['loss']:.4g} to {self.after['loss']:.4g}"
        decisions = "1 decision" if self.changed == 1 else f"{self.changed} decisions"
        said.append(at_once + (f", and {decisions} changed." if self.changed else "."))
        if "after" in self.explanation:
            said.append(explain_outcome(self.explanation, **names))
        elif self.later:
            trained = f"After training it was {self.later['loss']:.4g}"
            kinds = (("score", "score"), ("validation_score", "score on validation data"))
            more = [f"{name} {self.later[key]:.4g}" for key, name in kinds if self.later.get(key) is not None]
            said.append(", ".join([trained, *more]) + ".")
        return " ".join(said)

    def why(self, **names: Unpack[NameOptions]) -> str:
        """The reason alone, in a sentence (two where a unit made room for another)."""
        said = [] if self.action == "revive" else [explain_reason(self.explanation, **names)]
        return " ".join([*self._made_room(names), *said])

    def _made_room(self, names: NameOptions) -> list[str]:
        """What was taken away first, or drawn anew."""
        one = len(self.removed) == 1
        units = f"Unit{'' if one else 's'} {', '.join(map(str, self.removed))} of {self.place!r}"
        were = "was" if one else "were"
        if self.action == "recycle":
            gone = self.explanation["recycled"]
            cost = f"raises the loss by {gone['cost']:.2g}" if gone["cost"] > 1e-6 else "costs nothing"
            return [f"{units} {were} taken away, which {cost}."]
        if self.action == "revive":
            seen = names.get("instance", "sample")
            return [f"{units} {were} 0 on every {seen}, and {were} drawn anew across the data."]
        return []


@dataclass
class History:
    """All of a growth run: its epochs, its growth steps, and why it ended."""

    epochs: list[dict[str, Any]] = field(default_factory=list)
    #: epoch, steps, seconds, loss, score, validation_loss, validation_score, parameters, widths
    records: list[Record] = field(default_factory=list)
    ended: str = ""  #: why it ended; "" while it goes on
    idle: int = 0  #: times since the last growth step that it was time to grow and nothing was worth adding
    setting: dict[str, Any] = field(default_factory=dict)  #: how, where, when, stop, ... as text

    @property
    def last(self) -> dict[str, Any]:
        """The last epoch's numbers."""
        return self.epochs[-1]

    @property
    def best(self) -> dict[str, Any]:
        """The numbers of the epoch that was best on validation data, the first of equals; without such, the last's."""
        held = [epoch for epoch in self.epochs if epoch["validation_loss"] is not None]
        return max(held, key=validation_merit) if held else self.last

    def since_growth(self) -> list[dict[str, Any]]:
        """The epochs after the last growth step."""
        start = self.records[-1].epoch if self.records else 0
        return self.epochs[start:]

    def explain(self, **names: Unpack[NameOptions]) -> str:
        """The whole run in words, a paragraph for each growth step; names as for :func:`creases.grow.words`."""
        said = [record.explain(**names) for record in self.records]
        return "\n\n".join([*said, f"It ended: {self.ended}."] if self.ended else said)

    def to_json(self) -> str:
        """The history as JSON; arrays in an explanation become lists, what else JSON has not, text."""
        return json.dumps({"creases-history": _VERSION, **asdict(self)}, indent=1, default=_plain)

    @classmethod
    def from_json(cls, text: str) -> History:
        """The history that :meth:`to_json` wrote."""
        try:
            found = json.loads(text)
            version = found.pop("creases-history")
            records = [Record(**_tuples(record)) for record in found.pop("records")]
            known = {entry.name for entry in fields(cls)}
            if version != _VERSION or set(found) - known:
                raise FileError(f"history: expected version {_VERSION} of its layout, got {version!r}")
            return cls(records=records, **found)
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            raise FileError(f"history: this is no growth history ({problem})") from None

    def save(self, path: str | Path) -> Path:
        """Write it as JSON, whole or not at all."""
        with write_atomically(path) as temporary:
            temporary.write_text(self.to_json() + "\n")
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> History:
        """Read what :meth:`save` wrote."""
        try:
            text = Path(path).read_text()
        except (OSError, UnicodeDecodeError) as problem:
            raise FileError(f"{path}: cannot be read ({problem})") from None
        try:
            return cls.from_json(text)
        except FileError as problem:
            raise FileError(f"{path}: {str(problem).removeprefix('history: ')}") from None


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def validation_merit(epoch: Mapping[str, Any]) -> tuple[float, float]:
    """How good an epoch's network is on validation data: by score, of equals by loss."""
    score = epoch["validation_score"]
    return 0.0 if score is None else score, -epoch["validation_loss"]


def _tuples(record: Mapping[str, Any]) -> dict[str, Any]:
    return {**record, "width": tuple(record["width"]), "parameters": tuple(record["parameters"])}
