"""What the queries of a driver have done, asked of its Java by the processes of their sources.

Spark tells a source that a batch is done when it asks for the next one, and that may be an hour later. `session()`
tells these processes where Java listens to PySpark: in a file that nobody but this user can read. Its name is in a
variable of the environment, which Java has to hand on, so it is there before Java listens.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odradek.model.errors import OdradekError
from odradek.spark.runtime.homes import make_home
from odradek.spark.runtime.variables import variable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

_NAME = "ODRADEK_SPARK_GATEWAY"
_ANSWER_S = 10.0
_GROUP = "@group"


def name_gateway() -> AbstractContextManager[None]:
    """A Java that is started within hands on the name of the file to the processes that it starts."""
    return variable(_NAME, str(_file()))


def tell_gateway() -> None:
    """Where the Java of this process listens, and what it wants to hear first."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is None:
        return
    listening = gateway.gateway_parameters
    told = {"address": listening.address, "port": listening.port, "auth_token": listening.auth_token}
    new = _file().with_suffix(".new")
    new.touch(mode=0o600)
    new.write_text(json.dumps(told))
    new.replace(_file())


@cache
def _file() -> Path:
    """The same for as long as this process: Java outlives sessions."""
    return make_home("gateway") / "gateway"


class NotTold(OdradekError):
    """Java cannot be asked, or gives no answer that makes sense."""


class Queries:
    """All that are started in the session that the driver has by default."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._gateway: Any = None

    @classmethod
    def here(cls, environ: Mapping[str, str]) -> Queries | None:
        """In a process of Spark's; None where nobody has told it where to ask."""
        named = environ.get(_NAME)
        return None if named is None else cls(Path(named))

    def have_done(self, end: Mapping[str, Any], group: str) -> bool:
        """Whether the last batch that one of them has done ends there, and is of a source that commits to this group.

        Raises NotTold.
        """
        return any(is_done(source, end, group) for source in self._sources())

    def _sources(self) -> Iterator[dict[str, Any]]:
        """Of the last batch of each query, as their progress has them."""
        from py4j.protocol import Py4JError

        try:
            default = self._java().org.apache.spark.sql.classic.SparkSession.getDefaultSession()
            for query in default.get().streams().active() if default.isDefined() else ():
                progress = query.lastProgress()
                if progress is not None:
                    yield from json.loads(progress.json())["sources"]
        except (Py4JError, OSError, ValueError, KeyError, TypeError) as error:
            self._gateway = None
            raise NotTold(str(error)) from None

    def _java(self) -> Any:
        if self._gateway is None:
            from py4j.java_gateway import GatewayParameters, JavaGateway

            told = json.loads(self._file.read_text())
            self._gateway = JavaGateway(gateway_parameters=GatewayParameters(**told, read_timeout=_ANSWER_S))
        return self._gateway.jvm


def is_done(source: Mapping[str, Any], end: Mapping[str, Any], group: str) -> bool:
    """Of a source in the progress of a query. Two queries may be as far as one another in the same topics: what sets
    them apart is the group. It is in the end of a batch if the source has made it up, else in what it reports."""
    named = end.get(_GROUP) or (source.get("latestOffset") or {}).get(_GROUP)
    return source.get("endOffset") == end and named == group
