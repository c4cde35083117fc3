"""Explanations of what a network computes, exact because it is piecewise linear.

``attributions`` divides the difference of an output between two inputs among the columns: integrated gradients, summed
over the regions between them instead of sampled. ``scorecard`` writes a network down: the linear function of every
region that holds rows of a table, and what separates the regions. ``effects`` of a column, ``importance`` of columns
and their ``interactions`` are exact too. ``counterfactual`` is the smallest change of a row of a table that changes its
decision, in words and with a proof; ``Columns`` says what changes are possible.

>>> import creases
>>> from creases.explain import attributions
>>> net = creases.read([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])  # relu(x0) + relu(x1)
>>> attributions(net, [2.0, 1.0], baseline=[-1.0, 0.0]).values.round(12).tolist()
[2.0, 1.0]
"""

from creases.explain._attributions import Attributions, attributions
from creases.explain._columns import Columns
from creases.explain._conditions import Condition
from creases.explain._counterfactual import ColumnChange, Counterfactual, counterfactual
from creases.explain._effects import CategoryEffect, NumberEffect, effects
from creases.explain._importance import Importance, Interactions, importance, interactions
from creases.explain._scorecard import Scorecard, ScorecardCheck, ScorecardRegion, scorecard
from creases.explain._terms import LinearText

__all__ = [
    "Attributions",
    "CategoryEffect",
    "ColumnChange",
    "Columns",
    "Condition",
    "Counterfactual",
    "Importance",
    "Interactions",
    "LinearText",
    "NumberEffect",
    "Scorecard",
    "ScorecardCheck",
    "ScorecardRegion",
    "attributions",
    "counterfactual",
    "effects",
    "importance",
    "interactions",
    "scorecard",
]
