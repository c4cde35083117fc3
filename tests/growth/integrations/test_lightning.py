"""Growth while Lightning trains; the tests of the callback at work need Lightning."""

from __future__ import annotations

import importlib
import sys

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from creases.errors import InputError
from creases.growth.methods import Random
from creases.growth.policies import Target
from growth_runs import classes, mlp, timeless

try:
    import lightning.pytorch as pl
except ImportError:
    try:
        import pytorch_lightning as pl
    except ImportError:
        pl = None

needs = pytest.mark.skipif(pl is None, reason="Lightning is not installed")
quiet = pytest.mark.filterwarnings("ignore")  # Lightning's own


def test_without_lightning_the_callback_says_what_to_install(monkeypatch):
    for name in (
        "lightning.pytorch",
        "pytorch_lightning",
        "lightning.pytorch.callbacks",
        "pytorch_lightning.callbacks",
    ):
        monkeypatch.setitem(sys.modules, name, None)
    module = importlib.reload(importlib.import_module("creases.growth.integrations._lightning"))
    with pytest.raises(InputError, match="must have Lightning installed; run pip install lightning"):
        module.GrowthCallback("classification")
    monkeypatch.undo()
    importlib.reload(module)


def module_of(**options):
    class Classifier(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = mlp(3, 2, 2, seed=3)

        def forward(self, x):
            return self.net(x)

        def training_step(self, batch, number):
            x, y = batch
            return nn.functional.cross_entropy(self(x), y)

        def configure_optimizers(self):
            optimizer = torch.optim.Adam(self.parameters(), lr=0.02)
            return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 5)] if options.get("schedule") else []

    return Classifier()


def trainer_of(callback, epochs, folder):
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu"}
    return pl.Trainer(max_epochs=epochs, callbacks=[callback], default_root_dir=folder, **quiet)


def loader():
    return DataLoader(TensorDataset(*classes(60)), batch_size=20)


def callback_of(**options):
    from creases.growth.integrations._lightning import GrowthCallback

    given = {"how": Random(), "when": 2}
    return GrowthCallback("classification", **{**given, **options})


@pytest.mark.slow
@needs
@quiet
@pytest.mark.parametrize("schedule", [False, True])
def test_a_module_grows_while_lightning_trains_it(tmp_path, schedule):
    module, callback = module_of(schedule=schedule), callback_of()
    trainer_of(callback, 7, tmp_path).fit(module, loader())
    assert module.net[0].out_features == 5
    assert [record.epoch for record in callback.history.records] == [2, 4, 6]
    assert callback.history.last["steps"] == 21
    assert callback.history.ended == "the budget of 7 epochs is spent"
    assert {id(p) for p in module.parameters()} == {
        id(p) for g in module.optimizers().param_groups for p in g["params"]
    }


@needs
@quiet
def test_the_training_ends_with_the_run(tmp_path):
    module, callback = module_of(), callback_of(stop=Target(score=0.0), data=classes(60))
    trainer = trainer_of(callback, 100, tmp_path)
    trainer.fit(module, loader())
    assert callback.history.ended.startswith("the training score reached ")
    assert trainer.current_epoch == 1


@needs
@quiet
def test_a_checkpoint_of_lightnings_goes_on_with_the_grown_network(tmp_path):
    whole, alone = module_of(), callback_of(budget=7)
    trainer_of(alone, 7, tmp_path).fit(whole, loader())
    trainer = trainer_of(callback_of(budget=7), 3, tmp_path)
    trainer.fit(module_of(), loader())
    trainer.save_checkpoint(tmp_path / "run.ckpt")
    module, callback = module_of(), callback_of()
    trainer_of(callback, 7, tmp_path).fit(module, loader(), ckpt_path=tmp_path / "run.ckpt")
    assert module.net[0].out_features == 5
    assert timeless(callback.history) == timeless(alone.history)
    for a, b in zip(module.parameters(), whole.parameters(), strict=True):
        assert torch.equal(a, b)
