"""Compaction next to Apache Kafka's, and what produce feels of it: ./run bench housekeeping

Logs of 2 GB with keys that come at random, of a million and of ten million, in batches of 16 KB with values of 50 to
150 bytes, are written once; then each broker cleans a copy of the same files. The clock runs from the change of the
topic's setting that makes the log dirty enough to the checkpoint that says that it is clean. Settings are the defaults,
so both may hold 128 MiB of keys. Memory is the most that was resident: of Kafka's process, and of ours with the child
that cleans.

For the rows of produce, one record after the other is sent to another topic of the broker: first while it has nothing
else to do, then while it cleans the log of a million keys.

What quotas cost is a table of its own, of odradek alone: the CPU of a produce request with a quota that nobody reaches,
and without any (quota_load.py, which also tells how exactly they hold).

Needs Apache Kafka (Java and, at first, Maven) and 12 GB in the temporary directory. Takes some ten minutes.
"""

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from statistics import median
from typing import TYPE_CHECKING

import harness
import load
import quota_load
from contenders import ApacheKafka, Contender, Odradek, Running, running
from raw import Raw
from versus import (
    NO_BAR,
    Bar,
    Row,
    Table,
    at_least,
    at_most,
    new_topic,
    prepared,
    progress,
    show,
    work_directory,
)

from odradek.model.numbers import LeaderEpoch, TimestampMs
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from odradek.process.files import OsFiles
from odradek.records.batch import Codec
from odradek.records.builder import build_run
from odradek.storage import checkpoint, names
from odradek.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from support.apache_kafka import VERSION, Unavailable
from support.logs import log_of, open_dirs, setting
from support.one_node import ONE_REPLICA

if TYPE_CHECKING:
    from odradek.storage.log import Log

PARTS = ("cleaning", "produce", "quotas")
TOPIC = "keyed"
PLACE = TopicPartition(TOPIC, 0)
SEGMENT_BYTES = 100_000_000
BATCH_RECORDS = 130
SETTINGS = {
    **ONE_REPLICA,
    "log.cleaner.backoff.ms": "100",
    "log.flush.offset.checkpoint.interval.ms": "500",
}
"""The last: how far a log is clean is stored with the other checkpoints."""
DIRTY_RATIO = "min.cleanable.dirty.ratio"
NEVER, SOON = "1.0", "0.01"
SAMPLE_S = 0.02
LIMIT_S = 600
LATENCY_COUNT = 3_000

IDLE, CLEANING = "produce one at a time, p99, idle", "the same while a log is cleaned"
TIMES = "how many times that of idle"
WITHIN = Bar("at most 1.5", lambda ours, _theirs: ours <= 1.5)


@dataclass(frozen=True)
class Size:
    log_bytes: int
    keys: tuple[int, ...]


WHOLE, QUICK = Size(2_000_000_000, (1_000_000, 10_000_000)), Size(150_000_000, (75_000, 750_000))


def rate_of(keys: int) -> str:
    return f"cleaning, {keys:,} keys"


# --- the logs


def write_log(directory: Path, keys: int, size: int) -> None:
    """A topic with a partition of that size, with enough in the last segment to be left alone."""
    directory.mkdir()
    with running(Odradek(SETTINGS), directory) as broker:
        configs = {"cleanup.policy": "compact", "segment.bytes": str(SEGMENT_BYTES), DIRTY_RATIO: NEVER}
        given = tuple(CreatableTopicConfig(name=name, value=value) for name, value in configs.items())
        topic = CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=1, assignments=(), configs=given)
        Raw(broker.address).ask(CreateTopicsRequest(topics=(topic,), timeout_ms=60_000), CreateTopicsResponse, 7)
    config = replace(TopicConfig(), segment_bytes=SEGMENT_BYTES)
    dirs = open_dirs(OsFiles(), str(directory), given=setting(config))
    fill(log_of(dirs, PLACE), keys, size)
    dirs.close()


def fill(log: "Log", keys: int, size: int) -> None:
    rng = Random(keys)
    pool = rng.randbytes(1 << 16)
    values: list[bytes | None] = [None]  # one of a thousand is a tombstone
    for _ in range(999):
        start = rng.randrange(1 << 15)
        values.append(pool[start : start + rng.randrange(50, 151)])
    now = TimestampMs(time.time_ns() // 1_000_000)
    written = 0
    while written < size:
        chosen = rng.choices(range(keys), k=BATCH_RECORDS)
        entries = [
            (b"%016d" % key, value) for key, value in zip(chosen, rng.choices(values, k=BATCH_RECORDS), strict=True)
        ]
        batch, head = build_run(entries, now, Codec.NONE)
        log.append_checked(memoryview(batch), head, LeaderEpoch(0))
        written += len(batch)
    log.roll()


def copy_log(source: Path, target: Path) -> None:
    """Closed segments are linked: nobody writes to them any more. Their indexes are cut to size by either broker."""
    shutil.copytree(source, target, copy_function=lambda *_: None)
    for path in source.rglob("*"):
        if path.is_file():
            into = target / path.relative_to(source)
            if path.suffix == names.LOG and path.parent.name == f"{TOPIC}-0":
                os.link(path, into)
            else:
                shutil.copy2(path, into)


# --- cleaning


def active_base(directory: Path) -> int:
    return int(max((directory / f"{TOPIC}-0").glob(f"*{names.LOG}")).stem)


def is_clean(directory: Path, end: int) -> bool:
    path = directory / names.CLEANER_OFFSETS
    return path.exists() and checkpoint.read_offsets(OsFiles(), str(path)).get(PLACE, -1) >= end


def make_dirty(broker: Running) -> None:
    change = AlterableConfig(name=DIRTY_RATIO, config_operation=0, value=SOON)
    resource = AlterConfigsResource(resource_type=2, resource_name=TOPIC, configs=(change,))
    request = IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
    (answer,) = Raw(broker.address).ask(request, IncrementalAlterConfigsResponse, 1).responses
    if answer.error_code:
        raise RuntimeError(f"{DIRTY_RATIO} was not set: {answer.error_message}")


class Memory:
    """The most that a process and its children had resident."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._most: dict[int, int] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> "Memory":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def most_mb(self) -> float:
        """Children come one after the other."""
        own = self._most.pop(self._pid)
        return (own + max(self._most.values(), default=0)) / 1024

    def _watch(self) -> None:
        while not self._over.wait(SAMPLE_S):
            children = Path(f"/proc/{self._pid}/task/{self._pid}/children").read_text().split()
            for pid in (self._pid, *map(int, children)):
                with suppress(OSError, StopIteration):  # it ended
                    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
                    self._most[pid] = int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


@contextmanager
def dirty_broker(contender: Contender, source: Path) -> Iterator[tuple[Running, Path]]:
    """A broker on a copy of the log, which is not cleaned yet."""
    with work_directory() as root:
        directory = root / "data"
        copy_log(source, directory)
        os.sync()
        with running(contender, directory) as broker:
            yield broker, directory


def wait_until_clean(directory: Path, end: int) -> None:
    deadline = time.perf_counter() + LIMIT_S
    while not is_clean(directory, end):
        if time.perf_counter() > deadline:
            raise RuntimeError(f"not clean within {LIMIT_S} s")
        time.sleep(SAMPLE_S)


def measure_cleaning(contender: Contender, source: Path, keys: int, table: Table) -> None:
    size = sum(path.stat().st_size for path in (source / f"{TOPIC}-0").glob(f"*{names.LOG}"))
    with dirty_broker(contender, source) as (broker, directory):
        end, cpu = active_base(directory), broker.cpu_s()
        with Memory(broker.pid) as memory:
            begin = time.perf_counter()
            make_dirty(broker)
            wait_until_clean(directory, end)
            seconds = time.perf_counter() - begin
        what = rate_of(keys)
        table.add(what, contender.name, size / seconds / 1e6)
        table.add(f"{what}: CPU", contender.name, broker.cpu_s() - cpu)
        table.add(f"{what}: memory", contender.name, memory.most_mb())
    progress(f"  {contender.name:13} {what:30} {size / seconds / 1e6:8.1f} MB/s")


# --- produce meanwhile


def measure_produce(contender: Contender, source: Path, table: Table) -> None:
    with dirty_broker(contender, source) as (broker, directory):
        topic, end = new_topic(broker, "other", 1), active_base(directory)
        idle = [p99_us(broker, topic) for _ in range(6)][1:]  # the first one warms it up
        make_dirty(broker)
        meanwhile: list[float] = []
        while True:
            got = p99_us(broker, topic)
            if is_clean(directory, end):
                break
            meanwhile.append(got)
    if not meanwhile:
        raise RuntimeError("the log was clean too soon to measure anything meanwhile")
    table.add(IDLE, contender.name, median(idle))
    table.add(CLEANING, contender.name, median(meanwhile))
    table.add(TIMES, contender.name, median(meanwhile) / median(idle))
    progress(f"  {contender.name:13} p99 {median(idle):.0f} us idle, {median(meanwhile):.0f} us while it cleans")


def p99_us(broker: Running, topic: str) -> float:
    """Of single records, each sent when the one before is acknowledged."""
    return load.produce(broker.address, topic, 1, 100, 1, count=LATENCY_COUNT, in_flight=1)["p99_us"]


# --- the table


def rows_of(table: Table, size: Size) -> Iterator[Row]:
    wanted: list[tuple[str, str, Bar]] = []
    for keys in size.keys:
        what = rate_of(keys)
        wanted += [(what, "MB/s", at_least(0.5)), (f"{what}: CPU", "s", NO_BAR), (f"{what}: memory", "MB", at_most(1))]
    wanted += [(IDLE, "us", NO_BAR), (CLEANING, "us", NO_BAR), (TIMES, "", WITHIN)]
    return (table.row(*row) for row in wanted if table.has(row[0]))


def measure_logs(contenders: list[Contender], size: Size, parts: set[str], rounds: int) -> list[Row]:
    """Cleaning, produce meanwhile, or both."""
    table = Table()
    with work_directory() as root:
        sources = {keys: root / str(keys) for keys in (size.keys if "cleaning" in parts else size.keys[:1])}
        for keys, source in sources.items():
            progress(f"a log of {size.log_bytes / 1e6:,.0f} MB with {keys:,} keys")
            write_log(source, keys, size.log_bytes)
        for number in range(rounds):
            for contender in contenders[:: -1 if number % 2 else 1]:
                if "cleaning" in parts:
                    for keys, source in sources.items():
                        measure_cleaning(contender, source, keys, table)
                if "produce" in parts:
                    measure_produce(contender, sources[size.keys[0]], table)
    return list(rows_of(table, size))


def measure_quotas(rounds: int) -> list[Row]:
    ours = Odradek()
    with work_directory() as root, running(ours, prepared(ours, root)) as broker:
        return quota_load.cost(broker, rounds)


def main() -> None:
    parser = harness.parser(__doc__ or "", rounds=1)
    parser.add_argument("--only", choices=PARTS, help="one part of it; figures of others stay kept")
    parser.add_argument("--quick", action="store_true", help="with small logs, to see that it works")
    options = parser.parse_args()
    parts = {options.only} if options.only else set(PARTS)
    rows: list[Row] = []
    if parts != {"quotas"}:
        try:
            contenders: list[Contender] = [ApacheKafka(SETTINGS), Odradek(SETTINGS)]
        except Unavailable as error:
            sys.exit(f"bench housekeeping: {error}")
        rows = measure_logs(contenders, QUICK if options.quick else WHOLE, parts, options.rounds)
    quotas: list[Row] = []
    if "quotas" in parts:
        progress("quotas")
        quotas = measure_quotas(2 if options.quick else quota_load.ROUNDS)
    if rows:
        show(rows)
    if quotas:
        show(quotas, quota_load.WITH, quota_load.WITHOUT)
    if options.save:
        figures = {"rows": list(map(asdict, rows)), "quotas": list(map(asdict, quotas))}
        if options.only:
            figures = {key: harness.with_kept("housekeeping", key, found) for key, found in figures.items()}
        harness.save("housekeeping", {"apache_kafka": VERSION, "rounds": options.rounds, **figures})


if __name__ == "__main__":
    main()
