"""Snapshots of the metadata, `<end offset>-<epoch>.checkpoint`, and `bootstrap.checkpoint`, which has the same form.

A file of batches, numbered from offset 0 on, all of the epoch in its name: first a header (a control record, followed
by those of the voters where they are kept in the log), then metadata records, last a footer (a control record). A file
without a footer is not whole.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from odradek.metadata.image import Image, Position
from odradek.metadata.replay import image_of
from odradek.metadata.snapshot import records_of
from odradek.model.errors import CorruptBatch, CorruptFile
from odradek.model.numbers import LeaderEpoch, Offset, TimestampMs
from odradek.process.files import File, Files, replace_file
from odradek.quorum import batches
from odradek.quorum.batches import BatchStamp
from odradek.wire.records.control import SnapshotFooterRecord, SnapshotHeaderRecord
from odradek.wire.schema import Message

BOOTSTRAP = "bootstrap.checkpoint"
SUFFIX = ".checkpoint"
PART = ".part"

_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_BATCH_RECORDS = 1024
_EPOCH_MAX = (1 << 31) - 1
_OFFSET_MAX = (1 << 63) - 1


class SnapshotId(NamedTuple):
    end_offset: Offset
    """Of the first record that it does not contain."""
    epoch: LeaderEpoch

    @property
    def name(self) -> str:
        return f"{self.end_offset:020d}-{self.epoch:010d}{SUFFIX}"


def parse_name(name: str) -> SnapshotId | None:
    match = _NAME.fullmatch(name)
    if match is None or int(match[1]) > _OFFSET_MAX or int(match[2]) > _EPOCH_MAX:
        return None
    return SnapshotId(Offset(int(match[1])), LeaderEpoch(int(match[2])))


@dataclass(frozen=True, slots=True)
class Content:
    """What a snapshot says."""

    timestamp: TimestampMs
    """Of the last batch of the log that it contains."""
    control: tuple[Message, ...]
    """Control records, those of the voters among them."""
    records: tuple[Message, ...]

    def image(self, snapshot: SnapshotId) -> Image:
        last = Offset(snapshot.end_offset - 1)
        return image_of(self.records, Position(last, snapshot.epoch, self.timestamp), self.control)


def parse(data: bytes, path: str) -> Content:
    """Raises CorruptFile where it is not whole, UnsupportedVersion where a record in it came after us."""
    header: SnapshotHeaderRecord | None = None
    ended = False
    controls: list[Message] = []
    records: list[Message] = []
    read = 0
    try:
        for head, view in batches.split(memoryview(data)):
            read += head.size
            if ended:
                raise CorruptFile(f"{path}: goes on after its footer")
            if not head.is_control:
                if header is None:
                    raise CorruptFile(f"{path}: does not begin with a header")
                records += batches.read(view, head, head.base_offset).records
                continue
            for control in batches.read_control(view, head):
                if isinstance(control, SnapshotHeaderRecord):
                    header = control
                controls.append(control)
                ended = isinstance(control, SnapshotFooterRecord)
    except CorruptBatch as error:
        raise CorruptFile(f"{path} at {read}: {error}") from None
    if header is None or not ended or read != len(data):
        raise CorruptFile(f"{path} at {read}: ends without a footer")
    return Content(TimestampMs(header.last_contained_log_timestamp), tuple(controls), tuple(records))


def parts(image: Image, now: TimestampMs) -> Iterator[bytearray]:
    """A snapshot of the image, piece by piece: to make all of it at once could take long."""
    header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=image.position.timestamp)
    yield from _parts(
        (header, *image.voters.records()), records_of(image), image.metadata_version, BatchStamp(now, epoch=image.epoch)
    )


def _parts(
    first: tuple[Message, ...], records: Iterator[Message], metadata_version: int, place: BatchStamp
) -> Iterator[bytearray]:
    yield batches.build_control(first, place)
    offset = len(first)
    while some := tuple(islice(records, _BATCH_RECORDS)):
        yield batches.build(some, metadata_version, place._replace(base_offset=Offset(offset)))
        offset += len(some)
    footer = SnapshotFooterRecord(version=0)
    yield batches.build_control((footer,), place._replace(base_offset=Offset(offset)))


def pack_bootstrap(records: tuple[Message, ...], metadata_version: int, now: TimestampMs) -> bytes:
    header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=0)
    return b"".join(_parts((header,), iter(records), metadata_version, BatchStamp(now, epoch=LeaderEpoch(0))))


def write_bootstrap(files: Files, directory: str, data: bytes) -> None:
    replace_file(files, f"{directory}/{BOOTSTRAP}", data)


class SnapshotWriter:
    """Writes a file under a name of its own until it is whole."""

    def __init__(self, files: Files, directory: str, snapshot: SnapshotId) -> None:
        self._files = files
        self._directory = directory
        self._path = f"{directory}/{snapshot.name}"
        self._file: File = files.open(self._path + PART, create=True)
        self.size = 0
        try:
            self._file.truncate(0)  # a crash may have left a part of an earlier attempt
        except OSError:
            self._file.close()
            raise

    def write(self, data: bytearray) -> None:
        self._file.write(data, self.size)
        self.size += len(data)

    def finish(self) -> None:
        """Blocks; may run in another thread."""
        try:
            self._file.sync()  # crash before here: the next start removes *.part
        finally:
            self._file.close()
        self._files.rename(self._path + PART, self._path)  # crash here: the log still has all that the snapshot has
        self._files.sync_dir(self._directory)  # only now may a part of the log go

    def abandon(self) -> None:
        self._file.close()
