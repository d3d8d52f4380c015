"""Record batches of any size become chunks of about one size."""

import pyarrow as pa

from odradek.spark.sink.task import chunks

SMALL = pa.record_batch([[b"x" * 1000] * 100], names=["value"])


def test_small_ones_come_together() -> None:
    made = list(chunks([SMALL] * 200))
    assert [each.num_rows for each in made] == [8400, 8400, 3200]
    assert pa.Table.from_batches(made).equals(pa.Table.from_batches([SMALL] * 200))


def test_a_large_one_comes_in_pieces() -> None:
    values = [b"%d" % row + bytes(1000) for row in range(50_000)]
    large = pa.record_batch([values], names=["value"])
    made = list(chunks([large]))
    assert sum(each.num_rows for each in made) == 50_000
    assert max(each.nbytes for each in made) < 2 * (8 << 20)
    assert [value for each in made for value in each.column(0).to_pylist()] == values


def test_what_has_no_rows_is_nothing() -> None:
    assert list(chunks([SMALL.slice(0, 0)])) == []
    assert list(chunks([])) == []
