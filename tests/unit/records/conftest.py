"""Batches that Apache Kafka 4.3.0 wrote, and what its consumer read from them."""

import gzip
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from odradek.records.batch import BatchHead, parse_head

GOLDEN = Path(__file__).parents[2] / "golden"


class GoldenBatch(NamedTuple):
    path: str
    view: memoryview
    head: BatchHead

    @property
    def topic_partition(self) -> str:
        return self.path.split("/")[-2]


@pytest.fixture(scope="session")
def golden_batches() -> list[GoldenBatch]:
    """All batches of the cleanly stopped broker: logs and snapshots, each file in order."""
    found: list[GoldenBatch] = []
    with tarfile.open(GOLDEN / "kafka-4.3.0" / "kafka-4.3.0-data.tar.xz") as data:
        for member in sorted(data, key=lambda member: member.name):
            if member.name.startswith("clean/") and member.name.endswith((".log", ".checkpoint")):
                file = data.extractfile(member)
                assert file is not None
                found += batches_of(member.name, memoryview(file.read()))
    return found


def batches_of(path: str, view: memoryview) -> Iterator[GoldenBatch]:
    at = 0
    while at < len(view):
        head = parse_head(view, at)
        yield GoldenBatch(path, view[at : at + head.size], head)
        at += head.size


@pytest.fixture(scope="session")
def golden_topics() -> Any:
    with gzip.open(GOLDEN / "kafka-4.3.0" / "expected.json.gz") as expected:
        return json.load(expected)["topics"]


@pytest.fixture(scope="session")
def golden_control_records() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (GOLDEN / "control-records.jsonl").read_text().splitlines()]
