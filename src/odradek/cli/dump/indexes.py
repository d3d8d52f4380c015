"""The files beside a segment: offset index, time index, transaction index, producer snapshot."""

import os
from bisect import bisect_right
from dataclasses import dataclass
from struct import Struct

from odradek.cli.dump.batches import optional
from odradek.cli.dump.printer import Printer
from odradek.model.errors import CorruptBatch, CorruptFile
from odradek.model.numbers import FilePos, Offset
from odradek.process.files import File, Files
from odradek.records.batch import BatchHead
from odradek.storage import batches, names, offset_index, producer_snapshot, time_index, transaction_index
from odradek.storage.producer_state import Producer


@dataclass(frozen=True, slots=True)
class IndexDumpOptions:
    """What to do with an offset or time index."""

    sanity_only: bool = False
    """Only take the look that a broker takes when it starts."""
    verify_only: bool = False
    """Compare it with the segment, but print no entries."""


class _Index:
    """The entries of an index, with absolute offsets, and the segment beside it."""

    def __init__(self, files: Files, path: str, suffix: str, struct: Struct) -> None:
        self.path = path
        self.absolute = os.path.abspath(path)
        self.base = _base_of(path)
        # A file that is being deleted or compacted has a second suffix, and so has its segment.
        self._stem, _, self._mark = path.rpartition(suffix)
        data = files.read_whole(path)
        size = struct.size
        self.excess = len(data) % size
        self.count = len(data) // size
        used = min(-(-len(data.rstrip(b"\0")) // size), self.count)
        self.zeros_at = used * size if used < self.count else None
        """Where the zeros begin with which an index is filled up while a broker writes to it."""
        used = max(used, min(self.count, 1))  # of the zeros, one entry is printed if there is nothing else
        pairs = struct.iter_unpack(data[: used * size])
        in_front = struct is offset_index.ENTRY
        self.entries = [(a + self.base, b) if in_front else (a, b + self.base) for a, b in pairs]

    def beside(self, suffix: str) -> str:
        return f"{self._stem}{suffix}{self._mark}"

    def open_log(self, files: Files, printer: Printer) -> File | None:
        path = self.beside(names.LOG)
        try:
            return files.open_to_read(path)
        except OSError as error:
            printer.complain(self.path, f"cannot be compared with {path}: {error.strerror}")
            return None

    def tell_rest(self, printer: Printer) -> None:
        if self.zeros_at is not None:
            printer.remark(f"{self.path} at {self.zeros_at}: only zeros, the room of a broker that had it open")
        if self.excess:
            printer.complain(self.path, f"{self.excess} bytes at the end are no whole entry")


def _base_of(path: str) -> Offset:
    digits = os.path.basename(path).partition(".")[0]
    if not digits.isdecimal():
        raise CorruptFile(f"{path}: the name does not begin with the offset of a segment")
    return Offset(int(digits))


def _offset_index(files: Files, path: str) -> _Index:
    return _Index(files, path, names.INDEX, offset_index.ENTRY)


# --- the offset index


def dump_offset_index(files: Files, path: str, printer: Printer, options: IndexDumpOptions) -> None:
    index = _offset_index(files, path)
    if index.count == 0:
        printer.line(f"{path} is empty.")
    elif options.sanity_only:
        # Of an index that ends with zeros, the last entry is one of them.
        last = index.base if index.zeros_at is not None else index.entries[-1][0]
        _tell_sanity(index, printer, None if last > index.base else f"ends with offset {last}")
    else:
        _compare_offsets(files, index, printer, options)
        index.tell_rest(printer)


def _tell_sanity(index: _Index, printer: Printer, reason: str | None) -> None:
    if index.excess:
        reason = f"{index.excess} bytes at the end are no whole entry"
    if reason is None:
        printer.line(f"{index.path} passed sanity check.")
    else:
        printer.complain(index.path, f"failed sanity check: {reason}, and starts at {index.base}; a broker rebuilds it")


def _compare_offsets(files: Files, index: _Index, printer: Printer, options: IndexDumpOptions) -> None:
    file = index.open_log(files, printer)
    mismatches: list[str] = []
    try:
        for number, (offset, position) in enumerate(index.entries):
            if number and offset == index.base:
                break
            if file is not None and not (number == 0 and index.zeros_at == 0):
                found = _last_offset_at(file, position)
                if found != offset:
                    mismatches.append(f"  Index offset: {offset}, log offset: {found}")
            if not options.verify_only:
                printer.line(f"offset: {offset} position: {position}")
    finally:
        if file is not None:
            file.close()
    printer.report(f"Mismatches in :{index.absolute}", mismatches[::-1])


def _last_offset_at(file: File, position: int) -> int | str:
    """The last offset of the batch there, or why there is none."""
    size = file.size()
    if not 0 <= position < size:
        return f"none, the file has {size} bytes"
    try:
        return next(batches.heads(file, size, position))[1].last_offset
    except CorruptBatch:
        return "none, no batch starts there"


# --- the time index


def dump_time_index(files: Files, path: str, printer: Printer, options: IndexDumpOptions) -> None:
    index = _Index(files, path, names.TIME_INDEX, time_index.ENTRY)
    if options.sanity_only:
        first, last = (index.entries[0], index.entries[-1]) if index.entries else ((0, index.base), (0, index.base))
        if index.zeros_at is not None:
            last = (0, index.base)
        reason = f"ends with timestamp {last[0]} at offset {last[1]}"
        _tell_sanity(index, printer, None if last[0] >= first[0] and last[1] >= index.base else reason)
        return
    _compare_times(files, index, printer, options)
    index.tell_rest(printer)


def _compare_times(files: Files, index: _Index, printer: Printer, options: IndexDumpOptions) -> None:
    segment = _Segment(files, index, printer)
    mismatches: list[str] = []
    out_of_order: list[str] = []
    not_found: list[str] = []
    before = -1
    try:
        for number, (timestamp, offset) in enumerate(index.entries):
            if number and offset == index.base:
                break
            if segment.file is not None and not (number == 0 and index.zeros_at == 0):
                head = segment.batch_with(Offset(offset))
                if head is None or head.last_offset != offset:
                    found = -1 if head is None else head.last_offset
                    not_found.append(f"Indexed offset: {offset}, found log offset: {found}")
                elif head.max_timestamp != timestamp:
                    mismatches.append(f"  Index timestamp: {timestamp}, log timestamp: {head.max_timestamp}")
                if before >= timestamp:
                    out_of_order.append(f"  Index timestamp: {timestamp}, Previously indexed timestamp: {before}")
            if not options.verify_only:
                printer.line(f"timestamp: {timestamp} offset: {offset}")
            before = timestamp
    finally:
        segment.close()
    printer.report(f"Found timestamp mismatch in :{index.absolute}", mismatches)
    printer.report(f"Found out of order timestamp in :{index.absolute}", out_of_order)
    printer.report(f"The following indexed offsets are not found in :{index.absolute}", not_found)


class _Segment:
    """Finds batches by offset, with the help of the offset index where there is one."""

    def __init__(self, files: Files, index: _Index, printer: Printer) -> None:
        self.file = index.open_log(files, printer)
        self._starts: list[tuple[int, int]] = []
        try:
            self._starts = _offset_index(files, index.beside(names.INDEX)).entries
        except OSError:
            return  # then every search begins at the start

    def batch_with(self, offset: Offset) -> BatchHead | None:
        """The first batch that ends at or after `offset`; None if there is none, or it cannot be got to."""
        after = bisect_right([start for start, _ in self._starts], offset)
        start = FilePos(max(0, self._starts[after - 1][1]) if after else 0)
        return self._find(offset, start) or (self._find(offset, FilePos(0)) if start else None)

    def _find(self, offset: Offset, start: FilePos) -> BatchHead | None:
        if self.file is None:
            return None
        size = self.file.size()
        try:
            place = batches.find(self.file.read, size, offset, start)
            if place is None:
                return None
            return next(batches.heads(self.file, size, place.position))[1]
        except CorruptBatch:
            return None

    def close(self) -> None:
        if self.file is not None:
            self.file.close()


# --- the transaction index and producer snapshots


def dump_txn_index(files: Files, path: str, printer: Printer) -> None:
    data = files.read_whole(path)
    whole = len(data) - len(data) % transaction_index.ENTRY_SIZE
    for version, producer_id, first, last, stable in transaction_index.ENTRY.iter_unpack(data[:whole]):
        printer.line(
            f"version: {version} producerId: {producer_id} firstOffset: {first} lastOffset: {last} "
            f"lastStableOffset: {stable}"
        )
    transaction_index.parse(data, path, _base_of(path))


def dump_producer_snapshot(files: Files, path: str, printer: Printer) -> None:
    for producer in producer_snapshot.parse(files.read_whole(path), path):
        printer.line(_producer_line(producer))


def _producer_line(producer: Producer) -> str:
    first = producer.txn_first_offset if producer.txn_first_offset >= 0 else None
    line = (
        f"producerId: {producer.id} producerEpoch: {producer.epoch} coordinatorEpoch: {producer.coordinator_epoch} "
        f"currentTxnFirstOffset: {optional(first)} lastTimestamp: {producer.last_timestamp}"
    )
    if not producer.batches:
        return line
    last = producer.batches[-1]
    return (
        f"{line} firstSequence: {last.first_sequence} lastSequence: {last.last_sequence} "
        f"lastOffset: {last.last_offset} offsetDelta: {last.last_offset - last.first_offset} "
        f"timestamp: {last.timestamp}"
    )
