"""Small builders for tests of the log: batches with text as values, a node's log directories on a disk."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count

from odradek.model.clock import Clock
from odradek.model.numbers import LeaderEpoch, Offset, ProducerId, TimestampMs
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from odradek.process.files import Files
from odradek.records.batch import check_crc, check_produced, parse_head
from odradek.records.builder import PLAIN, BatchSpec, build_batch
from odradek.records.control import build_end_txn_batch
from odradek.records.record import Record
from odradek.storage.log import Appended, Log, Origin
from odradek.storage.log_dirs import LogDirs, Setting
from odradek.storage.open_files import OpenFiles
from support.clock import ManualClock

NOW = ManualClock().now_ms()
"""When tests take place."""
ORDERS = TopicPartition("orders", 0)
TOPIC_ID = "Kq6pOCYTQtqkJn4sW6DLcw"
SMALL = replace(TopicConfig(), segment_bytes=1000, index_interval_bytes=100, segment_index_bytes=4096)
"""A config whose segments hold some ten small batches."""


def batch(*values: str, spec: BatchSpec = PLAIN, at: int = NOW) -> memoryview:
    """A batch with a record for each value, all with the time `at`."""
    return timed_batch([(value, at) for value in values], spec)


def timed_batch(values: list[tuple[str, int]], spec: BatchSpec = PLAIN) -> memoryview:
    records = [
        Record(Offset(number), TimestampMs(time), None, value.encode()) for number, (value, time) in enumerate(values)
    ]
    return memoryview(build_batch(records, spec))


def marker(producer_id: int, epoch: int, *, commit: bool, coordinator_epoch: int = 0, at: int = NOW) -> memoryview:
    """The end of a transaction."""
    return memoryview(
        build_end_txn_batch(
            ProducerId(producer_id),
            epoch,
            commit=commit,
            coordinator_epoch=coordinator_epoch,
            timestamp=TimestampMs(at),
        ).batch
    )


def append_batch(log: Log, batch: memoryview, epoch: LeaderEpoch, origin: Origin = Origin.CLIENT) -> Appended:
    """As the leader, with the checks of its bytes that a partition makes."""
    head = parse_head(batch)
    check_crc(batch, head)
    if origin is Origin.CLIENT:
        check_produced(head)
    return log.append_checked(batch, head, epoch, origin)


def append(log: Log, *values: str, spec: BatchSpec = PLAIN, at: int = NOW, epoch: int = 0) -> Appended:
    """One batch, from a client."""
    return append_batch(log, batch(*values, spec=spec, at=at), LeaderEpoch(epoch))


def end_txn(log: Log, producer_id: int, epoch: int, *, commit: bool, coordinator_epoch: int = 0) -> Appended:
    ending = marker(producer_id, epoch, commit=commit, coordinator_epoch=coordinator_epoch)
    return append_batch(log, ending, LeaderEpoch(0), Origin.COORDINATOR)


def setting(
    config: TopicConfig | Callable[[str], TopicConfig] = SMALL, clock: Clock | None = None, children: int = 0
) -> Setting:
    """Ids of directories are 1, 2, 3 and so on."""
    ids = count(1)
    return Setting(
        clock=clock or ManualClock(),
        config_of=config if callable(config) else lambda _topic: config,
        unique_id=lambda: f"{next(ids):032x}",
        children=children,
    )


def open_dirs(files: Files, *paths: str, given: Setting | None = None) -> LogDirs:
    """The log directories of a node, one at /data if none is named."""
    return LogDirs.open(OpenFiles(files), list(paths) or ["/data"], given or setting())


def open_log(files: Files, config: TopicConfig = SMALL, clock: Clock | None = None) -> Log:
    """The log of `orders-0` in /data, made if it is not there. For tests that look at one log only."""
    return log_of(open_dirs(files, given=setting(config, clock)))


def log_of(dirs: LogDirs, partition: TopicPartition = ORDERS) -> Log:
    return dirs.get(partition) or dirs.create(partition, TOPIC_ID)


def values(log: Log, start: int | None = None) -> list[str]:
    """The values of all records but control records."""
    return [value for _, value in offsets_and_values(log, start)]


def offsets_and_values(log: Log, start: int | None = None) -> list[tuple[int, str]]:
    return list(_read(log, log.start_offset if start is None else Offset(start)))


def _read(log: Log, start: Offset) -> Iterator[tuple[int, str]]:
    for head, record in log.records(start):
        if not head.is_control:
            yield record.offset, (record.value or b"").decode()
