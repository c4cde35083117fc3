"""Growth beside torch's other tools: several ranks, DistributedDataParallel, torch.compile, autocast, Lightning."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from creases.growth.integrations._lightning import GrowthCallback

__all__ = ["GrowthCallback"]


def __getattr__(name: str) -> Any:
    if name == "GrowthCallback":
        from creases.growth.integrations._lightning import GrowthCallback  # imports Lightning, where it is installed

        return GrowthCallback
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
