"""Growth runs: their settings, their data divided, what is written down on the way, the folder they are kept in."""

from creases.growth.experiment._divided import LEAST_ROWS, Divided, as_options, box, divide, divided, find_data
from creases.growth.experiment._folder import MODEL
from creases.growth.experiment._kept import Kept, read_run
from creases.growth.experiment._moments import Moment, Moments
from creases.growth.experiment._run import Outcome, options, run, start
from creases.growth.experiment._scores import Rival, rivals, verdict
from creases.growth.experiment._settings import NAME, Settings
from creases.growth.experiment._words import made

__all__ = [
    "LEAST_ROWS",
    "MODEL",
    "NAME",
    "Divided",
    "Kept",
    "Moment",
    "Moments",
    "Outcome",
    "Rival",
    "Settings",
    "as_options",
    "box",
    "divide",
    "divided",
    "find_data",
    "made",
    "options",
    "read_run",
    "rivals",
    "run",
    "start",
    "verdict",
]
