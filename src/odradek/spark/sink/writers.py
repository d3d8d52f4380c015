"""The two writers that Spark is given. It pickles them: they are small, and import what is heavy where it is used."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from odradek.spark.given_options import InvalidOption
from odradek.spark.runtime.told import told_in_one_line
from odradek.spark.runtime.worker import stay_loaded
from odradek.spark.sink.errors import SinkError
from odradek.spark.sink.layout import Layout, layout_of
from odradek.spark.sink.options import ExactlyOnce, SinkOptions, sink_options
from odradek.spark.sink.prepared import Job, Prepared, Written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from odradek.spark.sink.link import Link
    from odradek.spark.sink.producer import Producer

_QUERY = "sql.streaming.queryId"
_BATCH = "streaming.sql.batchId"
_SPECULATION = "spark.speculation"

Messages = list[WriterCommitMessage | None]


class _Sink:
    options: SinkOptions
    layout: Layout

    def write_rows(self, rows: Iterator[pa.RecordBatch], job: Job | None) -> WriterCommitMessage:
        """On an executor. `job` is given where rows are written exactly once."""
        written = self._write_rows(rows, job)
        stay_loaded()
        return written

    def _write_rows(self, rows: Iterator[pa.RecordBatch], job: Job | None) -> WriterCommitMessage:
        from odradek.spark.sink.task import Task, real_surroundings

        link = _link(self.options)
        task = Task(self.options, self.layout, real_surroundings(link))
        once = self.options.once
        if once is not None and job is not None:
            _refuse_speculation()
            return task.prepare(rows, once, job, _task_number())
        key = (os.getpid(), self.options)
        producer = _producers.pop(key, None) or task.new_producer()
        written = task.write(rows, producer)
        _producers[key] = producer  # not where it failed: its sequences are not those of the broker then
        return Written(written)

    def commit_prepared(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """On the driver."""
        from odradek.spark.sink.committing import commit_all

        prepared = [each for each in messages if isinstance(each, Prepared)]
        if self.options.once is not None and prepared:
            link = _link(self.options)
            link.call(commit_all(link.client, prepared, self.options.once))

    def abort_tasks(self, messages: Sequence[WriterCommitMessage | None], job: Job | None) -> None:
        """What they have prepared; with `job`, also what those have begun that told nothing, at their places."""
        from odradek.spark.sink.committing import abort_all, abort_ids, wait_for_kills

        once = self.options.once
        if once is None:
            return
        prepared = [each for each in messages if isinstance(each, Prepared)]
        silent = [task for task, told in enumerate(messages) if told is None]
        ids = [] if job is None else [job.transactional_id(once.prefix, task) for task in silent]
        if prepared or ids:
            link = _link(self.options)
            taken = link.call(abort_all(link.client, prepared))
            # A query may come again, which fences what begins behind this; a batch write may not.
            is_last = job is not None and not job.of_query
            if is_last and once.app_id is None:
                ids += taken  # by a later attempt of this very run: no other has the name
            link.call(abort_ids(link.client, ids, wait_for_kills if is_last else None))


class BatchSink(_Sink, DataSourceArrowWriter):
    """Raises InvalidOption or BadSchema as it is made: before any task runs."""

    def __init__(self, options: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        self.options = sink_options(options, streaming=False)
        self.layout = layout_of(schema, self.options.topic)
        if overwrite:
            raise InvalidOption("mode", "records cannot be overwritten", "use append")
        self.job = _batch_job(self.options.once)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        with told_in_one_line():
            return self.write_rows(iterator, self.job)

    def commit(self, messages: Messages) -> None:
        with told_in_one_line():
            self.commit_prepared(messages)

    def abort(self, messages: Messages) -> None:
        with told_in_one_line():
            self.abort_tasks(messages, self.job)


class StreamSink(_Sink, DataSourceStreamArrowWriter):
    """Raises InvalidOption or BadSchema as it is made: before any task runs."""

    def __init__(self, options: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        self.options = sink_options(options, streaming=True)
        self.layout = layout_of(schema, self.options.topic)
        if overwrite:
            raise InvalidOption("outputMode", "records cannot be overwritten", "use append, or foreachBatch to write")
        stay_loaded()  # made for each batch, in a process that is kept for it, as another one is for commits

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        with told_in_one_line():
            return self.write_rows(iterator, None if self.options.once is None else _stream_job())

    def commit(self, messages: Messages, batchId: int) -> None:
        with told_in_one_line():
            self.commit_prepared(messages)
        stay_loaded()

    def abort(self, messages: Messages, batchId: int) -> None:
        with told_in_one_line():
            # Who told something says of which query it is: a stopped one may not come again for long.
            job = next((each.job for each in messages if isinstance(each, Prepared)), None)
            self.abort_tasks(messages, job)


_producers: dict[tuple[int, SinkOptions], Producer] = {}
"""By process, which runs one task at a time: brokers keep what they know of a producer for a day."""


def _link(options: SinkOptions) -> Link:
    from odradek.spark.sink.link import link_to

    return link_to(options.bootstrap, options.client_id, options.request_timeout_s)


def _batch_job(once: ExactlyOnce | None) -> Job | None:
    if once is None:
        return None
    if once.app_id is None or once.version is None:
        # Made with the plan: the same for all tasks, and for none of another job.
        return Job(secrets.token_hex(8), 0, of_query=False)
    return Job(once.app_id, once.version, of_query=False)


def _stream_job() -> Job:
    query, batch = _local_property(_QUERY), _local_property(_BATCH)
    if query is None or batch is None:
        raise SinkError(f"Spark does not say which batch of which query this is ({_QUERY}, {_BATCH})")
    return Job(query, int(batch))


def _refuse_speculation() -> None:
    """Two attempts of a task at the same time would fence each other, and no batch would ever be done."""
    if (_local_property(_SPECULATION) or "").lower() == "true":
        raise SinkError(f"exactlyOnce does not go together with speculation: set {_SPECULATION} to false")


def _local_property(name: str) -> str | None:
    from pyspark import TaskContext

    context = TaskContext.get()
    return None if context is None else context.getLocalProperty(name)


def _task_number() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        raise SinkError("this is no task of Spark's")
    return context.partitionId()
