"""From a range of offsets of one partition to Arrow record batches.

Whoever only plans imports this: pyarrow, LLVM and asyncio come when the first range is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from odradek.spark.reading.range import Range, ReadSetting


def read_range(range: Range, setting: ReadSetting) -> Iterator[pa.RecordBatch]:
    """The records at the offsets of the range that exist, in their order, in record batches of `setting.columns`.

    Left out are what compaction took, control records and, with `read_committed`, what aborted transactions wrote.
    Memory is bounded by the fetch size, whatever the range. It goes on through restarts of brokers and changes of
    leaders. Raises ReadError where nothing new comes within `setting.timeout_s`, where a batch is corrupt, where
    offsets are lost and that is not to be tolerated, and where the topic is another than that of the range.
    """
    from odradek.spark.reading.reader import read

    return read(range, setting)


def read_ranges(ranges: Sequence[Range], setting: ReadSetting) -> Iterator[pa.RecordBatch]:
    """One behind the other."""
    for each in ranges:
        yield from read_range(each, setting)
