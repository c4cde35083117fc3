"""The records of a growth run: every epoch, and every growth step with its reason and outcome; stored as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from creases._display import describe, plot, to_html
from creases._document import Document
from creases._files import parse_json, read_text, write_atomically
from creases._text import OneLine, describe_change, plural
from creases.errors import FileError
from creases.growth._budget import Meter
from creases.growth._checks import check_history
from creases.growth._explanation import LINEAR, NameOptions, explain, explain_outcome, explain_reason

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor


def _when(stage: Mapping[str, Any]) -> str:
    """Return when both networks were looked at, where the stage says it."""
    steps = stage.get("compared_steps")
    return f", after {steps} steps" if steps else ""


def _text(widths: Mapping[str, int]) -> str:
    return "-".join(map(str, widths.values()))


_VERSION = 3

#: Incoming weights of new units up to which a record holds them.
MAX_WEIGHTS = 20_000

#: Weight of the past in the smoothed validation loss and score.
_MEMORY = 0.7


class Outcome(StrEnum):
    """What became of a growth step or a stage, in the words that views show beside it."""

    KEPT = ""  #: it is in the network that was kept, or in that of a run that goes on
    UNDONE = "undone: no improvement"
    REPLACED = "until a better size"
    NOT_KEPT = "not kept"  #: an earlier network is the result


@dataclass(repr=False)
class Record(OneLine):
    """One growth step: when, where, what, why, and its effect.

    ``before`` and ``after`` are loss and score on training samples, 2,000 at most, around the step itself; ``later``
    the same after further training, just before the next growth step or at the end (with ``validation_`` if there are
    such data).
    ``predicted`` is the proposal's gain, ``before["loss"] - after["loss"]`` the immediate one.
    """

    number: int  #: of the growth step, from 1
    action: str  #: "grow", "narrow" or "revive" (dead ones are drawn)
    epoch: int
    steps: int  #: of the optimizer so far
    place: str
    method: str
    units: list[int]  #: the new units' numbers at the place
    removed: list[int]  #: units that were removed first
    width: tuple[int, int]  #: of the place, before and after
    parameters: tuple[int, int]  #: of the model, before and after
    predicted: float
    before: dict[str, float | None]
    after: dict[str, float | None]
    changed: int | None  #: training samples whose decision changed at once; None without decisions
    weights: dict[str, Any]  #: fan_in (k, ...), bias (k,), fan_out by consumer, as nested lists
    explanation: dict[str, Any]  #: of the method
    later: dict[str, float | None] = field(default_factory=dict)
    undone: bool = False  #: whether the network went back to what it was before
    replaced: bool = False  #: whether it did so although its stage paid, because a better size began again from there

    @property
    def is_linear(self) -> bool:
        """Return whether it only wrote the linear model as units, as explained growth begins."""
        return self.method == LINEAR

    @property
    def what(self) -> str:
        """Return what the growth step did: ``1 unit added``."""
        if self.action in ("narrow", "revive"):
            done = "removed" if self.action == "narrow" else "reinitialised"
            return f"{plural(len(self.removed), 'unit')} {done}"
        return f"{plural(len(self.units), 'unit')} added"

    def explain(self, **names: Unpack[NameOptions]) -> str:
        """Return the growth step as text; names as in :func:`creases.growth.explain`."""
        sentences = [f"Growth step {self.number} (epoch {self.epoch}).", *self._removal_sentences(names)]
        if self.action not in ("narrow", "revive"):
            sentences.append(explain({key: value for key, value in self._why.items() if key != "after"}, **names))
        sentences += self._together_sentences()
        before, after = f"{self.before['loss']:.4g}", f"{self.after['loss']:.4g}"
        at_once = f"Right after the step, {describe_change('the training loss', before, after)}"
        changed = f" and {plural(self.changed, 'prediction')} changed" if self.changed else ""
        sentences.append(f"{at_once}{changed}.")
        if outcome := explain_outcome(self._why, **names):
            sentences.append(outcome)
        elif self.later:
            kinds = (("loss", "loss"), ("score", "score"), ("validation_score", "validation score"))
            values = [f"{name} {self.later[key]:.4g}" for key, name in kinds if self.later.get(key) is not None]
            sentences.append(f"After training: {', '.join(values)}.")
        sentences += self._confirmation_sentences(names)
        if self.replaced:
            sentences.append("It was better than the network before, until one of a better size took its place.")
        elif self.undone:
            sentences.append("It did no better than the network before, so it was undone.")
        return " ".join(sentences)

    def _confirmation_sentences(self, names: NameOptions) -> list[str]:
        """Return what held-out samples say of a unit, and what training on without it would have brought."""
        sentences, before, later = [], self.before, self.later
        if before.get("validation_loss") is not None and later.get("validation_loss") is not None:
            loss = describe_change("the loss", f"{before['validation_loss']:.3g}", f"{later['validation_loss']:.3g}")
            scores = [part.get("validation_score") for part in (before, later)]
            score = describe_change("the score", *(f"{value:.3g}" for value in scores if value is not None))
            sentences.append(f"On held-out {names.get('instance', 'sample')}s {loss} and {score}.")
        if alone := self.explanation.get("alone"):
            them = "it" if len(self.units) == 1 else "them"
            sentences.append(f"Training on without {them} would have brought the training loss to {alone['loss']:.3g}.")
        return sentences

    def why(self, **names: Unpack[NameOptions]) -> str:
        """Return the reason alone, in a sentence (two if a unit was replaced)."""
        reasons = [] if self.action in ("narrow", "revive") else [explain_reason(self._why, **names)]
        return " ".join([*self._removal_sentences(names), *reasons, *self._together_sentences()])

    def _together_sentences(self) -> list[str]:
        """Return why units of explained growth came together, where they did."""
        if not self.explanation.get("together"):
            return []
        return ["They came together, as fewer units had not lowered the held-out loss by enough."]

    @property
    def _why(self) -> dict[str, Any]:
        """Return the explanation with method and place, which a user's method may leave out."""
        return {"method": self.method, "place": self.place, **self.explanation}

    def _removal_sentences(self, names: NameOptions) -> list[str]:
        """Return which units were removed first, or reinitialised."""
        single = len(self.removed) == 1
        units = f"Unit{'' if single else 's'} {', '.join(map(str, self.removed))} of {self.place!r}"
        were = "was" if single else "were"
        if self.explanation.get("needless"):
            rows = f"{names.get('instance', 'sample')}s"
            steps = self.explanation["added_by"]
            of = f", of growth step{'' if len(steps) == 1 else 's'} {', '.join(map(str, steps))}," if steps else ""
            it = "it" if single else "them"
            return [f"{units}{of} {were} removed, as held-out {rows} are predicted as well without {it}."]
        if self.action == "revive":
            sample = names.get("instance", "sample")
            return [f"{units} {were} dead (0 on every {sample}) and {were} reinitialised."]
        return []


@dataclass(repr=False)
class History(OneLine):
    """The history of a growth run: its epochs, its growth steps, and why it ended."""

    epochs: list[dict[str, Any]] = field(default_factory=list)
    #: epoch, steps, epochs, seconds, multiply_adds, progress, loss, score, validation_loss, validation_score,
    #: smoothed_loss, smoothed_score, parameters, widths
    records: list[Record] = field(default_factory=list)
    stages: list[dict[str, Any]] = field(default_factory=list)
    #: of sized growth: epoch, records (numbers of its growth steps), factor, widths_before, steps, compared_steps,
    #: widths, loss_grown, loss_training_on, gain, error, needed, pays
    joined: int | None = None  #: epoch after which samples that were held out are trained on too; None where never
    growth_spent: float | None = None  #: fraction of the budget that was spent when growth ended; None before
    growth_ended: str = ""  #: why growth ended; "" while the network may grow
    ended: str = ""  #: why the run ended; "" while it runs
    note: str = ""  #: which network is the result, or what it was trained on at the end, where that needs a word
    kept: int | None = None  #: the epoch whose network is the result, 0 for the start; None while it runs
    loop: str = ""  #: which loop grew the network, and why that one
    idle: int = 0  #: how often since the last growth step nothing was worth adding
    setting: dict[str, Any] = field(default_factory=dict)  #: how, where, when, stop, ... as text

    @property
    def last(self) -> dict[str, Any]:
        """Return the metrics of the last epoch."""
        return self.epochs[-1]

    @property
    def best(self) -> dict[str, Any]:
        """Return the metrics of the best epoch: the lowest smoothed validation loss; without such data, the last."""
        validated = [epoch for epoch in self.epochs if epoch["smoothed_loss"] is not None]
        return min(validated, key=lambda epoch: float(epoch["smoothed_loss"])) if validated else self.last

    @property
    def best_epoch(self) -> int:
        """Return the epoch, from 1, whose network was kept, or is the best so far; 0 for the network at the start."""
        if self.kept is not None:
            return self.kept
        return int(self.best["epoch"]) if self.epochs else 0

    @property
    def steps(self) -> int:
        """Return the optimizer steps so far."""
        return int(self.last["steps"]) if self.epochs else 0

    def add_epoch(
        self,
        measured: Mapping[str, float | None],
        steps: int,
        meter: Meter,
        parameters: int,
        widths: Mapping[str, int],
    ) -> None:
        """Add an epoch of so many optimizer steps: losses and scores, what is spent so far, and the network's size."""
        self.epochs.append(
            {
                "epoch": len(self.epochs) + 1,
                "steps": self.steps + steps,
                **meter.numbers,
                "progress": meter.progress,
                **measured,
                "smoothed_loss": self._smooth("smoothed_loss", measured["validation_loss"]),
                "smoothed_score": self._smooth("smoothed_score", measured["validation_score"]),
                "parameters": parameters,
                "widths": dict(widths),
            }
        )

    def _smooth(self, name: str, value: float | None) -> float | None:
        """Return the next entry of the moving average of a validation loss or score: no epoch is kept for its luck."""
        if value is None or not self.epochs or self.last[name] is None:
            return value
        return float(_MEMORY * self.last[name] + (1 - _MEMORY) * value)

    def copy(self) -> History:
        """Return a copy that further epochs do not change."""
        records = [replace(record) for record in self.records]
        return replace(self, epochs=list(self.epochs), records=records, stages=list(self.stages))

    @property
    def ending(self) -> str:
        """Return why the run ended, and which network is its result; "" while it runs."""
        return "; ".join(filter(None, (self.ended, self.note)))

    def outcome(self, record: Record) -> Outcome:
        """Return whether a growth step is in the network that was kept, or why not; while the run goes on it is."""
        if record.undone:
            return Outcome.REPLACED if record.replaced else Outcome.UNDONE
        is_last = not self.ended or self.kept == len(self.epochs)
        return Outcome.KEPT if is_last or record.epoch < self.best_epoch else Outcome.NOT_KEPT

    def keeps(self, record: Record) -> bool:
        """Return whether a growth step is in the network that was kept, or in that of a run that goes on."""
        return self.outcome(record) is Outcome.KEPT

    def added_by(self, width: int | None = None, *, until: int | None = None) -> list[int]:
        """Return for each unit of a network of one hidden layer which growth step added it; 0 for those of the start.

        Parameters
        ----------
        width
            Units of the network, by default of the last one: of several networks with so many, the last is meant.
        until
            Number of the last growth step that the network may have; all by default.

        Returns
        -------
        list of int
            A number for each unit; empty where the history is of several layers, or of no network with so many units.
        """
        records = [record for record in self.records if until is None or record.number <= until]
        if len({record.place for record in self.records}) > 1 or not records:
            return []
        if width is None:
            width = sum(self.last["widths"].values())
        networks = [[0] * records[0].width[0]]
        for record in records:  # undoing a step brings back the network before it: the last one of its width
            units = next((units for units in reversed(networks) if len(units) == record.width[0]), [])
            kept = [number for unit, number in enumerate(units) if unit not in record.removed]
            networks.append(kept + [record.number] * (record.width[1] - len(kept)))
        return next((units for units in reversed(networks) if len(units) == width), [])

    def stage_outcome(self, stage: Mapping[str, Any]) -> Outcome:
        """Return whether a stage is in the network that was kept, or why not."""
        if not stage["pays"]:
            return Outcome.UNDONE
        outcomes = {self.outcome(record) for record in self.records if record.number in stage["records"]}
        return next((each for each in (Outcome.REPLACED, Outcome.NOT_KEPT) if each in outcomes), Outcome.KEPT)

    def since_growth(self) -> list[dict[str, Any]]:
        """Return the epochs after the last growth step."""
        start = self.records[-1].epoch if self.records else 0
        return self.epochs[start:]

    def explain(self, **names: Unpack[NameOptions]) -> str:
        """Return the run as text, a paragraph for each growth step; names as in :func:`creases.growth.explain`."""
        explained = any(record.is_linear for record in self.records)
        shown = [record for record in self.records if not (explained and record.undone)]
        paragraphs = [record.explain(**names) for record in shown]
        if undone := [str(record.number) for record in self.records if record not in shown]:
            text = f"Growth steps {', '.join(undone)} were tried and undone"
            paragraphs.append(f"{text}: they did not lower the held-out loss by enough.")
        paragraphs += [f"Growth ended: {self.growth_ended}."] if self.growth_ended else []
        paragraphs += [reason] if (reason := self.explain_size()) else []
        return "\n\n".join([*paragraphs, f"Stopped: {self.ending}."] if self.ended else paragraphs)

    def describe(self, **names: Unpack[NameOptions]) -> Document:
        """Return the run for all views: its size and end, its stages, a row for each growth step; names as above."""
        return describe(self, **names)

    def explain_end(self) -> str:
        """Return why growth ended, why the size is enough, and why training ended, in sentences."""
        sentences = [f"Growth stopped: {self.growth_ended}."] if self.growth_ended else []
        sentences += filter(None, [self.explain_size()])
        goes_on = "The run is not finished; this is its state so far."
        return " ".join([*sentences, f"Training stopped: {self.ending}." if self.ended else goes_on])

    def explain_size(self) -> str:
        """Return why the network has its size, by the losses of the sizes next to it, and what finding it took.

        "" before growth has ended, and where it had no stages.
        """
        if not self.growth_ended or self.kept == 0 or not self.stages:  # at 0 the network at the start is the result
            return ""
        widths = self.last["widths"]
        sentences = [f"The network has {_text(widths)} hidden units."]
        smaller = [stage for stage in self.stages if stage["pays"] and stage["widths"] == widths]
        larger = [stage for stage in self.stages if not stage["pays"] and stage["widths_before"] == widths]
        for stage in smaller[-1:]:
            losses = f"{stage['loss_training_on']:.4g}, with these {stage['loss_grown']:.4g}{_when(stage)}"
            sentences.append(f"With {_text(stage['widths_before'])} the held-out loss was {losses}.")
        for stage in larger[-1:]:
            losses = f"{stage['loss_grown']:.4g}, with these {stage['loss_training_on']:.4g}{_when(stage)}"
            was = "it was" if smaller else "the held-out loss was"
            sentences.append(f"With {_text(stage['widths'])} {was} {losses}: too little gained for a larger network.")
        if self.growth_spent is not None:
            sentences.append(f"Finding the size took {self.growth_spent:.0%} of the budget.")
        return " ".join(sentences)

    def plot(self, axes: Sequence[Any] | None = None) -> Any:
        """Plot loss, accuracy (or R²) and size by epoch, with every growth step marked; return the figure.

        ``axes`` are three axes to draw on, new ones by default.
        """
        return plot(self, axes=axes)

    @property
    def measure(self) -> str:
        """Return what the score is: ``"accuracy"``, ``"R²"``, or ``"score"`` for a loss of your own."""
        kinds = {"classification": "accuracy", "regression": "R²"}
        return kinds.get(self.setting.get("loss", "").strip("'"), "score")

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with a row for each epoch: losses, scores, size, what was spent.

        An epoch in which a race ends may have two rows. ``growth_steps`` counts those after the epoch, ``kept`` marks
        the epoch whose network is the result.

        Examples
        --------
        >>> import creases
        >>> from creases import problems
        >>> moons = problems.get("moons")
        >>> history = creases.GrowingClassifier(budget=3, random_state=0).fit(moons.X, moons.y).history_
        >>> len(history.to_frame()) == len(history.epochs), history.steps_frame().empty
        (True, False)
        """
        import pandas as pd

        names = list(dict.fromkeys(name for epoch in self.epochs for name in epoch["widths"]))
        rows = []
        for epoch in self.epochs:
            row = {key: value for key, value in epoch.items() if key not in ("epoch", "widths")}
            row |= {f"width {name}": epoch["widths"].get(name, 0) for name in names}
            grown = [record for record in self.records if record.epoch == epoch["epoch"]]
            rows.append(row | {"growth_steps": len(grown), "kept": epoch["epoch"] == self.kept})
        frame = pd.DataFrame(rows, index=pd.Index([epoch["epoch"] for epoch in self.epochs], name="epoch"))
        missing = [key for key in frame if frame[key].isna().all()]
        return frame.astype(dict.fromkeys(missing, float)) if len(frame) else frame

    def steps_frame(self) -> pd.DataFrame:
        """Return a DataFrame with a row for each growth step: when, where, what, why and its effect."""
        import pandas as pd

        rows = []
        for record in self.records:
            row = {name: getattr(record, name) for name in ("epoch", "steps", "action", "place", "method")}
            row |= {"added": len(record.units), "removed": len(record.removed)}
            for name, pair in (("width", record.width), ("parameters", record.parameters)):
                row |= {f"{name}_before": pair[0], f"{name}_after": pair[1]}
            losses = {"loss_before": record.before["loss"], "loss_after": record.after["loss"]}
            row |= {"predicted_gain": record.predicted, **losses, "changed": record.changed}
            row |= {f"later_{name}": value for name, value in record.later.items()}
            rows.append(row | {"undone": record.undone, "kept": self.keeps(record), "why": record.why()})
        return pd.DataFrame(rows, pd.Index([record.number for record in self.records], name="step"))

    def _repr_html_(self) -> str:
        return to_html(self)

    def to_json(self) -> str:
        """Return the history as JSON; arrays in an explanation become lists, other objects text."""
        return json.dumps(
            {"creases-history": _VERSION, **asdict(self)},
            indent=1,
            default=lambda each: getattr(each, "tolist", each.__str__)(),
        )

    @classmethod
    def from_json(cls, text: str) -> History:
        """Return the history that :meth:`to_json` wrote."""
        try:
            content = parse_json(text)
            version = content.pop("creases-history")
            records = [
                Record(**{**record, "width": tuple(record["width"]), "parameters": tuple(record["parameters"])})
                for record in content.pop("records")
            ]
            known = {entry.name for entry in fields(cls)}
            if version != _VERSION or set(content) - known:
                raise FileError(f"history: expected version {_VERSION} of its layout, got {version!r}")
            history = cls(records=records, **content)
            check_history(history)
            return history
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            raise FileError(f"history: this is not a growth history ({problem})") from None

    def save(self, path: str | Path) -> Path:
        """Write the history as JSON; an interrupted write leaves no partial file."""
        with write_atomically(path) as temporary:
            temporary.write_text(self.to_json() + "\n")
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> History:
        """Read what :meth:`save` wrote."""
        try:
            text = read_text(path)
        except (OSError, UnicodeDecodeError) as problem:
            raise FileError(f"{path}: cannot be read ({problem})") from None
        try:
            return cls.from_json(text)
        except FileError as problem:
            raise FileError(f"{path}: {str(problem).removeprefix('history: ')}") from None


def list_weights(fan_in: Tensor, bias: Tensor, fan_out: Mapping[str, Tensor]) -> dict[str, Any]:
    """Return new units' weights as nested lists; none of large units."""
    if fan_in.numel() > MAX_WEIGHTS:
        return {}
    columns = {path: values.detach().double().cpu().tolist() for path, values in fan_out.items()}
    incoming, offsets = (values.detach().double().cpu().tolist() for values in (fan_in, bias))
    return {"fan_in": incoming, "bias": offsets, "fan_out": columns}
