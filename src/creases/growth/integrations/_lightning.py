"""Growth during training with Lightning: a callback for ``lightning`` or ``pytorch_lightning``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from torch import Tensor, nn

from creases.errors import InputError
from creases.growth._checkpoint import resize
from creases.growth._grower import Grower
from creases.growth._objective import Loss
from creases.growth._records import History
from creases.growth._samples import as_samples
from creases.network import places
from creases.network.surgery import output_tensors


def _base() -> Any:
    """Return Lightning's callback class; None if Lightning is not installed."""
    for name in ("lightning.pytorch", "pytorch_lightning"):
        try:
            return import_module(f"{name}.callbacks").Callback
        except ImportError:
            continue
    return None


_CALLBACK: Any = _base()


class GrowthCallback(_CALLBACK or object):  # type: ignore[misc]
    """A callback that grows a LightningModule at the end of epochs, and stops the training when the run ends.

    The module's ``forward`` returns the outputs that ``loss`` takes. Lightning's checkpoints include the history, so
    that ``trainer.fit(module, ckpt_path=...)`` continues with the grown network. It is for one process; with several,
    use ``creases.grow``.

    Parameters
    ----------
    loss, options
        As for :class:`creases.growth.Grower`: ``how``, ``where``, ``when``, ``stop``, ``validation``, ... The budget is
        the trainer's ``max_epochs`` by default.
    data
        Training samples; by default those of the trainer's ``train_dataloader``.

    Examples
    --------
    ``Trainer(callbacks=[GrowthCallback("classification", how="tiny")]).fit(module, loader)``
    """

    def __init__(self, loss: str | Loss, *, data: Any = None, **options: Any) -> None:
        if _CALLBACK is None:
            raise InputError("GrowthCallback", "have Lightning installed", hint="run pip install lightning")
        super().__init__()
        self.loss, self.data, self.options = loss, data, options
        self.grower: Grower | None = None
        self._before: dict[str, Any] | None = None
        self._loading: Any = None

    @property
    def history(self) -> History:
        """Return the epochs and growth steps so far."""
        if self.grower is None:
            return History() if self._before is None else History.from_json(self._before["history"])
        return self.grower.history

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Prepare the module to take the widths of a checkpoint."""
        if stage == "fit":
            self._loading = pl_module._register_load_state_dict_pre_hook(self._match_widths, with_module=True)

    def _match_widths(self, module: nn.Module, tensors: dict[str, Tensor], *_: Any) -> None:
        """Resize a module's places to the widths of tensors that it is about to load."""
        example = None if self.data is None else as_samples(self.data, module).example()
        widths = {}
        for place in places(module, X=example):
            layer = module.get_submodule(place.name)
            weight = tensors.get(f"{place.name}.weight")
            if weight is not None:
                widths[place.name] = weight.shape[output_tensors(layer).weight_axis]
        resize(module, widths, example)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Start or resume growth."""
        if self._loading is not None:
            self._loading.remove()
        if trainer.world_size > 1:
            raise InputError(
                "trainer", "run one process", f"{trainer.world_size}", "call creases.grow under torchrun for several"
            )
        if len(trainer.optimizers) != 1:
            raise InputError("module", "have one optimizer", f"{len(trainer.optimizers)}")
        data = trainer.train_dataloader if self.data is None else self.data
        epochs = trainer.max_epochs or 0  # None or -1 where the trainer has no limit
        options = {"budget": epochs, **self.options} if epochs > 0 else self.options
        self.grower = Grower(pl_module, trainer.optimizers[0], data, self.loss, **options)
        if self._before is not None:
            setting = self.grower.history.setting
            self.grower.load_state_dict(self._before)
            self.grower.history.setting = setting
            if self.grower.state.meter.progress < 1:  # the budget may be larger now
                self.grower.history.ended = ""

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Grow or stop, if the policies say so."""
        assert self.grower is not None
        self.grower.step(steps=int(trainer.global_step))
        if self.grower.history.ended:
            trainer.should_stop = True

    def state_dict(self) -> dict[str, Any]:
        """Return the history, and the current stage of growth, for a checkpoint."""
        if self.grower is None:
            return self._before or {}
        return self.grower.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what :meth:`state_dict` returned."""
        self._before = state_dict or None
