"""Offsets of groups in a file: a JSON object a line, or the CSV of Apache Kafka's own tool.

A line of CSV is `topic,partition,offset`, or `group,topic,partition,offset` where several groups are in the file.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from odradek.client.committed import Committed
from odradek.model.errors import OdradekError
from odradek.model.numbers import Offset
from odradek.model.topic_partition import TopicPartition

Offsets = dict[TopicPartition, Committed]

_COLUMNS_WITH_GROUP = 4
_NUMBER_MAX = {"partition": (1 << 31) - 1, "offset": (1 << 63) - 1}


class BadFile(OdradekError):
    """A file that has no offsets of groups."""


class OffsetLine(NamedTuple):
    group_id: str | None
    partition: TopicPartition
    committed: Committed


def to_json(groups: Mapping[str, Mapping[TopicPartition, Committed]]) -> Iterator[str]:
    for group_id, offsets in groups.items():
        for (topic, partition), committed in offsets.items():
            fields = {"group": group_id, "topic": topic, "partition": partition, "offset": committed.offset}
            yield json.dumps({**fields, "metadata": committed.metadata})


def to_csv(groups: Mapping[str, Mapping[TopicPartition, Committed]]) -> Iterator[str]:
    """With the group in each line only if there are several: Kafka's tool asks for it that way."""
    for group_id, offsets in groups.items():
        for (topic, partition), committed in offsets.items():
            cells = [*([group_id] if len(groups) > 1 else []), topic, partition, committed.offset]
            line = io.StringIO()
            csv.writer(line, lineterminator="").writerow(cells)
            yield line.getvalue()


def read_offsets(text: str, group_ids: Iterable[str] = ()) -> dict[str, Offsets]:
    """By group. Lines without one are of each of `group_ids`. Raises BadFile, which names the line."""
    default = list(group_ids)
    groups: dict[str, Offsets] = {}
    for number, given in enumerate(text.splitlines(), 1):
        if not given.strip():
            continue
        try:
            line = _from_json(given) if given.lstrip().startswith("{") else _from_csv(given)
            named = default if line.group_id is None else [line.group_id]
            if not named:
                raise BadFile("which group it is for is not said; --group does")
            for group_id in named:
                _add(groups.setdefault(group_id, {}), line)
        except BadFile as error:
            raise BadFile(f"line {number}: {error}") from None
    return groups


def _add(offsets: Offsets, line: OffsetLine) -> None:
    if line.partition in offsets:
        raise BadFile(f"{line.partition} is there twice")
    offsets[line.partition] = line.committed


def _from_csv(line: str) -> OffsetLine:
    try:
        (cells,) = csv.reader([line], strict=True)
    except csv.Error as error:
        raise BadFile(str(error)) from None
    cells = [cell.strip() for cell in cells]
    group_id = cells.pop(0) if len(cells) == _COLUMNS_WITH_GROUP else None
    if len(cells) != _COLUMNS_WITH_GROUP - 1:
        raise BadFile("not topic,partition,offset or group,topic,partition,offset")
    topic, partition, offset = cells
    return _line(group_id, topic, partition, offset, "")


def _from_json(line: str) -> OffsetLine:
    try:
        fields = json.loads(line)
    except ValueError as error:
        raise BadFile(f"not JSON: {error}") from None
    group_id, topic, metadata = fields.get("group"), fields.get("topic"), fields.get("metadata", "")
    if not isinstance(topic, str) or not isinstance(group_id, str | None) or not isinstance(metadata, str | None):
        raise BadFile("group, topic and metadata must be text")
    return _line(group_id, topic, fields.get("partition"), fields.get("offset"), metadata or "")


def _line(group_id: str | None, topic: str, partition: object, offset: object, metadata: str) -> OffsetLine:
    if not topic or group_id == "":
        raise BadFile("a name is empty")
    where = TopicPartition(topic, _number("partition", partition))
    return OffsetLine(group_id, where, Committed(Offset(_number("offset", offset)), metadata))


def _number(name: str, given: object) -> int:
    if isinstance(given, str) and given.isascii() and given.isdecimal():
        given = int(given)
    if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given <= _NUMBER_MAX[name]:
        raise BadFile(f"{name} {given!r} is no number from 0 to {_NUMBER_MAX[name]}")
    return given
