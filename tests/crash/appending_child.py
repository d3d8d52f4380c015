"""A process that is there to be killed: it appends to two logs and prints each offset once its batch counts.

    python appending_child.py DIRECTORY SEED

The value of a record tells its partition and offset, so that whoever reads it can check it.
"""

import sys
from dataclasses import replace
from itertools import count
from random import Random

from odradek.model.numbers import LeaderEpoch, ProducerId
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from odradek.process.files import OsFiles
from odradek.records.batch import Codec
from odradek.records.builder import BatchSpec
from odradek.storage.log import Log
from odradek.storage.log_dirs import LogDirs, Setting
from odradek.storage.open_files import OpenFiles
from support.clock import ManualClock
from support.logs import NOW, TOPIC_ID, append_batch, timed_batch

PARTITIONS = (TopicPartition("orders", 0), TopicPartition("orders", 1))
CONFIG = replace(TopicConfig(), segment_bytes=20_000, index_interval_bytes=500, segment_index_bytes=4096)


def open_all(directory: str) -> LogDirs:
    ids = count()
    setting = Setting(clock=ManualClock(), config_of=lambda _: CONFIG, unique_id=lambda: f"{next(ids):032x}")
    return LogDirs.open(OpenFiles(OsFiles()), [directory], setting)


def value_at(partition: int, offset: int) -> str:
    return f"{partition}:{offset}:" + "x" * Random(offset).randrange(200)


def main() -> None:
    directory, seed = sys.argv[1], int(sys.argv[2])
    rng = Random(seed)
    dirs = open_all(directory)
    logs = [dirs.get(partition) or dirs.create(partition, TOPIC_ID) for partition in PARTITIONS]
    sequences = {log: log.producers.get(ProducerId(1)) for log in logs}
    next_sequence = {log: known.last_sequence + 1 if known else 0 for log, known in sequences.items()}
    while True:
        log = rng.choice(logs)
        append(log, rng, next_sequence)
        step = rng.random()
        if step < 0.02:
            log.roll()
        elif step < 0.04:
            log.sync()
        elif step < 0.06:
            dirs.write_checkpoints()


def append(log: Log, rng: Random, next_sequence: dict[Log, int]) -> None:
    offsets = range(log.end_offset, log.end_offset + rng.randrange(1, 6))
    spec = BatchSpec(codec=rng.choice((Codec.NONE, Codec.ZSTD)))
    if rng.random() < 0.5:
        spec = replace(spec, producer_id=ProducerId(1), producer_epoch=0, base_sequence=next_sequence[log])
        next_sequence[log] += len(offsets)
    partition = log.partition.partition
    sent = timed_batch([(value_at(partition, offset), NOW + offset) for offset in offsets], spec)
    answer = append_batch(log, sent, LeaderEpoch(0))
    sys.stdout.write(f"{partition} {answer.last_offset}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
