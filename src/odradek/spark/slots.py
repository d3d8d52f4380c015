"""How many tasks of a session run at the same time, told to the processes of its sources.

Spark does not tell them. Where it is known, a small batch of a stream has no more tasks than that: more would only
wait for one another, and each costs some milliseconds, in Python more than in Java.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_NAME = "ODRADEK_SPARK_SLOTS"
_LOCAL = re.compile(r"local(?:\[(\*|\d+)(?:,\s*\d+)?\])?")


def slots_of(master: str) -> int | None:
    """None where only Spark knows. `local[2, 4]` is two, which may fail four times."""
    found = _LOCAL.fullmatch(master.strip())
    if found is None:
        return None
    if found[1] == "*":
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return int(found[1] or 1) or None


@contextmanager
def tell_processes(slots: int | None) -> Iterator[None]:
    """Processes that are started within know it, and those that they start."""
    before = os.environ.pop(_NAME, None)
    if slots is not None:
        os.environ[_NAME] = str(slots)
    try:
        yield
    finally:
        os.environ.pop(_NAME, None)
        if before is not None:
            os.environ[_NAME] = before


def slots_here(environ: Mapping[str, str]) -> int | None:
    """In a process of Spark's."""
    given = environ.get(_NAME, "")
    return int(given) if given.isdecimal() and int(given) else None
