"""What one task reads, as values that are pickled into Spark's partitions."""

from dataclasses import dataclass, field
from typing import NamedTuple

from odradek.spark.reading.columns import PLAIN_COLUMNS


class Ahead(NamedTuple):
    """The batches of a whole range, where whoever planned it has them already."""

    records: bytes
    aborted: tuple[tuple[int, int], ...]
    """Producer id and first offset of each transaction among them that was aborted."""


@dataclass(frozen=True, slots=True)
class Range:
    """Offsets of one partition of one topic."""

    topic: str
    topic_id: bytes
    """16 bytes; zeros where the broker is too old to say, or where nobody has asked yet."""
    partition: int
    start: int
    end: int
    """The first offset that is not read any more."""
    ahead: Ahead | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} from {self.start} to {self.end}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSetting:
    """How ranges are read, the same for all of a query."""

    bootstrap: str
    """`host:port,host:port`."""
    columns: tuple[str, ...] = PLAIN_COLUMNS
    """In the order of the schema, none twice."""
    read_committed: bool = False
    """Leave out what transactions have written that were aborted, and wait for those that are open."""
    fail_on_data_loss: bool = True
    """Else offsets that are not there any more are skipped, counted and logged."""
    fetch_bytes_max: int = 8 << 20
    """Asked for at a time. A worker holds about two such answers; a batch that is larger is fetched whole."""
    fetch_wait_ms: int = 500
    """How long a broker may wait for records that are not there yet."""
    batch_rows_max: int = 1 << 16
    """Rows of one Arrow record batch."""
    timeout_s: float = 120
    """Without anything new from the partition, with all retries."""
    request_timeout_s: float = 30
    connect_timeout_s: float = 10
    client_id: str = "odradek-spark"
