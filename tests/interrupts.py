"""Processes that can be interrupted, also where the tests themselves run in the background."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence
from typing import Any


def interruptible(words: Sequence[Any], **more: Any) -> subprocess.Popen[Any]:
    """Start a program that heeds SIGINT: a shell makes what it starts in the background ignore it."""
    return subprocess.Popen(words, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **more)
