"""The settings of a fit or a growth run: where the table comes from, how it is read and all options, saved with it."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import shlex
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from creases._files import open_npz, parse_json, read_text, write_atomically, write_json
from creases._options import Option, option, options_of
from creases._schema import BOOL, STRING, check_entries, finite
from creases.errors import CreasesError, FileError, InputError
from creases.problems import Problem, names
from creases.problems import get as get_problem
from creases.tables._encoding.encoding import TableEncoding
from creases.tables._folder.folder import RunFile
from creases.tables._reading.options import CurveConfig, ReadOptions
from creases.tables._reading.table import find_table_files, read_with
from creases.tables._split.split import TableSplit

if TYPE_CHECKING:
    from creases.growth import GrowthConfig
    from creases.tables._streaming.files import TableFiles

_VERSION = 6


#: Tables of more numbers are not stored again beside their model.
MOST_NUMBERS = 20_000_000

#: The arrays of a problem that are stored.
_ARRAYS = ("X", "y", "rows", "weight", "exposure", "groups")


def _load_rows(folder: Path) -> Problem:
    """Return the table whose encoded rows are in the folder of its model."""
    path = folder / RunFile.ROWS
    try:
        encoding = TableEncoding.from_dict(parse_json(read_text(folder / RunFile.ENCODING)))
        with open_npz(path) as arrays:
            about = json.loads(str(arrays["about"]))
            values: dict[str, Any] = {name: arrays[name] for name in _ARRAYS if name in arrays}
        check_entries(about, str(path), name=STRING, description=STRING, is_time=BOOL)
        names = tuple(feature.name for feature in encoding.features)
        problem = Problem(**values, **about, features=names, classes=encoding.classes, encoding=encoding)
        sizes = {name: finite(len(problem.X)) for name in _ARRAYS[2:] if name in values}
        check_entries({name: np.asarray(values[name], np.float64) for name in sizes}, str(path), **sizes)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise FileError(f"cannot read {path} ({error}); fit the table again") from None
    return replace(problem, target=encoding.target)


@dataclass(frozen=True)
class TableSettings(ReadOptions, ABC):
    """A table and how to read it; with the options of what is made of it."""

    kind: ClassVar[str]  #: what is made of the table, in the file of the settings
    verb: ClassVar[str]  #: the command that makes it
    result: ClassVar[str]  #: what it is called

    data: str  #: a file, a folder or a pattern, by its absolute path, or the name of a built-in problem
    config: Any = None  #: the options
    #: The folder with the rows of data that have moved, and their digest.
    stored: tuple[Path, str] | None = field(default=None, compare=False)

    @property
    def is_file(self) -> bool:
        """Whether the data are in a file."""
        return Path(self.data).is_absolute()

    @abstractmethod
    def find_files(self) -> TableFiles | None:
        """Return the files of a table that is read in blocks; None for one that is read as a whole."""

    def load_problem(self) -> Problem:
        """Return the problem that the settings name; of a table that is read in blocks a sample of its rows."""
        self.find_files()  # or it is refused
        return self._read()

    def load_split(self) -> TableSplit:
        """Return the rows that the settings name, split; of a table that is read in blocks a sample."""
        return TableSplit.from_problem(self.load_problem(), self.config)

    def _read(self) -> Problem:
        """Return the table of one file, or the built-in problem."""
        if self.stored is not None:
            return _load_rows(self.stored[0])
        if self.is_file:
            return read_with(self.data, self)
        for name in [entry.name for entry in fields(ReadOptions) if entry.name not in ("missing", "lookups")]:
            if value := getattr(self, name):
                raise InputError(name, "not be given for a built-in problem", f"{value!r}")
        return get_problem(self.data)

    def digest(self) -> str:
        """Return a digest of the data's file, or of the names and dates of many; "" for a built-in problem."""
        if not self.is_file:
            return ""
        if self.stored is not None:
            return self.stored[1]
        if (files := self.find_files()) is not None:
            return files.digest()
        try:
            with Path(self.data).open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as problem:
            raise FileError(f"cannot read {self.data}: {problem.strerror}") from None

    def _source(self) -> dict[str, Any]:
        return {
            entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name not in ("config", "stored")
        }

    def to_dict(self) -> dict[str, Any]:
        """Return every setting by its name, those of the configuration included."""
        return self._source() | asdict(self.config)

    def changed(self) -> dict[str, Any]:
        """Return the settings that differ from the defaults, by name."""
        usual = type(self)(self.data).to_dict()
        return {name: value for name, value in self.to_dict().items() if value != usual[name]}

    def command(self, folder: str) -> str:
        """Return the command that makes this in a folder; a data file goes by its name alone."""
        return self._command(folder, self.changed())

    def _command(self, folder: str, options: Mapping[str, Any]) -> str:
        """Return the command with those of its options that differ from their defaults."""
        words = [Path(self.data).name if self.is_file else self.data]
        declared = options_of(type(self)) | options_of(type(self.config))
        for name, value in options.items():
            entry = declared.get(name, Option(""))
            flag = entry.flag or f"--{name.replace('_', '-')}"
            if isinstance(value, bool):
                words.append(flag if value else flag.replace("--", "--no-", 1))
            else:
                for text in entry.write(value):  # one that begins with a dash is no option
                    words += [f"{flag}={text}"] if text[:1] in ("", "-") else [flag, text]
        return shlex.join(["creases", self.verb, *words, "--out", folder])

    def save(self, folder: Path) -> None:
        """Write the settings into the folder, with a digest of the data."""
        value = {"creases-run": _VERSION, "kind": self.kind, **self._source(), "config": self.config.to_dict()}
        value["digest"] = self.digest()
        write_json(value, folder / RunFile.SETTINGS)

    def store_rows(self, problem: Problem, folder: Path) -> Path | None:
        """Write the encoded rows of a file into the folder, unless there are too many, for when the file has moved."""
        if not self.is_file or problem.encoding is None or problem.X.size > MOST_NUMBERS:
            return None
        arrays = {name: array for name in _ARRAYS if (array := getattr(problem, name)) is not None}
        plain = {name: getattr(problem, name) for name in ("name", "description", "is_time")}
        with write_atomically(folder / RunFile.ROWS) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, about=np.array(json.dumps(plain)), **arrays)
        return folder / RunFile.ROWS

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read the settings in a folder; those of something else, and data that have changed since, are refused."""
        settings = load_settings(folder)
        if not isinstance(settings, cls):
            raise FileError(f"{folder} was made by creases {settings.verb}, not by creases {cls.verb}")
        return settings


@dataclass(frozen=True)
class FitSettings(TableSettings):
    """All that the model of a table depends on: a table, how to read it, and the options of the fit."""

    kind = "curves"
    verb = "fit"
    result = "model of a table"

    lookups: bool = field(default=True, kw_only=True)
    config: CurveConfig = field(default_factory=CurveConfig)
    #: bytes that a fit may take; a table that would take more is read in blocks; a command says it in gigabytes
    max_memory: float | None = option(None, "", write=lambda size: [f"{size / 1e9:g}"])

    @staticmethod
    def read_config(options: dict[str, Any]) -> CurveConfig:
        """Return the options that a file holds."""
        return CurveConfig(**options)

    def find_files(self) -> TableFiles | None:
        """Return the files of a table that is read in blocks; None for one that is read as a whole."""
        if not self.is_file or self.stored is not None:
            return None
        return find_table_files(self.data, header=self.header, max_memory=self.max_memory)

    def load_problem(self) -> Problem:
        """Return the problem that the settings name; of a table that is read in blocks a sample of its rows."""
        if self.find_files() is not None:
            return self.load_split().problem
        problem = self._read()
        if problem.wider is None:
            return problem
        from creases.tables._fit.doubtful_columns import settle_columns  # imports scipy

        return settle_columns(problem, self.config)

    def load_split(self) -> TableSplit:
        """Return the rows that the settings name, split; of a table that is read in blocks a sample."""
        if (files := self.find_files()) is None:
            return super().load_split()
        from creases.tables._streaming.table import open_table

        with open_table(files, self, self.config, max_memory=self.max_memory) as table:
            return TableSplit.from_problem(table, self.config) if isinstance(table, Problem) else table.data


@dataclass(frozen=True)
class RunSettings(TableSettings):
    """All that a growth run on a table depends on: a table, how to read it, and the options of growth."""

    kind = "network"
    verb = "grow"
    result = "growth run"

    config: GrowthConfig = field(default_factory=lambda: RunSettings.read_config({}))

    @staticmethod
    def read_config(options: dict[str, Any]) -> GrowthConfig:
        """Return the options that a file holds."""
        from creases.growth import GrowthConfig  # imports torch

        return GrowthConfig.from_dict(options)

    def find_files(self) -> TableFiles | None:
        """Return None: a network grows on a table that is read as a whole; one of several files is refused."""
        if self.is_file and not self.stored and (files := find_table_files(self.data, header=self.header)):
            hint = "use creases fit, which reads tables larger than memory, or one file"
            raise InputError("data", "fit in memory: a network grows on all rows at once", files.label, hint)
        return None

    def command(self, folder: str) -> str:
        """Return the command that makes this run in a folder, or the code where the command lacks an option."""
        options = changed = self.changed()
        if changed.get("loop") == "sized":  # the command says by --when which loop grows
            options = {"when": "stages"} | {name: value for name, value in changed.items() if name != "loop"}
        declared = options_of(ReadOptions) | options_of(type(self.config))
        if options.keys() <= {"when", *declared} - {*self.aside, "lookups"}:
            return self._command(folder, options)
        name = Path(self.data).name if self.is_file else self.data
        table = repr(name) if self.is_file else f"creases.problems.get({name!r})"
        arguments = "".join(f", {name}={value!r}" for name, value in changed.items())
        return f"import creases\ncreases.tables.grow_table({table}{arguments}).save({folder!r})"


#: By the kind that a file of settings names.
_KINDS: dict[str, type[FitSettings] | type[RunSettings]] = {each.kind: each for each in (FitSettings, RunSettings)}


def name_result(folder: Path) -> str:
    """Return what a folder with settings holds, in words; "a growth run" where they are damaged."""
    try:
        return _KINDS[parse_json(read_text(folder / RunFile.SETTINGS))["kind"]].result
    except (CreasesError, OSError, ValueError, TypeError, KeyError):
        return RunSettings.result


def load_settings(folder: Path) -> FitSettings | RunSettings:
    """Read the settings in a folder; data that have changed since are refused."""
    try:
        saved = parse_json(read_text(folder / RunFile.SETTINGS))
        if (version := saved.pop("creases-run")) != _VERSION:
            raise ValueError(f"version {version}, expected {_VERSION}")
        digest, kind = str(saved.pop("digest")), saved.pop("kind")
        if kind not in _KINDS:
            raise ValueError(f"there is no kind {kind!r}")
        for name in ("inputs", "drop", "missing_marks"):
            saved[name] = None if saved[name] is None else tuple(saved[name])
        settings = _KINDS[kind](**{**saved, "stored": None, "config": _KINDS[kind].read_config(saved["config"])})
        has_moved = settings.is_file and not glob.has_magic(settings.data) and not Path(settings.data).exists()
        if has_moved and (folder / RunFile.ROWS).is_file():
            settings = replace(settings, stored=(folder, digest))
        changed = settings.digest() != digest
    except FileNotFoundError:
        if not folder.exists():
            raise FileError(f"there is no folder {folder}") from None
        raise FileError(f"{folder} holds no fit and no growth run (there is no {RunFile.SETTINGS} in it)") from None
    except OSError as problem:
        raise FileError(f"cannot read {folder / RunFile.SETTINGS}: {problem.strerror}") from None
    except (ValueError, TypeError, KeyError, AttributeError) as problem:
        raise FileError(f"{folder / RunFile.SETTINGS} is damaged ({problem})") from None
    if changed:
        raise FileError(f"{settings.data} has changed since the run in {folder} began; start another run")
    return settings


def resolve_data(data: str) -> str:
    """Return the absolute path of a file, a folder or a pattern of files, or the name of a built-in problem."""
    path = Path(data).expanduser()
    if path.is_file():
        return os.path.abspath(path)  # of a link its own name, which says what it is
    if glob.has_magic(data):
        return str(path.absolute())
    if path.is_dir() and ("/" in data or data.replace("-", "_") not in names()):
        return str(path.resolve())
    if path.suffix or "/" in data:
        raise FileError(f"there is no file {data}")
    name = data.replace("-", "_")
    if name not in names():
        try:
            get_problem(name)
        except InputError as problem:  # it knows which names are close
            expected = problem.expected.removeprefix("be ")
            raise InputError("data", f"be a file or {expected}", repr(data), problem.hint) from None
    return name
