"""The Spark side of `./run bench pipelines`: jobs in one session, in a process of its own.

Not to be run by hand. Each line of its input is a command, as JSON: `{"start": [jobs], "setting": {...}}` or
`{"stop": true}`; at the end of its input it ends. It prints a line for each batch that a job has done, and `{"done":
...}` when a command is.
"""

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

import odradek.spark
from odradek.pipelines.queries import Setting, prepared, start
from odradek.pipelines.registry import Job, job_named
from odradek.pipelines.spark_settings import OF_SPARK, shuffle_partitions
from odradek.pipelines.topics import make_topics

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_POLL_S = 0.1
_STARTING = "Initializing"
_TOO_SLOW = "Python worker failed to connect back"
_CONFIGS = {
    **OF_SPARK,
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
}


@contextmanager
def session() -> Iterator[SparkSession]:
    spark = odradek.spark.session("odradek-bench", "local[2]", **_CONFIGS)
    try:
        yield spark
    finally:
        spark.stop()


class Jobs:
    """Those that run, and what was told of them."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._queries: dict[str, StreamingQuery] = {}
        self._told: dict[str, int] = {}

    def start(self, names: list[str], setting: Setting) -> None:
        jobs = [job_named(name) for name in names]
        make_topics(jobs, setting.bootstrap)
        own = prepared(self._spark)
        own.conf.set("spark.sql.shuffle.partitions", str(shuffle_partitions(len(jobs))))
        self._told = {}
        self._queries = {job.name: begun(own, job, setting) for job in jobs}

    def stop(self) -> None:
        for query in self._queries.values():
            query.stop()
        self._queries = {}

    def tell(self) -> None:
        for name, query in self._queries.items():
            if (error := query.exception()) is not None:
                raise error
            for progress in query.recentProgress:
                if progress["batchId"] > self._told.get(name, -1) and progress["numInputRows"]:
                    self._told[name] = progress["batchId"]
                    say(told_of(name, progress))


def begun(spark: SparkSession, job: Job, setting: Setting) -> "StreamingQuery":
    """One that has its source. Spark gives a Python process ten seconds to start: jobs start one after the other, and
    again where the machine was too slow."""
    while True:
        query = start(spark, job, setting)
        while query.isActive and query.status["message"].startswith(_STARTING):
            time.sleep(_POLL_S)
        error = query.exception()
        if error is None:
            return query
        if _TOO_SLOW not in str(error):
            raise error


def told_of(name: str, progress: Any) -> dict[str, Any]:
    (source,) = progress["sources"]
    began = datetime.fromisoformat(progress["timestamp"])
    durations = dict(progress["durationMs"])
    states = progress["stateOperators"]
    return {
        "job": name,
        "batch": progress["batchId"],
        "rows": source["numInputRows"],
        "starts": offsets(source["startOffset"]),
        "ends": offsets(source["endOffset"]),
        "done_ms": began.timestamp() * 1000 + durations["triggerExecution"],
        "durations_ms": durations,
        "state_rows": sum(each["numRowsTotal"] for each in states),
        "state_bytes": sum(each["memoryUsedBytes"] for each in states),
    }


def offsets(text: str | None) -> dict[str, int]:
    """By topic and partition. Beside topics there are notes of the source, and beside partitions the topic's id."""
    told = json.loads(text) if text else {}
    topics = {topic: inner for topic, inner in (told or {}).items() if isinstance(inner, dict)}
    return {
        f"{topic}/{name}": offset
        for topic, inner in topics.items()
        for name, offset in inner.items()
        if name.isdecimal()
    }


def say(told: dict[str, Any]) -> None:
    print(json.dumps(told), flush=True)


def commands() -> "SimpleQueue[dict[str, Any] | None]":
    """None at the end."""
    given: SimpleQueue[dict[str, Any] | None] = SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            given.put(json.loads(line))
        given.put(None)

    threading.Thread(target=read, name="commands", daemon=True).start()
    return given


def main() -> None:
    given = commands()
    with session() as spark:
        jobs = Jobs(spark)
        say({"done": "session"})
        while True:
            try:
                command = given.get(timeout=_POLL_S)
            except Empty:
                jobs.tell()
                continue
            if command is None:
                break
            if "start" in command:
                jobs.start(command["start"], Setting(**command["setting"]))
            else:
                jobs.tell()
                jobs.stop()
            say({"done": "start" if "start" in command else "stop"})
        jobs.stop()


if __name__ == "__main__":
    main()
