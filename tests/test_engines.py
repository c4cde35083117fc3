"""Tasks in order on engines, also where workers disappear."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from creases._engines import MAX_LOSSES, choose_engine, map_in_order, open_engine, run_in_order, start_engine
from creases._engines._local import Serial
from creases.errors import CreasesError, InputError


class Forgetful(Serial):
    """An engine that finishes the last task first, and loses each of some tasks a number of times."""

    workers = 3

    def __init__(self, function, losses):
        super().__init__(function)
        self.losses = dict(losses)

    def wait(self):
        number = next(reversed(self._tasks))
        if self.losses.get(number, 0) > 0:
            self.losses[number] -= 1
            del self._tasks[number]
            return {number: None}
        return {number: self._function(*self._tasks.pop(number))}


def test_results_come_in_the_order_of_tasks_and_lost_ones_are_run_again():
    engine = Forgetful(lambda a, b: a * b, {0: 2, 4: MAX_LOSSES})
    assert list(map_in_order(engine, [(k, 10) for k in range(12)])) == [10 * k for k in range(12)]


def test_no_more_tasks_are_taken_than_two_for_each_worker():
    taken = []

    def tasks():
        for k in range(20):
            taken.append(k)
            yield (k,)

    results = map_in_order(Forgetful(lambda k: k, {}), tasks())
    assert next(results) == 0
    assert len(taken) == 6


def test_a_task_that_ends_every_worker_ends_the_whole_with_a_reason():
    with pytest.raises(CreasesError, match="a task lost its process 4 times; a process may have run out of memory"):
        list(map_in_order(Forgetful(lambda k: k, {1: 99}), [(0,), (1,)]))


def end_once(folder: str, number: int) -> int:
    """End the process at the first call with 3, before any result."""
    mark = Path(folder, "ended")
    if number == 3 and not mark.exists():
        mark.touch()
        os._exit(1)
    return number + 1


def refuse(number: int) -> int:
    raise InputError("number", "be even", f"{number}")


@pytest.mark.slow
def test_a_process_that_dies_is_replaced_and_an_error_is_raised_as_it_was(tmp_path):
    engine = start_engine("local", end_once, 8, 2, None)
    try:
        assert list(map_in_order(engine, [(str(tmp_path), k) for k in range(8)])) == list(range(1, 9))
        assert (tmp_path / "ended").exists()
    finally:
        engine.close()
    engine = start_engine("local", refuse, 1, 1, None)
    try:
        with pytest.raises(InputError, match="number must be even, got 3"):
            list(map_in_order(engine, [(3,)]))
    finally:
        engine.close()


@pytest.mark.parametrize(
    ("options", "name"),
    [((None, None), "serial"), ((None, 1), "serial"), ((None, 3), "local"), (("local", None), "local")],
)
def test_work_is_done_in_this_process_unless_several_are_asked_for(options, name):
    assert choose_engine(*options, None) == name


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((None, 0, None), "n_jobs must be a positive integer, got 0"),
        (("serial", 2, None), "n_jobs must be 1 for the serial engine"),
        ((None, None, "auto"), "address must be left out without a Ray cluster"),
        (("cluster", None, None), "engine must be 'local', 'serial' or 'ray'"),
    ],
)
def test_engines_that_cannot_be_are_refused_in_the_words_of_sweeps(options, message):
    with pytest.raises(InputError, match=message):
        choose_engine(*options)


def numbers_taken(engine) -> list[int]:
    """Return the numbers of tasks in the order they are taken, where the result k leads to tasks 0 to k - 1."""
    waiting, taken = [5, 3], []

    def take():
        taken.extend(waiting[-1:])
        return (waiting.pop(),) if waiting else None

    for k in run_in_order(engine, take, ahead=3):
        waiting.extend(range(k))
    return taken


def test_results_lead_to_the_same_tasks_whichever_worker_is_first():
    taken = numbers_taken(Serial(lambda k: k))
    assert len(taken) == 2**5 + 2**3
    assert numbers_taken(Forgetful(lambda k: k, {2: 1})) == taken


def process_number(number: int) -> int:
    """Return the number of the process, later for later tasks."""
    time.sleep(0.1 * number)
    return os.getpid()


@pytest.mark.slow
def test_ctrl_c_ends_all_processes():
    processes = []

    def interrupt() -> None:
        with open_engine("local", process_number, 8, 2, None) as engine:
            processes.append(next(map_in_order(engine, [(0,), (100,), (100,), (100,)])))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert processes != [os.getpid()]
    with pytest.raises(ProcessLookupError):
        os.kill(processes[0], 0)
