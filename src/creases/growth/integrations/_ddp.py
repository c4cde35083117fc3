"""DistributedDataParallel around a model that grows: its buckets are made for the parameters that were there before."""

from __future__ import annotations

from torch.nn.parallel import DistributedDataParallel

from creases.errors import InputError


def rebuild_buckets(wrapper: DistributedDataParallel) -> None:
    """Rebuild the buckets of a wrapper for the module's current parameters, as its unpickling does."""
    hooks = list(getattr(wrapper, "_comm_hooks", ()))
    names = wrapper.parameters_to_ignore
    first = {
        "_module_parameters": [p for name, p in wrapper.module.named_parameters() if name not in names],
        "_comm_hooks": [],
        "_static_graph_delay_allreduce_enqueued": False,  # of a static graph: as before the first backward pass
    }
    wrapper.__setstate__({**wrapper.__getstate__(), **first})  # type: ignore[no-untyped-call]
    for hook, state in hooks:
        wrapper.register_comm_hook(state, hook)


def check_group(wrapper: DistributedDataParallel) -> None:
    """Refuse a wrapper in a process group of its own, which its unpickling would lose."""
    try:
        wrapper.__getstate__()  # type: ignore[no-untyped-call]
    except RuntimeError as problem:
        raise InputError("model", "be in the default process group", f"{problem}") from None
