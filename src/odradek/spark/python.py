"""The Python of Spark's own processes."""

from functools import cache
from pathlib import Path

from odradek.spark.shims import make_shim

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


@cache
def without_jars(python: Path) -> Path:
    """A script as long as this process, which starts that Python without Spark's jar on its path.

    Spark puts it there, and nothing is imported from it. But each process reads the list of what is in it, and looks
    there for every module: 40 ms for each, and a first query starts seven. That Python itself, where no script can be
    run.
    """
    home = make_shim("python", python, _LEAVE_JARS_OUT)
    return python if home is None else home / "bin" / "python"
