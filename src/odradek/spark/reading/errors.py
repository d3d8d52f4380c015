"""What can go wrong while a range is read. Each message names the partition, in one line that a person can act on."""

from base64 import urlsafe_b64encode

from odradek.model.errors import CorruptBatch, OdradekError


class ReadError(OdradekError):
    """The root of what reading raises, next to what the client raises for a cluster that cannot be reached."""


class CorruptRecords(ReadError, CorruptBatch):
    """Bytes that a broker sent as record batches, and that are none."""

    def __init__(self, place: str, offset: int, reason: str) -> None:
        super().__init__(
            f"{place} has a corrupt batch at offset {offset}: {reason}; "
            f"to go on without it, start behind that offset (startingOffsets)"
        )
        self.offset = offset


class UnfitTimestamp(ReadError):
    """A time that Spark's timestamps, in microseconds, cannot hold."""

    def __init__(self, place: str, offset: int, timestamp_ms: int) -> None:
        super().__init__(
            f"{place} has a record at offset {offset} whose timestamp, {timestamp_ms} ms, is beyond what Spark can "
            f"hold; read the other columns with the option columns, or start behind that offset (startingOffsets)"
        )


class Lost(ReadError):
    """What failOnDataLoss is about."""

    def __init__(self, what: str, what_to_do: str) -> None:
        super().__init__(f"{what}; {what_to_do}")
        self.what = what


class DataLoss(Lost):
    """Offsets of the range are not there any more."""

    def __init__(self, place: str, first: int, next_offset: int) -> None:
        super().__init__(
            f"{place} has lost the offsets {first} to {next_offset - 1}: they expired, or the topic was truncated",
            "with failOnDataLoss=false they are skipped",
        )
        self.first = first
        self.next_offset = next_offset


class StartUnknown(Lost):
    """Of a batch that comes again: it is the first of its query, and the checkpoint only has where it ends."""

    def __init__(self, place: str, end: int, start_now: int) -> None:
        super().__init__(
            f"{place} has a first batch that was not finished, and ends at {end}, while a query that starts now would "
            f"start at {start_now}: where the batch started is not in the checkpoint",
            "finish it with what began it, or start anew with another checkpoint; with failOnDataLoss=false it has "
            "what is there between the two",
        )


class TopicReplaced(Lost):
    """A topic of the same name, but not the one whose offsets are known."""

    def __init__(self, topic: str, known: bytes, found: bytes) -> None:
        super().__init__(
            f"topic {topic} was deleted and created again: its id was {_text(known)} and is {_text(found)} now, so its "
            f"offsets mean nothing any more",
            "start anew, with another checkpoint, or with failOnDataLoss=false to read the new one from its beginning",
        )


class NoSuchPartition(Lost):
    def __init__(self, place: str) -> None:
        super().__init__(
            f"{place} does not exist any more, or is not subscribed to",
            "with failOnDataLoss=false a stream goes on without it",
        )


class Unread(ReadError):
    """The partition did not give what is left of the range, for a reason that did not pass in time, or that does not
    pass: then there is no time to tell."""

    def __init__(self, place: str, left: tuple[int, int], timeout_s: float | None, reason: str) -> None:
        within = "" if timeout_s is None else f", within {timeout_s:g} s"
        super().__init__(f"{place} could not be read from offset {left[0]} on, up to {left[1]}{within}: {reason}")


def _text(topic_id: bytes) -> str:
    """As Kafka's tools print it."""
    return urlsafe_b64encode(topic_id).decode().rstrip("=")
