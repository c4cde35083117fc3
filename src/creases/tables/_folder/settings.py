"""The settings of a growth run on a table: where the data come from and how to train, saved to resume the run."""

from __future__ import annotations

import glob
import hashlib
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from creases._files import parse_json, read_text, write_json
from creases.errors import FileError, InputError
from creases.problems import Problem, names
from creases.problems import get as get_problem
from creases.tables._folder.folder import RunFile
from creases.tables._reading.table import read_table
from creases.tables._split.options import CurveConfig
from creases.tables._split.split import TableSplit

if TYPE_CHECKING:
    from creases.growth import GrowthConfig
    from creases.tables._model.table_model import TableModel
    from creases.tables._streaming.files import TableFiles

_VERSION = 4


@dataclass(frozen=True)
class RunSettings:
    """All that a growth run depends on: a table, how to read it, and the configuration."""

    data: str  #: a file, a folder or a pattern, by its absolute path, or the name of a built-in problem
    target: str | None = None
    task: Literal["classification", "regression"] | None = None
    missing: Literal["indicate", "mean", "drop", "error"] = "indicate"
    header: bool | None = None
    inputs: tuple[str, ...] | None = None  #: columns to predict from; None for all that can be used
    drop: tuple[str, ...] = ()  #: columns to leave out
    kinds: Mapping[str, str] | None = None  #: kinds of columns, instead of what they look like
    max_memory: float | None = None  #: bytes that a fit may take; a table that would take more is read in blocks
    config: GrowthConfig | CurveConfig = field(default_factory=lambda: _growth_config({}))

    @property
    def kind(self) -> Literal["curves", "network"]:
        """The kind of model."""
        return "curves" if isinstance(self.config, CurveConfig) else "network"

    @property
    def growth(self) -> GrowthConfig:
        """The options of growth, of a run that grows a network."""
        assert not isinstance(self.config, CurveConfig)
        return self.config

    @property
    def is_file(self) -> bool:
        """Whether the data are in a file."""
        return Path(self.data).is_absolute()

    def find_files(self) -> TableFiles | None:
        """Return the files of a table that is read in blocks; None for one that is read as a whole."""
        if not self.is_file:
            return None
        from creases.tables._fit.fit_table import find_table_files

        return find_table_files(self.data, header=self.header, max_memory=self.max_memory)

    def fit_curves(self, **engine: Any) -> TableModel:
        """Fit curves, planes and units to the table; ``engine`` says where blocks of a large one are read."""
        from creases.tables._fit.fit_table import fit_problem

        assert isinstance(self.config, CurveConfig)
        if (files := self.find_files()) is None:
            return fit_problem(self.load_problem(), self.config)
        from creases.tables._streaming.fit import fit_files

        return fit_files(files, self._reading, self.config, **engine, max_memory=self.max_memory)

    def load_split(self) -> TableSplit:
        """Return the rows that the settings name, split; of a table that is read in blocks a sample."""
        files = self.find_files()
        if files is None or not isinstance(self.config, CurveConfig):
            return TableSplit.from_problem(self.load_problem(), self.config)
        from creases.tables._streaming.table import open_table

        with open_table(files, self._reading, self.config, max_memory=self.max_memory) as table:
            return TableSplit.from_problem(table, self.config) if isinstance(table, Problem) else table.data

    @property
    def _reading(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("target", "task", "missing", "inputs", "drop", "kinds")}

    def load_problem(self) -> Problem:
        """Return the problem that the settings name; of a table that is read in blocks a sample of its rows."""
        if self.is_file:
            if self.find_files() is not None:
                return self.load_split().problem
            problem = read_table(self.data, header=self.header, **self._reading)
            if not isinstance(self.config, CurveConfig):
                return problem
            from creases.tables._fit.doubtful_columns import settle_columns  # imports scipy

            return settle_columns(problem, self.config)
        for name in ("target", "task", "inputs", "drop", "kinds"):
            if getattr(self, name):
                raise InputError(name, "not be given for a built-in problem", f"{getattr(self, name)!r}")
        return get_problem(self.data)

    def digest(self) -> str:
        """Return a digest of the data's file, or of the names and dates of many; "" for a built-in problem."""
        if not self.is_file:
            return ""
        if (files := self.find_files()) is not None:
            return files.digest()
        try:
            with Path(self.data).open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as problem:
            raise FileError(f"cannot read {self.data}: {problem.strerror}") from None

    def to_dict(self) -> dict[str, Any]:
        """Return every setting by its name, those of the configuration included."""
        source = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "config"}
        return source | asdict(self.config)

    def command(self, folder: str) -> str:
        """Return the command that makes this run in a folder; a data file goes by its name alone."""
        words = [Path(self.data).name if self.is_file else self.data]
        if self.kind != default_kind(self.data):
            words += ["--kind", self.kind]
        usual = RunSettings(self.data, config=type(self.config)()).to_dict()
        for name, value in self.to_dict().items():
            option = name.replace("_", "-")
            if value == usual[name]:
                continue
            if name in ("shapes", "kinds"):
                flag = "--shape" if name == "shapes" else "--kind-of"
                words += [word for pair in value.items() for word in (flag, "=".join(pair))]
                continue
            if name == "max_memory":
                value = f"{value / 1e9:g}"  # the command line has gigabytes
            if isinstance(value, bool):
                words.append(f"--{'' if value else 'no-'}{option}")
            else:
                text = _option_text(value)
                words += [f"--{option}", "all" if value is None else text]
        return shlex.join(["creases", "grow", *words, "--out", folder])

    def save(self, folder: Path) -> None:
        """Write the settings into the run's folder, with a digest of the data."""
        source = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "config"}
        value = {"creases-run": _VERSION, "kind": self.kind, **source, "config": self.config.to_dict()}
        value["digest"] = self.digest()
        write_json(value, folder / RunFile.SETTINGS)

    @classmethod
    def load(cls, folder: Path) -> RunSettings:
        """Read the settings of the run in a folder; data that have changed since are refused."""
        try:
            saved = parse_json(read_text(folder / RunFile.SETTINGS))
            if (version := saved.pop("creases-run")) not in (3, _VERSION):
                raise ValueError(f"version {version}, expected {_VERSION}")
            digest, kind = saved.pop("digest"), saved.pop("kind", "network")  # version 3 had networks only
            if kind not in ("curves", "network"):
                raise ValueError(f"there is no kind {kind!r}")
            read_config = CurveConfig.from_dict if kind == "curves" else _growth_config
            for name in ("inputs", "drop"):
                saved[name] = None if saved[name] is None else tuple(saved[name])
            settings = cls(**{**saved, "config": read_config(saved["config"])})
            changed = settings.digest() != digest
        except FileNotFoundError:
            if not folder.exists():
                raise FileError(f"there is no folder {folder}") from None
            raise FileError(f"{folder} holds no growth run (there is no {RunFile.SETTINGS} in it)") from None
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as problem:
            raise FileError(f"{folder / RunFile.SETTINGS} is damaged ({problem})") from None
        if changed:
            raise FileError(f"{settings.data} has changed since the run in {folder} began; start another run")
        return settings


def default_kind(data: str) -> Literal["curves", "network"]:
    """Return the kind of model of data if none is asked for: curves of a file, a network of a built-in problem."""
    return "curves" if Path(data).is_absolute() else "network"


def _growth_config(options: dict[str, Any]) -> GrowthConfig:
    from creases.growth import GrowthConfig  # imports torch

    return GrowthConfig.from_dict(options)


def _option_text(value: Any) -> str:
    """Return the value of an option as the command line takes it: ``4,4`` for widths, ``yes=5`` for weights."""
    if isinstance(value, dict):
        return ",".join(f"{name}={weight:g}" for name, weight in value.items())
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def resolve_data(data: str) -> str:
    """Return the absolute path of a file, a folder or a pattern of files, or the name of a built-in problem."""
    path = Path(data).expanduser()
    if path.is_file():
        return str(path.resolve())
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
