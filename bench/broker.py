"""odradek next to Apache Kafka, on the same machine with the same load: ./run bench broker

Both are started in turn, then both are up, and every piece of work is done on one and then on the other, round by
round, after a round that does not count. The load comes from a process of its own (load.py), which tells its share of
a CPU: where that is near 1, the figure says more about the load than about the broker. The table has medians.

Needs Apache Kafka (Java and, at first, Maven) and about 12 GB in the temporary directory. Takes some ten minutes.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any

import harness
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
    run_load,
    show,
    work_directory,
)

from support.apache_kafka import VERSION, Unavailable

PARTITIONS = 6
TOPICS = 1_000
_ALL = -1

START = "start to the first acknowledged record"
IDLE = "resident memory, idle"
LOADED = "resident memory after the load"
CPU = "CPU of the broker over the whole load"
START_MANY = f"start with {TOPICS:,} topics of {PARTITIONS} partitions"
METADATA = f"Metadata of all {TOPICS:,} topics, p50"
FIRST_HALF = f"memory for a partition, the first {TOPICS * PARTITIONS // 2:,}"
SECOND_HALF = f"memory for a partition, the next {TOPICS * PARTITIONS // 2:,}"


@dataclass(frozen=True)
class Work:
    """One row of the table: what load.py is told to do, and which of its figures counts."""

    what: str
    name: str
    figure: str
    unit: str
    bar: Bar
    parameters: dict[str, Any]
    reads: str = ""
    """The row whose topic this one reads."""
    second: str = ""
    """Another figure of the same run, as a row of its own."""
    second_bar: Bar = NO_BAR
    partitions: int = PARTITIONS


def batches(record_bytes: int, batch_bytes: int, mb: int, acks: int = 1) -> dict[str, int]:
    return {
        "record_bytes": record_bytes,
        "batch_bytes": batch_bytes,
        "count": mb * 1_000_000 // batch_bytes,
        "acks": acks,
    }


def single(connections: int) -> dict[str, int]:
    return {"record_bytes": 100, "batch_bytes": 1, "count": 30_000, "connections": connections}


MB, KB16 = 1_000_000, 16_384
SMALL_MB, SMALL_16K = "produce 100 B, acks=1, batches of 1 MB", "produce 100 B, acks=1, batches of 16 KB"
LARGE = "produce 1,000 B, acks=all, batches of 1 MB"
SMALL_C, LARGE_C = "confluent-kafka: produce 100 B, acks=1", "confluent-kafka: produce 1,000 B, acks=all"
WORKS = [
    Work(SMALL_MB, "produce", "mb_s", "MB/s", at_least(1.2), batches(100, MB, 1_000)),
    Work("fetch them", "fetch", "mb_s", "MB/s", at_least(1.1), {"times": 3}, reads=SMALL_MB),
    Work(SMALL_16K, "produce", "mb_s", "MB/s", at_least(1.2), batches(100, KB16, 400)),
    Work("fetch them (16 KB)", "fetch", "mb_s", "MB/s", at_least(1.1), {"times": 3}, reads=SMALL_16K),
    Work(LARGE, "produce", "mb_s", "MB/s", at_least(1.2), batches(1_000, MB, 1_000, _ALL)),
    Work("fetch them (1,000 B)", "fetch", "mb_s", "MB/s", at_least(1.1), {"times": 3}, reads=LARGE),
    Work("one record a request, 5 in flight", "produce", "requests_s", "/s", at_least(3), single(1)),
    Work("the same on 10 connections", "produce", "requests_s", "/s", at_least(3), single(10)),
    Work(
        "one at a time, p50",
        "latency",
        "p50_us",
        "us",
        at_most(1),
        {"count": 10_000},
        second="p99_us",
        second_bar=at_most(1),
        partitions=1,
    ),
    Work(
        "end to end at 10,000 records/s, p50",
        "end_to_end",
        "p50_us",
        "us",
        NO_BAR,
        {"rate": 10_000, "seconds": 5},
        second="p99_us",
        second_bar=Bar("not above, under 10 ms", lambda ours, theirs: ours <= theirs and ours < 10_000),
        partitions=1,
    ),
    Work(
        SMALL_C,
        "confluent_produce",
        "records_s",
        "/s",
        NO_BAR,
        {"record_bytes": 100, "count": 1_000_000, "acks": "1"},
    ),
    Work(
        "confluent-kafka: fetch them",
        "confluent_fetch",
        "records_s",
        "/s",
        at_least(1.0),
        {"record_bytes": 100},
        reads=SMALL_C,
    ),
    Work(
        LARGE_C,
        "confluent_produce",
        "mb_s",
        "MB/s",
        NO_BAR,
        {"record_bytes": 1_000, "count": 400_000, "acks": "all"},
    ),
    Work(
        "confluent-kafka: fetch them (1,000 B)",
        "confluent_fetch",
        "mb_s",
        "MB/s",
        at_least(1.0),
        {"record_bytes": 1_000},
        reads=LARGE_C,
    ),
]


# --- the parts


def measure_start(contenders: list[Contender], rounds: int, table: Table) -> None:
    for number in range(rounds + 1):
        for contender in contenders:
            with ExitStack() as stack:
                directory = prepared(contender, stack.enter_context(work_directory()))
                broker = stack.enter_context(running(contender, directory))
                if number:  # the first one fills the page cache with the programs
                    table.add(START, contender.name, broker.start_s)
                    table.add(IDLE, contender.name, broker.resident_mb())


def measure_load(contenders: list[Contender], rounds: int, table: Table) -> None:
    with work_directory() as root, ExitStack() as stack:
        brokers: dict[str, Running] = {}
        for contender in contenders:
            directory = prepared(contender, root)
            brokers[contender.name] = stack.enter_context(running(contender, directory))
        for number in range(rounds + 1):
            progress(f"round {number} of {rounds}" if number else "warm-up")
            one_round(brokers, number, table if number else Table())
        for name, broker in brokers.items():
            table.add(LOADED, name, broker.resident_mb())


def one_round(brokers: dict[str, Running], number: int, table: Table) -> None:
    topics: dict[tuple[str, str], str] = {}
    before = {name: broker.cpu_s() for name, broker in brokers.items()}
    for position, work in enumerate(WORKS):
        for name, broker in sorted(brokers.items(), reverse=bool(number % 2)):
            new = f"bench-{number}-{position}"
            topic = topics[work.reads, name] if work.reads else new_topic(broker, new, work.partitions)
            topics[work.what, name] = topic
            os.sync()  # or what was written or deleted for one gets to the disk at the other's cost
            result = run_load(
                "load.py", work.name, address=broker.address, topic=topic, **_partitions(work), **work.parameters
            )
            table.add(work.what, name, result[work.figure], result["own_cpu"])
            if work.second:
                table.add(second_name(work), name, result[work.second], result["own_cpu"])
            progress(f"  {name:13} {work.what:45} {result[work.figure]:12,.1f} {work.unit}")
    for name, broker in brokers.items():
        table.add(CPU, name, broker.cpu_s() - before[name])
        raw = Raw(broker.address)
        raw.delete_topics(sorted({topic for (_, owner), topic in topics.items() if owner == name}))


def second_name(work: Work) -> str:
    return work.what.replace("p50", "p99")


def _partitions(work: Work) -> dict[str, int]:
    return {} if work.partitions == 1 or work.name == "confluent_produce" else {"partitions": work.partitions}


def create_half(broker: Running, what: str, first: int, name: str, table: Table) -> None:
    before = broker.resident_mb()
    raw = Raw(broker.address)
    last = first + TOPICS // 2
    for start in range(first, last, 100):
        raw.create_topics([f"many-{number}" for number in range(start, start + 100)], PARTITIONS)
    raw.wait_for_leaders(f"many-{last - 1}", PARTITIONS)
    raw.close()
    table.add(what, name, (broker.resident_mb() - before) * 1024 / (TOPICS * PARTITIONS / 2))


def measure_many_topics(contenders: list[Contender], rounds: int, table: Table) -> None:
    """Start, Metadata, and memory with many topics; and whether the memory grows in line with them."""
    with work_directory() as root:
        directories = {each.name: prepared(each, root) for each in contenders}
        for contender in contenders:
            progress(f"  {contender.name}: {TOPICS:,} topics")
            with running(contender, directories[contender.name]) as broker:
                create_half(broker, FIRST_HALF, 0, contender.name, table)
                create_half(broker, SECOND_HALF, TOPICS // 2, contender.name, table)
        for number in range(rounds + 1):
            for contender in contenders:
                with running(contender, directories[contender.name]) as broker:
                    result = run_load("load.py", "metadata", address=broker.address, count=200 if number else 20)
                    if number:
                        table.add(START_MANY, contender.name, broker.start_s)
                        table.add(METADATA, contender.name, result["p50_us"], result["own_cpu"])


# --- the table


def rows_of(table: Table) -> Iterator[Row]:
    """Those that were measured."""
    wanted: list[tuple[str, str, Bar]] = []
    for work in WORKS:
        wanted.append((work.what, work.unit, work.bar))
        if work.second:
            wanted.append((second_name(work), work.unit, work.second_bar))
    wanted += [
        (START, "s", at_most(1 / 8, "at most 1/8, goal 0.3 s")),
        (IDLE, "MB", at_most(1 / 6, "at most 1/6, goal 50 MB")),
        (LOADED, "MB", at_most(1 / 6, "at most 1/6")),
        (START_MANY, "s", at_most(1 / 3, "at most 1/3")),
        (METADATA, "us", at_most(1.5)),
        (FIRST_HALF, "KB", NO_BAR),
        (SECOND_HALF, "KB", NO_BAR),
        (CPU, "s", at_most(1, "not above")),
    ]
    for what, unit, bar in wanted:
        if table.has(what):
            yield table.row(what, unit, bar)


def main() -> None:
    parser = harness.parser(__doc__ or "", rounds=3)
    parser.add_argument("--only", choices=("load", "start", "topics"), help="one part of it")
    options = parser.parse_args()
    try:
        contenders: list[Contender] = [ApacheKafka(), Odradek()]
    except Unavailable as error:
        sys.exit(f"bench broker: {error}")
    table = Table()
    parts = {"start": measure_start, "load": measure_load, "topics": measure_many_topics}
    for name, part in parts.items():
        if options.only in (None, name):
            progress(name)
            part(contenders, options.rounds, table)
    rows = list(rows_of(table))
    show(rows)
    if options.save:
        harness.save("broker", {"apache_kafka": VERSION, "rounds": options.rounds, "rows": list(map(asdict, rows))})


if __name__ == "__main__":
    main()
