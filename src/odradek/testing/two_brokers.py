"""A broker of Apache Kafka's and one of ours, side by side."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from odradek.metadata.uuids import to_text
from odradek.quorum.formatting import Identity, format_directories
from odradek.server.clock import SystemClock
from odradek.storage.files import OsFiles
from odradek.testing.apache_kafka import ApacheKafka
from odradek.testing.broker import running_broker
from odradek.testing.same_answers import Side


@contextlib.contextmanager
def two_brokers(kafka: ApacheKafka, work: Path, settings: Mapping[str, str]) -> Iterator[tuple[Side, Side]]:
    """Both fresh and with the same settings, until the block is left. Kafka's has its files in `work`."""
    data, identity = work / "data", Identity(to_text(os.urandom(16)), 1)
    format_directories(OsFiles(), [str(data)], identity, lambda: os.urandom(16), SystemClock())
    with kafka.broker(work, [data], settings) as theirs, running_broker(settings) as ours:
        yield Side("Kafka", theirs.port, settles_late=True), Side("odradek", ours.port, settles_late=False)
