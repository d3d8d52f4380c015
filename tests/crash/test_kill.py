"""kill -9 at any moment, on real files: what was acknowledged is there, once, in order, and found by its indexes."""

import importlib.util
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from types import ModuleType

import pytest

from odradek.model.numbers import Offset, ProducerId, TimestampMs
from odradek.process.files import OsFiles
from odradek.records.batch import parse_head
from odradek.storage import names
from odradek.storage.leader_epochs import LeaderEpochs
from odradek.storage.log import Log
from odradek.storage.producer_state import ProducerState
from odradek.storage.rebuild import rebuild
from support.examples import examples
from support.logs import NOW

pytestmark = pytest.mark.slow  # a process for every round

CHILD = Path(__file__).with_name("appending_child.py")


@pytest.fixture(scope="module")
def child() -> ModuleType:
    spec = importlib.util.spec_from_file_location("appending_child", CHILD)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def append_and_kill(directory: Path, seed: int, lines: int) -> list[str]:
    """Let a child append, kill it after so many answers, and return all that it gave."""
    command = [sys.executable, str(CHILD), str(directory), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        answers = [process.stdout.readline() for _ in range(lines)]
        process.send_signal(signal.SIGKILL)
        answers += process.stdout.readlines()
    assert process.returncode == -signal.SIGKILL
    return [answer for answer in answers if answer.endswith("\n")]


def test_nothing_acknowledged_is_lost(tmp_path: Path, child: ModuleType) -> None:
    seed = Random().randrange(1 << 32)
    print(f"seed {seed}")  # noqa: T201 - shown if it fails
    rng = Random(seed)
    acknowledged = {0: -1, 1: -1}
    for number in range(examples(10)):
        for answer in append_and_kill(tmp_path, rng.randrange(1 << 32), rng.randrange(400)):
            partition, offset = map(int, answer.split())
            acknowledged[partition] = max(acknowledged[partition], offset)
        dirs = child.open_all(str(tmp_path))
        for log in dirs:
            partition = log.partition.partition
            assert log.end_offset > acknowledged[partition]
            check_records(log, child)
            check_indexes(log)
            check_lookups(log, rng)
            check_producers(log)
        if number % 3 == 2:
            dirs.close()
            assert child.open_all(str(tmp_path)).abandon() is None
        else:
            dirs.abandon()
    assert min(acknowledged.values()) > 0


def check_records(log: Log, child: ModuleType) -> None:
    partition = log.partition.partition
    expected = Offset(0)
    for _, record in log.records(Offset(0)):
        assert record.offset == expected
        assert record.value == child.value_at(partition, record.offset).encode()
        expected = Offset(expected + 1)
    assert log.end_offset == expected


def check_indexes(log: Log) -> None:
    """All but those of the active segment are on disk, and are what the log alone gives."""
    producers = ProducerState(Offset(0))
    for segment in log.segments:
        segment.release()
        file = OsFiles().open_to_read(segment.path(names.LOG))
        found = rebuild(
            file, segment.size, segment.base_offset, log.config.index_interval_bytes, (producers, LeaderEpochs())
        )
        file.close()
        assert found.corruption is None
        assert Path(segment.path(names.INDEX)).read_bytes() == bytes(found.index)
        assert Path(segment.path(names.TIME_INDEX)).read_bytes() == bytes(found.time_index)


def check_lookups(log: Log, rng: Random) -> None:
    for _ in range(20):
        offset = rng.randrange(log.end_offset)
        found = log.read(Offset(offset), 1)
        assert found is not None
        head = parse_head(found.read())
        assert head.base_offset <= offset <= head.last_offset
        by_time = log.find_time(TimestampMs(NOW + offset))
        assert by_time is not None
        assert by_time.offset == offset


def check_producers(log: Log) -> None:
    last = [head for head, _ in log.records(Offset(0)) if head.producer_id == 1]
    known = log.producers.get(ProducerId(1))
    assert (known is None) == (not last)
    if known is not None:
        assert known.last_sequence == last[-1].last_sequence
