"""The engine of a Ray cluster: a running one, by its address, or one started on this machine."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from importlib import import_module
from typing import Any

from creases.errors import InputError


class Ray:
    """Workers of a Ray cluster, one core each. Usage statistics and the dashboard are off."""

    def __init__(self, function: Callable[..., Any], n_tasks: int, n_jobs: int | None, address: str | None) -> None:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # read when Ray starts
        ray: Any = import_module("ray")  # which has few types
        self._ray = ray
        self._started = not ray.is_initialized()
        if self._started:
            _connect(ray, n_jobs, address)
        cores = int(ray.cluster_resources().get("CPU", 1))
        self.workers = max(1, min(n_jobs or cores, cores, n_tasks))
        self._task = ray.remote(max_retries=0, num_cpus=1)(_call)
        self._function = ray.put(function)
        self._numbers: dict[Any, int] = {}

    def submit(self, number: int, *arguments: Any) -> None:
        """Queue a task."""
        self._numbers[self._task.remote(self._function, *arguments)] = number

    def wait(self) -> dict[int, Any | None]:
        """Wait until at least one task is finished, or lost with its process or its machine."""
        (task,), _ = self._ray.wait(list(self._numbers), num_returns=1)
        number = self._numbers.pop(task)
        try:
            return {number: self._ray.get(task)}
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.RayError:  # a process or a machine is gone, and the result with it
            return {number: None}

    def close(self) -> None:
        """Cancel unfinished tasks; stop the cluster if it was started here."""
        for task in self._numbers:
            self._ray.cancel(task, force=True)
        if self._started:
            self._ray.shutdown()


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


def check_address(address: str) -> None:
    """Refuse a ``host:port`` where nothing listens: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdecimal():
        return  # such as "auto", which Ray resolves
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise InputError("address", "be the address of a running Ray cluster", f"{address!r}: {error}") from None


def _connect(ray: Any, n_jobs: int | None, address: str | None) -> None:
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        ray.init("local", num_cpus=n_jobs, include_dashboard=False, **quiet)
        return
    try:
        ray.init(address, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise InputError(
            "address",
            "be the address of a Ray cluster that can be joined",
            f"{address!r}: {error}",
            "if it asks for a token, run with the environment variable RAY_AUTH_MODE=token, on the account that has "
            "the token (ray get-auth-token)",
        ) from None
