"""A range read: the next answer is on its way while this one is decoded, and while Spark takes the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.spark.reading.batches import split, visible
from odradek.spark.reading.connected import here
from odradek.spark.reading.decode import Decoder
from odradek.spark.reading.fetching import Fetching
from odradek.spark.reading.runs import plain_run

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    import pyarrow as pa

    from odradek.spark.reading.fetching import Fetched
    from odradek.spark.reading.range import Ahead, Range, ReadSetting


def read(range: Range, setting: ReadSetting) -> Iterator[pa.RecordBatch]:
    if range.start >= range.end:
        return
    decoder = Decoder(range, setting)
    if range.ahead is not None:
        yield from _decode_ahead(decoder, range, range.ahead)
        return
    answers = _answers(range, setting)
    try:
        for start, batches, aborted in answers:
            yield from decoder.decode(visible(batches, aborted, decoder.place), start)
    finally:
        answers.close()


def _decode_ahead(decoder: Decoder, range: Range, ahead: Ahead) -> Iterator[pa.RecordBatch]:
    records = memoryview(ahead.records)
    run = plain_run(records, range.end)
    if run is not None:
        return decoder.decode_run(run, range.start)
    batches = split(records, decoder.place, range.start, range.end)
    return decoder.decode(visible(batches, ahead.aborted, decoder.place))


def _answers(range: Range, setting: ReadSetting) -> Generator[Fetched]:
    """Two of them are in memory at a time: the one that was given, and the one that comes next."""
    connected = here()
    fetching = Fetching(connected.client(setting), range, setting, connected.leaders)
    coming = connected.submit(fetching.fetch())
    try:
        while (fetched := coming.result()) is not None:
            if fetching.is_over:
                yield fetched
                return
            coming = connected.submit(fetching.fetch())
            yield fetched
    finally:
        coming.cancel()
