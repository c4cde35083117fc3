"""The settings of a growth run: what the command line says, kept in the run's folder to resume it."""

from __future__ import annotations

import hashlib
import json
import shlex
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from creases._files import write_json
from creases.errors import FileError, InputError
from creases.growth.policies._when import WHEN_POLICIES
from creases.growth.policies._where import WHERE_POLICIES

_VERSION = 1
SETTINGS_FILE = "run.json"  #: the file of the settings in the run's folder


@dataclass(frozen=True)
class Settings:
    """All that a growth run depends on."""

    data: str  #: a file, by its whole path, or the name of a built-in problem
    target: str | None = None
    task: Literal["classification", "regression"] | None = None
    missing: Literal["error", "drop", "mean"] = "error"
    header: bool | None = None
    how: str = "fold"
    where: str = "bottleneck"
    when: str = "plateau"
    hidden: tuple[int, ...] = (2,)
    parameters: int | None = None
    epochs: int = 500
    lr: float = 0.01
    batch: int = 32
    validation: float = 0.2
    test: float = 0.2
    seed: int = 0
    recycle: bool = True
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name in ("epochs", "batch"):
            if getattr(self, name) < 1:
                raise InputError(f"--{name}: expected at least 1, got {getattr(self, name)}")
        if not 0 < self.lr < float("inf"):
            raise InputError(f"--lr: expected a learning rate above 0, got {self.lr}")
        if not (min(self.validation, self.test) > 0 and self.validation + self.test < 1):
            raise InputError(
                "--validation, --test: expected two shares above 0 that leave rows to train on, got "
                f"{self.validation:g} and {self.test:g}"
            )
        if not self.hidden or min(self.hidden) < 1:
            raise InputError(f"--hidden: expected widths of at least 1 such as 2 or 4,4, got {self.hidden}")
        if not self.when.isdecimal() and self.when not in WHEN_POLICIES:
            raise InputError(f"--when: expected {', '.join(WHEN_POLICIES)} or a number of epochs, got {self.when!r}")
        layers = [f"hidden{k}" for k in range(1, len(self.hidden) + 1)]
        known = [*(name.replace(" ", "-") for name in WHERE_POLICIES), *layers]
        if self.where not in known:
            raise InputError(f"--where: expected one of {', '.join(known)}, got {self.where!r}")

    @property
    def is_file(self) -> bool:
        """Whether the data are in a file."""
        return Path(self.data).is_absolute()

    def digest(self) -> str:
        """What the data's file holds, in a few letters; "" for a built-in problem."""
        if not self.is_file:
            return ""
        try:
            with Path(self.data).open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as problem:
            raise FileError(f"data: {self.data} cannot be read: {problem.strerror}") from None

    def command(self, folder: str) -> str:
        """The command that makes this run in a folder; a data file goes by its name without its own folder."""
        given = [Path(self.data).name if self.is_file else self.data]
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "data" or value == field.default:
                continue
            if isinstance(value, bool):
                given.append(f"--{'' if value else 'no-'}{field.name}")
            else:
                text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
                given += [f"--{field.name}", text]
        return shlex.join(["creases", "grow", *given, "--out", folder])

    def save(self, folder: Path) -> None:
        """Write them into the run's folder, with what the data were."""
        value = {"creases-run": _VERSION, "settings": asdict(self), "digest": self.digest()}
        write_json(value, folder / SETTINGS_FILE)

    @classmethod
    def load(cls, folder: Path, *, name: str = "--resume") -> Settings:
        """Those of the run in a folder; refused, by the argument's name, if its data are not what they were."""
        try:
            found = json.loads((folder / SETTINGS_FILE).read_text())
            settings = _settings(found)
        except FileNotFoundError:
            raise FileError(f"{name}: {folder} holds no growth run (there is no {SETTINGS_FILE} in it)") from None
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as problem:
            raise FileError(f"{name}: {folder / SETTINGS_FILE} is damaged ({problem})") from None
        if settings.digest() != found.get("digest"):
            raise InputError(f"{name}: {settings.data} is not what it was when the run began; begin another run")
        return settings


def _settings(found: dict[str, Any]) -> Settings:
    if found["creases-run"] != _VERSION:
        raise ValueError(f"version {found['creases-run']}, expected {_VERSION}")
    given = found["settings"]
    unknown = set(given) - {field.name for field in fields(Settings)}
    if unknown:
        raise ValueError(f"unknown setting {sorted(unknown)[0]!r}")
    return Settings(**{**given, "hidden": tuple(given["hidden"])})
