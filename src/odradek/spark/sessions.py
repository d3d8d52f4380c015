"""A Spark session with all that this package needs in place."""

import os
import re
import shlex
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from odradek.spark.runtime.gateway import name_gateway, tell_gateway
from odradek.spark.runtime.homes import make_home
from odradek.spark.runtime.java import find_java_home, without_spark_home
from odradek.spark.runtime.python import quick_python
from odradek.spark.runtime.slots import slots_of, tell_slots
from odradek.spark.source import OdradekSource

_DEFAULT_MASTER = "local[*]"
_MASTER_ELSEWHERE = ("PYSPARK_GATEWAY_PORT", "MASTER")
"""Where these are set, another master may be the default. The first is of spark-submit."""
_CONNECT = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED")
"""The second is set by PySpark, in a process that has such a session."""
_NAMES_MASTER = re.compile(r"--master|--remote|--properties-file|spark\.master")
"""In the arguments that PySpark starts Spark with."""
_SOCKETS = "spark.python.unix.domain.socket.dir"
_HERE = {
    # Over TCP, Spark's Python processes hear of each task 40 ms late: its JVM leaves Nagle's algorithm on, and sends a
    # task in two parts. Not elsewhere: in the temporary directory of a container, a socket's path may be too long.
    "spark.python.unix.domain.socket.enabled": "true",
    # Spark's default asks Hadoop about links, which starts ten processes for each file of a checkpoint, and every batch
    # has several. This one starts two, and leaves the same files.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}

_SOCKET_LIKE = f".{uuid.UUID(int=0)}.sock"
_SOCKET_NAME_MAX = 103
"""In bytes, of those on a Mac; on Linux four more."""


def make_session(app_name: str, master: str | None, configs: Mapping[str, str]) -> SparkSession:
    """The session that there is, or a new one, which knows `format("odradek")`. Raises NoJava.

    Without a master, Spark's own default holds: what spark-submit was told, else this machine. On this machine, Spark's
    Python processes run the Python of this one; Spark would take the first `python3` on PATH. With Spark Connect, all
    of that is for the server to decide.
    """
    builder = SparkSession.builder.appName(app_name)
    if master is not None:
        builder = builder.master(master)
    if is_connect(configs, os.environ):
        return _with_configs(builder, configs).getOrCreate()
    is_new = SparkSession.getActiveSession() is None
    named = master or configs.get("spark.master")
    here = local_master(named, os.environ)
    if is_new:
        os.environ["JAVA_HOME"] = str(find_java_home(os.environ))
        if here is not None:
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = _with_configs(builder, {**(_set_here() if here is not None else {}), **configs})
    runs_this_python = os.environ.get("PYSPARK_PYTHON") == sys.executable
    slots = None if here is None else slots_of(here)
    quick = _quick_python_processes() if is_new and here is not None and runs_this_python else nullcontext()
    with tell_slots(slots), name_gateway(), quick:
        python = os.environ.get("PYSPARK_PYTHON", "")
        spark = builder.getOrCreate()
    _tell_of(spark)
    if not runs_this_python or shlex.quote(python) != python:
        # Any other Python may not have the module that Spark looks for, and for one with a blank in its path Spark does
        # not look. Where it is found, Spark warns of a second one.
        spark.dataSource.register(OdradekSource)
    return spark


def register(spark: SparkSession) -> None:
    """The source by hand, and all that its processes and this thread need of the session."""
    spark.dataSource.register(OdradekSource)
    _tell_of(spark)


def _tell_of(spark: SparkSession) -> None:
    """To the processes of sources where its Java is; to Java that it is this thread's active one: where a thread has
    none, Spark writes to no source in Python."""
    tell_gateway()
    java: Any = getattr(spark, "_jvm", None)  # that of Spark Connect has none
    if java is not None:
        java.org.apache.spark.sql.classic.SparkSession.setActiveSession(spark._jsparkSession)


def _with_configs(builder: SparkSession.Builder, configs: Mapping[str, str]) -> SparkSession.Builder:
    for name, value in configs.items():
        builder = builder.config(name, value)
    return builder


def is_connect(configs: Mapping[str, str], environ: Mapping[str, str]) -> bool:
    """Whether sessions are those of a server of Spark Connect, or this process has one already."""
    return "spark.remote" in configs or any(name in environ for name in _CONNECT)


def _set_here() -> dict[str, str]:
    sockets = _socket_directory()
    return _HERE if sockets is None else {**_HERE, _SOCKETS: str(sockets)}


@cache
def _socket_directory() -> Path | None:
    """For Spark's sockets, some of which it would leave behind in the system's temporary directory. None where their
    names would be too long."""
    home = make_home("sockets")
    return home if len(os.fsencode(home / _SOCKET_LIKE)) <= _SOCKET_NAME_MAX else None


def local_master(named: str | None, environ: Mapping[str, str]) -> str | None:
    """The master, where Spark is known to run on this machine. None where it runs elsewhere, or where only Spark knows:
    what is set here is sent to executors, and means nothing on other machines."""
    if named is not None:
        # A local-cluster starts its executors as on other machines: nobody but Spark knows how many tasks it runs.
        return None if slots_of(named) is None else named
    may_be_elsewhere = (
        any(name in environ for name in _MASTER_ELSEWHERE)
        or _NAMES_MASTER.search(environ.get("PYSPARK_SUBMIT_ARGS", ""))
        or _is_in_defaults(environ)
    )
    return None if may_be_elsewhere else _DEFAULT_MASTER


def _is_in_defaults(environ: Mapping[str, str]) -> bool:
    """Whether Spark's file of defaults names a master."""
    home = environ.get("SPARK_HOME")
    place = environ.get("SPARK_CONF_DIR") or (os.path.join(home, "conf") if home else None)
    if place is None:
        return False
    try:
        text = Path(place, "spark-defaults.conf").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return re.search(r"^\s*spark\.master\b", text, re.MULTILINE) is not None


@contextmanager
def _quick_python_processes() -> Iterator[None]:
    """Where the user has a SPARK_HOME, PySpark may be installed nowhere else."""
    home = os.environ["JAVA_HOME"]
    if "SPARK_HOME" not in os.environ:
        os.environ["JAVA_HOME"] = str(without_spark_home(Path(home)))
    os.environ["PYSPARK_PYTHON"] = str(quick_python(Path(sys.executable)))
    try:
        yield
    finally:
        os.environ |= {"JAVA_HOME": home, "PYSPARK_PYTHON": sys.executable}
