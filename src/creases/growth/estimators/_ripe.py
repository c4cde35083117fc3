"""When an estimator's network is ripe for a growth step."""

from __future__ import annotations

from dataclasses import dataclass

from creases.growth._state import State
from creases.growth.policies._when import Plateau


@dataclass(frozen=True)
class ValidationPlateau:
    """When the training loss has come to a plateau, or the validation loss has not fallen, for some epochs."""

    patience: int
    threshold: float = 0.01

    def __call__(self, state: State) -> bool:
        since = state.history.since_growth()
        held = [epoch["validation_loss"] for epoch in since if epoch["validation_loss"] is not None]
        if len(held) > self.patience and min(held[-self.patience :]) >= min(held[: -self.patience]):
            return True
        return Plateau(self.patience, self.threshold)(state)
