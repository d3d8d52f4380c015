"""Our Spark source and sink next to Spark's own Kafka connector: ./run bench spark

Both connectors in the same sessions of the same Spark, on the same topics, in turn, round by round after a round that
does not count, or eight of streams; and all of it once with odradek as the broker and once with Apache Kafka. Rows are
counted in every query. What a fresh session does first is timed in processes of its own, and so are streams "as used":
each connector in the session that its users have. The table has medians.

--quick has small topics and few rounds, and says little: it shows in 20 minutes that all of it runs. The whole takes
two to three hours, and needs about 6 GB in the temporary directory. Needs Apache Kafka and the connector (Java and, at
first, Maven).
"""

import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import harness
from contenders import ApacheKafka, Contender, Odradek, Running, running
from spark_topics import Filled, fill
from versus import NO_BAR, Bar, Row, Table, at_least, at_most, prepared, progress, show, work_directory

from odradek.records.batch import Codec
from support import spark_connector
from support.apache_kafka import VERSION, Unavailable

OURS, THEIRS = "odradek's", "Spark's connector"
MANY, FEW = "ten times the rows", "few rows"
FORMATS = {OURS: "odradek", THEIRS: "kafka"}
CLOCK = "clock"
"""The format of a source in Python that asks nobody: see `spark_clock.py`."""
NOT_ABOVE = at_most(1, "not above")
GROWTH_PARTITIONS = (1, 6, 60)
GROWTH_CORES = (1, 2)
RATE = 10_000
FIRST_TIMES = 3
"""Of each round: a first query is over soon, and differs from the next by a fifth."""
Step = tuple[str, str]
# As Apache Kafka has them by default when it is one node: these two topics have three replicas otherwise.
ONE_NODE = {"transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1"}


@dataclass(frozen=True)
class Sizes:
    """How much is read, written and streamed."""

    small: int
    """Rows of 100 bytes."""
    large: int
    """Rows of 1,000 bytes."""
    rounds: int
    stream_s: int
    stream_times: int
    """Of each round: what the machine does besides moves the latency of a stream by a fifth within a minute, so many
    short turns tell more than few long ones. Even, to be fair: whoever comes second has it better, as Java compiles for
    minutes."""
    streams_not_counted: int
    """Rounds in which Java compiles most of what a batch runs: with either connector, the first takes three times as
    long as the fifth."""

    @property
    def streams(self) -> tuple[int, int]:
        """The numbers of their rounds, as a range has them; those below 0 do not count."""
        return -self.streams_not_counted, self.rounds * self.stream_times


WHOLE = Sizes(3_000_000, 1_000_000, rounds=3, stream_s=6, stream_times=4, streams_not_counted=8)
QUICK = Sizes(200_000, 50_000, rounds=1, stream_s=5, stream_times=1, streams_not_counted=1)


@dataclass
class Stage:
    """What the parts share: brokers that run, topics that are filled, and the table."""

    sizes: Sizes
    brokers: dict[str, Running]
    table: Table = field(default_factory=lambda: Table(OURS, THEIRS))
    rows: list[tuple[str, str, Bar]] = field(default_factory=list)
    """In the order in which they are shown."""
    memory: Table = field(default_factory=lambda: Table(MANY, FEW))
    memory_rows: list[str] = field(default_factory=list)
    filled: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, what: str, side: str, value: float, unit: str, bar: Bar) -> None:
        if not self.table.has(what):
            self.rows.append((what, unit, bar))
        self.table.add(what, side, value)
        progress(f"  {side:18} {what:75} {value:12,.1f} {unit}")

    def job(self, side: str, broker: str, topic: Filled, **options: str) -> dict[str, Any]:
        """To read the topic, which is filled at its first use."""
        address = self.brokers[broker].address
        if (broker, topic.name) not in self.filled:
            self.filled[broker, topic.name] = fill(address, topic)
            os.sync()
        given = {"kafka.bootstrap.servers": address, "subscribe": topic.name, **options}
        return {"format": FORMATS[side], "options": given, "rows": self.filled[broker, topic.name]}


# --- the parts


def measure_read(stage: Stage) -> None:
    """Warm reads of all columns, and of some."""
    small, large = stage.sizes.small, stage.sizes.large
    topics = {
        f"{small:,} x 100 B": Filled("small", small, 100),
        f"{small:,} x 100 B, zstd": Filled("small-zstd", small, 100, Codec.ZSTD),
        f"{large:,} x 1,000 B": Filled("large", large, 1_000),
        f"{large:,} x 1,000 B, zstd": Filled("large-zstd", large, 1_000, Codec.ZSTD),
    }
    for size, topic in topics.items():
        for broker in stage.brokers:
            theirs = stage.job(THEIRS, broker, topic)
            ours = stage.job(OURS, broker, topic)
            narrow = stage.job(OURS, broker, topic, columns="value,timestamp")
            taken = run_spark("read", cores=2, jobs=[theirs, ours, narrow], rounds=stage.sizes.rounds)["seconds"]
            for what, bar, times in (("all columns", at_least(1.5), taken[1]), ("columns", at_least(1.8), taken[2])):
                row = f"read {size}, {what}, from {broker}"
                for side, sides_times in ((THEIRS, taken[0]), (OURS, times)):
                    for seconds in sides_times:
                        stage.add(row, side, theirs["rows"] / seconds, "rows/s", bar)


def measure_growth(stage: Stage) -> None:
    rows = stage.sizes.small
    for partitions in GROWTH_PARTITIONS:
        topic = Filled(f"growth-{partitions}", rows, 100, partitions=partitions)
        for cores in GROWTH_CORES:
            sides = [(broker, side) for broker in stage.brokers for side in (THEIRS, OURS)]
            jobs = [stage.job(side, broker, topic) for broker, side in sides]
            taken = run_spark("read", cores=cores, jobs=jobs, rounds=stage.sizes.rounds)["seconds"]
            for (broker, side), job, times in zip(sides, jobs, taken, strict=True):
                row = f"read {rows:,} x 100 B in {partitions} partitions on {cores} cores, from {broker}"
                for seconds in times:
                    stage.add(row, side, job["rows"] / seconds, "rows/s", NO_BAR)


def measure_first(stage: Stage) -> None:
    """A fresh session each time: a query of few rows, and the large read cold."""
    tiny = Filled("tiny", 1_000, 100, partitions=1)
    small = Filled("small", stage.sizes.small, 100)
    for number in range(stage.sizes.rounds * FIRST_TIMES):
        # One way round and then the other: what the machine does besides goes up and down for minutes.
        for broker, side in _there_and_back(itertools.product(stage.brokers, (THEIRS, OURS)), number):
            seconds = run_spark("first", job=stage.job(side, broker, tiny))["seconds"]
            stage.add(f"first query of a fresh session, from {broker}", side, seconds, "s", NOT_ABOVE)
    for number in range(stage.sizes.rounds):
        for broker, side in _there_and_back(itertools.product(stage.brokers, (THEIRS, OURS)), number):
            job = stage.job(side, broker, small)
            row = f"read {stage.sizes.small:,} x 100 B cold, from {broker}"
            stage.add(row, side, job["rows"] / run_spark("first", job=job)["seconds"], "rows/s", NO_BAR)


def _there_and_back(steps: Iterable[Step], number: int) -> list[Step]:
    return list(steps)[:: -1 if number % 2 else 1]


def measure_stream(stage: Stage) -> None:
    _measure_stream(stage, "stream", 6, "foreachBatch", NOT_ABOVE)


def measure_stream_of_one(stage: Stage) -> None:
    """With events of the clock in the same rounds: what they take is Spark's and PySpark's, with next to no source."""
    _measure_stream(stage, "stream", 1, "foreachBatch", NOT_ABOVE, with_clock=True)


def measure_stream_moved(stage: Stage) -> None:
    """A job that was moved by changing one word: both in a session that Spark makes, without any setting of ours."""
    for partitions in (6, 1):
        _measure_stream(stage, "stream", partitions, "foreachBatch in a plain session", NOT_ABOVE, plain=True)


def measure_stream_as_used(stage: Stage) -> None:
    """Each connector in the session that its users have: ours in a `session()`, Spark's in one that Spark makes.

    What the settings of a session give is in it, so the bar, which is for the connectors, is not held against it.
    """
    for partitions, (broker, running_broker) in itertools.product((6, 1), stage.brokers.items()):
        what = f"{RATE:,} events/s in {partitions} partition{'s' if partitions > 1 else ''} to foreachBatch, as used"
        with ExitStack() as stack:
            round_of = {
                side: stack.enter_context(_streaming(side, running_broker.address, partitions, stage.sizes.stream_s))
                for side in (THEIRS, OURS)
            }
            for number in range(*stage.sizes.streams):
                for side in list(round_of)[:: -1 if number % 2 else 1]:
                    got = round_of[side](number)
                    if number >= 0:
                        for cut in ("p50", "p99"):
                            stage.add(f"{what}, {cut}, on {broker}", side, got[f"{cut}_ms"], "ms", NO_BAR)


@contextmanager
def _streaming(side: str, address: str, partitions: int, seconds: int) -> Iterator[Callable[[int], dict[str, float]]]:
    """A process with a session of its own, which streams for a round whenever it is asked to."""
    topic = f"stream-as-used-{partitions}-{FORMATS[side]}"
    options = {"kafka.bootstrap.servers": address, "subscribe": topic}
    job = {"format": FORMATS[side], "options": options, "partitions": partitions}
    work = "stream_when_asked"
    command = spark_command(work, {"job": job, "rate": RATE, "seconds": seconds, "plain": side == THEIRS})
    pipe = subprocess.PIPE
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(
            command, bufsize=0, stdin=pipe, stdout=pipe, stderr=said, env=harness.environment()
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        tell, answers = process.stdin, process.stdout

        def round_of(number: int) -> dict[str, float]:
            with suppress(BrokenPipeError):
                tell.write(b"%d\n" % number)
            answer = answers.readline()
            if not answer:
                said.seek(0)
                raise RuntimeError(failure(work, said.read().decode()))
            taken: dict[str, float] = json.loads(answer)
            return taken

        yield round_of


def measure_stream_to_topic(stage: Stage) -> None:
    _measure_stream(stage, "stream_to_sink", 1, "a topic", at_most(1.5))


def _measure_stream(
    stage: Stage, work: str, partitions: int, target: str, bar: Bar, *, with_clock: bool = False, **given: bool
) -> None:
    what = f"{RATE:,} events/s in {partitions} partition{'s' if partitions > 1 else ''} to {target}"
    load = {"numbers": stage.sizes.streams, "rate": RATE, "seconds": stage.sizes.stream_s, **given}
    formats = [FORMATS[THEIRS], FORMATS[OURS], *([CLOCK] if with_clock else [])]
    for broker, running_broker in stage.brokers.items():
        options = {"kafka.bootstrap.servers": running_broker.address}
        jobs = [
            {
                "format": each,
                "options": options | {"subscribe": "-".join((work, str(partitions), *given, each))},
                "partitions": partitions,
            }
            for each in formats
        ]
        theirs, *found = run_spark(work, jobs=jobs, **load)["found"]
        rows = [
            (f"{what}, {{}}, on {broker}", bar),
            (f"the same with events of the clock, {{}}, beside {broker}", NO_BAR),
        ]
        for (row, rows_bar), ours in zip(rows, found, strict=False):
            for cut, (side, taken) in itertools.product(("p50", "p99"), ((THEIRS, theirs), (OURS, ours))):
                for got in taken:
                    stage.add(row.format(cut), side, got[f"{cut}_ms"], "ms", rows_bar)


def measure_write(stage: Stage) -> None:
    rows = stage.sizes.small
    for broker, running_broker in stage.brokers.items():
        options = {"kafka.bootstrap.servers": running_broker.address}
        theirs = {"format": FORMATS[THEIRS], "options": options, "rows": rows, "value_bytes": 100}
        ours = {**theirs, "format": FORMATS[OURS]}
        once = {**ours, "options": {**options, "exactlyOnce": "true"}}
        taken = run_spark("write", jobs=[theirs, ours, once], rounds=stage.sizes.rounds)["seconds"]
        for what, times in (("at least once", taken[1]), ("exactly once", taken[2])):
            for side, sides_times in ((THEIRS, taken[0]), (OURS, times)):
                for seconds in sides_times:
                    row = f"write {rows:,} x 100 B {what}, to {broker}"
                    stage.add(row, side, rows / seconds, "rows/s", at_least(1.0))


def measure_memory(stage: Stage) -> None:
    """Ours beside ours: ten times the topic must not take more memory. The connector has no Python workers.

    A worker reads all of it, so that few rows are several fetches too.
    """
    few = Filled("memory-few", stage.sizes.small // 10, 100, partitions=1)
    many = Filled("memory-many", stage.sizes.small, 100, partitions=1)
    for broker in stage.brokers:
        stage.memory_rows.append(row := f"memory of a worker that reads up to {many.rows:,} x 100 B from {broker}")
        for which, topic in ((FEW, few), (MANY, many)):
            peak = run_spark("memory", job=stage.job(OURS, broker, topic))["peak_mb"]
            stage.memory.add(row, which, peak)
            progress(f"  {which:18} {row:75} {peak:12,.1f} MB")


PARTS: dict[str, Callable[[Stage], None]] = {
    "read": measure_read,
    "first": measure_first,
    "growth": measure_growth,
    "stream": measure_stream,
    "stream-of-one": measure_stream_of_one,
    "stream-moved": measure_stream_moved,
    "stream-as-used": measure_stream_as_used,
    "stream-to-topic": measure_stream_to_topic,
    "write": measure_write,
    "memory": measure_memory,
}


# --- the whole


def run_spark(name: str, **parameters: Any) -> Any:
    """In a process of its own, which has both connectors."""
    command = spark_command(name, parameters)
    done = subprocess.run(command, env=harness.environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(failure(name, done.stderr))
    return json.loads(done.stdout.splitlines()[-1])


def spark_command(name: str, parameters: dict[str, Any]) -> list[str]:
    return [sys.executable, str(Path(__file__).with_name("spark_load.py")), name, json.dumps(parameters)]


def failure(name: str, said: str) -> str:
    """Without the places in Java's code."""
    kept = "\n".join(line for line in said.splitlines() if not line.startswith("\tat "))
    return f"{name} failed: {kept[-4000:]}"


def failures_of(stage: Stage, wanted: Collection[str]) -> Iterator[str]:
    """Of the parts, all of which are measured: an hour of figures is not lost with the one that fails."""
    for name, part in PARTS.items():
        if name in wanted:
            progress(name)
            try:
                part(stage)
            except RuntimeError as error:
                progress(f"  {error}")
                yield f"{name}: {error}"


def rows_of(stage: Stage) -> Iterator[Row]:
    for what, unit, bar in stage.rows:
        if stage.table.has_both(what):
            yield stage.table.row(what, unit, bar)


def main() -> None:
    parser = harness.parser(__doc__ or "", rounds=WHOLE.rounds)
    parser.add_argument("--quick", action="store_true", help="small topics, one round")
    parser.add_argument(
        "--only", choices=PARTS, action="append", help="a part of it; may be given again; others stay kept"
    )
    options = parser.parse_args()
    sizes = QUICK if options.quick else Sizes(**(asdict(WHOLE) | {"rounds": options.rounds}))
    try:
        spark_connector.jars()
        contenders: list[Contender] = [Odradek(), ApacheKafka(ONE_NODE)]
    except Unavailable as error:
        sys.exit(f"bench spark: {error}")
    with work_directory() as root, ExitStack() as stack:
        brokers = {each.name: stack.enter_context(running(each, prepared(each, root))) for each in contenders}
        stage = Stage(sizes, brokers)
        failures = list(failures_of(stage, options.only or PARTS))
    rows = list(rows_of(stage))
    show(rows, OURS, THEIRS)
    memory = [stage.memory.row(what, "MB", at_most(1.2)) for what in stage.memory_rows if stage.memory.has_both(what)]
    show(memory, MANY, FEW)
    if failures:
        sys.exit("\n".join(("bench spark: not all of it could be measured, so nothing is saved:", *failures)))
    if options.save:
        versions = {"apache_kafka": VERSION, "spark": version("pyspark"), "connector": spark_connector.VERSION}
        figures = {"rows": list(map(asdict, rows)), "memory": list(map(asdict, memory))}
        if options.only:
            figures = {key: harness.with_kept("spark", key, found) for key, found in figures.items()}
        harness.save("spark", {**versions, "sizes": asdict(sizes), **figures})


if __name__ == "__main__":
    main()
