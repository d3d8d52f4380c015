"""What one task of Spark does: its rows to batches, and these to their partitions, one chunk behind the other."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from random import Random, SystemRandom

import pyarrow as pa

from odradek.model.numbers import TimestampMs
from odradek.model.topic_partition import TopicPartition
from odradek.spark.sink.encoding import Encoder, EncodingSetting, TopicShape
from odradek.spark.sink.errors import BadReplay, SinkError
from odradek.spark.sink.layout import Layout
from odradek.spark.sink.link import Link
from odradek.spark.sink.marker import Marker
from odradek.spark.sink.options import ExactlyOnce, SinkOptions
from odradek.spark.sink.prepared import Before, Job, Prepared
from odradek.spark.sink.producer import NOBODY, Batch, Producer, ProducerSetting, new_identity
from odradek.spark.sink.transaction import Transaction, end, join, leave_marker, read_marker, take_id

_CHUNK_BYTES = 8 << 20
"""Rows that are encoded together. One chunk is encoded while the one before is sent, so two are in memory."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a task needs of the world."""

    link: Link
    now_ms: Callable[[], TimestampMs]
    rng: Random


class Task:
    def __init__(self, options: SinkOptions, layout: Layout, around: Surroundings) -> None:
        self._options = options
        self._layout = layout
        self._around = around
        self._link = around.link

    def write(self, rows: Iterable[pa.RecordBatch], producer: Producer) -> int:
        """At least once: returns how many rows there are when all are acknowledged."""
        encoder = self._encoder(producer)
        self._send(rows, encoder, producer, None)
        return encoder.row_count

    def new_producer(self) -> Producer:
        """Idempotent where all replicas acknowledge: brokers do not keep others apart."""
        client = self._link.client
        identity = NOBODY
        if self._options.acks == -1:
            identity = self._link.call(new_identity(client, self._options.metadata_timeout_s))
        return Producer(client, self._producer_setting(), identity)

    def prepare(self, rows: Iterable[pa.RecordBatch], once: ExactlyOnce, job: Job, number: int) -> Prepared:
        """Exactly once: when it returns, the rows and a marker are in a transaction that is left open.

        An older attempt is fenced first. Rows that were committed before are counted and compared, and not written.
        Raises BadReplay where they are others, and where it cannot be known whether they were.
        """
        client = self._link.client
        transactional_id = job.transactional_id(once.prefix, number)
        place = TopicPartition(once.marker_topic, 0)
        transaction = self._link.call(take_id(client, transactional_id, once.timeout_ms))
        marker = self._link.call(read_marker(client, transactional_id, place))
        producer = Producer(client, self._producer_setting(), transaction.identity, transaction.produce_version_max)
        encoder = self._encoder(producer, hashed=True)
        if marker is not None and marker.batch >= job.batch:
            prepared = _skip(rows, encoder, marker, job, number)
            if marker.tasks is None:
                return prepared
            return replace(prepared, before=Before(marker.tasks, transaction))
        try:
            self._link.call(producer.partitions_of(once.marker_topic))  # before any row is written for nothing
            self._send(rows, encoder, producer, transaction)
            if not encoder.row_count and number:
                return Prepared(job, number, 0, 0, None)
            # Task 0 has a transaction even without rows: the driver commits it first, and what it finds fenced there
            # tells it that another has taken its place, before anything is committed. It leaves the marker, too: one of
            # the task's that came to the broker late, behind the driver's, would hide how many tasks there are.
            if not number:
                return Prepared(job, 0, encoder.row_count, encoder.row_hash, transaction)
            left = Marker(job.batch, encoder.row_count, encoder.row_hash)
            self._link.call(leave_marker(client, transaction, place, left))
        except BaseException as error:
            self._give_up(transaction, error)
            raise
        return Prepared(job, number, encoder.row_count, encoder.row_hash, transaction)

    # ---

    def _producer_setting(self) -> ProducerSetting:
        return ProducerSetting(
            acks=self._options.acks,
            codec=self._options.codec,
            level=self._options.level,
            request_bytes_max=self._options.request_bytes_max,
            delivery_timeout_s=self._options.delivery_timeout_s,
            metadata_timeout_s=self._options.metadata_timeout_s,
            creates_topics=self._options.creates_topics,
        )

    def _encoder(self, producer: Producer, *, hashed: bool = False) -> Encoder:
        setting = EncodingSetting(
            batch_bytes_max=min(self._options.batch_bytes_max, self._options.request_bytes_max),
            record_bytes_max=self._options.request_bytes_max,
            hashed=hashed,
        )

        def shape_of(topic: str) -> TopicShape:
            return self._link.call(producer.shape_of(topic))

        return Encoder(self._layout, setting, shape_of, self._around.rng)

    def _send(
        self, rows: Iterable[pa.RecordBatch], encoder: Encoder, producer: Producer, transaction: Transaction | None
    ) -> None:
        joined = set[TopicPartition]()
        under_way: Future[None] | None = None
        try:
            for chunk in chunks(rows):
                now = self._around.now_ms()
                batches = [producer.seal(each, now) for each in encoder.encode(chunk)]
                if under_way is not None:
                    under_way.result()
                under_way = self._link.begin(self._deliver(producer, batches, transaction, joined))
            if under_way is not None:
                under_way.result()
        except BaseException:
            if under_way is not None:
                wait([under_way])  # nothing of it may come to a broker behind the end of the transaction
            raise

    async def _deliver(
        self,
        producer: Producer,
        batches: Sequence[Batch],
        transaction: Transaction | None,
        joined: set[TopicPartition],
    ) -> None:
        if transaction is not None and transaction.is_old:
            new = {batch.place for batch in batches} - joined
            if new:
                await join(self._link.client, transaction, sorted(new))
                joined |= new
        await producer.deliver(batches)

    def _give_up(self, transaction: Transaction, error: BaseException) -> None:
        """Readers of committed records would wait for the transaction to time out."""
        try:
            self._link.call(end(self._link.client, transaction, commit=False))
        except SinkError as failure:
            error.add_note(str(failure))


def _skip(rows: Iterable[pa.RecordBatch], encoder: Encoder, marker: Marker, job: Job, number: int) -> Prepared:
    if marker.batch > job.batch:
        raise BadReplay(_behind(marker.batch, job, number))
    for chunk in chunks(rows):
        encoder.skip(chunk)
    if (encoder.row_count, encoder.row_hash) != (marker.rows, marker.row_hash):
        raise BadReplay(
            f"query {job.name}, batch {job.batch}, task {number}: {marker.rows} rows were committed, and now there are "
            f"{encoder.row_count}{' others' if encoder.row_count == marker.rows else ''}; a batch that comes again "
            "must have the same rows in each task, so give it the same number of partitions and the same order"
        )
    return Prepared(job, number, encoder.row_count, encoder.row_hash, None)


def _behind(committed: int, job: Job, number: int) -> str:
    """A marker has the count and hash of the last batch alone, so rows of one before it cannot be compared."""
    if job.of_query:
        return (
            f"query {job.name}, batch {job.batch}, task {number}: batch {committed} was committed, so the checkpoint "
            "is older than what was written (it was restored, or files of it are lost), and whether these rows were "
            "written is not known any more; nothing was written now. Start with a new checkpointLocation, and with "
            "startingOffsets at what is not written yet"
        )
    return (
        f"txnVersion {job.batch} of {job.name} comes behind {committed}, which was committed: whether it was written "
        "before is not known any more, so nothing was written; give it a version that is later than all before it, or "
        "a txnAppId of its own"
    )


def chunks(rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Small ones together, so that each partition gets its share of many rows at once, and large ones in pieces."""
    held: list[pa.RecordBatch] = []
    size = 0
    for each in rows:
        for piece in _pieces(each):
            held.append(piece)
            size += piece.nbytes
            if size >= _CHUNK_BYTES:
                yield _joined(held)
                held, size = [], 0
    if held:
        yield _joined(held)


def _pieces(table: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Of about the same number of rows, without copies."""
    count = max(table.nbytes // _CHUNK_BYTES, 1)
    rows = -(-table.num_rows // count)
    for at in range(0, table.num_rows, max(rows, 1)):
        yield table.slice(at, rows)


def _joined(held: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    return held[0] if len(held) == 1 else pa.concat_batches(held)


def real_surroundings(link: Link) -> Surroundings:
    import time

    return Surroundings(link, lambda: TimestampMs(time.time_ns() // 1_000_000), SystemRandom())
