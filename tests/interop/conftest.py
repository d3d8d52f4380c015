"""What tests against Apache Kafka share."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from odradek.cli.main import main
from odradek.testing import apache_kafka
from odradek.testing.apache_kafka import ApacheKafka, Unavailable
from odradek.testing.same_answers import SETTINGS, Side
from odradek.testing.two_brokers import two_brokers

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
