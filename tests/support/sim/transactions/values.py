"""What flows through a run. Each value is unique, and tells where it comes from and in which transaction it is."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from odradek.model.numbers import Offset, ProducerId
from odradek.records.batch import HEAD_SIZE, BatchHead, parse_head
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.control import end_txn_marker
from odradek.records.record import Record, read_records
from odradek.wire.messages.fetch import PartitionData
from support.sim.events import EPOCH_MS


class Tag(NamedTuple):
    """A transaction, as its application knows it."""

    application: str
    number: int


class Value(NamedTuple):
    source: int
    """The partition of the first topic that it came by."""
    number: int
    """In that partition, from 0 on."""
    tag: Tag

    def packed(self) -> bytes:
        return f"{self.source} {self.number} {self.tag.application} {self.tag.number}".encode()

    @classmethod
    def unpacked(cls, data: bytes) -> "Value":
        source, number, application, transaction = data.decode().split(" ")
        return cls(int(source), int(number), Tag(application, int(transaction)))


class Read(NamedTuple):
    offset: Offset
    value: Value


class Batch(NamedTuple):
    """What a log has, as it lies there."""

    head: BatchHead
    values: Sequence[Read]
    """None of a marker."""
    commit: bool | None
    """Of a marker."""


def batch_of(values: Iterable[Value], spec: BatchSpec) -> bytearray:
    records = [Record(Offset(at), EPOCH_MS, b"key", value.packed()) for at, value in enumerate(values)]
    return build_batch(records, spec)


def batches_in(data: bytes, *, is_internal: bool = False) -> Iterator[Batch]:
    """The last one may be cut off. What is in an internal topic is not looked at."""
    rest = memoryview(data)
    while len(rest) >= HEAD_SIZE:
        head = parse_head(rest)
        if head.size > len(rest):
            return
        batch = rest[: head.size]
        rest = rest[head.size :]
        if head.is_control:
            marker = end_txn_marker(batch, head)
            yield Batch(head, (), None if marker is None else marker.commit)
        elif is_internal:
            yield Batch(head, (), None)
        else:
            found = [Read(each.offset, Value.unpacked(bytes(each.value or b""))) for each in read_records(batch, head)]
            yield Batch(head, found, None)


class Fetched(NamedTuple):
    values: list[Read]
    position: Offset
    """Where to go on."""


def committed_in(data: PartitionData, position: int) -> Fetched:
    """What a consumer of committed records makes of an answer to a fetch from `position`."""
    to_come = sorted((each.first_offset, each.producer_id) for each in data.aborted_transactions or ())
    aborted: dict[ProducerId, None] = {}
    values: list[Read] = []
    for head, found, commit in batches_in(bytes(data.records or b"")):  # type: ignore[arg-type]  # received, in memory
        while to_come and to_come[0][0] < head.next_offset:
            aborted[ProducerId(to_come.pop(0)[1])] = None
        if head.is_control:
            if commit is False:
                aborted.pop(head.producer_id, None)
        elif not (head.is_transactional and head.producer_id in aborted):
            values += (each for each in found if each.offset >= position)
        position = max(position, head.next_offset)
    return Fetched(values, Offset(position))
