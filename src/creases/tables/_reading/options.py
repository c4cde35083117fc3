"""How a table is read: every option with its default, what it is, and how the command line writes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from creases._options import ModelOptions, documents, option
from creases.errors import InputError

if TYPE_CHECKING:
    from creases._typing import Task

Missing = Literal["indicate", "mean", "drop", "error"]
Names = Sequence[str | int]

TASKS, MISSING = ("classification", "regression"), ("indicate", "mean", "drop", "error")


def pairs(expected: str) -> dict[str, Any]:
    """Return how a command line writes what each of some columns has; a name may hold an equals sign."""

    def read(words: Sequence[str], param: str) -> dict[str, str]:
        parts = [text.rpartition("=") for text in words]
        if wrong := [text for text, (_, separator, _) in zip(words, parts, strict=True) if not separator]:
            raise InputError(param, expected, repr(wrong[0]))
        return {name.strip(): value.strip() for name, _, value in parts}

    return {"type": list[str], "read": read, "write": lambda values: ["=".join(pair) for pair in values.items()]}


def _read_codes(words: Sequence[str], param: str) -> dict[str, list[float]]:
    codes: dict[str, list[float]] = {}
    for text in words:
        name, _, value = text.rpartition("=")
        try:
            codes.setdefault(name.strip(), []).append(float(value))
        except ValueError:
            raise InputError(param, "be a column and a number such as income=-999", repr(text)) from None
    return codes


#: Columns, in options that may be repeated and may each hold several, with commas between.
NAMES: dict[str, Any] = {
    "type": list[str],
    "read": lambda words, _: tuple(name.strip() for text in words for name in text.split(",") if name.strip()),
}


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How a table is read."""

    target: Any = option(
        None,
        "Column to predict, by name or number (from 0; negative from the end); default: the last; of NPZ files y.",
        "COLUMN",
    )
    task: Task | None = option(
        None,
        "classification or regression; default: inferred from the target column.\n"
        "It is classification if the target is text or yes/no, has two different whole numbers, or whole numbers some "
        "of which are negative with at most 20 different values that on average occur at least twice. Other whole "
        "numbers are counts.",
        "TASK",
        choices=TASKS,
    )
    inputs: Names | None = option(
        None,
        "Column to predict from, even if it looks like an ID or text; may be repeated. Default: all usable.",
        "COLUMN",
        **NAMES,
    )
    drop: Names = option((), "Column to ignore; may be repeated.", "COLUMN", **NAMES)
    kinds: Mapping[str, str] | None = option(
        None,
        "Read a column as number, quantity, share, category, ordinal, interval, date, month, timestamp, time, "
        "duration, coordinate, list, tags or code, or give its values in order: heat=cold<warm<hot; may be repeated.\n"
        'In Python a mapping, {"heat": "cold<warm<hot"}. Such a column is used even if it looks like an ID.',
        "COLUMN=KIND",
        flag="--kind-of",
        **pairs("be a column and a kind such as when=category"),
    )
    codes: Mapping[str, Any] | None = option(
        None,
        "A number that stands for something else, such as income=-999, as a level of its own; may be repeated.\n"
        'In Python a mapping, {"income": [-999, 0]}. Each is a level beside the curve of the other numbers.',
        "COLUMN=NUMBER",
        flag="--code",
        type=list[str],
        read=_read_codes,
        write=lambda codes: [f"{name}={code:g}" for name, numbers in codes.items() for code in numbers],
    )
    missing_marks: Sequence[str] | None = option(
        None,
        "A text that stands for a missing value, instead of NA, N/A, NaN, null, None and ?; '' for empty cells alone; "
        "may be repeated.\n"
        'It does in all columns, beside empty cells. In Python a list, ["-", "unknown"]; [] for none.',
        "TEXT",
        flag="--missing-mark",
        type=list[str],
        read=lambda words, _: tuple(words),
        write=lambda marks: list(marks or ("",)),
    )
    missing: Missing = option(
        "indicate",
        "Missing values: indicate (fill with the mean and add an indicator column), mean (fill with the mean, or the "
        "most frequent category), drop (drop the rows), or error.\n"
        "With indicate, missing is a value of its own in a category. Rows without a target are dropped but with error.",
        "HOW",
        choices=MISSING,
    )
    header: bool | None = option(
        None,
        "Whether the first row of a CSV file holds column names.\n"
        "By default it does if it has no number; it does not if it has nothing else.",
        type=bool,
    )
    weight: str | int | None = option(None, "Column with the weight of each row: not an input.", "COLUMN")
    exposure: str | int | None = option(
        None, "Column that says what each count is for, such as years: not an input; predictions are for 1.", "COLUMN"
    )
    groups: str | int | None = option(
        None, "Column such as customer, whose rows stay together in every split: not an input.", "COLUMN"
    )
    time: str | int | None = option(
        None,
        "Column of dates or numbers: the latest rows are the test rows.\n"
        "A fold is a stretch of time. It is an input too, unless it is left out; where later rows are better predicted "
        "so, its trend goes on behind the table.",
        "COLUMN",
    )
    lookups: bool = option(
        False,
        "Whether a category of more than 50 values becomes one number, that of the value from 1 on (0 is an unknown "
        "one), for models that look up an effect. Default: an input for each value that is not rare.",
        type=None,
    )

    def __post_init__(self) -> None:
        from creases._schema import BOOL, DICT, STRING, optional, sequence  # imports numpy
        from creases._validation import check_argument, check_choice

        check_choice(self.task or TASKS[0], TASKS, "task")
        check_choice(self.missing, MISSING, "missing")
        checks = {"inputs": sequence(), "kinds": DICT, "codes": DICT, "missing_marks": sequence(STRING), "header": BOOL}
        for name, kind in ({name: optional(kind) for name, kind in checks.items()} | {"drop": sequence()}).items():
            check_argument(getattr(self, name), kind, name)

    @property
    def aside(self) -> dict[str, str | int]:
        """The columns that say something of rows, by what they are for."""
        uses = ("weight", "exposure", "groups", "time")
        return {use: column for use in uses if (column := getattr(self, use)) is not None}

    @property
    def marks(self) -> tuple[str, ...] | None:
        """The texts that stand for a missing value; None for the usual ones."""
        return None if self.missing_marks is None else tuple(self.missing_marks)


@documents()
@dataclass(frozen=True, kw_only=True)
class CurveConfig(ModelOptions):
    """Options of a fit by curves, with the defaults that every way to start one shares.

    Parameters
    ----------
    {options}
    """

    family: str = option(
        "auto",
        "How a number varies around its mean: normal, poisson, gamma, tweedie or lognormal (in the last four effects "
        "multiply), or quantile:0.9; auto: the one that held-out rows favor.\n"
        "poisson is for counts, tweedie for amounts, 0 included; nine of ten rows are below quantile:0.9. auto tries "
        "normal, poisson and gamma or tweedie.",
        "NAME",
        panel="Model",
    )
    shapes: Mapping[str, str] = option(
        {},
        "Rising, falling, straight or convex in a column, such as age=rising; may be repeated.\n"
        'In Python a mapping, {"age": "rising"}. A shape holds for the whole model: a rising column rises in its '
        "planes too, a straight (no knots) or convex one is in none.",
        "COLUMN=SHAPE",
        flag="--shape",
        panel="Model",
        **pairs("be a column and a shape such as age=rising"),
    )
    refit: bool = option(
        False,
        "Fit the model again to all rows once its scores are known.\n"
        "The scores are those of the model before; then no row is unseen.",
        panel="Model",
        type=bool,
    )

    def __post_init__(self) -> None:
        from creases._validation import check_choice, check_count  # imports numpy
        from creases.tables._stages.families import parse_family

        if not isinstance(self.shapes, Mapping):
            raise InputError("shapes", 'be a mapping such as {"age": "rising"}', type(self.shapes).__name__)
        if self.family != "auto":
            parse_family(self.family)
        self.check()
        check_count(self.seed, "seed", least=0)
        check_choice(self.refit, (True, False), "refit")

    @property
    def validation_fraction(self) -> float:
        """0: folds of all rows but the test rows judge the stages."""
        return 0.0

    @property
    def standardize(self) -> bool:
        """True: distances are in standard deviations."""
        return True

    def to_dict(self) -> dict[str, Any]:
        """Return the options that differ from the defaults, for JSON."""
        from creases.tables._folder.records import write_record  # imports numpy

        return write_record(self)
