"""A broker of Apache Kafka's and one of ours, side by side."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from odradek.testing.broker import running_broker
from support.apache_kafka import ApacheKafka
from support.same_answers import Side


@contextlib.contextmanager
def two_brokers(kafka: ApacheKafka, work: Path, settings: Mapping[str, str]) -> Iterator[tuple[Side, Side]]:
    """Both fresh and with the same settings, until the block is left. Kafka's has its files in `work`."""
    with kafka.new_broker(work, settings) as theirs, running_broker(settings) as ours:
        yield Side("Kafka", theirs.port, settles_late=True), Side("odradek", ours.port, settles_late=False)
