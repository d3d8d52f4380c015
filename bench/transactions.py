"""Transactions, odradek next to Apache Kafka: ./run bench transactions

Both have their defaults. The load comes from a process of its own (transaction_load.py) and speaks the protocol as the
newest clients do. Transactions have one batch each; those that are read again were aborted for a tenth. The table has
medians over the rounds; each round has brokers and topics of its own, and each broker its turn.

For the last row a broker is killed (SIGKILL) that has a gigabyte in 1,000 partitions, in batches of 16 KB, none of it
synced, and is started again: up to the first record that it acknowledges, and up to the end of all partitions being
known. All records have to be there then.

Needs Apache Kafka (Java and, at first, Maven) and 3 GB in the temporary directory. Takes some ten minutes.
"""

import os
import signal
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import harness
import load
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
from support.one_node import ONE_REPLICA

PARTITIONS = 6
MANY, BATCH_BYTES, BATCHES = 1_000, 16_384, 64
READ_TRANSACTIONS, ABORTED_EVERY, READS = 6_000, 10, 6
LOAD = "transaction_load.py"

NOT_WORSE, NOT_LESS = at_most(1, "not above"), at_least(1.0)
RATES = {
    "transactions of 1 record, 1 producer": (1, 1, 1_000),
    "transactions of 1 record, 20 producers": (1, 20, 10_000),
    "transactions of 100 records, 1 producer": (100, 1, 1_000),
    "transactions of 100 records, 20 producers": (100, 20, 10_000),
}
"""How many records and producers, and how many transactions in all."""
STEP_P50, STEP_P99 = "consume, transform, produce: one step, p50", "consume, transform, produce: one step, p99"
READ, READ_COMMITTED = "fetch transactions, read_uncommitted", "fetch transactions, read_committed"
OPENED = f"start after a kill, {MANY:,} partitions, 1 GB to recover: first record"
ALL_OPENED = "the same, until all partitions answer"
CPU = "CPU of the broker under transactions"
ROWS: list[tuple[str, str, Bar]] = [
    *((what, "/s", NOT_LESS) for what in RATES),
    (STEP_P50, "us", NOT_WORSE),
    (STEP_P99, "us", NOT_WORSE),
    (READ, "MB/s", NOT_LESS),
    (READ_COMMITTED, "MB/s", NOT_LESS),
    (OPENED, "s", at_most(1 / 2, "at most half")),
    (ALL_OPENED, "s", NOT_WORSE),
    (CPU, "s", NO_BAR),
]


def one_round(contender: Contender, root: Path, table: Table, scale: float) -> None:
    """On a new directory: the broker serves all of it, is killed, and started again."""
    directory = prepared(contender, root)
    with running(contender, directory, ending=signal.SIGKILL) as broker:
        measure_rates(contender.name, broker, table, scale)
        measure_step(contender.name, broker, table, scale)
        measure_reading(contender.name, broker, table, scale)
        table.add(CPU, contender.name, broker.cpu_s())
        topic = new_topic(broker, "many", MANY)
        counts = {"partitions": MANY, "batch_bytes": BATCH_BYTES, "batches": BATCHES}
        filled = run_load(LOAD, "fill", address=broker.address, topic=topic, **counts)
    with running(contender, directory) as broker:
        table.add(OPENED, contender.name, broker.start_s)
        begin = time.perf_counter()
        raw = Raw(broker.address)
        raw.wait_for_leaders(topic, MANY)
        table.add(ALL_OPENED, contender.name, broker.start_s + time.perf_counter() - begin)
        ends = raw.end_offsets(topic, MANY)
        if ends != [BATCHES * filled["records"]] * MANY:
            raise RuntimeError(f"{contender.name} has lost records: partitions end at {sorted(set(ends))}")


def measure_rates(name: str, broker: Running, table: Table, scale: float) -> None:
    for number, (what, (records, producers, count)) in enumerate(RATES.items()):
        topic = new_topic(broker, f"rates-{number}", PARTITIONS)
        shape = {"partitions": PARTITIONS, "records": records, "producers": producers, "count": int(count * scale)}
        got = run_load(LOAD, "transactions", address=broker.address, topic=topic, **shape)
        table.add(what, name, got["transactions_s"], got["own_cpu"])


def measure_step(name: str, broker: Running, table: Table, scale: float) -> None:
    source, target = new_topic(broker, "source", 1), new_topic(broker, "target", 1)
    got = run_load(LOAD, "step", address=broker.address, source=source, target=target, count=int(1_000 * scale))
    table.add(STEP_P50, name, got["p50_us"], got["own_cpu"])
    table.add(STEP_P99, name, got["p99_us"], got["own_cpu"])


def measure_reading(name: str, broker: Running, table: Table, scale: float) -> None:
    topic = new_topic(broker, "read", PARTITIONS)
    counts = {"partitions": PARTITIONS, "producers": 20, "records": 100, "count": int(READ_TRANSACTIONS * scale)}
    run_load(LOAD, "transactions", address=broker.address, topic=topic, aborted_every=ABORTED_EVERY, **counts)
    for number in range(READS):
        for isolation, what in enumerate((READ, READ_COMMITTED)):
            got = load.fetch(broker.address, topic, PARTITIONS, times=10, isolation=isolation)
            if number:  # one is for a broker that is not warm yet
                table.add(what, name, got["mb_s"], got["own_cpu"])


def main() -> None:
    parser = harness.parser(__doc__ or "", rounds=3)
    parser.add_argument("--scale", type=float, default=1.0, help="of how many transactions there are (default 1)")
    options = parser.parse_args()
    try:
        contenders: list[Contender] = [ApacheKafka(ONE_REPLICA), Odradek()]
    except Unavailable as error:
        sys.exit(f"bench transactions: {error}")
    table = Table()
    for number in range(options.rounds):
        progress(f"round {number + 1} of {options.rounds}")
        for contender in contenders[:: -1 if number % 2 else 1]:
            os.sync()
            with ExitStack() as stack:
                one_round(contender, stack.enter_context(work_directory()), table, options.scale)
            progress(f"  {contender.name}")
    rows: list[Row] = [table.row(*row) for row in ROWS]
    show(rows)
    if options.save:
        harness.save(
            "transactions", {"apache_kafka": VERSION, "rounds": options.rounds, "rows": list(map(asdict, rows))}
        )


if __name__ == "__main__":
    main()
