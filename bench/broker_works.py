"""The pieces of work of `./run bench broker`: what is sent and fetched, by which load, and the bar of each."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import load
from versus import NO_BAR, Bar, at_least, at_most, run_load

PARTITIONS = 6
MB, KB16 = 1_000_000, 16_384
_ALL = -1
THOUSAND = "1,000 records"
PER = {"a request": ("requests", 1), "a MB": ("bytes", MB), THOUSAND: ("records", 1_000)}
"""What the CPU of the broker is told for: which figure of a load counts them, in pieces of which size."""
SINGLE_BAR = at_least(3, "at least 3x, goal 6x")


@dataclass(frozen=True)
class Work:
    """One row of the table: the load, and which of its figures counts."""

    what: str
    run: Callable[..., dict[str, float]]
    """Given `address` and `topic`."""
    figure: str
    unit: str
    bar: Bar
    per: str = "a request"
    """One of `PER`."""
    reads: bool = False
    """Whether it reads the topic of the row before; else it has a new one."""
    second_bar: Bar | None = None
    """Of the p99 of the same run, a row of its own, where the figure is the p50."""
    partitions: int = PARTITIONS

    @property
    def second(self) -> str:
        return self.what.replace("p50", "p99")


def raw_works(scale: float) -> Iterator[Work]:
    """What load.c does."""
    for name, fetched, record_bytes, batch_bytes, mb, acks in (
        ("produce 100 B, acks=1, batches of 1 MB", "fetch them", 100, MB, 600, 1),
        ("produce 100 B, acks=1, batches of 16 KB", "fetch them (16 KB)", 100, KB16, 300, 1),
        ("produce 1,000 B, acks=all, batches of 1 MB", "fetch them (1,000 B)", 1_000, MB, 600, _ALL),
    ):
        count = int(mb * MB * scale) // batch_bytes
        produce = partial(load.produce, record_bytes=record_bytes, batch_bytes=batch_bytes, count=count, acks=acks)
        fetch = partial(load.fetch, partitions=PARTITIONS, times=3)
        yield Work(name, partial(produce, partitions=PARTITIONS), "mb_s", "MB/s", at_least(1.2))
        yield Work(fetched, fetch, "mb_s", "MB/s", at_least(1.1), "a MB", reads=True)
    single = partial(load.produce, record_bytes=100, batch_bytes=1)
    for what, connections in (("one record a request, 5 in flight", 1), ("the same on 10 connections", 10)):
        run = partial(single, partitions=PARTITIONS, connections=connections, seconds=3 * scale)
        yield Work(what, run, "requests_s", "/s", SINGLE_BAR)
    alone = partial(single, partitions=1, in_flight=1, seconds=2 * scale)
    yield Work("one at a time, p50", alone, "p50_us", "us", at_most(1), second_bar=at_most(1), partitions=1)
    steady = partial(load.end_to_end, rate=10_000, seconds=5 * scale)
    late = Bar("not above, under 10 ms", lambda ours, theirs: ours <= theirs and ours < 10_000)
    what = "end to end at 10,000 records/s, p50"
    yield Work(what, steady, "p50_us", "us", NO_BAR, THOUSAND, second_bar=late, partitions=1)


def rdkafka_works(scale: float) -> Iterator[Work]:
    """What librdkafka does, as its users have it: many of these are at the limit of the client."""
    produce, fetch = (
        partial(run_load, "rdkafka_load.py", name, partitions=PARTITIONS) for name in ("produce", "fetch")
    )
    one = partial(produce, record_bytes=100, acks=1, one=True, count=load.UNBOUNDED, seconds=3 * scale)
    yield Work(
        "librdkafka: one record a request, 5 in flight", one, "records_s", "/s", at_least(3, "at least 3x, goal 6x")
    )
    for record_bytes, acks, count, figure, unit, goal in (
        (100, 1, 3_000_000, "records_s", "/s", 2),
        (1_000, _ALL, 600_000, "mb_s", "MB/s", 2.5),
    ):
        records = f"{record_bytes:,} B"
        name = f"librdkafka: produce {records}, acks={acks if acks > 0 else 'all'}"
        run = partial(produce, record_bytes=record_bytes, acks=acks, one=False, count=int(count * scale), seconds=60)
        bar = Bar(f"goal {goal}x", at_least(goal).is_met)
        yield Work(name, run, figure, unit, bar, THOUSAND)
        read = partial(fetch, record_bytes=record_bytes)
        yield Work(f"librdkafka: fetch {records}", read, figure, unit, at_least(1.0), THOUSAND, reads=True)
