"""Bringing an image up to date, batch by batch. Within a metadata transaction it stands still until the end of it.

Values all the way: applying a batch gives a new `Replay`, so that one who is not sure yet can forget it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from odradek.metadata.delta import Delta
from odradek.metadata.draft import Inconsistent
from odradek.metadata.image import EMPTY, Image, Position
from odradek.model.errors import UnsupportedVersion
from odradek.model.numbers import LeaderEpoch, Offset, TimestampMs
from odradek.wire.records.metadata import AbortTransactionRecord, BeginTransactionRecord, EndTransactionRecord
from odradek.wire.schema import Message


class Batch(NamedTuple):
    """The records of one batch of the log: metadata records, or control records of the quorum."""

    base_offset: Offset
    last_offset: Offset
    epoch: LeaderEpoch
    timestamp: TimestampMs
    records: tuple[Message, ...]
    control: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Replay:
    image: Image = EMPTY
    transaction: tuple[tuple[Offset, Message], ...] | None = None
    """The records of the transaction that is open, if one is."""

    def apply(self, batch: Batch) -> "tuple[Replay, Delta]":
        """Raises Inconsistent or UnsupportedVersion; both name the offset of the record."""
        delta = Delta(self.image)
        for control in batch.control:
            delta.replay_control(control)
        held = None if self.transaction is None else list(self.transaction)
        for offset, record in enumerate(batch.records, start=batch.base_offset):
            if isinstance(record, BeginTransactionRecord):
                _expect(held is None, offset, "a transaction begins within another")
                held = []
            elif isinstance(record, EndTransactionRecord):
                _expect(held is not None, offset, "a transaction ends that did not begin")
                for at, each in held or ():
                    replay(delta, at, each)
                held = None
            elif isinstance(record, AbortTransactionRecord):
                _expect(held is not None, offset, "a transaction is aborted that did not begin")
                held = None
            elif held is not None:
                held.append((Offset(offset), record))
            else:
                replay(delta, offset, record)
        position = Position(batch.last_offset, batch.epoch, batch.timestamp)
        return Replay(delta.finish(position), None if held is None else tuple(held)), delta


def replay(delta: Delta, offset: int, record: Message) -> None:
    try:
        delta.replay(record)
    except Inconsistent as error:
        raise Inconsistent(f"metadata record at offset {offset}: {error}") from None
    except UnsupportedVersion as error:
        raise UnsupportedVersion(f"metadata record at offset {offset}: {error}") from None


def image_of(records: Iterable[Message], position: Position, control: Iterable[Message] = ()) -> Image:
    """The image that a snapshot says, or any other records from the beginning, in no transaction."""
    delta = Delta(EMPTY)
    for each in control:
        delta.replay_control(each)
    for number, record in enumerate(records):
        replay(delta, number, record)
    return delta.finish(position)


def _expect(condition: bool, offset: int, otherwise: str) -> None:
    if not condition:
        raise Inconsistent(f"metadata record at offset {offset}: {otherwise}")
