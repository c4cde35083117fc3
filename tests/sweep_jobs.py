"""Functions for sweeps that tests run, also in processes of their own."""

import os
import time


def logged(x, y, seed):
    """Writes down that it was called, in the file that the environment names, takes a moment, returns two rows."""
    with open(os.environ["SWEEP_LOG"], "a") as log:
        log.write(f"{x} {y}\n")
    time.sleep(float(os.environ.get("SWEEP_SECONDS", "0.001")))
    return [{"product": x * y, "half": x / 2}, {"product": -x * y, "chance": seed % 1000}]


def square(x):
    """A row."""
    return {"square": x * x}


def fails(x, seed):
    """Fails for odd x, unless a file is there."""
    if x % 2 and not os.path.exists(os.environ.get("SWEEP_CURE", "")):
        raise ArithmeticError(f"{x} is odd")
    return {"seed": seed}


def ends(x):
    """Tells where and how it is called; ends its process if x is 5."""
    if x == 5:
        os._exit(3)
    return {"process": os.getpid(), "threads": os.environ.get("OMP_NUM_THREADS")}
