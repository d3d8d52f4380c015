"""Names of files and directories, as Apache Kafka writes them."""

import re
from enum import Enum
from typing import NamedTuple

from odradek.model.errors import CorruptFile
from odradek.model.numbers import Offset
from odradek.model.topic_partition import TopicPartition

LOG = ".log"
INDEX = ".index"
TIME_INDEX = ".timeindex"
TXN_INDEX = ".txnindex"
SNAPSHOT = ".snapshot"
DELETED = ".deleted"
CLEANED = ".cleaned"
SWAP = ".swap"
TEMP = ".tmp"
SEGMENT_SUFFIXES = (LOG, INDEX, TIME_INDEX, TXN_INDEX)

LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
LOCK = ".lock"
METADATA_TOPIC = "__cluster_metadata"

NAME_MAX = 255
_OFFSET = re.compile(r"([0-9]{20})(\.[a-z]+)((?:\.[a-z]+)?)")
_OFFSET_MAX = (1 << 63) - 1
_MARKED = re.compile(r"(?P<name>\S+)\.(?P<id>[^\s.]+)(?P<mark>-delete|-future|-stray)")


class Mark(Enum):
    """What a suffix of a partition directory's name says of it."""

    NONE = ""
    DELETE = "-delete"
    FUTURE = "-future"
    STRAY = "-stray"


class PartitionDir(NamedTuple):
    partition: TopicPartition
    mark: Mark


def file_name(base: Offset, suffix: str) -> str:
    return f"{base:020d}{suffix}"


def parse_file_name(name: str) -> tuple[Offset, str, str] | None:
    """`00…42.log.deleted` gives (42, ".log", ".deleted"); None where a name has another form."""
    match = _OFFSET.fullmatch(name)
    if match is None or int(match[1]) > _OFFSET_MAX:
        return None
    return Offset(int(match[1])), match[2], match[3]


def parse_dir_name(name: str) -> PartitionDir:
    """`orders-3` or `orders-3.<id>-delete`; raises CorruptFile for any other form."""
    mark = Mark.NONE
    plain = name
    if name.endswith(("-delete", "-future", "-stray")):
        match = _MARKED.fullmatch(name)
        if match is None:
            raise CorruptFile(f"directory {name!r} has a mark but no id before it")
        plain, mark = match["name"], Mark(match["mark"])
    topic, dash, partition = plain.rpartition("-")
    if not (topic and dash and partition.isascii() and partition.isdecimal()):
        raise CorruptFile(f"directory {name!r} is not named <topic>-<partition>")
    return PartitionDir(TopicPartition(topic, int(partition)), mark)


def marked_dir_name(partition: TopicPartition, unique_id: str, mark: Mark) -> str:
    """The name that a partition's directory gets when it is deleted, moved or found to be a stray."""
    suffix = f"-{partition.partition}.{unique_id}{mark.value}"
    if mark is Mark.FUTURE:
        return partition.topic + suffix  # Kafka does not cut these: the name must be found again
    return partition.topic[: NAME_MAX - len(suffix)] + suffix
