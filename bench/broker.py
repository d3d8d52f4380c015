"""odradek next to Apache Kafka, on the same machine with the same load: ./run bench broker

Both are started in turn, then both are up, and every piece of work is done on one and then on the other, round by
round, after a round that does not count, in which Java compiles (with a --scale below 1 it has not done so). The load
is a program in C (load.c), or librdkafka (rdkafka_load.py), in a process of its own. The table has medians; beside each
figure stands what it took of the CPU: of the broker for each request, megabyte or thousand records, and of broker and
load in cores, which tells who was at their limit.

With --against, odradek at another commit, or in another checkout, takes the place of Apache Kafka, and nothing may be
more than 3 % worse: by the ratio of pairs of the same round, where there are four rounds or more. Rounds differ by more
than that, so many short ones tell most: `--against COMMIT --only load --scale 0.1 --rounds 30`.

Needs Apache Kafka (Java and, at first, Maven), a C compiler, and about 4 GB in the temporary directory. Without a
compiler it measures what librdkafka can, and says so. Takes a quarter of an hour.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from math import inf

import harness
import load
from broker_works import PARTITIONS, PER, Work, raw_works, rdkafka_works
from contenders import ROOT, ApacheKafka, Contender, Odradek, Running, other_source, running
from raw import Raw
from versus import (
    NO_BAR,
    Bar,
    BrokerCpu,
    Row,
    Table,
    at_most,
    markdown,
    new_topic,
    prepared,
    progress,
    show,
    work_directory,
)

from support.apache_kafka import VERSION, Unavailable

TOPICS = 1_000
WORSE_MAX = 1.03
"""Next to another odradek."""

START = "start to the first acknowledged record"
IDLE = "resident memory, idle"
LOADED = "resident memory after the load"
CPU = "CPU of the broker over the whole load"
START_MANY = f"start with {TOPICS:,} topics of {PARTITIONS} partitions"
METADATA = f"Metadata of all {TOPICS:,} topics, p50"
FIRST_HALF = f"memory for a partition, the first {TOPICS * PARTITIONS // 2:,}"
SECOND_HALF = f"memory for a partition, the next {TOPICS * PARTITIONS // 2:,}"


# --- the parts


@dataclass(frozen=True)
class Plan:
    contenders: list[Contender]
    rounds: int
    works: list[Work]
    has_compiler: bool


def measure_start(plan: Plan, table: Table) -> None:
    for number in range(plan.rounds + 1):
        for contender in plan.contenders:
            with ExitStack() as stack:
                directory = prepared(contender, stack.enter_context(work_directory()))
                broker = stack.enter_context(running(contender, directory))
                if number:  # the first one fills the page cache with the programs
                    table.add(START, contender.name, broker.start_s)
                    table.add(IDLE, contender.name, broker.resident_mb())


def measure_load(plan: Plan, table: Table) -> None:
    with work_directory() as root, ExitStack() as stack:
        brokers: dict[str, Running] = {}
        for contender in plan.contenders:
            directory = prepared(contender, root)
            brokers[contender.name] = stack.enter_context(running(contender, directory))
        for number in range(plan.rounds + 1):
            progress(f"round {number} of {plan.rounds}" if number else "warm-up")
            one_round(brokers, plan.works, number, table if number else Table())
        for name, broker in brokers.items():
            table.add(LOADED, name, broker.resident_mb())


def one_round(brokers: dict[str, Running], works: list[Work], number: int, table: Table) -> None:
    before = {name: broker.cpu_s() for name, broker in brokers.items()}
    topic = ""
    for position, work in enumerate(works):
        if not work.reads:
            delete_topic(brokers, topic)
            topic = f"bench-{number}-{position}"
        for name, broker in sorted(brokers.items(), reverse=bool((number + position) % 2)):
            if not work.reads:
                new_topic(broker, topic, work.partitions)
            os.sync()  # or what was written or deleted for one gets to the disk at the other's cost
            result, cpu = run(work, broker, topic)
            table.add(work.what, name, result[work.figure], result["own_cpu"], cpu)
            if work.second_bar:
                table.add(work.second, name, result["p99_us"], result["own_cpu"], cpu)
            progress(f"  {name:16} {work.what:45} {result[work.figure]:12,.1f} {work.unit:4} {cpu.each_us:9,.2f} us")
    delete_topic(brokers, topic)
    for name, broker in brokers.items():
        table.add(CPU, name, broker.cpu_s() - before[name])


def delete_topic(brokers: dict[str, Running], topic: str) -> None:
    """At once: its memory is there for the next one, which would be slower where the machine has to find some."""
    for broker in brokers.values() if topic else ():
        raw = Raw(broker.address)
        raw.delete_topics([topic])
        raw.close()


def run(work: Work, broker: Running, topic: str) -> tuple[dict[str, float], BrokerCpu]:
    before = broker.cpu_s()
    result = work.run(address=broker.address, topic=topic)
    cpu_s = broker.cpu_s() - before
    counted, size = PER[work.per]
    return result, BrokerCpu(cpu_s / result["seconds"], cpu_s * 1e6 / (result[counted] / size), work.per)


def create_half(broker: Running, what: str, first: int, name: str, table: Table) -> None:
    before = broker.resident_mb()
    raw = Raw(broker.address)
    last = first + TOPICS // 2
    for start in range(first, last, 100):
        raw.create_topics([f"many-{number}" for number in range(start, start + 100)], PARTITIONS)
    raw.wait_for_leaders(f"many-{last - 1}", PARTITIONS)
    raw.close()
    table.add(what, name, (broker.resident_mb() - before) * 1024 / (TOPICS * PARTITIONS / 2))


def measure_many_topics(plan: Plan, table: Table) -> None:
    """Start, Metadata, and memory with many topics; and whether the memory grows in line with them."""
    with work_directory() as root:
        directories = {each.name: prepared(each, root) for each in plan.contenders}
        for contender in plan.contenders:
            progress(f"  {contender.name}: {TOPICS:,} topics")
            with running(contender, directories[contender.name]) as broker:
                create_half(broker, FIRST_HALF, 0, contender.name, table)
                create_half(broker, SECOND_HALF, TOPICS // 2, contender.name, table)
        for number in range(plan.rounds + 1):
            for contender in plan.contenders:
                with running(contender, directories[contender.name]) as broker:
                    if number:
                        table.add(START_MANY, contender.name, broker.start_s)
                    if plan.has_compiler:
                        measure_metadata(broker, contender.name, table if number else Table())


def measure_metadata(broker: Running, name: str, table: Table) -> None:
    load.metadata(broker.address, 20)
    before = broker.cpu_s()
    got = load.metadata(broker.address, 200)
    cpu_s = broker.cpu_s() - before
    cpu = BrokerCpu(cpu_s / got["seconds"], cpu_s / got["requests"] * 1e6, "a request")
    table.add(METADATA, name, got["p50_us"], got["own_cpu"], cpu)


# --- the table


def rows_of(table: Table, works: list[Work]) -> Iterator[Row]:
    """Those that were measured."""
    wanted: list[tuple[str, str, Bar]] = []
    for work in works:
        wanted.append((work.what, work.unit, work.bar))
        if work.second_bar:
            wanted.append((work.second, work.unit, work.second_bar))
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


def held_against_itself(rows: list[Row]) -> Iterator[Row]:
    """The rows of another odradek: with a bar of their own, and the CPU of the broker as rows."""
    for row in rows:
        yield _no_worse(row)
        if row.each_us and "p99" not in row.what:
            what = f"CPU of the broker for {row.per}: {row.what}"
            yield _no_worse(Row(what, "us", *row.each_us, pairs=row.each_pairs))


def _no_worse(row: Row) -> Row:
    """Missed where it is beyond the bar by twice the error, open where it is so by less, or nobody knows the error."""
    ratio, error = row.pairs or (row.ratio, inf)
    is_rate = row.unit.endswith("/s")
    worse = 1 / ratio if is_rate else ratio
    met = True if worse <= WORSE_MAX else False if worse - 2 * error > WORSE_MAX else None
    bar = f"at most 3 % {'less' if is_rate else 'more'}"
    return replace(row, bar=f"{bar}: open" if met is None else bar, met=met)


def contenders_of(options: argparse.Namespace) -> list[Contender]:
    """The other, and ours."""
    if options.against:
        source, name = other_source(options.against), f"odradek {options.against}"
        return [Odradek(source=source, name=name), Odradek(source=ROOT / "src")]
    try:
        return [ApacheKafka(), Odradek()]
    except Unavailable as error:
        sys.exit(f"bench broker: {error}")


def main() -> None:
    parser = harness.parser(__doc__ or "", rounds=5)
    parser.add_argument("--only", choices=("load", "start", "topics"), help="one part of it")
    parser.add_argument(
        "--against", metavar="COMMIT", help="another odradek in place of Apache Kafka, or its directory"
    )
    parser.add_argument("--scale", type=float, default=1.0, help="of how much is sent in a round (default 1)")
    options = parser.parse_args()
    if options.save and not options.against and (options.only or options.scale != 1):
        parser.error("--save publishes the whole table, of brokers that are warm: not with --only or --scale")
    try:
        load.program()
        has_compiler, works = True, [*raw_works(options.scale), *rdkafka_works(options.scale)]
    except load.NoCompiler as error:
        progress(f"only what librdkafka can do is measured: {error}")
        has_compiler, works = False, list(rdkafka_works(options.scale))
    plan = Plan(contenders_of(options), options.rounds, works, has_compiler)
    theirs = plan.contenders[0].name
    table = Table(theirs=theirs)
    parts = {"start": measure_start, "load": measure_load, "topics": measure_many_topics}
    for name, part in parts.items():
        if options.only in (None, name):
            progress(name)
            part(plan, table)
    rows = list(rows_of(table, works))
    if options.against:
        rows = list(held_against_itself(rows))
    show(rows, theirs=theirs)
    if options.save and options.against:
        harness.save("broker_against", {"against": theirs, "rounds": options.rounds, "rows": list(map(asdict, rows))})
    elif options.save:
        harness.save("broker", {"apache_kafka": VERSION, "rounds": options.rounds, "rows": list(map(asdict, rows))})
        for page, with_cores in (("README.md", False), ("docs/speed.md", True)):
            shown = markdown(rows, "odradek", f"Apache Kafka {VERSION}", with_cores=with_cores)
            harness.publish("broker", ROOT / page, shown)


if __name__ == "__main__":
    main()
