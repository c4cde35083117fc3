"""How to reduce: smaller networks of the same function, or of the same accuracy. Results are smaller torch modules.

Same function  ``exact``: units that no input of a box needs, each taken away with a proof (``Reduction``); what only
               looks spare is ``Undecided``
Same accuracy  of any module: ``channels``, the least missed first, or the smallest weights by ``magnitude``,
               fine-tuned by a ``tuner`` between; each step a ``Step`` of the ``Pruned``
Smallest       that has all samples right: ``exhaustive``, over all sub-networks of one wide layer; ``iterative``, unit
               by unit out of deep networks, with restarts

>>> import torch
>>> from creases import prune
>>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
>>> with torch.no_grad():
...     _ = model[0].bias.copy_(torch.tensor([-9.0, 0.0, 0.0]))  # unit 0 is off wherever |x| <= 1
>>> smaller = prune.exact(model, box=(-1, 1))
>>> smaller.model[0].out_features, smaller.reductions[0].reason
(2, 'no input in the box activates them')
"""

from creases.prune._channels import channels
from creases.prune._exact import exact
from creases.prune._exhaustive import Exhaustive, exhaustive
from creases.prune._iterative import Iterative, Removal, Trajectory, iterative
from creases.prune._judging import checked_samples, evaluating, judged
from creases.prune._magnitude import magnitude
from creases.prune._records import Exact, Pruned, Reduction, Step, Undecided
from creases.prune._sub_networks import all_chosen
from creases.prune._tuning import Tune, tuner

__all__ = [
    "Exact",
    "Exhaustive",
    "Iterative",
    "Pruned",
    "Reduction",
    "Removal",
    "Step",
    "Trajectory",
    "Tune",
    "Undecided",
    "all_chosen",
    "channels",
    "checked_samples",
    "evaluating",
    "exact",
    "exhaustive",
    "iterative",
    "judged",
    "magnitude",
    "tuner",
]
