"""The Python of Spark's own processes."""

import os
import shlex
import socket
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from odradek.spark.runtime import fork_client, fork_server
from odradek.spark.runtime.fork_server import DAEMON
from odradek.spark.runtime.homes import at_end, make_home
from odradek.spark.runtime.shims import make_shim

_LEAVE_JARS_OUT = """while :; do
  case ${PYTHONPATH%%:*} in
    */spark-core_*.jar) ;;
    *) break ;;
  esac
  case $PYTHONPATH in
    *:*) PYTHONPATH=${PYTHONPATH#*:} ;;
    *) unset PYTHONPATH ;;
  esac
done"""
_QUIET = f"""case $1:$2 in
  -m:pyspark.daemon) shift 2; set -- -m {DAEMON} "$@" ;;
esac"""
_FORK = f"""case $1:$2 in
  -m:pyspark.* | -m:{DAEMON})
    if [ -S {{socket}} ] && [ -f {{client}} ]; then set -- -I -S {{client}} {{socket}} {{python}} "$@"; fi ;;
esac"""


@cache
def quick_python(python: Path) -> Path:
    """A script as long as this process, which starts that Python for Spark, only sooner.

    Without Spark's jar on its path: Spark puts it there, and nothing is imported from it, but each process reads the
    list of what is in it and looks there for every module, for 40 ms. And as a fork of a process that has loaded
    PySpark and more, where that can be done. PySpark's daemon is run by `daemon.py`. It is that
    Python itself where no script can be run.
    """
    path = make_home("fork") / "socket"
    client, listening, program = (shlex.quote(str(each)) for each in (fork_client.__file__, path, python))
    fork = _FORK.format(client=client, socket=listening, python=program)
    shim = make_shim("python", python, f"{_LEAVE_JARS_OUT}\n{_QUIET}\n{fork}")
    if shim is None:
        return python
    start_fork_server(python, path)
    return shim / "bin" / "python"


def start_fork_server(python: Path, path: Path) -> None:
    """As long as this process, to listen there. Where that cannot be done, nobody does."""
    if not _forks_can_be_watched():
        return
    with socket.socket(socket.AF_UNIX) as listening, suppress(OSError):  # too long a name, or no such Python
        listening.bind(str(path))
        listening.listen(128)
        server = subprocess.Popen(
            [python, "-m", fork_server.__name__, str(listening.fileno())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=[listening.fileno()],
            env={**fork_server.PRESET, **os.environ, **fork_server.ALWAYS},
            start_new_session=True,  # Ctrl-C in a terminal is for this process alone
        )
        at_end(_end, server)


def _forks_can_be_watched() -> bool:
    """On Linux since 5.3, and not where a sandbox forbids it."""
    if sys.platform != "linux":
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return True


def _end(server: "subprocess.Popen[bytes]") -> None:
    """Whatever it has forked goes on: Spark ends it."""
    server.kill()
    server.communicate()
