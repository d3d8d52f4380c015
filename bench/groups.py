"""Consumer groups, odradek next to Apache Kafka: ./run bench groups

Both have their defaults, but for the heartbeat interval of the newer protocol: 500 ms, as classic members have it
here. The load comes from a process of its own (group_load.py). The table has medians over the rounds; each round has
brokers and groups of its own, and in it commits and heartbeats that do not count before those that do.

Memory is what the broker holds after all have joined, less what it held before, for each member, with its connection:
the resident set of ours, of Kafka the heap in use after a collection.
The time to load goes from the start of the process until all groups answer with all that they committed.

Needs Apache Kafka (Java and, at first, Maven). Takes some ten minutes.
"""

import os
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import group_load
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

GROUPS, MEMBERS, PARTITIONS, COMMITS = 200, 10, 100, 10
BEFORE, AFTER = 100, 1_000
SETTINGS = {
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "500",
}

NOT_WORSE, NOT_LESS = at_most(1, "not above"), at_least(1.0)
COMMIT_P50, COMMIT_P99 = "commit one at a time, p50", "commit one at a time, p99"
COMMIT_RATE = "commits from 50 consumers"
STABLE = f"{GROUPS} groups of {MEMBERS} members, until all are stable"
HEARTBEATS = "heartbeats served"
MEMBER = "memory for a member"
LOADED = f"start to loaded: those groups, {GROUPS * PARTITIONS * COMMITS:,} commits"
ADDED = f"{AFTER - BEFORE} partitions added, until {MEMBERS} members have them"
ROWS: list[tuple[str, str, Bar]] = [
    (COMMIT_P50, "us", NOT_WORSE),
    (COMMIT_P99, "us", NOT_WORSE),
    (COMMIT_RATE, "/s", NOT_LESS),
    (STABLE, "s", NOT_WORSE),
    (HEARTBEATS, "/s", NOT_LESS),
    (MEMBER, "KB", NOT_WORSE),
    (LOADED, "s", at_most(1 / 2, "at most half")),
    (f"{ADDED}, classic", "s", NOT_WORSE),
    (f"{ADDED}, KIP-848", "s", NOT_WORSE),
    ("CPU of the broker", "s", NO_BAR),
]


def one_round(contender: Contender, root: Path, table: Table) -> None:
    """On a new directory: the broker serves all of it, is stopped, and started again."""
    directory = prepared(contender, root)
    with running(contender, directory) as broker:
        measure_commits(contender.name, broker, table)
        measure_many(contender.name, broker, table)
        measure_added(contender.name, broker, table)
        table.add("CPU of the broker", contender.name, broker.cpu_s())
    with running(contender, directory) as broker:
        begin = time.perf_counter()
        raw = Raw(broker.address)
        while not group_load.is_loaded(raw, GROUPS, COMMITS - 1, PARTITIONS):
            time.sleep(0.001)
        table.add(LOADED, contender.name, broker.start_s + time.perf_counter() - begin)


def measure_commits(name: str, broker: Running, table: Table) -> None:
    topic = new_topic(broker, "committed", 1)
    many = {"address": broker.address, "consumers": 50, "count": 50_000}
    run_load("group_load.py", "commit_rate", topic=new_topic(broker, "warm-up", 1), **many)
    one = run_load("group_load.py", "commit_latency", address=broker.address, topic=topic, count=5_000)
    table.add(COMMIT_P50, name, one["p50_us"], one["own_cpu"])
    table.add(COMMIT_P99, name, one["p99_us"], one["own_cpu"])
    rate = run_load("group_load.py", "commit_rate", topic=topic, **many)
    table.add(COMMIT_RATE, name, rate["commits_s"], rate["own_cpu"])


def measure_many(name: str, broker: Running, table: Table) -> None:
    topic = new_topic(broker, "many", PARTITIONS)
    counts = {"partitions": PARTITIONS, "groups": GROUPS, "members": MEMBERS, "heartbeats": 50_000, "commits": COMMITS}
    got = run_load("group_load.py", "many", address=broker.address, pid=broker.pid, topic=topic, **counts)
    table.add(STABLE, name, got["stable_s"], got["stable_cpu"])
    table.add(HEARTBEATS, name, got["heartbeats_s"], got["heartbeats_cpu"])
    table.add(MEMBER, name, got["member_kb"])


def measure_added(name: str, broker: Running, table: Table) -> None:
    for work, protocol in (("added_classic", "classic"), ("added_consumer", "KIP-848")):
        topic = new_topic(broker, work, BEFORE)
        counts = {"members": MEMBERS, "before": BEFORE, "after": AFTER}
        got = run_load("group_load.py", work, address=broker.address, topic=topic, **counts)
        table.add(f"{ADDED}, {protocol}", name, got["seconds"], got["own_cpu"])


def main() -> None:
    options = harness.parser(__doc__ or "", rounds=3).parse_args()
    try:
        contenders: list[Contender] = [
            ApacheKafka(SETTINGS | {"offsets.topic.replication.factor": "1"}),
            Odradek(SETTINGS),
        ]
    except Unavailable as error:
        sys.exit(f"bench groups: {error}")
    table = Table()
    for number in range(options.rounds + 1):
        progress(f"round {number} of {options.rounds}" if number else "warm-up")
        for contender in contenders[:: -1 if number % 2 else 1]:
            os.sync()
            with ExitStack() as stack:
                one_round(contender, stack.enter_context(work_directory()), table if number else Table())
            progress(f"  {contender.name}")
    rows: list[Row] = [table.row(*row) for row in ROWS]
    show(rows)
    if options.save:
        harness.save("groups", {"apache_kafka": VERSION, "rounds": options.rounds, "rows": list(map(asdict, rows))})


if __name__ == "__main__":
    main()
