"""PySpark's daemon, which forks the workers of tasks, without a traceback for each worker that Spark lets go, and with
workers that know tasks again (`repeated.py`).

Spark closes the socket of a worker that it does not need any more: of a task that has given enough rows, as for `show`,
and of one that was idle for a minute. What the worker has left to say then cannot be sent. Over TCP nobody notices;
over a Unix socket (`session()` uses them, for their speed) it is an error at once, and PySpark prints it.
"""

import socket
import sys
from functools import cache

from pyspark import daemon

_of_pyspark = daemon.worker
_RUNS_TASKS = "pyspark.worker"
"""The module, among those that daemons are started for."""


def worker(sock: socket.socket, authenticated: bool) -> int:
    """In a worker: 0 for a task that is done, anything else for the end of the process."""
    if sys.argv[1:] == [_RUNS_TASKS]:
        _know_tasks_again()
    try:
        return _of_pyspark(sock, authenticated)
    except ConnectionError:
        return 1


@cache
def _know_tasks_again() -> None:
    """Only now: what it loads may start threads, which the fork of a worker would not have."""
    from pyspark import worker

    try:
        from odradek.spark.runtime.repeated import quick
    except ImportError:  # of another PySpark, whose tasks we would not know
        return
    worker.main = quick(worker.main)


if __name__ == "__main__":
    daemon.worker = worker
    daemon.manager()
