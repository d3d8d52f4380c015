"""What is asked of a cleaning, and what comes of it: plain values, which a child process is sent and sends back."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from odradek.model.numbers import Offset, ProducerId, TimestampMs
from odradek.storage.segment import Sizes
from odradek.storage.transaction_index import AbortedTxn


@dataclass(frozen=True, slots=True)
class Source:
    """A closed segment, with the sizes of its files."""

    base: Offset
    size: int
    index_size: int
    time_index_size: int


@dataclass(frozen=True, slots=True)
class LastOf:
    """What tells the last batch of a producer: the log must keep it, for its sequence or its epoch."""

    data_offset: Offset | None
    """Of its last record; None where only a marker is known."""
    epoch: int


@dataclass(frozen=True, slots=True)
class Limits:
    """Of the files that are made, and of what making them may take."""

    segment_bytes: int
    segment_index_bytes: int
    index_interval_bytes: int
    dedupe_bytes: int
    """Of memory for keys."""
    bytes_per_second: float


@dataclass(frozen=True, slots=True)
class Job:
    directory: str
    sources: tuple[Source, ...]
    """From the first segment of the log to the last one that may be cleaned."""
    first_dirty: Offset
    end: Offset
    """Where the last of the sources ends."""
    aborted: tuple[AbortedTxn, ...]
    """All aborted transactions with records in the sources."""
    last_of: Mapping[ProducerId, LastOf]
    now: TimestampMs
    delete_retention_ms: int
    limits: Limits

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, data: bytes) -> "Job":
        fields = json.loads(data)
        fields["sources"] = tuple(Source(**each) for each in fields["sources"])
        fields["aborted"] = tuple(AbortedTxn(*each) for each in fields["aborted"])
        fields["last_of"] = {ProducerId(int(id)): LastOf(**each) for id, each in fields["last_of"].items()}
        fields["limits"] = Limits(**fields["limits"])
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class Made:
    """A segment that was written under its `.cleaned` names, and the sizes of its files."""

    base: Offset
    replaces: tuple[Offset, ...]
    """Bases of the segments that it was made from."""
    sizes: Sizes


@dataclass(frozen=True, slots=True)
class Outcome:
    clean_to: Offset
    """Below it, the log is clean now."""
    made: tuple[Made, ...]
    keys: int
    bytes_read: int
    bytes_written: int

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, data: bytes) -> "Outcome":
        fields = json.loads(data)
        made = (Made(Offset(each["base"]), tuple(each["replaces"]), Sizes(*each["sizes"])) for each in fields["made"])
        return cls(**{**fields, "made": tuple(made)})
