"""Growth while Lightning trains: a callback for ``lightning`` or ``pytorch_lightning``, where one is installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from torch import Tensor, nn

from creases.errors import InputError
from creases.growth._checkpoint import resize
from creases.growth._grower import Grower
from creases.growth._loss_sum import Loss
from creases.growth._records import History
from creases.growth._samples import as_samples
from creases.network.surgery import output_tensors, places


def _base() -> Any:
    """Lightning's class of callbacks; None where Lightning is not installed."""
    for name in ("lightning.pytorch", "pytorch_lightning"):
        try:
            return import_module(f"{name}.callbacks").Callback
        except ImportError:
            continue
    return None


_CALLBACK: Any = _base()


class GrowthCallback(_CALLBACK or object):  # type: ignore[misc]
    """Grows a LightningModule at the ends of its epochs, and ends the training when nothing is worth adding.

    The module's ``forward`` gives the outputs that ``loss`` takes. A checkpoint of Lightning's holds the history too;
    ``trainer.fit(module, ckpt_path=...)`` goes on with the grown network. For one process: under several,
    ``creases.grow`` shares the work itself.

    Parameters
    ----------
    loss, options
        As for :class:`creases.growth.Grower`: ``how``, ``where``, ``when``, ``stop``, ``validation``, ...
    data
        Training samples; by default those of the trainer's ``train_dataloader``.

    Examples
    --------
    ``Trainer(callbacks=[GrowthCallback("classification", how="tiny")]).fit(module, loader)``
    """

    def __init__(self, loss: str | Loss, *, data: Any = None, **options: Any) -> None:
        if _CALLBACK is None:
            raise InputError("GrowthCallback: Lightning is not installed; pip install lightning")
        super().__init__()
        self.loss, self.data, self.options = loss, data, options
        self.grower: Grower | None = None
        self._before: History | None = None
        self._loading: Any = None

    @property
    def history(self) -> History:
        """The epochs and growth steps so far."""
        found = self._before if self.grower is None else self.grower.history
        return History() if found is None else found

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Before a checkpoint is loaded: the module is to get the widths that it had then."""
        if stage == "fit":
            self._loading = pl_module._register_load_state_dict_pre_hook(self._as_wide, with_module=True)

    def _as_wide(self, module: nn.Module, tensors: dict[str, Tensor], *_: Any) -> None:
        """Give a module's places the widths of tensors that it is about to load."""
        example = None if self.data is None else as_samples(self.data, module).example()
        widths = {}
        for place in places(module, data=example):
            layer = module.get_submodule(place.name)
            held = tensors.get(f"{place.name}.weight")
            if held is not None:
                widths[place.name] = held.shape[output_tensors(layer).weight_axis]
        resize(module, widths, example)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        if self._loading is not None:
            self._loading.remove()
        if trainer.world_size > 1:
            raise InputError("GrowthCallback: is for one process; call creases.grow under torchrun for several")
        if len(trainer.optimizers) != 1:
            raise InputError(f"GrowthCallback: expected one optimizer, the module has {len(trainer.optimizers)}")
        data = trainer.train_dataloader if self.data is None else self.data
        self.grower = Grower(pl_module, trainer.optimizers[0], data, self.loss, **self.options)
        if self._before is not None:
            self._before.setting = self.grower.history.setting
            self.grower.resume(self._before)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        assert self.grower is not None
        self.grower.step(steps=int(trainer.global_step))
        if self.grower.history.ended:
            trainer.should_stop = True

    def state_dict(self) -> dict[str, Any]:
        return {"history": self.history.to_json()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._before = History.from_json(state_dict["history"])
