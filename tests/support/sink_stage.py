"""A query that writes exactly once, played step by step: tasks and a driver, each stopped wherever it may stop."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from odradek.metadata.bootstrap import feature_records
from odradek.metadata.features import NEW_CLUSTER, TRANSACTION_VERSION
from odradek.process.clock import SystemClock
from odradek.process.files import OsFiles
from odradek.process.machine import Machine
from odradek.quorum.formatting import format_directories
from odradek.quorum.snapshot_file import pack_bootstrap, write_bootstrap
from odradek.server.identity import take_identity
from odradek.spark.sink.committing import abort_all, commit_all
from odradek.spark.sink.layout import Layout
from odradek.spark.sink.link import Link
from odradek.spark.sink.options import ExactlyOnce, SinkOptions, sink_options
from odradek.spark.sink.prepared import Job, Prepared
from odradek.spark.sink.task import Task, real_surroundings


def format_at_level(directory: Path, level: int) -> str:
    """A data directory of a new cluster, which has this level of transaction.version, for either broker. Its id."""
    files, clock = OsFiles(), SystemClock()
    identity = take_identity(Machine(), [], 1)
    format_directories(files, [str(directory)], identity, lambda: os.urandom(16), clock)
    records = feature_records({**NEW_CLUSTER, TRANSACTION_VERSION: level})
    write_bootstrap(files, str(directory), pack_bootstrap(records, NEW_CLUSTER["metadata.version"], clock.now_ms()))
    return identity.cluster_id


class Driver:
    """One run of a query, from its checkpoint."""

    def __init__(self, link: Link, bootstrap: str, topic: str) -> None:
        self.options: SinkOptions = sink_options(
            {"kafka.bootstrap.servers": bootstrap, "topic": topic, "exactlyOnce": "true"}, streaming=True
        )
        assert self.options.once is not None
        self.once: ExactlyOnce = self.options.once
        self.link = link
        self.query = f"query-{topic}"
        self.of_query = True

    def prepare(self, batch: int, *tasks: Sequence[bytes]) -> list[Prepared]:
        return [self.prepare_one(batch, number, rows) for number, rows in enumerate(tasks)]

    def prepare_one(self, batch: int, number: int, rows: Sequence[bytes]) -> Prepared:
        task = Task(self.options, Layout(value=0, topic_name=self.options.topic), real_surroundings(self.link))
        table = pa.record_batch([pa.array(rows, pa.binary())], names=["value"])
        return task.prepare([table], self.once, Job(self.query, batch, self.of_query), number)

    def commit(self, prepared: Sequence[Prepared]) -> None:
        self.link.call(commit_all(self.link.client, prepared, self.once))

    def abort(self, prepared: Sequence[Prepared]) -> None:
        self.link.call(abort_all(self.link.client, prepared))

    def commit_some(self, prepared: Sequence[Prepared], count: int) -> None:
        """The driver dies behind so many commits."""
        whole = sorted(prepared, key=lambda each: each.task)
        first = [each if each.task < count else without_transaction(each) for each in whole]
        self.link.call(commit_all(self.link.client, first, self.once))


def without_transaction(prepared: Prepared) -> Prepared:
    """As if it were not committed any more."""
    return replace(prepared, transaction=None)
