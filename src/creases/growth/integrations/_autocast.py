"""Growth in full precision and with gradients, whatever a training loop has switched on around it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch


@contextmanager
def full_precision() -> Iterator[None]:
    """Compute without autocast, and with gradients, also in a block of autocast, no_grad or inference_mode."""
    devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        for device in devices:
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        yield
