"""Failures that are expected: typed, each with the code that Kafka's protocol has for it."""

from collections.abc import Sequence
from typing import ClassVar

from odradek.model.error_code import ErrorCode
from odradek.model.numbers import Offset, ProducerId


class OdradekError(Exception):
    """The root of every error that this package raises on purpose."""


class BrokerError(OdradekError):
    """An error that a client is told by its code."""

    code: ClassVar[ErrorCode] = ErrorCode.UNKNOWN_SERVER_ERROR


class BadRequest(BrokerError):
    """Bytes that are no message of the protocol: the one error that garbage raises."""

    code = ErrorCode.INVALID_REQUEST


class UnsupportedVersion(BrokerError):
    """A message has no such version, or this version of it no place for a value."""

    code = ErrorCode.UNSUPPORTED_VERSION


class CorruptBatch(BrokerError):
    """Bytes that are no record batch: the one error that garbage raises."""

    code = ErrorCode.CORRUPT_MESSAGE


class UnsupportedMagic(CorruptBatch):
    """A batch in a format before v2, which Kafka 4 does not take either."""

    code = ErrorCode.INVALID_RECORD

    def __init__(self, magic: int) -> None:
        super().__init__(f"record batches of magic {magic} are not supported, only those of magic 2")


class UnsupportedCodec(BrokerError):
    code = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


class UnreadableRecords(BrokerError):
    """Compressed in a way that no consumer in Java reads."""

    code = ErrorCode.UNKNOWN_SERVER_ERROR  # what Kafka says, which fails to read them


class RecordsRefused(BrokerError):
    """A well-formed batch that breaks a rule of its topic."""

    def __init__(self, text: str, indexes: Sequence[int] = ()) -> None:
        super().__init__(text)
        self.indexes = indexes
        """The records that do, counted from the first; empty where it is the batch as a whole."""


class InvalidRecord(RecordsRefused):
    """A well-formed batch whose content breaks a rule."""

    code = ErrorCode.INVALID_RECORD


class MessageTooLarge(BrokerError):
    """A batch larger than max.message.bytes."""

    code = ErrorCode.MESSAGE_TOO_LARGE


class BatchTooLarge(BrokerError):
    """A batch larger than a whole segment may be."""

    code = ErrorCode.RECORD_LIST_TOO_LARGE


class OutOfPlace(BrokerError):
    """A batch from a leader that does not continue the follower's log."""

    code = ErrorCode.UNKNOWN_SERVER_ERROR


class OffsetOutOfRange(BrokerError):
    code = ErrorCode.OFFSET_OUT_OF_RANGE

    def __init__(self, asked: Offset, start: Offset, end: Offset) -> None:
        super().__init__(f"offset {asked} is outside [{start}, {end}]")


class OutOfOrderSequence(BrokerError):
    code = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    def __init__(self, producer: ProducerId, found: int, expected: int) -> None:
        super().__init__(f"out of order sequence number {found} of producer {producer}, expected was {expected}")


class InvalidProducerEpoch(BrokerError):
    code = ErrorCode.INVALID_PRODUCER_EPOCH

    def __init__(self, producer: ProducerId, found: int, last: int) -> None:
        super().__init__(
            f"producer {producer} attempted to produce with an old epoch, {found}: its last seen one is {last}"
        )


class InvalidTxnState(BrokerError):
    code = ErrorCode.INVALID_TXN_STATE


class TransactionCoordinatorFenced(BrokerError):
    code = ErrorCode.TRANSACTION_COORDINATOR_FENCED


class StorageFailed(BrokerError):
    """A log directory failed: a write, a sync or a read that should have worked did not."""

    code = ErrorCode.KAFKA_STORAGE_ERROR


class UnknownTopicOrPartition(BrokerError):
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def __init__(self, topic: str, partition: int | None) -> None:
        """`partition` is None where there is no such topic at all."""
        what = f"topic '{topic}'" if partition is None else f"partition {topic}-{partition}"
        super().__init__(f"The {what} does not exist: this server does not host this topic-partition")


class UnknownTopicId(BrokerError):
    code = ErrorCode.UNKNOWN_TOPIC_ID


class InvalidTopic(BrokerError):
    """A topic that clients may not write to, or a name that no topic can have."""

    code = ErrorCode.INVALID_TOPIC_EXCEPTION


class NotLeaderOrFollower(BrokerError):
    """The broker has no replica of the partition that could do this."""

    code = ErrorCode.NOT_LEADER_OR_FOLLOWER


class ThrottlingQuotaExceeded(BrokerError):
    """The client used up a quota, or asks too often."""

    code = ErrorCode.THROTTLING_QUOTA_EXCEEDED


class FencedLeaderEpoch(BrokerError):
    """The client knows an older leader."""

    code = ErrorCode.FENCED_LEADER_EPOCH


class UnknownLeaderEpoch(BrokerError):
    """The client knows a newer leader than we do."""

    code = ErrorCode.UNKNOWN_LEADER_EPOCH


class InvalidTimestamp(RecordsRefused):
    code = ErrorCode.INVALID_TIMESTAMP


class CorruptFile(OdradekError):
    """A file of a data directory, other than a segment, does not hold what its format says.

    The message names the file, and the position or line where it stops making sense.
    """


class NewerVersion(CorruptFile):
    """A file in a version that came after us: refused, not mended, since mending would lose what it says."""


class DirectoryInUse(OdradekError):
    """Another process holds the lock of a log directory."""


class NodeFailed(OdradekError):
    """A node cannot go on: what it cannot live without has failed."""


class InvalidConfig(OdradekError):
    """A setting has no such name, or a value outside its limits."""
