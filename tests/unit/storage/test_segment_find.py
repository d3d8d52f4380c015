"""Finding batches through an index that lies."""

from pathlib import Path

import pytest

from odradek.model.numbers import NO_TIMESTAMP, Offset
from odradek.process.files import OsFiles
from odradek.records.batch import parse_head
from odradek.records.builder import build_batch
from odradek.records.record import Record
from odradek.storage import names
from odradek.storage.offset_index import ENTRY
from odradek.storage.open_files import OpenFiles
from odradek.storage.segment import Segment, Sizes
from support.clock import ManualClock


def written_segment(directory: Path) -> tuple[Path, Sizes]:
    """Twenty batches of one record, with an index entry for nearly each."""
    clock = ManualClock()
    segment = Segment(OpenFiles(OsFiles()), str(directory), Offset(0), Sizes(), clock.now_ms())
    segment.create(allocate=0)
    for number in range(20):
        record = Record(Offset(0), clock.now_ms(), None, b"x" * 100)
        batch = memoryview(build_batch([record]))
        batch[:8] = number.to_bytes(8, "big")
        head = parse_head(batch)
        segment.append(batch, head.last_offset, head.max_timestamp, index_interval_bytes=0)
    segment.close()
    index = Path(segment.path(names.INDEX))
    return index, Sizes(segment.size, index.stat().st_size, 0, 0)


@pytest.mark.parametrize("position", [-1, -(2**31), 1, 77, 2**31 - 1])
def test_a_wrong_position_in_the_index_costs_time_and_no_more(tmp_path: Path, position: int) -> None:
    index, sizes = written_segment(tmp_path)
    entries = bytearray(index.read_bytes())
    for at in range(0, len(entries), ENTRY.size):
        offset, _ = ENTRY.unpack_from(entries, at)
        ENTRY.pack_into(entries, at, offset, position)
    index.write_bytes(entries)
    segment = Segment(OpenFiles(OsFiles()), str(tmp_path), Offset(0), sizes, NO_TIMESTAMP)
    for offset in range(20):
        place = segment.find(Offset(offset))
        assert place is not None
        assert (place.base_offset, place.last_offset) == (offset, offset)
    assert segment.find(Offset(20)) is None
