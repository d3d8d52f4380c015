"""A task that is told in the words of the one before answers as PySpark's own worker does, byte by byte."""

import io
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from struct import pack
from typing import IO, Any, cast

import pyarrow as pa
import pytest
from pyspark import worker
from pyspark.serializers import SpecialLengths
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.worker.plan_data_source_read import write_read_func_and_partitions
from pyspark.util import PythonEvalType

from odradek.model.numbers import Offset, TimestampMs
from odradek.records.builder import build_batch
from odradek.records.record import Record
from odradek.spark.reading.range import Ahead, Range
from odradek.spark.runtime import repeated
from odradek.spark.runtime.repeated import quick
from odradek.spark.source import OdradekSource

TOPIC = "orders"
CONTEXT = """{"isBarrier": false, "connInfo": null, "secret": null, "stageId": 1, "partitionId": 0, "attemptNumber": 0,
 "taskAttemptId": %d, "cpus": 1, "cpuAmount": "1", "resources": {}, "localProperties": {}}"""
TIMES = 4
"""Numbers of 64 bits, which differ from task to task."""


def with_size(what: bytes) -> bytes:
    return pack(">i", len(what)) + what


def as_it_is(reader: DataSourceStreamReader) -> DataSourceStreamReader:
    return reader


def command_of(around: Callable[[Any], DataSourceStreamReader] = as_it_is, /, **options: str) -> bytes:
    """As Spark pickles it for the tasks of a stream."""
    source = OdradekSource({"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": TOPIC, **options})
    schema = source.schema()
    out = io.BytesIO()
    write_read_func_and_partitions(
        out,
        reader=around(source.streamReader(schema)),
        data_source=source,
        schema=schema,
        max_arrow_batch_size=10_000,
        binary_as_bytes=True,
    )
    size = int.from_bytes(out.getvalue()[:4], "big")
    return out.getvalue()[4 : 4 + size]


def told(
    command: bytes, number: int, *, confs: dict[str, str] | None = None, broadcasts: bytes = pack(">i", 0)
) -> bytes:
    """As Spark tells of task `number`."""
    settings = {"spark.sql.session.timeZone": "UTC", **(confs or {})}
    content = b"".join(
        (
            pack(">i", number),
            with_size(b"%d.%d" % sys.version_info[:2]),
            with_size((CONTEXT % number).encode()),
            with_size(b"/nowhere"),
            pack(">i", 0),  # files that Python is to import from
            b"\0" + broadcasts,
            pack(">i", PythonEvalType.SQL_MAP_ARROW_ITER_UDF),
            pack(">i", len(settings)),
            *(with_size(text.encode()) for pair in settings.items() for text in pair),
            pack(">i", 0),  # settings of its kind of task
            pack(">iii?", 1, 1, 0, False),  # one function, of one argument, the first
            pack(">i", 1) + with_size(command),
            pack(">q", 1_000 + number),
        )
    )
    return pack(">i", SpecialLengths.START_OF_INIT_MESSAGE) + with_size(content)


def given(value: Any) -> bytes:
    """The input of a task: one row with its partition."""
    row = pa.array([pickle.dumps(InputPartition(value))], pa.binary())
    out = io.BytesIO()
    batch = pa.RecordBatch.from_arrays([pa.StructArray.from_arrays([row], ["partition"])], ["_0"])
    with pa.RecordBatchStreamWriter(out, batch.schema) as writer:
        writer.write_batch(batch)
    return out.getvalue() + pack(">i", SpecialLengths.END_OF_STREAM)


def records(first: int, count: int) -> tuple[Range, ...]:
    """A partition of a stream, with what is in it."""
    made = [Record(Offset(first + n), TimestampMs(n), b"key", b"value %d" % n) for n in range(count)]
    ahead = Ahead(bytes(build_batch(made)), ())
    return (Range(TOPIC, bytes(16), 0, first, first + count, ahead),)


def run(main: repeated.Main, *parts: bytes) -> bytes:
    """What is answered."""
    out = io.BytesIO()
    infile: io.BufferedReader[Any] = io.BufferedReader(Parts(list(parts)), 1 << 16)
    try:
        main(infile, out)
    except SystemExit:  # behind an error: Spark does not use the worker again
        return out.getvalue()
    assert infile.read() == b"", "something of the task was not read"
    assert out.getvalue().endswith(pack(">i", SpecialLengths.END_OF_STREAM))
    return out.getvalue()


class Parts(io.RawIOBase):
    """Bytes as they come over a socket."""

    def __init__(self, parts: list[bytes]) -> None:
        self._parts = parts

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        if not self._parts:
            return 0
        part = self._parts.pop(0)
        now, rest = part[: len(room)], part[len(room) :]
        if rest:
            self._parts.insert(0, rest)
        room[: len(now)] = now
        return len(now)


def without_times(answer: bytes) -> tuple[bytes, bytes]:
    before, _, after = answer.partition(pack(">i", SpecialLengths.TIMING_DATA) + bytes(2))
    return before, after[TIMES * 8 - 2 :]


class Counted:
    """PySpark's own worker, and how many tasks came to it."""

    def __init__(self) -> None:
        self.tasks = 0

    def __call__(self, infile: io.BufferedReader, outfile: IO[bytes]) -> None:
        self.tasks += 1
        worker.main(infile, outfile)


@pytest.fixture
def of_pyspark() -> Counted:
    return Counted()


def test_the_second_task_answers_as_pyspark_would(of_pyspark: Counted) -> None:
    command, main = command_of(), quick(of_pyspark)
    first = run(main, told(command, 1) + given(records(0, 5)))
    assert of_pyspark.tasks == 1
    for number in (2, 3):
        partition = given(records(5 * number, 7))
        answer = run(main, told(command, number) + partition)
        assert of_pyspark.tasks == 1
        expected = run(worker.main, told(command, number) + partition)
        assert without_times(answer) == without_times(expected)
        assert answer != first
        assert len(without_times(answer)[0]) > 500  # the rows


def test_a_task_without_rows_answers_as_pyspark_would(of_pyspark: Counted) -> None:
    command, main = command_of(), quick(of_pyspark)
    run(main, told(command, 1) + given(records(0, 5)))
    answer = run(main, told(command, 2) + given(()))
    assert of_pyspark.tasks == 1
    assert without_times(answer) == without_times(run(worker.main, told(command, 2) + given(())))


def corrupt(good: Range) -> Range:
    assert good.ahead is not None
    changed = bytearray(good.ahead.records)
    changed[-1] ^= 1
    return replace(good, ahead=Ahead(bytes(changed), ()))


@pytest.mark.parametrize(
    ("partition", "said"),
    [
        (tuple(map(corrupt, records(0, 5))), b"CorruptRecords: orders-0"),
        ((*records(0, 5), *map(corrupt, records(5, 5))), b"CorruptRecords: orders-0"),
        (7, b"TypeError"),
    ],
    ids=["at once", "behind rows", "no partition of ours"],
)
def test_an_error_is_told_as_pyspark_would_tell_it(
    of_pyspark: Counted, monkeypatch: pytest.MonkeyPatch, partition: Any, said: bytes
) -> None:
    monkeypatch.setenv("SPARK_HIDE_TRACEBACK", "1")
    command, main = command_of(), quick(of_pyspark)
    run(main, told(command, 1) + given(records(0, 5)))
    answer = run(main, told(command, 2) + given(partition))
    assert of_pyspark.tasks == 1
    assert said in answer
    assert answer == run(worker.main, told(command, 2) + given(partition))


@pytest.mark.parametrize("end", [b"", pack(">i", SpecialLengths.END_OF_DATA_SECTION)], ids=["none", "another"])
def test_a_task_that_does_not_end_well_is_told_as_pyspark_would_tell_it(of_pyspark: Counted, end: bytes) -> None:
    command, main = command_of(), quick(of_pyspark)
    run(main, told(command, 1) + given(records(0, 5)))
    task = told(command, 2) + given(records(0, 5))[:-4] + end
    answer = run(main, task)
    assert of_pyspark.tasks == 1
    assert without_times(answer) == without_times(run(worker.main, task))


def test_many_rows_in_several_ranges(of_pyspark: Counted) -> None:
    command, main = command_of(), quick(of_pyspark)
    run(main, told(command, 1) + given(records(0, 5)))
    task = told(command, 2) + given((*records(0, 100_000), *records(100_000, 7)))
    answer = run(main, task)
    assert of_pyspark.tasks == 1
    assert without_times(answer) == without_times(run(worker.main, task))


class Masked(DataSourceStreamReader):
    """Somebody else's: it has a reader of ours in it, and does not show all that it gives."""

    def __init__(self, reader: DataSourceStreamReader) -> None:
        self._reader = reader

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        for rows in cast("Iterator[pa.RecordBatch]", self._reader.read(partition)):
            hidden = pa.array([b"***"] * rows.num_rows, pa.binary())
            yield rows.set_column(1, rows.schema.field(1), hidden)


def test_a_reader_around_ours_is_pysparks(of_pyspark: Counted) -> None:
    command, main = command_of(Masked), quick(of_pyspark)
    for number in range(3):
        answer = run(main, told(command, number) + given(records(0, 5)))
        assert b"***" in answer
        assert b"value 1" not in answer
    assert of_pyspark.tasks == 3


def test_other_words_are_pysparks(of_pyspark: Counted) -> None:
    main = quick(of_pyspark)
    for number, options in enumerate(({}, {"columns": "value"}, {"failOnDataLoss": "false"})):
        run(main, told(command_of(**options), number) + given(records(0, 5)))
    assert of_pyspark.tasks == 3
    run(main, told(command_of(columns="value"), 9) + given(records(0, 5)))
    assert of_pyspark.tasks == 3


def test_a_task_that_is_told_in_parts_is_pysparks(of_pyspark: Counted) -> None:
    command, main = command_of(), quick(of_pyspark)
    run(main, told(command, 0) + given(records(0, 5)))
    for number, at in enumerate((3, 8, 100, 3_000), 1):
        words = told(command, number)
        run(main, words[:at], words[at:], given(records(0, 5)))
        assert of_pyspark.tasks == number + 1
    run(main, told(command, 9), given(records(0, 5)))  # all of the words at once, and the rest later
    assert of_pyspark.tasks == 5


@pytest.mark.parametrize(
    "more",
    [
        {"confs": {"spark.sql.pyspark.dataSource.profiler": "perf"}},
        {"broadcasts": pack(">iq", 1, 7) + with_size(b"/nowhere/7")},
    ],
    ids=["a profile", "something shared"],
)
def test_a_task_with_more_to_do_than_to_read_is_pysparks(of_pyspark: Counted, more: dict[str, Any]) -> None:
    command, main = command_of(), quick(of_pyspark)
    for number in range(3):
        run(main, told(command, number, **more) + given(records(0, 5)))
    assert of_pyspark.tasks == 3


def test_a_function_of_a_user_is_not_taken_for_the_reader_of_the_task_before(of_pyspark: Counted) -> None:
    main = quick(of_pyspark)
    run(main, told(command_of(), 1) + given(records(0, 5)))
    run(main, told(command_of(), 2) + given(records(0, 5)))
    of_user = pickle.dumps((iter, None))
    for number in (3, 4):
        answer = run(main, told(of_user, number) + given("as it is"))
        assert b"as it is" in answer
    assert of_pyspark.tasks == 3


def test_what_is_kept_has_a_bound(of_pyspark: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated, "_KEPT_MAX", 2)
    main = quick(of_pyspark)
    commands = [command_of(groupIdPrefix=name) for name in "abc"]
    for command in commands:
        run(main, told(command, 1) + given(records(0, 5)))
    assert of_pyspark.tasks == 3
    run(main, told(commands[2], 2) + given(records(0, 5)))
    assert of_pyspark.tasks == 3
    run(main, told(commands[0], 2) + given(records(0, 5)))
    assert of_pyspark.tasks == 4


def test_the_end_of_a_connection_is_pysparks(of_pyspark: Counted) -> None:
    assert b"EOFError" in run(quick(of_pyspark))
    assert of_pyspark.tasks == 1


@pytest.mark.parametrize(
    "content",
    [b"abc", pack(">iii", 1, -5, 2) + bytes(20), pack(">ii", 1, -4000) + bytes(200), pack(">ii", 1, 2**31 - 1)],
)
def test_what_makes_no_sense_is_pysparks(of_pyspark: Counted, content: bytes) -> None:
    assert b"Error" in run(quick(of_pyspark), pack(">i", SpecialLengths.START_OF_INIT_MESSAGE) + with_size(content))
    assert of_pyspark.tasks == 1


def test_a_worker_that_is_let_go_before_its_answer_is_read_ends_quietly(tmp_path: Path) -> None:
    """Its next read fails then; over TCP, it would see an end."""
    task = tmp_path / "task"
    task.write_bytes(told(command_of(), 1) + given(records(0, 5)))
    environ = {**os.environ, "PYTHON_DAEMON_KILL_WORKER_ON_FLUSH_FAILURE": "1"}  # as Spark has it
    done = subprocess.run(
        [sys.executable, "-c", LET_GO, task], env=environ, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["0", "1"]


LET_GO = """
import socket, sys
task = open(sys.argv[1], "rb").read()
sys.argv[1:] = ["pyspark.worker"]
from odradek.spark.runtime import daemon
spark, ours = socket.socketpair(socket.AF_UNIX)
spark.sendall(task)
print(daemon.worker(ours, True))
spark.recv(300)
spark.close()
print(daemon.worker(ours, True))
"""


DAEMON = """
import sys
sys.argv[1:] = ["pyspark.worker"]
from pyspark import daemon as of_pyspark
from pyspark import worker
from odradek.spark.runtime import daemon
before = worker.main
of_pyspark.worker = daemon._of_pyspark = lambda sock, authenticated: 0
assert daemon.worker(None, True) == 0
after = worker.main
assert daemon.worker(None, True) == 0
print(after is not before, worker.main is after)
"""


def test_workers_of_our_daemon_know_tasks_again() -> None:
    done = subprocess.run([sys.executable, "-c", DAEMON], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]
