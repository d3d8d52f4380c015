"""How fast the log is, next to what the machine itself can do: ./run bench log

Append, read, open, recover, and the memory of idle partitions. Every figure is a median over rounds in which our work
and the machine's (memcpy, page-cache write, CRC) take turns. Works in a temporary directory, needs about 6 GB there.
"""

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from statistics import median

import harness
from crc32c import crc32c
from harness import Figure

from odradek.model.numbers import LeaderEpoch, Offset, ProducerId, TimestampMs
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from odradek.process.files import OsFiles
from odradek.records.batch import check_crc, parse_head
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.storage.log import Log
from odradek.storage.log_dir import LogDir
from odradek.storage.log_dirs import LogDirs, Setting
from odradek.storage.open_files import OpenFiles
from odradek.storage.recovery import Situation, recover
from support.clock import ManualClock
from support.logs import append_batch

MB = 1 << 20
CLOCK = ManualClock()
EPOCH = LeaderEpoch(0)
PARTITION = TopicPartition("bench", 0)
CONFIG = TopicConfig()


def batch_of(size: int, record_bytes: int = 100) -> bytearray:
    """A batch of about `size` bytes, of an idempotent producer."""
    count = max((size - 100) // (record_bytes + 13), 1)
    records = [Record(Offset(n), TimestampMs(CLOCK.now_ms() + n), None, os.urandom(record_bytes)) for n in range(count)]
    return build_batch(records, BatchSpec(producer_id=ProducerId(7), producer_epoch=0, base_sequence=0))


def situation(directory: str, *, clean: bool) -> Situation:
    return Situation(directory, clean, False, Offset(0), Offset(0), True, 4096, 86_400_000, CLOCK.now_ms())


def open_log(directory: str, config: TopicConfig = CONFIG, *, clean: bool = True) -> Log:
    os.makedirs(directory, exist_ok=True)
    open_files = OpenFiles(OsFiles())
    log_dir = LogDir(os.path.dirname(directory), open_files, CLOCK)
    return Log(log_dir, directory, PARTITION, config, recover(open_files, situation(directory, clean=clean)))


class Producer:
    """Sends one batch again and again, as an idempotent producer would: with the next sequence and a new CRC."""

    def __init__(self, batch: bytearray, copies: int) -> None:
        self.head = parse_head(batch)
        self.ready: list[memoryview] = []
        for number in range(copies):
            copy = bytearray(batch)
            copy[53:57] = (number * self.head.count % (1 << 31)).to_bytes(4, "big")
            copy[17:21] = crc32c(memoryview(copy)[21:]).to_bytes(4, "big")
            self.ready.append(memoryview(copy))


@contextmanager
def directory() -> Iterator[str]:
    path = tempfile.mkdtemp(prefix="odradek-bench-")
    try:
        yield path
    finally:
        shutil.rmtree(path)


class NoFile:
    """Takes writes and does nothing, so that what is left is our own time."""

    path = ""

    def write(self, data: memoryview, at: int) -> None:
        return


def append_figures(rounds: int, size: int, total: int) -> list[Figure]:
    """Append `total` bytes of batches of `size`: for real, as bare writes, without the writes, as bare checksums."""
    batches = Producer(batch_of(size), total // size).ready
    whole = sum(len(batch) for batch in batches)

    def bare_write() -> None:
        at = 0
        for batch in batches:
            at += os.pwrite(fd, batch, at)

    def bare_crc() -> None:
        for batch in batches:
            crc32c(batch[21:])

    def append() -> None:
        for batch in batches:
            append_batch(log, batch, EPOCH)

    written, ours, unwritten, summed = [], [], [], []
    for _ in range(rounds):
        with directory() as root:
            fd = os.open(f"{root}/raw", os.O_RDWR | os.O_CREAT)
            written.append(harness.seconds(bare_write))
            os.close(fd)
            os.unlink(f"{root}/raw")
            log = open_log(f"{root}/bench-0")
            ours.append(harness.seconds(append))
            log.abandon()
            log = open_log(f"{root}/bench-1")
            log.segments[0].log.file = NoFile()  # type: ignore[assignment]
            unwritten.append(harness.seconds(append))
            summed.append(harness.seconds(bare_crc))
    taken, limit, crc = median(ours), median(written), median(summed) / len(batches) * 1e6
    own = median(unwritten) / len(batches) * 1e6 - crc
    is_large = size >= MB
    name = f"{size // MB} MB" if is_large else f"{size >> 10} KB"
    rate = Figure(f"append, batches of {name}", whole / taken / MB, "MB/s", whole / limit / MB, "page-cache write")
    each = Figure(f"append, batches of {name}: own time", own, "us", crc, "CRC")
    if is_large:
        return [replace(rate, bar="at least half", met=taken <= 2 * limit), each]
    return [rate, replace(each, bar="under 8 us", met=own < 8)]


def memcpy_rate(rounds: int) -> Figure:
    source, target = bytearray(os.urandom(64 * MB)), bytearray(64 * MB)
    (taken,) = harness.medians(rounds, lambda: target.__setitem__(slice(None), source))
    return Figure("memcpy of 64 MB", 64 / taken, "MB/s")


def crc_rate(rounds: int) -> Figure:
    data = os.urandom(64 * MB)
    (taken,) = harness.medians(rounds, lambda: crc32c(data))
    return Figure("CRC-32C of 64 MB", 64 / taken, "MB/s")


def read_figures(rounds: int, root: str) -> list[Figure]:
    """Read a log of many segments from start to end in slices of 1 MB, and look up random offsets."""
    log = open_log(f"{root}/bench-0", clean=True)
    middle = [Offset(log.end_offset * number // 1009) for number in range(1, 1000)]
    paths = [segment.log.path for segment in log.segments][:100]

    def slices() -> int:
        offset, size = log.start_offset, 0
        end = log.segments[100].base_offset
        while offset < end:
            part = log.read(offset, MB)
            assert part is not None
            data = part.read()
            size += len(data)
            at = 0
            while at + 61 <= len(data):
                head = parse_head(data, at)
                if at + head.size > len(data):
                    break
                at += head.size
                offset = head.next_offset
        return size

    def bare() -> None:
        for path in paths:
            fd = os.open(path, os.O_RDONLY)
            at = 0
            while data := os.pread(fd, MB, at):
                at += len(data)
            os.close(fd)

    def look_up() -> None:
        for offset in middle:
            log.read(offset, MB)

    size = slices()
    ours, theirs, found = harness.medians(rounds, slices, bare, look_up)
    log.abandon()
    return [
        Figure("read in slices of 1 MB", size / ours / MB, "MB/s", size / theirs / MB, "pread"),
        Figure("find a random offset in 500 segments", found / len(middle) * 1e6, "us"),
    ]


def make_segments(root: str, count: int, segment_bytes: int) -> None:
    """A log of `count` full segments, cleanly closed."""
    config = replace(CONFIG, segment_bytes=segment_bytes)
    log = open_log(f"{root}/bench-0", config)
    ready = Producer(batch_of(16 << 10), segment_bytes * count // (16 << 10) + count).ready
    for batch in ready:
        append_batch(log, batch, EPOCH)
        if len(log.segments) > count:
            break
    log.recovery_point = log.end_offset  # not a benchmark of fsync
    log.close()


def open_figures(rounds: int, root: str) -> list[Figure]:
    def open_clean(directory: str) -> None:
        open_log(directory).abandon()

    figures = []
    for count in (125, 250, 500):
        with directory() as part:
            os.mkdir(f"{part}/bench-0")
            source = f"{root}/bench-0"
            listed = sorted(os.listdir(source))
            bases = [name.split(".")[0] for name in listed if name.endswith(".log")][:count]
            for name in listed:
                if name.split(".")[0] in bases or not name[0].isdigit():
                    os.link(f"{source}/{name}", f"{part}/bench-0/{name}")
            size = sum(entry.stat().st_size for entry in os.scandir(f"{part}/bench-0"))
            (taken,) = harness.medians(rounds, partial(open_clean, f"{part}/bench-0"))
        figure = Figure(f"clean open of {size / 1e9:.1f} GB in {count} segments", taken * 1000, "ms")
        figures.append(replace(figure, bar="under 1 s", met=taken < 1) if count == 500 else figure)
    return figures


def recovery_figure(rounds: int, root: str) -> Figure:
    """Scan 1 GB after a crash, from the page cache, in one process; the limit is reading it and its checksums."""
    with directory() as part:
        os.mkdir(f"{part}/bench-0")
        names = sorted(name for name in os.listdir(f"{root}/bench-0") if name.endswith(".log"))[:100]
        for name in names:
            os.link(f"{root}/bench-0/{name}", f"{part}/bench-0/{name}")
        size = sum(os.path.getsize(f"{part}/bench-0/{name}") for name in names)

        def scan() -> None:
            for entry in os.scandir(f"{part}/bench-0"):
                if not entry.name.endswith(".log"):
                    os.unlink(entry.path)
            recovered = recover(OpenFiles(OsFiles()), situation(f"{part}/bench-0", clean=False))
            assert recovered.scanned_bytes == size, recovered.events

        def bare() -> None:
            for name in names:
                with open(f"{part}/bench-0/{name}", "rb", buffering=0) as file:
                    while data := file.read(MB):
                        crc32c(data)

        ours, theirs = harness.medians(rounds, scan, bare)
    rate = size / ours / MB
    return Figure(
        "recovery scan, batches of 16 KB", rate, "MB/s", size / theirs / MB, "read + CRC", "1 GB/s", rate >= 1000
    )


def memory_figure(count: int) -> Figure:
    """Resident memory of idle partitions, each with a few records, after a clean open."""
    with directory() as root:
        setting = Setting(CLOCK, lambda _topic: CONFIG, lambda: "0" * 32)
        logs = LogDirs.open(OpenFiles(OsFiles()), [root], setting)
        for number in range(count):
            log = logs.create(TopicPartition("idle", number), "A" * 22)
            append_batch(log, memoryview(batch_of(500)), EPOCH)
            log.recovery_point = log.end_offset
        logs.close()
        del logs
        gc.collect()
        before = _resident()
        logs = LogDirs.open(OpenFiles(OsFiles()), [root], setting)
        after = _resident()
        assert len(list(logs)) == count
        logs.abandon()
    each = (after - before) / count
    return Figure(
        f"memory of an idle partition, {count:,} of them", each, "bytes", bar="at most 6 KB", met=each <= 6144
    )


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def check_own_work() -> None:
    """The batches that are appended are whole: a benchmark of refused batches would be a fast one."""
    batch = memoryview(batch_of(16 << 10))
    check_crc(batch, parse_head(batch))


def main() -> None:
    options = harness.parser(__doc__ or "").parse_args()
    rounds = options.rounds
    check_own_work()
    figures = [memory_figure(4000), memcpy_rate(rounds), crc_rate(rounds)]
    figures += append_figures(rounds, MB, 512 * MB)
    figures += append_figures(rounds, 16 << 10, 256 * MB)
    with directory() as root:
        print("writing 5 GB in 500 segments ...", file=sys.stderr)
        make_segments(root, 500, 10 * MB)
        figures += read_figures(rounds, root)
        figures += open_figures(rounds, root)
        figures.append(recovery_figure(rounds, root))
    harness.report("log", figures, save_them=options.save)


if __name__ == "__main__":
    main()
