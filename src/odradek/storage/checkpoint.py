"""Checkpoint files: text with a version, a count and that many lines.

    0                    version
    2                    how many lines follow
    orders 0 1500        topic partition offset, in the checkpoints of a log directory
    orders 1 1498

Numbers in them have only ASCII digits. An empty file counts as one with no lines: Kafka makes some that way.
"""

import re
from collections.abc import Iterable, Mapping

from odradek.model.errors import CorruptFile, NewerVersion
from odradek.model.numbers import Offset
from odradek.model.topic_partition import TopicPartition
from odradek.process.files import Files, replace_file

VERSION = 0

_NUMBER = re.compile(r"-?[0-9]{1,19}")


def pack_lines(lines: Iterable[str]) -> bytes:
    body = list(lines)
    return "\n".join([str(VERSION), str(len(body)), *body, ""]).encode()


def parse_lines(data: bytes, path: str) -> list[list[str]]:
    """The fields of each line, or CorruptFile."""
    if not data:
        return []
    try:
        version, *rest = data.decode().splitlines()
    except UnicodeDecodeError as error:
        raise CorruptFile(f"{path} at {error.start}: not text") from None
    except ValueError:
        raise CorruptFile(f"{path}: no version in line 1") from None
    if parse_number(version, path, 1) != VERSION:
        raise NewerVersion(f"{path}, line 1: version {version} of a checkpoint is not known")
    if not rest:
        raise CorruptFile(f"{path}: no count in line 2")
    if not data.endswith(b"\n"):
        raise CorruptFile(f"{path}, line {len(rest) + 1}: the end of the line is missing")
    count = parse_number(rest[0], path, 2)
    if count != len(rest) - 1:
        raise CorruptFile(f"{path}: {len(rest) - 1} lines where line 2 announces {count}")
    return [line.split(" ") for line in rest[1:]]


def parse_number(text: str, path: str, line: int) -> int:
    """An int64; everything else raises CorruptFile."""
    if not _NUMBER.fullmatch(text) or not -(1 << 63) <= int(text) < 1 << 63:
        raise CorruptFile(f"{path}, line {line}: {text[:40]!r} is no number")
    return int(text)


def read_offsets(files: Files, path: str) -> dict[TopicPartition, Offset]:
    """A checkpoint of a log directory; empty where there is none yet."""
    try:
        data = files.read_whole(path)
    except FileNotFoundError:
        return {}
    return parse_offsets(data, path)


def parse_offsets(data: bytes, path: str) -> dict[TopicPartition, Offset]:
    offsets = {}
    for line, fields in enumerate(parse_lines(data, path), start=3):
        if len(fields) != 3:
            raise CorruptFile(f"{path}, line {line}: {len(fields)} fields where 3 belong")
        topic, partition, offset = fields
        where = TopicPartition(topic, parse_number(partition, path, line))
        offsets[where] = Offset(parse_number(offset, path, line))
    return offsets


def write_offsets(files: Files, path: str, offsets: Mapping[TopicPartition, Offset]) -> None:
    lines = (f"{where.topic} {where.partition} {offset}" for where, offset in offsets.items())
    replace_file(files, path, pack_lines(lines))
