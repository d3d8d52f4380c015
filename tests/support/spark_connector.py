"""Spark's own Kafka connector: the other side of Spark's interop tests and benchmarks.

It comes as jars through Maven. What it depends on is named here, not left to Maven: its own description points to
repositories of its makers, and Spark brings most of it.
"""

from support.maven import Artifact, Wanted, installed

VERSION = "4.2.0"
"""The newest that Maven finds. It runs on Spark 4.3."""
_TOKENS = "4.0.0"
"""Of the part for delegation tokens, which is loaded and does nothing here, newer ones are not found."""
_KAFKA_CLIENTS = "3.9.2"
_POOL = "2.13.1"
_CONNECTOR = Wanted(
    f"Spark's Kafka connector {VERSION}",
    f"spark-kafka-connector-{VERSION}",
    (
        Artifact("org.apache.spark", "spark-sql-kafka-0-10_2.13", VERSION),
        Artifact("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", _TOKENS),
        Artifact("org.apache.kafka", "kafka-clients", _KAFKA_CLIENTS),
        Artifact("org.apache.commons", "commons-pool2", _POOL),
    ),
    alone=True,
)


def jars() -> str:
    """For the setting `spark.jars`: fetched if they are not there yet. Raises Unavailable."""
    return ",".join(str(jar) for jar in sorted((installed(_CONNECTOR) / "libs").glob("*.jar")))
