"""Files of batches: segments (`.log`) and snapshots of the metadata log (`.checkpoint`). Read piece by piece."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from crc32c import crc32c

from odradek.cli.dump import control
from odradek.cli.dump.decoders import Decoder
from odradek.cli.dump.printer import Printer
from odradek.model.errors import CorruptBatch
from odradek.process.files import File
from odradek.records.batch import (
    CRC_START,
    HEAD_SIZE,
    LOG_OVERHEAD,
    BatchHead,
    TimestampType,
    add_sequence,
    parse_head,
)
from odradek.records.record import Record, read_records

MAX_BYTES = 0x7FFF_FFFF
_CHUNK = 1 << 20
_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint.*")
_TIMES = {TimestampType.CREATE_TIME: "CreateTime", TimestampType.LOG_APPEND_TIME: "LogAppendTime"}
_GAPS_MAX = 1000


@dataclass(frozen=True, slots=True)
class DumpOptions:
    """What to print of a file of batches."""

    records: bool = False
    contents: bool = False
    """Keys and values of the records."""
    metadata: bool = True
    """What records have beside keys and values; without it, control records are left out too."""
    max_bytes: int = MAX_BYTES
    decoder: Decoder | None = None
    """What makes keys and values readable; without one they are printed as text."""


def dump(file: File, printer: Printer, options: DumpOptions) -> None:
    _BatchDump(file, printer, options).run()


class _BatchDump:
    def __init__(self, file: File, printer: Printer, options: DumpOptions) -> None:
        self._file = file
        self._printer = printer
        self._wanted = options
        self._size = file.size()
        self._next_offset: int | None = None
        self._gaps: list[str] = []

    def run(self) -> None:
        self._printer.line(_title(os.path.basename(self._file.path)))
        end = 0
        for position, head, batch in self._batches():
            valid = crc32c(batch[CRC_START:]) == head.crc
            self._printer.line(_batch_line(position, head, valid))
            if not valid:
                self._printer.complain(self._file.path, "the CRC of the batch is wrong", position)
            if self._wanted.records:
                self._dump_records(position, head, batch)
            end = position + head.size
        if end < self._size and self._wanted.max_bytes == MAX_BYTES:
            name = os.path.basename(self._file.path)
            self._printer.line(f"Found {self._size - end} invalid bytes at the end of {name}")
        if self._gaps:
            # No fault: compaction leaves gaps.
            self._printer.remark(
                "\n".join((f"Non-consecutive offsets in {os.path.abspath(self._file.path)}", *self._gaps))
            )

    def _batches(self) -> Iterator[tuple[int, BatchHead, memoryview]]:
        """The whole batches within max_bytes, up to the first thing that has no head of one."""
        limit = min(self._size, self._wanted.max_bytes)
        position, chunk, chunk_at = 0, memoryview(b""), 0
        while position < limit:
            at = position - chunk_at
            if len(chunk) - at < HEAD_SIZE:
                chunk, chunk_at, at = memoryview(self._file.read(_CHUNK, position)), position, 0
            try:
                head = parse_head(chunk, at)
            except CorruptBatch as error:
                self._printer.complain(self._file.path, str(error), position)
                return
            whole = head.length + LOG_OVERHEAD
            if position + whole > limit:
                if position + whole > self._size:
                    left = self._size - position
                    text = f"the batch has {whole} bytes, the file {left} more"
                    self._printer.complain(self._file.path, text, position)
                return
            if len(chunk) - at < whole:
                chunk, chunk_at, at = memoryview(self._file.read(max(_CHUNK, whole), position)), position, 0
            yield position, head, chunk[at : at + whole]
            position += whole

    def _dump_records(self, position: int, head: BatchHead, batch: memoryview) -> None:
        lines = []
        try:
            for record in read_records(batch, head):
                self._look_for_gap(record.offset)
                lines.append(self._record_line(head, record))
        except CorruptBatch as error:
            self._printer.complain(self._file.path, f"in the batch here: {error}", position)
        self._printer.lines(lines)

    def _look_for_gap(self, offset: int) -> None:
        if self._next_offset is not None and offset != self._next_offset and len(self._gaps) < _GAPS_MAX:
            self._gaps.append(f"  {self._next_offset - 1} is followed by {offset}")
        self._next_offset = offset + 1

    def _record_line(self, head: BatchHead, record: Record) -> str:
        line = ""
        if self._wanted.metadata:
            line = _metadata(head, record, self._printer)
            if head.is_control:
                return f"{line} {control.describe(record)}"
        if not self._wanted.contents or head.is_control:
            return line
        key, value = self._contents(record)
        parts = [line or "|"]
        if key is not None:
            parts.append(f"key: {self._printer.decode(key)}")
        if value is not None:
            parts.append(f"payload: {self._printer.decode(value)}")
        return " ".join(parts) if line or len(parts) > 1 else ""

    def _contents(self, record: Record) -> tuple[bytes | None, bytes | None]:
        if self._wanted.decoder is None:
            return record.key, record.value
        key, value, problem = self._wanted.decoder(record)
        if problem is not None:
            self._printer.complain(self._file.path, f"the record at offset {record.offset}: {problem}")
        return None if key is None else key.encode(), None if value is None else value.encode()


def _title(name: str) -> str:
    if name == "bootstrap.checkpoint":
        return "KRaft bootstrap snapshot"
    snapshot = _SNAPSHOT.fullmatch(name)
    if snapshot:
        return f"Snapshot end offset: {int(snapshot[1])}, epoch: {int(snapshot[2])}"
    start = name.partition(".")[0]
    return f"Log starting offset: {int(start) if start.isdecimal() else start}"


def _batch_line(position: int, head: BatchHead, valid: bool) -> str:
    horizon = head.delete_horizon_ms
    last_sequence = head.last_sequence if head.base_sequence >= 0 else -1
    return (
        f"baseOffset: {head.base_offset} lastOffset: {head.last_offset} count: {head.count} "
        f"baseSequence: {head.base_sequence} lastSequence: {last_sequence} producerId: {head.producer_id} "
        f"producerEpoch: {head.producer_epoch} partitionLeaderEpoch: {head.leader_epoch} "
        f"isTransactional: {_java(head.is_transactional)} isControl: {_java(head.is_control)} "
        f"deleteHorizonMs: {optional(horizon)} position: {position} "
        f"{_TIMES[head.timestamp_type]}: {head.max_timestamp} size: {head.size} magic: {head.magic} "
        f"compresscodec: {_codec(head)} crc: {head.crc} isvalid: {_java(valid)}"
    )


def _codec(head: BatchHead) -> str:
    try:
        return head.codec.name.lower()
    except CorruptBatch:
        return f"unknown({head.attributes & 7})"


def _metadata(head: BatchHead, record: Record, printer: Printer) -> str:
    sequence = -1
    if head.base_sequence >= 0:
        sequence = add_sequence(head.base_sequence, record.offset - head.base_offset)
    keys = ",".join(printer.decode(key.encode()) for key, _ in record.headers) if record.headers else ""
    return (
        f"| offset: {record.offset} {_TIMES[head.timestamp_type]}: {record.timestamp} "
        f"keySize: {-1 if record.key is None else len(record.key)} "
        f"valueSize: {-1 if record.value is None else len(record.value)} sequence: {sequence} headerKeys: [{keys}]"
    )


def optional(number: int | None) -> str:
    """A number that may be missing, as Java prints it."""
    return "OptionalLong.empty" if number is None else f"OptionalLong[{number}]"


def _java(value: bool) -> str:
    return "true" if value else "false"
