"""How many tasks of a session run at the same time, told to the processes of its sources.

Spark does not tell them: `session()` does, and for sessions that were made in another way they look at how Java was
started. Where it is known, a small batch of a stream has no more tasks than that: more would only wait for one another,
and each costs some milliseconds, in Python more than in Java.
"""

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from odradek.spark.runtime.variables import variable

_NAME = "ODRADEK_SPARK_SLOTS"
_CONFIGURED = "spark.master="
_LOCAL = re.compile(r"local(?:\[(\*|\d+)(?:,\s*\d+)?\])?")


def slots_of(master: str) -> int | None:
    """None where only Spark knows. `local[2, 4]` is two, which may fail four times."""
    found = _LOCAL.fullmatch(master.strip())
    if found is None:
        return None
    if found[1] == "*":
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return int(found[1] or 1) or None


def tell_slots(slots: int | None) -> AbstractContextManager[None]:
    """Processes that are started within know it, and those that they start."""
    return variable(_NAME, None if slots is None else str(slots))


def slots_here(environ: Mapping[str, str], started_by: Sequence[str] = ()) -> int | None:
    """In a process of Spark's, with the arguments of the one that started it."""
    given = environ.get(_NAME)
    if given is None:
        masters = [master for master in map(_named_master, ("", *started_by), started_by) if master is not None]
        return slots_of(masters[-1]) if masters else None
    return int(given) if given.isdecimal() and int(given) else None


def _named_master(before: str, argument: str) -> str | None:
    """As spark-submit takes it, and as PySpark gives it to that: the last one counts."""
    if before == "--master":
        return argument
    return argument.removeprefix(_CONFIGURED) if argument.startswith(_CONFIGURED) else None


def starter() -> list[str]:
    """The arguments of the process that started this one; none where the system does not tell."""
    try:
        arguments = Path(f"/proc/{os.getppid()}/cmdline").read_bytes()
    except OSError:
        return []
    return arguments.decode(errors="replace").split("\0")
