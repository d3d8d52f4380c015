"""The Spark side of `./run bench spark`: pieces of work in one session, in a process of its own.

Not to be run by hand: `spark_load.py NAME PARAMETERS`, where the parameters are JSON. Prints one line of JSON. A job is
a dictionary: `format` (kafka is Spark's own connector, odradek is ours, clock is in `spark_clock.py`), `options`, and
the number of `rows` that must come out, so that a query that reads less is no fast one.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from raw import Raw
from spark_clock import ClockSource
from spark_topics import SENT_AT, create

import odradek.spark
from support import spark_connector

Job = dict[str, Any]
_POLL_S = 0.02
_WAIT_S = 120


@contextmanager
def session(cores: int, *, connector: bool = True, plain: bool = False) -> Iterator[SparkSession]:
    """A plain one has none of our settings: as whoever uses Spark's own connector has it."""
    configs = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.log.level": "ERROR",
    }
    if connector:
        configs["spark.jars"] = spark_connector.jars()
    if plain:
        os.environ["PYSPARK_PYTHON"] = sys.executable
        spark = SparkSession.builder.config(map={**configs}).master(f"local[{cores}]").getOrCreate()
    else:
        spark = odradek.spark.session("odradek-bench", f"local[{cores}]", **configs)
    try:
        yield spark
    finally:
        spark.stop()


# --- reading


def read(cores: int, jobs: list[Job], rounds: int) -> dict[str, Any]:
    """Every job in every round, forwards and backwards in turn, after a round that does not count."""
    seconds: list[list[float]] = [[] for _ in jobs]
    with session(cores) as spark:
        for number in range(rounds + 1):
            order = list(range(len(jobs)))
            for each in reversed(order) if number % 2 else order:
                taken = _read_once(spark, jobs[each])
                if number:
                    seconds[each].append(taken)
    return {"seconds": seconds}


def first(job: Job) -> dict[str, Any]:
    """A query in a session that has done nothing before."""
    with session(2, connector=job["format"] == "kafka") as spark:
        return {"seconds": _read_once(spark, job)}


def _read_once(spark: SparkSession, job: Job) -> float:
    begin = time.perf_counter()
    rows = spark.read.format(job["format"]).options(**job["options"]).load()
    (answer,) = rows.agg(f.count("*"), f.sum(f.length("value")), f.max("timestamp")).collect()
    taken = time.perf_counter() - begin
    if answer[0] != job["rows"]:
        raise RuntimeError(f"{answer[0]} rows were read, of {job['rows']}: {job}")
    return taken


def memory(job: Job) -> dict[str, Any]:
    """The most that any Python worker of Spark held while it read a topic, in MB."""
    with session(2) as spark, _watched_workers() as peak:
        _read_once(spark, job)
    return {"peak_mb": max(peak.values(), default=0.0)}


@contextmanager
def _watched_workers() -> Iterator[dict[int, float]]:
    peak: dict[int, float] = {}
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_POLL_S):
            for pid in _workers():
                peak[pid] = max(peak.get(pid, 0.0), _most_resident_mb(pid))

    thread = threading.Thread(target=watch, name="memory of workers")
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()


def _workers() -> list[int]:
    """Processes that Spark's daemons forked, and they: descendants of this process."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # it is gone
                continue
    return [pid for pid in parents if _is_below(pid, parents) and _name(pid) == "pyspark.daemon"]


def _is_below(pid: int, parents: dict[int, int]) -> bool:
    while pid in parents:
        pid = parents[pid]
        if pid == os.getpid():
            return True
    return False


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().rstrip()
    except OSError:
        return ""


def _most_resident_mb(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


# --- writing


def write(jobs: list[Job], rounds: int) -> dict[str, Any]:
    """Each job writes to a new topic of its own in each round."""
    seconds: list[list[float]] = [[] for _ in jobs]
    with session(2) as spark:
        for number in range(rounds + 1):
            order = list(range(len(jobs)))
            for each in reversed(order) if number % 2 else order:
                topic = f"written-{each}-{number}"
                taken = _write_once(spark, jobs[each], topic)
                if number:
                    seconds[each].append(taken)
    return {"seconds": seconds}


def _write_once(spark: SparkSession, job: Job, topic: str) -> float:
    address = job["options"]["kafka.bootstrap.servers"]
    create(address, topic, 6)
    value = f.rpad(f.col("id").cast("string"), job["value_bytes"], "x").cast("binary")
    rows = spark.range(0, job["rows"], 1, 2).select(f.col("id").cast("string").alias("key"), value.alias("value"))
    begin = time.perf_counter()
    rows.write.format(job["format"]).options(topic=topic, **job["options"]).mode("append").save()
    taken = time.perf_counter() - begin
    raw = Raw(address)
    arrived = sum(raw.end_offsets(topic, 6))
    raw.delete_topics([topic])
    raw.close()
    if arrived < job["rows"]:  # transactions leave markers, too
        raise RuntimeError(f"{arrived} rows arrived, of {job['rows']}: {job}")
    return taken


# --- streaming


def stream(jobs: list[Job], numbers: list[int], rate: int, seconds: int, plain: bool = False) -> dict[str, Any]:
    """From a producer at a steady rate to foreachBatch: how late each record was there, in percentiles."""
    return _in_turn(jobs, numbers, lambda spark, job: _stream_once(spark, job, rate, seconds), plain=plain)


def stream_to_sink(jobs: list[Job], numbers: list[int], rate: int, seconds: int) -> dict[str, Any]:
    """The same to a topic that says when each record was appended to it."""
    return _in_turn(jobs, numbers, lambda spark, job: _stream_to_sink_once(spark, job, rate, seconds))


def _in_turn(
    jobs: list[Job],
    numbers: list[int],
    once: Callable[[SparkSession, Job], dict[str, float]],
    *,
    plain: bool = False,
) -> dict[str, Any]:
    """Each job on a new topic in each round. The numbers are those of the first round and behind the last."""
    found: list[list[dict[str, float]]] = [[] for _ in jobs]
    if any(job["format"] == ClockSource.name() for job in jobs):
        os.environ["PYTHONPATH"] = str(Path(__file__).parent)  # Spark's processes import the source
    with session(2, plain=plain) as spark:
        for number in range(*numbers):
            order = list(range(len(jobs)))
            for each in reversed(order) if number % 2 else order:
                got = once(spark, _on_new_topic(jobs[each], number))
                if number >= 0:
                    found[each].append(got)
    return {"found": found}


def stream_when_asked(job: Job, rate: int, seconds: int, plain: bool) -> dict[str, Any]:
    """Rounds of one connector in a session of its own: each line that is read is the number of one, below 0 for those
    that do not count, and is answered with a line."""
    with session(2, connector=job["format"] == "kafka", plain=plain) as spark:
        for line in sys.stdin:
            print(json.dumps(_stream_once(spark, _on_new_topic(job, int(line)), rate, seconds)), flush=True)
    return {}


def _on_new_topic(job: Job, number: int) -> Job:
    """For the round of this number, which does not count if it is below 0."""
    options = job["options"]
    topic = f"{options['subscribe']}-{number}"
    create(options["kafka.bootstrap.servers"], topic, job["partitions"])
    return job | {"options": options | {"subscribe": topic}, "counts": number >= 0}


def _stream_once(spark: SparkSession, job: Job, rate: int, seconds: int) -> dict[str, float]:
    if job["format"] == ClockSource.name():
        return _clock_once(spark, job, rate, seconds)
    late_ms: list[float] = []

    def take(batch: DataFrame, _number: int) -> None:
        sent = _sent_ns(batch)
        now = time.time_ns()
        late_ms.extend((now - when) / 1e6 for when in sent)

    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as checkpoint:
        query = _following(spark, job).writeStream.option("checkpointLocation", checkpoint).foreachBatch(take).start()
        _run_under_load(query, job, rate, seconds)
    return _percentiles(late_ms, rate * seconds)


def _clock_once(spark: SparkSession, job: Job, rate: int, seconds: int) -> dict[str, float]:
    """Of the events that the clock makes while as many are sent, which nobody reads."""
    seen: list[tuple[int, int]] = []

    def take(batch: DataFrame, _number: int) -> None:
        sent = _sent_ns(batch)
        now = time.time_ns()
        seen.extend((when, now) for when in sent)

    spark.dataSource.register(ClockSource)
    events = spark.readStream.format(ClockSource.name()).option("rate", rate).load()
    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as checkpoint:
        query = events.writeStream.option("checkpointLocation", checkpoint).foreachBatch(take).start()
        try:
            _await(query, lambda: bool(seen))
            begin = time.time_ns()
            _produce(job, rate, seconds)
            end = time.time_ns()
        finally:
            query.stop()
    late_ms = [(now - when) / 1e6 for when, now in seen if begin <= when and now <= end]
    return _percentiles(late_ms, len(late_ms))


def _stream_to_sink_once(spark: SparkSession, job: Job, rate: int, seconds: int) -> dict[str, float]:
    address, target = job["options"]["kafka.bootstrap.servers"], f"{job['options']['subscribe']}-out"
    create(address, target, 6, message_timestamp_type="LogAppendTime")
    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as checkpoint:
        sink = _following(spark, job).select("key", "value").writeStream.format(job["format"])
        options = {"kafka.bootstrap.servers": address, "topic": target, "checkpointLocation": checkpoint}
        _run_under_load(sink.options(**options).start(), job, rate, seconds)
    written = spark.read.format("kafka").options(**{"kafka.bootstrap.servers": address}, subscribe=target).load()
    table = written.select("value", f.unix_millis("timestamp").alias("appended")).toArrow().to_pydict()
    sent = [SENT_AT.unpack_from(value)[0] for value in table["value"]]
    late_ms = [appended - when / 1e6 for when, appended in zip(sent, table["appended"], strict=True)]
    return _percentiles(late_ms, rate * seconds)


def _run_under_load(query: Any, job: Job, rate: int, seconds: int) -> None:
    try:
        _await_idle(query)
        _produce(job, rate, seconds)
        query.processAllAvailable()
    finally:
        query.stop()


def _following(spark: SparkSession, job: Job) -> DataFrame:
    return spark.readStream.format(job["format"]).options(**job["options"], startingOffsets="latest").load()


def _sent_ns(batch: DataFrame) -> list[int]:
    values: list[bytes] = batch.select(f.substring("value", 1, SENT_AT.size).alias("at")).toArrow()["at"].to_pylist()
    return [SENT_AT.unpack(value)[0] for value in values]


def _await_idle(query: Any) -> None:
    """The offsets to begin with are in the checkpoint."""
    _await(query, lambda: query.status["message"] == "Waiting for data to arrive" and bool(query.recentProgress))


def _await(query: Any, is_ready: Callable[[], bool]) -> None:
    deadline = time.perf_counter() + _WAIT_S
    while not is_ready():
        if time.perf_counter() > deadline or query.exception():
            raise RuntimeError(f"the query did not get going: {query.status} {query.exception()}")
        time.sleep(_POLL_S)


def _produce(job: Job, rate: int, seconds: int) -> None:
    options = job["options"]
    given = {"address": options["kafka.bootstrap.servers"], "topic": options["subscribe"], "rate": rate}
    given["partitions"] = job["partitions"]
    script = str(Path(__file__).with_name("spark_topics.py"))
    command = [sys.executable, script, json.dumps({**given, "seconds": seconds})]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    late_s = json.loads(done.stdout)["late_s"]
    if late_s > 1 and job["counts"]:
        raise RuntimeError(f"the producer fell behind by {late_s:.1f} s: the machine has too much other work")


def _percentiles(late_ms: list[float], expected: int) -> dict[str, float]:
    if len(late_ms) != expected:
        raise RuntimeError(f"{len(late_ms)} records came, of {expected}")
    cuts = quantiles(late_ms, n=100)
    return {"p50_ms": cuts[49], "p99_ms": cuts[98]}


WORKS: dict[str, Callable[..., dict[str, Any]]] = {
    work.__name__: work for work in (read, first, memory, write, stream, stream_when_asked, stream_to_sink)
}

if __name__ == "__main__":
    print(json.dumps(WORKS[sys.argv[1]](**json.loads(sys.argv[2]))))
