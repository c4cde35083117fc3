"""What the two estimators share: parameters, data, training with growth, and the account of it."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
from threadpoolctl import threadpool_limits
from torch import nn, optim

from creases._typing import Floats
from creases.errors import InputError
from creases.growth._grower import Grower
from creases.growth._linear_start import linear_start
from creases.growth._loop import grow
from creases.growth._records import History
from creases.growth._samples import InMemorySamples
from creases.growth._scaling import Scaling
from creases.growth._training import train_epoch
from creases.growth.estimators import _summary as account
from creases.growth.estimators._parameters import check_parameters, hidden_widths
from creases.growth.estimators._ripe import ValidationPlateau
from creases.growth.experiment._rows import UniqueRows, merge_duplicates, split_rows
from creases.growth.experiment._scaler import IncrementalScaler
from creases.growth.methods._evidence import GrowthMethod, renumber_samples
from creases.growth.policies import Budget, NoImprovement
from creases.growth.policies._stop import Stop
from creases.network import Network, read

#: Numbers in a table up to which one thread is fastest.
SMALL = 1_000_000

#: Fewer rows than this are all trained on: too few are left to judge by.
JUDGED = 20

#: A batch has a share of the rows, between these sizes: some steps in every epoch, none of them too noisy.
SHARE, SMALLEST, LARGEST = 8, 32, 200


class GrowingEstimator(BaseEstimator, ABC):  # type: ignore[misc]
    """A network for tables that starts as a linear map and grows, each unit with a reason."""

    _task: Literal["classification", "regression"]

    def __init__(
        self,
        how: str | GrowthMethod = "fold",
        *,
        hidden: str | int | Sequence[int] = "auto",
        max_units: int | None = 100,
        max_parameters: int | None = None,
        weight_decay: float = 0.3,
        lr: float = 0.02,
        batch_size: str | int | None = "auto",
        max_epochs: int = 500,
        patience: int = 5,
        growth_patience: int = 3,
        early_stopping: bool = True,
        validation_fraction: float = 0.15,
        recycle: bool = True,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.how = how
        self.hidden = hidden
        self.max_units = max_units
        self.max_parameters = max_parameters
        self.weight_decay = weight_decay
        self.lr = lr
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.growth_patience = growth_patience
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.recycle = recycle
        self.random_state = random_state
        self.verbose = verbose

    # -- learning -----------------------------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train and grow a new network.

        Parameters
        ----------
        X
            (n, d) rows of numbers.
        y
            (n,) classes, or (n,) or (n, m) targets.
        sample_weight
            (n,) at least 0: how often each row counts. A row of weight 2 is the same as one that comes twice.
        """
        check_parameters(self.get_params(deep=False))
        rows, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2, **self._checks)
        table = self._table(rows, self._targets(y, None), sample_weight)
        if self._task == "classification" and (table.y == table.y[0]).all():
            raise InputError(
                "sample_weight: leaves one class with rows that count; a classifier needs at least 2 classes"
            )
        with _threads(table):
            history = self._grown(table)
        self._end(history)
        if history.ended.startswith(f"{self.max_epochs} epochs"):
            warnings.warn(
                f"max_epochs: all {self.max_epochs} epochs were trained before growth came to its end; more may help",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _grown(self, table: UniqueRows) -> History:
        """A new network, trained and grown."""
        self._begin(table)
        train = self._memory(table)
        held = None
        if self.early_stopping and len(table) >= JUDGED:
            of_class = self._task == "classification"
            first, rest = split_rows(table, self.validation_fraction, self._seed, by_class=of_class)
            if len(rest):
                held = train.part(torch.from_numpy(rest), "validation")
                train = train.part(torch.from_numpy(first), "data")
        _, history = grow(
            self._model,
            train,
            self._task,
            **self._policies(),
            stop=[*self._budget(), NoImprovement(self.growth_patience)],
            max_epochs=self.max_epochs,
            validation=held,
            recycle=self.recycle,
            optimizer=self._optimizer,
            batch_size=self._batch(len(train)),
            seed=self._seed,
            progress=bool(self.verbose),
        )
        for record in history.records:
            record.explanation = renumber_samples(record.explanation, torch.from_numpy(table.first))
        return history

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> Self:
        """One epoch over these rows; a growth step, looking at them, where the loss is on a plateau."""
        check_parameters(self.get_params(deep=False))
        first = not hasattr(self, "module_")
        X, y = validate_data(self, X, y, dtype=np.float64, reset=first, **self._checks)
        table = self._table(X, self._targets(y, classes if first else self._known), sample_weight)
        if first:
            self._begin(table)
        else:
            self._scaling = self._learnt_scaling(table)
        history = History() if first else self.history_
        train = self._memory(table)
        grower = Grower(
            self._model,
            self._optimizer,
            train,
            self._task,
            **self._policies(),
            stop=self._budget(),
            recycle=False,  # what these rows do not need, others may
            seed=self._seed,
        )
        history.setting = grower.history.setting
        grower.resume(history, other_data=True)
        state, epoch, made = grower.state, len(history.epochs), len(history.records)
        options = {"batch_size": self._batch(len(train)), "seed": self._seed + epoch}
        with torch.random.fork_rng(devices=[]), _threads(table):
            measured, steps = train_epoch(self._model, self._optimizer, train, state.objective, **options)
            grower.step(measured, steps=steps + (history.last["steps"] if epoch else 0))
        history.ended = ""  # there is always a next batch
        for record in history.records[made:]:
            record.explanation = renumber_samples(record.explanation, torch.from_numpy(table.first))
        self._model.eval()
        self._end(history)
        return self

    def _begin(self, table: UniqueRows) -> None:
        """A new network for data like this, its scaling and its optimizer."""
        numbers = check_random_state(self.random_state)
        self._seed = int(numbers.randint(2**31 - 1))
        self._scaler = IncrementalScaler()
        self._scaling = self._learnt_scaling(table)
        live = torch.from_numpy(table.X.min(axis=0) < table.X.max(axis=0))
        self._model = linear_start(table.X.shape[1], self._widths(), self._outputs, live=live, seed=self._seed)
        if self._task == "regression":
            constant = torch.from_numpy(table.y.min(axis=0) == table.y.max(axis=0))
            last = self._model[-1]
            assert isinstance(last, nn.Linear)
            last.weight.detach()[constant] = 0.0  # met from the start
        weights = [parameter for parameter in self._model.parameters() if parameter.ndim > 1]
        biases = [parameter for parameter in self._model.parameters() if parameter.ndim == 1]
        groups = [{"params": weights, "weight_decay": self.weight_decay}, {"params": biases, "weight_decay": 0.0}]
        self._optimizer = optim.AdamW(groups, lr=self.lr)

    def _end(self, history: History) -> None:
        """What users see of a run."""
        self.history_ = history
        self.n_iter_ = len(history.epochs)
        self.loss_curve_ = [epoch["loss"] for epoch in history.epochs]
        self.module_ = self._scaling.fold_into(self._model)

    def _learnt_scaling(self, table: UniqueRows) -> Scaling:
        return self._scaler.learn(table.X, table.y if self._task == "regression" else None, table.weight)

    def _table(self, X: Floats, y: Floats, sample_weight: Any) -> UniqueRows:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weight.any():
            raise InputError("sample_weight: is 0 for every row; some must count")
        return merge_duplicates(X, y, weight)

    def _memory(self, table: UniqueRows) -> InMemorySamples:
        """The rows as the network is trained on them."""
        X = torch.from_numpy(self._scaling.inputs(table.X))
        if self._task == "classification":
            y = torch.from_numpy(table.y[:, 0].astype(np.int64))
        else:
            y = torch.from_numpy(self._scaling.targets(table.y))
        even = bool((table.weight == table.weight[0]).all())
        weight = None if even else torch.from_numpy(table.weight / table.weight.mean())
        return InMemorySamples(X, y, weight)

    # -- what is asked for --------------------------------------------------------------------------------------------

    def _policies(self) -> dict[str, Any]:
        one = len(self._widths()) == 1
        return {"how": self.how, "where": "hidden" if one else "bottleneck", "when": ValidationPlateau(self.patience)}

    def _budget(self) -> list[Stop]:
        limits = {"units": self.max_units, "parameters": self.max_parameters}
        given = {name: limit for name, limit in limits.items() if limit is not None}
        return [Budget(**given)] if given else []

    def _widths(self) -> tuple[int, ...]:
        return hidden_widths(self.hidden, self._outputs)

    def _batch(self, rows: int) -> int:
        if self.batch_size == "auto":
            return min(max(rows // SHARE, SMALLEST), LARGEST)
        return rows if self.batch_size is None else int(self.batch_size)

    # -- what came of it ----------------------------------------------------------------------------------------------

    def _given(self, X: ArrayLike) -> Floats:
        """What the network gives (n, m) for rows of the user's data."""
        check_is_fitted(self, "module_")
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        with torch.no_grad():
            return np.asarray(self.module_(torch.tensor(rows)).numpy())

    @property
    def network_(self) -> Network:
        """The fitted function, scaling included, as a :class:`creases.Network`: its regions, pieces, boundaries."""
        check_is_fitted(self, "module_")
        return read(self.module_)

    @property
    def hidden_(self) -> tuple[int, ...]:
        """Widths of the hidden layers as they are now."""
        check_is_fitted(self, "module_")
        return tuple(layer.out_features for layer in self.module_ if isinstance(layer, nn.Linear))[:-1]

    def explain(self, step: int | None = None) -> str:
        """How the network grew, in words, with the names of classes and features, in the data's own units.

        ``step``: the number of one growth step, from 1, for that one alone. Rows are counted from 0, as they were
        given.
        """
        check_is_fitted(self, "module_")
        return account.explain_history(self.history_, self._names(), self._drawing(), step)

    def summary(self) -> str:
        """The growth steps as a table: when, where, and what became of loss and score."""
        check_is_fitted(self, "module_")
        return account.summary_table(self.history_)

    def _names(self) -> dict[str, Any]:
        names = getattr(self, "feature_names_in_", [f"x{k}" for k in range(self.n_features_in_)])
        return {"features": [str(name) for name in names], "scaling": self._scaling, "instance": "row"}

    def _drawing(self) -> str:
        """The network's widths from inputs to outputs."""
        return "-".join(map(str, [self.n_features_in_, *self.hidden_, self._outputs]))

    # -- what differs -------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def _checks(self) -> dict[str, Any]:
        """How scikit-learn checks y."""

    @property
    def _known(self) -> Any:
        """Classes known from before."""
        return None

    @property
    @abstractmethod
    def _outputs(self) -> int:
        """How many the network has."""

    @abstractmethod
    def _targets(self, y: Any, classes: Any) -> Floats:
        """y as numbers (n, m)."""


def _threads(table: UniqueRows) -> AbstractContextManager[Any]:
    """One thread for small tables: more would spend their time waiting for each other."""
    return threadpool_limits(1) if table.X.size <= SMALL else nullcontext()
