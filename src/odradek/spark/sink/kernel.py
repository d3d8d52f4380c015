"""What is done for every row, compiled: which partition it goes to, how large its record is, its bytes, its hash.

A column of bytes comes as three arrays: where each row's bytes begin, how many they are (-1 for null), and all bytes.
Headers come as the first of each row's and how many there are, with names and contents as two more such columns. The
kernels trust what they are given: places lie within the data, and there is room for what is written.
"""

from typing import Any

import numpy as np
from numba import int64, njit, types, uint8, uint64, void

_BYTES = types.Array(uint8, 1, "C", readonly=True)
_PLACES = types.Array(int64, 1, "C", readonly=True)
_COLUMN = types.UniTuple(_PLACES, 2)  # type: ignore[no-untyped-call]
_COMPILED: dict[str, Any] = {"cache": True, "nogil": True, "boundscheck": False}

_MULTIPLIER = 0x5BD1_E995
_LOW_32 = 0xFFFF_FFFF
_SEED = 0x9747_B28C


@njit(int64(_BYTES, int64, int64), **_COMPILED)
def murmur2(data: Any, start: int, length: int) -> Any:
    """Kafka's 32-bit murmur2 of some bytes, with the sign bit off: modulo the partitions, it is where a key goes."""
    h = uint64(_SEED ^ length) & uint64(_LOW_32)
    multiplier = uint64(_MULTIPLIER)
    low = uint64(_LOW_32)
    at = start
    for _ in range(length >> 2):
        k = (
            uint64(data[at])
            | (uint64(data[at + 1]) << uint64(8))
            | (uint64(data[at + 2]) << uint64(16))
            | (uint64(data[at + 3]) << uint64(24))
        )
        k = (k * multiplier) & low
        k ^= k >> uint64(24)
        k = (k * multiplier) & low
        h = ((h * multiplier) & low) ^ k
        at += 4
    left = length & 3
    if left == 3:
        h ^= uint64(data[at + 2]) << uint64(16)
    if left >= 2:
        h ^= uint64(data[at + 1]) << uint64(8)
    if left >= 1:
        h ^= uint64(data[at])
        h = (h * multiplier) & low
    h ^= h >> uint64(13)
    h = (h * multiplier) & low
    h ^= h >> uint64(15)
    return int64(h & uint64(0x7FFF_FFFF))


_TABLE = types.Array(int64, 2, "C")


@njit(int64[::1](_COLUMN, _BYTES, _PLACES, _PLACES, _PLACES, _TABLE, int64), **_COMPILED)
def place_rows(  # noqa: PLR0913 - numba takes arrays, not objects that hold them
    keys: Any, key_data: Any, value_lengths: Any, wanted: Any, topics: Any, table: Any, sticky_bytes_max: int
) -> Any:
    """The slot of each row: its topic's first slot, plus its partition.

    `wanted` has the partitions that rows ask for, -1 for none; `topics` has the topic of each row, as a line of the
    table. A line has: the first slot, how many partitions there are, the partition that rows without a key go to, and
    the bytes that went there so far. Those two change: past the limit, rows go to the next partition.
    """
    key_starts, key_lengths = keys
    count = len(topics)
    slots = np.empty(count, np.int64)
    for row in range(count):
        topic = topics[row]
        partition = wanted[row]
        if partition < 0:
            length = key_lengths[row]
            if length >= 0:
                partition = murmur2(key_data, key_starts[row], length) % table[topic, 1]
            else:
                if table[topic, 3] >= sticky_bytes_max:
                    table[topic, 2] = (table[topic, 2] + 1) % table[topic, 1]
                    table[topic, 3] = 0
                partition = table[topic, 2]
                table[topic, 3] += max(value_lengths[row], 0)
        slots[row] = table[topic, 0] + partition
    return slots


_ORDER = types.UniTuple(int64[::1], 2)  # type: ignore[no-untyped-call]


@njit(_ORDER(_PLACES, int64), **_COMPILED)
def sort_rows(slots: Any, slot_count: int) -> Any:
    """The rows slot by slot, each slot's in their order, and where each slot begins among them, with the end."""
    begins = np.zeros(slot_count + 1, np.int64)
    for row in range(len(slots)):
        begins[slots[row] + 1] += 1
    for slot in range(slot_count):
        begins[slot + 1] += begins[slot]
    filled = begins.copy()
    order = np.empty(len(slots), np.int64)
    for row in range(len(slots)):
        order[filled[slots[row]]] = row
        filled[slots[row]] += 1
    return order, begins


@njit(int64(int64), **_COMPILED)
def _signed_size(value: int) -> int:
    """Bytes of a zigzag varint of a number from -1 on."""
    left = uint64(1) if value < 0 else uint64(value) << uint64(1)
    size = 1
    while left >= uint64(0x80):
        left >>= uint64(7)
        size += 1
    return size


@njit(int64[::1](_PLACES, _PLACES, _PLACES, _PLACES, _PLACES, _PLACES), **_COMPILED)
def measure_rows(
    key_lengths: Any, value_lengths: Any, firsts: Any, counts: Any, name_lengths: Any, content_lengths: Any
) -> Any:
    """Bytes of each row's record, without its length in front and its place in the batch."""
    sizes = np.empty(len(value_lengths), np.int64)
    for row in range(len(value_lengths)):
        # Two bytes: attributes, and the timestamp, which is the batch's own.
        size = 2 + _signed_size(key_lengths[row]) + _signed_size(value_lengths[row]) + _signed_size(counts[row])
        size += max(key_lengths[row], 0) + max(value_lengths[row], 0)
        for item in range(firsts[row], firsts[row] + counts[row]):
            size += _signed_size(name_lengths[item]) + name_lengths[item]
            size += _signed_size(content_lengths[item]) + max(content_lengths[item], 0)
        sizes[row] = size
    return sizes


@njit(int64[:, ::1](_PLACES, _PLACES, _PLACES, int64), **_COMPILED)
def cut_batches(order: Any, begins: Any, sizes: Any, batch_bytes_max: int) -> Any:
    """Batches of rows of one slot each, in the order of rows: a line has slot, first row, count, and bytes of records.

    Only a batch of a single record may be larger than the limit.
    """
    batches = np.empty((len(order), 4), np.int64)
    made = 0
    for slot in range(len(begins) - 1):
        count = size = 0
        for at in range(begins[slot], begins[slot + 1]):
            body = sizes[order[at]] + _signed_size(count)
            whole = body + _signed_size(body)
            if count > 0 and size + whole > batch_bytes_max:
                batches[made, 2], batches[made, 3] = count, size
                made += 1
                count = size = 0
                body = sizes[order[at]] + 1
                whole = body + _signed_size(body)
            if count == 0:
                batches[made, 0], batches[made, 1] = slot, at
            count += 1
            size += whole
        if count > 0:
            batches[made, 2], batches[made, 3] = count, size
            made += 1
    return batches[:made].copy()


@njit(int64(uint8[::1], int64, int64), **_COMPILED)
def _write_signed(out: Any, at: int, value: int) -> int:
    left = uint64(1) if value < 0 else uint64(value) << uint64(1)
    while left >= uint64(0x80):
        out[at] = uint8((left & uint64(0x7F)) | uint64(0x80))
        left >>= uint64(7)
        at += 1
    out[at] = uint8(left)
    return at + 1


@njit(int64(uint8[::1], int64, _BYTES, int64, int64), **_COMPILED)
def _write_bytes(out: Any, at: int, data: Any, start: int, length: int) -> int:
    """With their length in front; -1 for null."""
    at = _write_signed(out, at, length)
    for index in range(length):
        out[at + index] = data[start + index]
    return at + max(length, 0)


@njit(
    void(
        uint8[::1], _PLACES, types.Array(int64, 2, "C", readonly=True), _PLACES, _COLUMN, _BYTES, _COLUMN, _BYTES,
        _COLUMN, _COLUMN, _BYTES, _COLUMN, _BYTES, int64,
    ),
    **_COMPILED,
)  # fmt: skip
def fill_batches(  # noqa: PLR0913 - numba takes arrays, not objects that hold them
    out: Any, order: Any, batches: Any, sizes: Any, keys: Any, key_data: Any, values: Any, value_data: Any,
    headers: Any, names: Any, name_data: Any, contents: Any, content_data: Any, head_bytes: int,
) -> None:  # fmt: skip
    """The records of all batches, one batch behind the other, with room for a head in front of each."""
    key_starts, key_lengths = keys
    value_starts, value_lengths = values
    firsts, counts = headers
    name_starts, name_lengths = names
    content_starts, content_lengths = contents
    at = 0
    for number in range(len(batches)):
        at += head_bytes
        first = batches[number, 1]
        for delta in range(batches[number, 2]):
            row = order[first + delta]
            at = _write_signed(out, at, sizes[row] + _signed_size(delta))
            out[at] = 0
            out[at + 1] = 0
            at = _write_signed(out, at + 2, delta)
            at = _write_bytes(out, at, key_data, key_starts[row], key_lengths[row])
            at = _write_bytes(out, at, value_data, value_starts[row], value_lengths[row])
            at = _write_signed(out, at, counts[row])
            for item in range(firsts[row], firsts[row] + counts[row]):
                at = _write_bytes(out, at, name_data, name_starts[item], name_lengths[item])
                at = _write_bytes(out, at, content_data, content_starts[item], content_lengths[item])


@njit(uint64(uint64, uint64), **_COMPILED)
def _mix(state: Any, word: Any) -> Any:
    state = (state ^ word) * uint64(0x9E37_79B9_7F4A_7C15)
    return (state ^ (state >> uint64(29))) * uint64(0xBF58_476D_1CE4_E5B9)


@njit(uint64(uint64, _BYTES, int64, int64), **_COMPILED)
def _mix_bytes(state: Any, data: Any, start: int, length: int) -> Any:
    state = _mix(state, uint64(length + 1))  # null is not what is empty
    at = start
    for _ in range(max(length, 0) >> 3):
        word = uint64(0)
        for index in range(8):
            word |= uint64(data[at + index]) << uint64(8 * index)
        state = _mix(state, word)
        at += 8
    word = uint64(0)
    for index in range(max(length, 0) & 7):
        word |= uint64(data[at + index]) << uint64(8 * index)
    return _mix(state, word)


@njit(
    uint64(
        _COLUMN, _BYTES, _COLUMN, _BYTES, _COLUMN, _COLUMN, _BYTES, _COLUMN, _BYTES, _PLACES,
        types.Array(uint64, 1, "C", readonly=True), _PLACES,
    ),
    **_COMPILED,
)  # fmt: skip
def hash_rows(  # noqa: PLR0913 - numba takes arrays, not objects that hold them
    keys: Any, key_data: Any, values: Any, value_data: Any, headers: Any, names: Any, name_data: Any,
    contents: Any, content_data: Any, topics: Any, topic_hashes: Any, wanted: Any,
) -> Any:  # fmt: skip
    """The sum of the rows' hashes: the same for the same rows in any order, in any number of calls that are summed.

    It is kept in markers, so what it is must not change.
    """
    key_starts, key_lengths = keys
    value_starts, value_lengths = values
    firsts, counts = headers
    name_starts, name_lengths = names
    content_starts, content_lengths = contents
    total = uint64(0)
    for row in range(len(topics)):
        state = _mix(topic_hashes[topics[row]], uint64(wanted[row] + 1))
        state = _mix_bytes(state, key_data, key_starts[row], key_lengths[row])
        state = _mix_bytes(state, value_data, value_starts[row], value_lengths[row])
        for item in range(firsts[row], firsts[row] + counts[row]):
            state = _mix_bytes(state, name_data, name_starts[item], name_lengths[item])
            state = _mix_bytes(state, content_data, content_starts[item], content_lengths[item])
        total += state ^ (state >> uint64(32))
    return total


@njit(uint64(_BYTES), **_COMPILED)
def hash_bytes(data: Any) -> Any:
    return _mix_bytes(uint64(0), data, 0, len(data))
