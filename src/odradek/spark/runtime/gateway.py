"""Where Java listens to PySpark, told by a driver to the processes that its Java starts.

It is in a file that nobody but this user can read. A Java that `session()` starts hands on the name of that file, in a
variable of the environment. A Java that was there before hands on nothing: its processes look for the file of the
driver that named their parent. Without one, they look whether it is spark-submit, which tells its driver itself.
"""

from __future__ import annotations

import json
import logging
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odradek.spark.runtime.homes import homes_of, make_home
from odradek.spark.runtime.variables import variable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

    from py4j.java_gateway import GatewayParameters

log = logging.getLogger(__name__)

_NAME = "ODRADEK_SPARK_GATEWAY"
_HOME = "gateway"
_FILE = "gateway"
_JAVA = "java"
_SUBMIT_PORT, _SUBMIT_SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
_SUBMIT_ADDRESS = "127.0.0.1"


def name_gateway() -> AbstractContextManager[None]:
    """A Java that is started within hands on the name of the file to the processes that it starts."""
    return variable(_NAME, str(_file()))


def tell_gateway() -> None:
    """Where the Java of this process listens, what it wants to hear first, and which process it is."""
    import pyspark

    context = getattr(pyspark, "SparkContext", None)  # there is none in the client of Spark Connect
    gateway = None if context is None else context._gateway
    if gateway is None:  # Java is elsewhere
        return
    from py4j.protocol import Py4JError

    try:
        _write(gateway.gateway_parameters, gateway.jvm.java.lang.ProcessHandle.current().pid())
    except (Py4JError, OSError) as error:
        log.warning("streams may commit how far they are no sooner than at their next trigger: %s", error)


def _write(listening: GatewayParameters, java: int) -> None:
    told = {
        "address": listening.address,
        "port": listening.port,
        "auth_token": listening.auth_token,
        _JAVA: java,
    }
    new = _file().with_suffix(".new")
    new.touch(mode=0o600)
    new.write_text(json.dumps(told))
    new.replace(_file())


@cache
def _file() -> Path:
    """The same for as long as this process: Java outlives sessions."""
    return make_home(_HOME) / _FILE


def find_gateway(environ: Mapping[str, str], java: int) -> dict[str, Any] | None:
    """In a process that the Java with this id has started; None where nobody has told of it."""
    named = environ.get(_NAME)
    files = [Path(named)] if named is not None else [home / _FILE for home in homes_of(_HOME)]
    for told in map(_read, files):
        of = told.pop(_JAVA, None)
        if told and (named is not None or of == java):
            return told
    return _submitted(environ, java)


def _read(file: Path) -> dict[str, Any]:
    """Nothing where it makes no sense."""
    try:
        told = json.loads(file.read_text())
    except (OSError, ValueError) as error:
        log.debug("where Java listens is not known from %s: %s", file, error)
        return {}
    return told if isinstance(told, dict) else {}


def _submitted(environ: Mapping[str, str], java: int) -> dict[str, Any] | None:
    """As spark-submit tells the driver that it starts. What this process was told itself is of another Java."""
    for child in _children(java):
        try:
            entries = Path(f"/proc/{child}/environ").read_bytes()
        except OSError:
            continue
        theirs = dict(entry.split("=", 1) for entry in os.fsdecode(entries).split("\0") if "=" in entry)
        port, secret = theirs.get(_SUBMIT_PORT, ""), theirs.get(_SUBMIT_SECRET)
        if port.isdecimal() and secret and secret != environ.get(_SUBMIT_SECRET):
            return {"address": _SUBMIT_ADDRESS, "port": int(port), "auth_token": secret}
    return None


def _children(process: int) -> Iterator[int]:
    """None where the system does not tell, as it does on Linux."""
    for thread in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            yield from map(int, thread.read_text().split())
        except OSError:  # it has ended
            continue
