"""What tests against Apache Kafka share."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from odradek.cli.main import main
from support import apache_kafka
from support.apache_kafka import ApacheKafka, Unavailable
from support.kafka_tools import KafkaTools, kafka_tools
from support.same_answers import SETTINGS, Side
from support.script_stage import ScriptStage, script_stages
from support.two_brokers import two_brokers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
PROGRAMS = (
    "assignors/Assign.java",
    "errors/ErrorTexts.java",
    "groups/KafkaTools.java",
    "groups/Members.java",
    "producers/InFlight.java",
    "transactions/Transactions.java",
    "transactions/Transformer.java",
)
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
        return apache_kafka.find().quick()
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def programs(kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ours in Java that need Kafka's jars alone, compiled all at once: it takes hardly longer than one of them."""
    built = tmp_path_factory.mktemp("programs")
    kafka.compile([HERE / name for name in PROGRAMS], built)
    return built


@pytest.fixture(scope="session")
def tools(kafka: ApacheKafka, programs: Path) -> Iterator[KafkaTools]:
    """Kafka's own, which take less than a process of Java's for each call."""
    with kafka_tools(kafka, programs) as running:
        yield running


@pytest.fixture(scope="module")
def scripts(
    kafka: ApacheKafka, tools: KafkaTools, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[ScriptStage]]:
    """A broker of Apache Kafka's and one of ours, for Kafka's scripts; no file sees what another has left on them."""
    with script_stages(kafka, tools, tmp_path_factory.mktemp("scripts")) as stages:
        yield stages


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


@pytest.fixture(scope="module")
def both(kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Side, Side]]:
    """A broker of Apache Kafka's and one of ours, set up alike; no file sees what another has left on them."""
    with two_brokers(kafka, tmp_path_factory.mktemp("theirs"), SETTINGS) as sides:
        yield sides


@pytest.fixture(scope="session")
def connector_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """A Spark that has its own Kafka connector, too. Leave it running, and its settings as they are."""
    from support import spark_connector
    from support.small_spark import small_spark

    try:
        jars = spark_connector.jars()
    except Unavailable as reason:
        pytest.skip(str(reason))
    with small_spark("odradek-interop", tmp_path_factory.mktemp("spark"), {"spark.jars": jars}) as made:
        yield made
