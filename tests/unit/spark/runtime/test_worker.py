"""Worker processes keep what they have loaded out of Spark's collections of garbage."""

import subprocess
import sys

TASKS = """
import gc
from odradek.spark.runtime.worker import in_task

assert gc.get_freeze_count() == 0
first = in_task(iter("ab"))
assert next(first) == "a"
assert gc.get_freeze_count() == 0
assert list(first) == ["b"]
frozen = gc.get_freeze_count()
kept = [[number] for number in range(10_000)]
assert list(in_task(iter("c"))) == ["c"]
later = gc.get_freeze_count()
import odradek.spark.sink.writers
assert list(in_task(iter("d"))) == ["d"]
print(frozen, later, gc.get_freeze_count())
"""


def test_objects_are_frozen_when_a_task_has_loaded_something() -> None:
    """In a process of its own: the one of the tests is not to be frozen."""
    done = subprocess.run([sys.executable, "-c", TASKS], capture_output=True, text=True, check=True)
    frozen, later, loaded = map(int, done.stdout.split())
    assert frozen > 1_000
    assert later <= frozen  # some may have been freed since, none was added
    assert loaded > later + 10_000  # those that were kept meanwhile, and what came with the module
