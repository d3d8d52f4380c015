"""A Spark session with all that this package needs in place."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path

from pyspark.sql import SparkSession

from odradek.spark.java import find_java_home, without_spark_home
from odradek.spark.python import quick_python
from odradek.spark.slots import slots_of, tell_processes
from odradek.spark.source import OdradekSource

_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set by spark-submit, which may have been told of a cluster."""
_DEFAULT_MASTER = "local[*]"
_MASTER_ELSEWHERE = ("SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS")
"""Where these are set, another master may be the default."""
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


def make_session(app_name: str, master: str | None, configs: Mapping[str, str]) -> SparkSession:
    """The session that there is, or a new one, which knows `format("odradek")`. Raises NoJava.

    Without a master, Spark's own default holds: what spark-submit was told, else this machine. On this machine, Spark's
    Python processes run the Python of this one; Spark would take the first `python3` on PATH.
    """
    is_new = SparkSession.getActiveSession() is None
    if is_new:
        os.environ["JAVA_HOME"] = str(find_java_home(os.environ))
        if master is None or master.startswith("local"):
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(app_name)
    if master is not None:
        builder = builder.master(master)
    runs_here = master.startswith("local") if master is not None else _SUBMITTED not in os.environ
    for name, value in {**(_HERE if runs_here else {}), **configs}.items():
        builder = builder.config(name, value)
    runs_this_python = os.environ.get("PYSPARK_PYTHON") == sys.executable
    if master is None and runs_here and not any(name in os.environ for name in _MASTER_ELSEWHERE):
        master = configs.get("spark.master", _DEFAULT_MASTER)
    slots = slots_of(master or "")
    quick = _quick_python_processes() if is_new and runs_here and runs_this_python else nullcontext()
    with tell_processes(slots), quick:
        spark = builder.getOrCreate()
    if not runs_this_python:
        # Any other Python may not have the module that Spark looks for; where it is found, Spark warns of a second one.
        spark.dataSource.register(OdradekSource)
    return spark


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
