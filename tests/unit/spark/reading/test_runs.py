"""The quick way through many small batches, next to the general one."""

import pytest

from odradek.model.numbers import Offset, ProducerId, TimestampMs
from odradek.records.batch import HEAD_SIZE, Codec, TimestampType
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.spark.reading.batches import split, visible
from odradek.spark.reading.runs import Gathering, Run, plain_run

END = 1 << 40


def batch(offset: int, count: int = 2, **spec: object) -> bytes:
    records = [Record(Offset(offset + n), TimestampMs(1000 + n), b"k", b"value") for n in range(count)]
    return bytes(build_batch(records, BatchSpec(base_offset=Offset(offset), **spec)))  # type: ignore[arg-type]


def general_run(data: bytes, end: int = END) -> Run:
    (run,) = Gathering("orders-0").runs(visible(split(memoryview(data), "orders-0", 0, end), (), "orders-0"))
    return run


def test_it_is_the_run_of_the_general_way() -> None:
    data = batch(0) + batch(2, 1) + batch(7, 3)
    run, general = plain_run(memoryview(data), END), general_run(data)
    assert run is not None
    assert run.numbers == general.numbers
    assert (run.rows_max, run.size) == (general.rows_max, general.size) == (6, general.size)
    assert bytes(run.data) == bytes(general.data) == data


def test_what_begins_behind_the_end_is_left_alone() -> None:
    data = batch(0) + batch(2)
    run = plain_run(memoryview(data + batch(4, codec=Codec.ZSTD)), 4)
    assert run is not None
    assert run.numbers == general_run(data + batch(4), 4).numbers == general_run(data).numbers
    assert plain_run(memoryview(data), 0) is None


@pytest.mark.parametrize(
    "odd",
    [
        batch(2, codec=Codec.ZSTD),
        batch(2, timestamp_type=TimestampType.LOG_APPEND_TIME, max_timestamp=TimestampMs(5)),
        batch(2, producer_id=ProducerId(1), producer_epoch=0, base_sequence=0, transactional=True),
        batch(2, 0, last_offset_delta=1),
        batch(2)[:-1],
        batch(2)[: HEAD_SIZE - 1],
        batch(2)[:-1] + b"?",
        batch(2)[:8] + b"\x7f\xff\xff\xff" + batch(2)[12:],
        batch(2)[:8] + b"\xff\xff\xff\xff" + batch(2)[12:],
        batch(2)[:16] + b"\x01" + batch(2)[17:],
    ],
    ids=["packed", "appended-time", "transactional", "empty", "cut", "cut-head", "crc", "too-long", "negative", "old"],
)
def test_what_is_out_of_the_ordinary_is_for_the_general_way(odd: bytes) -> None:
    assert plain_run(memoryview(batch(0) + odd), END) is None
    assert plain_run(memoryview(odd), END) is None


def test_nothing_is_for_the_general_way() -> None:
    assert plain_run(memoryview(b""), END) is None
