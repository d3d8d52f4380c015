"""What tests against Apache Kafka share."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from odradek.cli.main import main
from odradek.testing import apache_kafka
from odradek.testing.apache_kafka import ApacheKafka, Unavailable
from odradek.testing.same_answers import SETTINGS, Side
from odradek.testing.two_brokers import two_brokers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DUMP = "org.apache.kafka.tools.DumpLogSegments"


class Dumped(NamedTuple):
    """What a tool printed of some files."""

    status: int
    out: list[str]
    err: list[str]


Dump = Callable[..., Dumped]


@pytest.fixture(scope="session")
def kafka() -> ApacheKafka:
    try:
        return apache_kafka.find()
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def dump_with_kafka(kafka: ApacheKafka) -> Dump:
    """All files in one run: starting the JVM takes longer than reading them."""

    def dump(files: Iterable[Path], *options: str) -> Dumped:
        result = kafka.run(DUMP, "--files", ",".join(map(str, files)), *options)
        # Its tool takes the first record of every segment but the first for one that follows offset -1.
        err = [line for line in result.err.splitlines() if not line.startswith("  -1 is followed by ")]
        return Dumped(result.status, result.out.split("\n"), err)

    return dump


@pytest.fixture
def dump_with_odradek(capsys: pytest.CaptureFixture[str]) -> Dump:
    def dump(files: Iterable[Path], *options: str) -> Dumped:
        status = main(["log", "dump", "--files", ",".join(map(str, files)), *options])
        printed = capsys.readouterr()
        return Dumped(status, printed.out.split("\n"), printed.err.splitlines())

    return dump


@pytest.fixture(scope="session")
def both(kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Side, Side]]:
    """A fresh broker of Apache Kafka's and one of ours, with the same settings."""
    with two_brokers(kafka, tmp_path_factory.mktemp("theirs"), SETTINGS) as sides:
        yield sides


@pytest.fixture(scope="session")
def connector_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """A Spark that has its own Kafka connector, too. Leave it running, and its settings as they are."""
    from odradek.spark import session
    from odradek.testing import spark_connector

    try:
        jars = spark_connector.jars()
    except Unavailable as reason:
        pytest.skip(str(reason))
    made = session(
        "odradek-interop",
        "local[2, 4]",
        **{
            "spark.jars": jars,
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.memory": "1g",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
            "spark.sql.session.timeZone": "UTC",
            "spark.log.level": "ERROR",
        },
    )
    try:
        yield made
    finally:
        made.stop()
