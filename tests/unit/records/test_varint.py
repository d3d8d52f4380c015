import pytest

from odradek.model.errors import CorruptBatch
from odradek.records.varint import INT64_BYTES_MAX, read_unsigned, unzigzag, write_signed, write_unsigned

SIGNED = [(0, "00"), (-1, "01"), (1, "02"), (-64, "7f"), (64, "8001"), (300, "d804"), (-(1 << 31), "ffffffff0f")]


@pytest.mark.parametrize(("value", "text"), SIGNED)
def test_signed_numbers_are_zigzag(value: int, text: str) -> None:
    data = bytes.fromhex(text)
    assert write_signed(value) == data
    raw, end = read_unsigned(data, 0)
    assert (unzigzag(raw), end) == (value, len(data))


@pytest.mark.parametrize("value", [0, 127, 128, 16_383, 16_384, 1 << 20, 1 << 21, 1 << 28, (1 << 32) - 1])
def test_unsigned_numbers_come_back_from_the_middle_of_data(value: int) -> None:
    data = b"\xff\xff" + write_unsigned(value) + b"\xff"
    assert read_unsigned(data, 2) == (value, len(data) - 1)


@pytest.mark.parametrize("value", [1 << 63, (1 << 64) - 1])
def test_64_bits_take_ten_bytes(value: int) -> None:
    assert read_unsigned(write_unsigned(value), 0, INT64_BYTES_MAX) == (value, 10)


def test_int64_extremes_come_back() -> None:
    for value in (-(1 << 63), (1 << 63) - 1):
        raw, _ = read_unsigned(write_signed(value), 0, INT64_BYTES_MAX)
        assert unzigzag(raw) == value


def test_a_longer_form_than_needed_is_read() -> None:
    assert read_unsigned(bytes.fromhex("8000"), 0) == (0, 2)


@pytest.mark.parametrize("text", ["ffffffffff", "ffffffff10", "8080808080808001"])
def test_what_does_not_fit_is_refused(text: str) -> None:
    with pytest.raises(CorruptBatch, match="32 bits"):
        read_unsigned(bytes.fromhex(text), 0)


def test_an_endless_one_is_refused() -> None:
    with pytest.raises(CorruptBatch, match="64 bits"):
        read_unsigned(b"\xff" * 100, 0, INT64_BYTES_MAX)


@pytest.mark.parametrize("text", ["", "80", "8080", "808080"])
def test_a_cut_is_an_index_error(text: str) -> None:
    with pytest.raises(IndexError):
        read_unsigned(bytes.fromhex(text), 0)
