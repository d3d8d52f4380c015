"""The text files of a data directory, which Kafka's tool leaves out: checkpoints, identities, the quorum's state."""

import json
from collections.abc import Callable, Iterator

from odradek.cli.dump.printer import Printer
from odradek.model.errors import CorruptFile
from odradek.process.files import Files
from odradek.storage import checkpoint, leader_epochs, meta_properties, names, partition_metadata


def dump(files: Files, path: str, name: str, printer: Printer) -> None:
    """`name` is one of FILES. What cannot be understood is printed as it is."""
    data = files.read_whole(path)
    try:
        for line in FILES[name](data, path):
            printer.line(line)
    except CorruptFile:
        for raw in data.splitlines():
            printer.line(printer.decode(raw))
        raise


def _offsets(data: bytes, path: str) -> Iterator[str]:
    for partition, offset in checkpoint.parse_offsets(data, path).items():
        yield f"topic: {partition.topic} partition: {partition.partition} offset: {offset}"


def _epochs(data: bytes, path: str) -> Iterator[str]:
    for entry in leader_epochs.parse(data, path).entries:
        yield f"epoch: {entry.epoch} startOffset: {entry.start}"


def _topic_id(data: bytes, path: str) -> Iterator[str]:
    yield f"topicId: {partition_metadata.parse(data, path)}"


def _properties(data: bytes, path: str) -> Iterator[str]:
    for name, value in meta_properties.parse_properties(data, path).items():
        yield f"{name}: {value}"


def _json(data: bytes, path: str) -> Iterator[str]:
    try:
        fields = json.loads(data)
    except ValueError as error:
        raise CorruptFile(f"{path}: not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise CorruptFile(f"{path}: no JSON object")
    for name, value in fields.items():
        yield f"{name}: {value if isinstance(value, str) else json.dumps(value, separators=(',', ':'))}"


FILES: dict[str, Callable[[bytes, str], Iterator[str]]] = {
    names.RECOVERY_POINTS: _offsets,
    names.HIGH_WATERMARKS: _offsets,
    names.LOG_STARTS: _offsets,
    names.CLEANER_OFFSETS: _offsets,
    names.LEADER_EPOCHS: _epochs,
    names.PARTITION_METADATA: _topic_id,
    names.META_PROPERTIES: _properties,
    names.CLEAN_SHUTDOWN: _json,
    "quorum-state": _json,
}
