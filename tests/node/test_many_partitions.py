"""Thousands of partitions in a process that may open only a few hundred files."""

import subprocess
import sys
from pathlib import Path

CHILD = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (128, 256))
from odradek.model.numbers import LeaderEpoch, Offset
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from odradek.records.builder import build_batch
from odradek.records.record import Record
from odradek.process.files import OsFiles
from odradek.storage.log_dirs import LogDirs, Setting
from odradek.process.machine import raise_handle_limit
from odradek.storage.open_files import OpenFiles, capacity_within
from support.clock import ManualClock
from support.logs import append_batch

limit = raise_handle_limit()
clock = ManualClock()
setting = Setting(clock, lambda topic: TopicConfig(), lambda: "0" * 32)
files = OpenFiles(OsFiles(), capacity_within(limit))
logs = LogDirs.open(files, [sys.argv[1]], setting)
partitions = [TopicPartition("many", number) for number in range(1500)]
for partition in partitions:
    logs.create(partition, "A" * 22)
for round in range(2):
    for partition in partitions:
        batch = build_batch([Record(Offset(0), clock.now_ms(), None, str(partition).encode())])
        append_batch(logs.get(partition), memoryview(batch), LeaderEpoch(0))
        logs.get(partition).recovery_point = logs.get(partition).end_offset  # a sync of each would only take long
held = len(files)
logs.close()
logs = LogDirs.open(OpenFiles(OsFiles(), capacity_within(limit)), [sys.argv[1]], setting)
right = 0
for log in logs:
    assert [record.value for _, record in log.records(Offset(0))] == [str(log.partition).encode()] * 2
    right += 1
logs.close()
print(limit, held, right)
"""


def test_a_bounded_set_of_files_serves_them_all(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", CHILD, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    limit, held, right = map(int, done.stdout.split())
    assert limit == 256
    assert held <= 128
    assert right == 1500
