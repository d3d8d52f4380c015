"""What the queries of a driver have done, asked of its Java by the processes of their sources.

Spark tells a source that a batch is done when it asks for the next one, and that may be an hour later.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from odradek.model.errors import OdradekError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ANSWER_S = 10.0
_GROUP = "@group"


class NotTold(OdradekError):
    """Java cannot be asked, or gives no answer that makes sense."""


class Queries:
    """All of the driver, in whichever of its sessions. `gateway` is where its Java listens."""

    def __init__(self, gateway: Mapping[str, Any]) -> None:
        self._told = gateway
        self._gateway: Any = None

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
            queries = default.get().sharedState().activeStreamingQueries() if default.isDefined() else {}
            for run in list(queries):
                query = queries.get(run)
                progress = None if query is None else query.lastProgress()
                if progress is not None:
                    yield from json.loads(progress.json())["sources"]
        except (Py4JError, OSError, ValueError, KeyError, TypeError) as error:
            self._gateway = None
            raise NotTold(str(error)) from None

    def _java(self) -> Any:
        if self._gateway is None:
            from py4j.java_gateway import GatewayParameters, JavaGateway

            self._gateway = JavaGateway(gateway_parameters=GatewayParameters(**self._told, read_timeout=_ANSWER_S))
        return self._gateway.jvm


def is_done(source: Mapping[str, Any], end: Mapping[str, Any], group: str) -> bool:
    """Of a source in the progress of a query. Two queries may be as far as one another in the same topics: what sets
    them apart is the group. It is in the end of a batch if the source has made it up, else in what it reports."""
    named = end.get(_GROUP) or (source.get("latestOffset") or {}).get(_GROUP)
    return source.get("endOffset") == end and named == group
