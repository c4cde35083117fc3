"""Tables: a table in, a network you can read out.

``read_table`` and ``parse_table`` make a problem of a file, a data frame or a text, with the kind of every column
detected; its ``encoding`` (a ``TableEncoding``) encodes new rows. ``fit_table``, ``TableClassifier`` and
``TableRegressor`` fit a ``TableModel`` by stages (curves, planes, units). ``grow_table``, ``GrowingClassifier`` and
``GrowingRegressor`` grow a network, a ``GrownModel``: an ``Experiment`` on a ``TableSplit``. Both predict and explain
rows, and say in words what they do; ``load`` reads one back. ``explain_row`` and ``find_changes`` take encoded rows;
``certify_model`` says what is certain about a model of curves.
``effects``, ``importance`` and ``interactions`` say what a network does with the columns.
"""

from typing import TYPE_CHECKING

from creases._doors import open_on_use

if TYPE_CHECKING:
    from creases.tables._encoding.encoding import TableEncoding as TableEncoding
    from creases.tables._estimators.growing import GrowingClassifier as GrowingClassifier
    from creases.tables._estimators.growing import GrowingRegressor as GrowingRegressor
    from creases.tables._estimators.tables import TableClassifier as TableClassifier
    from creases.tables._estimators.tables import TableRegressor as TableRegressor
    from creases.tables._explain.effects import CategoryEffect as CategoryEffect
    from creases.tables._explain.effects import NumberEffect as NumberEffect
    from creases.tables._explain.effects import effects as effects
    from creases.tables._explain.effects import importance as importance
    from creases.tables._explain.effects import interactions as interactions
    from creases.tables._fit.experiment import Experiment as Experiment
    from creases.tables._fit.experiment import grow_table as grow_table
    from creases.tables._fit.fit_table import fit_settings as fit_settings
    from creases.tables._fit.fit_table import fit_table as fit_table
    from creases.tables._fit.snapshots import Snapshot as Snapshot
    from creases.tables._fit.snapshots import Snapshots as Snapshots
    from creases.tables._folder.folder import RunFile as RunFile
    from creases.tables._folder.folder import lock_folder as lock_folder
    from creases.tables._folder.folder import prepare_folder as prepare_folder
    from creases.tables._folder.model_loading import load as load
    from creases.tables._folder.model_loading import load_fit as load_fit
    from creases.tables._folder.run_loading import load_run as load_run
    from creases.tables._folder.settings import FitSettings as FitSettings
    from creases.tables._folder.settings import RunSettings as RunSettings
    from creases.tables._folder.settings import load_settings as load_settings
    from creases.tables._folder.settings import name_result as name_result
    from creases.tables._folder.settings import resolve_data as resolve_data
    from creases.tables._model.grown_model import GrownModel as GrownModel
    from creases.tables._model.grown_model import SavedRun as SavedRun
    from creases.tables._model.predictions import PredictionSummary as PredictionSummary
    from creases.tables._model.row_model import count_rows as count_rows
    from creases.tables._model.row_model import has_scores as has_scores
    from creases.tables._model.row_model import model_baselines as model_baselines
    from creases.tables._model.row_model import scored_model as scored_model
    from creases.tables._model.row_model import ways_to_improve as ways_to_improve
    from creases.tables._model.table_model import TableModel as TableModel
    from creases.tables._reading.files import read_columns as read_columns
    from creases.tables._reading.options import CurveConfig as CurveConfig
    from creases.tables._reading.options import ReadOptions as ReadOptions
    from creases.tables._reading.table import parse_table as parse_table
    from creases.tables._reading.table import read_table as read_table
    from creases.tables._scores.baselines import Baseline as Baseline
    from creases.tables._scores.baselines import ClassificationMetrics as ClassificationMetrics
    from creases.tables._scores.baselines import baseline_warnings as baseline_warnings
    from creases.tables._scores.baselines import baselines as baselines
    from creases.tables._scores.baselines import compare_models as compare_models
    from creases.tables._scores.baselines import metrics_summary as metrics_summary
    from creases.tables._split.split import MIN_ROWS as MIN_ROWS
    from creases.tables._split.split import TableSplit as TableSplit
    from creases.tables._split.split import data_box as data_box
    from creases.tables._words.changes import RowChanges as RowChanges
    from creases.tables._words.changes import find_changes as find_changes
    from creases.tables._words.column_text import LevelGraph as LevelGraph
    from creases.tables._words.column_text import NumberGraph as NumberGraph
    from creases.tables._words.column_text import PairGraph as PairGraph
    from creases.tables._words.column_text import model_graphs as model_graphs
    from creases.tables._words.facts import certify_model as certify_model
    from creases.tables._words.model_text import describe_stages as describe_stages
    from creases.tables._words.model_text import model_words as model_words
    from creases.tables._words.row_text import RowExplanation as RowExplanation
    from creases.tables._words.row_text import explain_row as explain_row
    from creases.tables._words.terms import POINTS as POINTS
    from creases.tables._words.terms import short_names as short_names

__getattr__, __dir__, __all__ = open_on_use(__name__)
