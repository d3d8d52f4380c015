"""A Spark for tests: small, on this machine alone. And queries on it, on a machine that may be too slow for Spark."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from odradek.spark import session

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.log.level": "ERROR",
    # A test has a few rows and many plans: what is compiled for them costs more than it can win.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
_TOO_SLOW = "Python worker failed to connect back"


@contextlib.contextmanager
def small_spark(name: str, work: Path, more: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """On two cores, with its files in `work`; a task may fail three times."""
    places = {"spark.local.dir": str(work / "local"), "spark.sql.warehouse.dir": str(work / "warehouse")}
    made = session(name, "local[2, 4]", **SETTINGS, **places, **(more or {}))
    try:
        yield made
    finally:
        made.stop()


def started(start: Callable[[], StreamingQuery], wait: Callable[[StreamingQuery], object]) -> StreamingQuery:
    """The query, once `wait` has returned; started as often as the machine needs. Raises what it ends with meanwhile.

    Spark gives a Python process ten seconds to start, with no setting for it. Where that was not enough it is not the
    query's fault, which has done nothing yet.
    """
    while True:
        query = start()
        try:
            wait(query)
        except StreamingQueryException as error:
            if _TOO_SLOW not in str(error):
                raise
            continue
        return query


def finished(start: Callable[[], StreamingQuery]) -> StreamingQuery:
    """Starts a query that ends by itself, and waits for its end; raises what it ends with."""
    return started(start, lambda query: query.awaitTermination())
