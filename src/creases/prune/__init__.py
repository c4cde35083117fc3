"""Smaller networks of the same function, or of the same accuracy. Results are smaller torch modules.

Same function  ``exact`` removes units that provably cannot affect the output anywhere in a box: a ``Reduction`` each;
               units that only look redundant are ``Undecided``
Same accuracy  of any module: ``channels`` (the least important first) or the smallest weights by ``magnitude``,
               fine-tuned by a ``tuner`` in between; each step of the ``PruningResult`` is a ``PruningStep``
Smallest       the smallest networks within one that still classify every sample: ``exhaustive`` trains all
               ``SubNetworks`` of one wide layer, ``iterative`` removes unit by unit from deep ones: a ``Trajectory``

>>> import torch
>>> from creases import prune
>>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
>>> with torch.no_grad():
...     _ = model[0].bias.copy_(torch.tensor([-9.0, 0.0, 0.0]))  # unit 0 is off wherever |x| <= 1
>>> smaller = prune.exact(model, box=(-1, 1))
>>> smaller.model[0].out_features, smaller.reductions[0].reason
(2, 'no input in the box activates them')
"""

from creases.prune._by_data import channels, magnitude
from creases.prune._evaluation import check_samples, evaluate, tuner
from creases.prune._exact import exact
from creases.prune._results import ExactResult, PruningResult, PruningStep
from creases.prune._sub_networks import SubNetworks, Trajectory, exhaustive, iterative

__all__ = [
    "ExactResult",
    "PruningResult",
    "PruningStep",
    "SubNetworks",
    "Trajectory",
    "channels",
    "check_samples",
    "evaluate",
    "exact",
    "exhaustive",
    "iterative",
    "magnitude",
    "tuner",
]
