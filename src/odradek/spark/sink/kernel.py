# mypy: disable-error-code="no-untyped-def,untyped-decorator"
# ruff: noqa: PLR0913 - numba takes arrays, not objects that hold them
"""The loops over rows, for numba: which partition each goes to, how large its record is, its bytes, its hash.

Imported to be compiled alone, which happens once on a machine: see `odradek.spark.reading.compiled`. The kernels trust
what they are given: places lie within the data, and there is room for what is written.
"""

from numba import njit, types

from odradek.spark.sink.kernel_layout import (
    BATCH_BYTES,
    BATCH_COUNT,
    BATCH_FIRST,
    BATCH_NUMBERS,
    BATCH_SLOT,
    TABLE_FIRST_SLOT,
    TABLE_NUMBERS,
    TABLE_PARTITIONS,
    TABLE_STICKY,
    TABLE_STICKY_BYTES,
)

_MULTIPLIER = 0x5BD1_E995
_LOW_32 = 0xFFFF_FFFF
_LOW_31 = 0x7FFF_FFFF
_SEED = 0x9747_B28C


@njit(inline="always", error_model="numpy")
def murmur2(data, start, length):
    """Kafka's 32-bit murmur2 of some bytes, with the sign bit off: modulo the partitions, it is where a key goes."""
    h = types.int64(_SEED ^ length)
    at = start
    for _ in range(length >> 2):
        k = (
            types.int64(data[at])
            | types.int64(data[at + 1]) << 8
            | types.int64(data[at + 2]) << 16
            | types.int64(data[at + 3]) << 24
        )
        k = (k * _MULTIPLIER) & _LOW_32
        k ^= k >> 24
        k = (k * _MULTIPLIER) & _LOW_32
        h = ((h * _MULTIPLIER) & _LOW_32) ^ k
        at += 4
    left = length & 3
    if left == 3:
        h ^= types.int64(data[at + 2]) << 16
    if left >= 2:
        h ^= types.int64(data[at + 1]) << 8
    if left >= 1:
        h ^= types.int64(data[at])
        h = (h * _MULTIPLIER) & _LOW_32
    h ^= h >> 13
    h = (h * _MULTIPLIER) & _LOW_32
    h ^= h >> 15
    return h & _LOW_31


@njit(inline="always", error_model="numpy")
def _signed_size(value):
    """Bytes of a zigzag varint of a number from -1 on."""
    left = types.int64(1) if value < 0 else types.int64(value) << 1
    size = 1
    while left >= 0x80:
        left >>= 7
        size += 1
    return size


@njit(inline="always", error_model="numpy")
def _size_of_headers(first, count, name_lengths, content_lengths):
    size = _signed_size(count)
    for item in range(first, first + count):
        size += _signed_size(name_lengths[item]) + name_lengths[item]
        size += _signed_size(content_lengths[item]) + max(content_lengths[item], 0)
    return size


@njit(inline="always", error_model="numpy")
def _place_rows(rows, key_starts, key_lengths, keys, wanted, topics, table, sticky_bytes_max, sizes, slots):
    for row in range(rows):
        line = topics[row] * TABLE_NUMBERS
        partition = wanted[row]
        if partition < 0 and key_lengths[row] >= 0:
            partition = murmur2(keys, key_starts[row], key_lengths[row]) % table[line + TABLE_PARTITIONS]
        elif partition < 0:
            if table[line + TABLE_STICKY_BYTES] >= sticky_bytes_max:
                table[line + TABLE_STICKY] = (table[line + TABLE_STICKY] + 1) % table[line + TABLE_PARTITIONS]
                table[line + TABLE_STICKY_BYTES] = 0
            partition = table[line + TABLE_STICKY]
            table[line + TABLE_STICKY_BYTES] += sizes[row]
        slots[row] = table[line + TABLE_FIRST_SLOT] + partition


@njit(inline="always", error_model="numpy")
def _sort_rows(rows, slots, slot_count, order, begins):
    """Counted, then put in order; meanwhile what is to be each slot's begin runs to its end."""
    for row in range(rows):
        begins[slots[row] + 1] += 1
    for slot in range(slot_count):
        begins[slot + 1] += begins[slot]
    for row in range(rows):
        order[begins[slots[row]]] = row
        begins[slots[row]] += 1
    for slot in range(slot_count, 0, -1):
        begins[slot] = begins[slot - 1]
    begins[0] = 0


@njit(inline="always", error_model="numpy")
def _cut_slot(slot, order, begins, sizes, batch_bytes_max, batches, made):
    """How many batches there are with those of this slot."""
    count = 0
    filled = 0
    for at in range(begins[slot], begins[slot + 1]):
        body = sizes[order[at]] + _signed_size(count)
        if count > 0 and filled + body + _signed_size(body) > batch_bytes_max:
            batches[made * BATCH_NUMBERS + BATCH_COUNT] = count
            batches[made * BATCH_NUMBERS + BATCH_BYTES] = filled
            made += 1
            count = 0
            filled = 0
            body = sizes[order[at]] + 1
        if count == 0:
            batches[made * BATCH_NUMBERS + BATCH_SLOT] = slot
            batches[made * BATCH_NUMBERS + BATCH_FIRST] = at
        count += 1
        filled += body + _signed_size(body)
    if count > 0:
        batches[made * BATCH_NUMBERS + BATCH_COUNT] = count
        batches[made * BATCH_NUMBERS + BATCH_BYTES] = filled
        made += 1
    return made


@njit(error_model="numpy")
def plan_batches(
    rows, key_starts, key_lengths, keys, value_starts, value_lengths, values, header_firsts, header_counts,
    name_starts, name_lengths, names, content_starts, content_lengths, contents, wanted, topics, table, slot_count,
    sticky_bytes_max, batch_bytes_max, slots, order, begins, sizes, batches,
):  # fmt: skip
    """How many batches there are. Only one of a single record may be larger than the limit."""
    for row in range(rows):
        # Two bytes: attributes, and the timestamp, which is the batch's own.
        size = 2 + _signed_size(key_lengths[row]) + _signed_size(value_lengths[row])
        size += max(key_lengths[row], 0) + max(value_lengths[row], 0)
        sizes[row] = size + _size_of_headers(header_firsts[row], header_counts[row], name_lengths, content_lengths)
    _place_rows(rows, key_starts, key_lengths, keys, wanted, topics, table, sticky_bytes_max, sizes, slots)
    _sort_rows(rows, slots, slot_count, order, begins)
    made = 0
    for slot in range(slot_count):
        made = _cut_slot(slot, order, begins, sizes, batch_bytes_max, batches, made)
    return made


@njit(inline="always", error_model="numpy")
def _write_signed(out, at, value):
    left = types.int64(1) if value < 0 else types.int64(value) << 1
    while left >= 0x80:
        out[at] = types.uint8((left & 0x7F) | 0x80)
        left >>= 7
        at += 1
    out[at] = types.uint8(left)
    return at + 1


@njit(inline="always", error_model="numpy")
def _write_bytes(out, at, data, start, length):
    """With their length in front; -1 for null."""
    at = _write_signed(out, at, length)
    for index in range(length):
        out[at + index] = data[start + index]
    return at + max(length, 0)


@njit(error_model="numpy")
def fill_batches(
    rows, key_starts, key_lengths, keys, value_starts, value_lengths, values, header_firsts, header_counts,
    name_starts, name_lengths, names, content_starts, content_lengths, contents, order, sizes, batches, batch_count,
    head_bytes, out,
):  # fmt: skip
    """The records of all batches, one batch behind the other, with room for a head in front of each; how many bytes."""
    at = 0
    for number in range(batch_count):
        at += head_bytes
        first = batches[number * BATCH_NUMBERS + BATCH_FIRST]
        for delta in range(batches[number * BATCH_NUMBERS + BATCH_COUNT]):
            row = order[first + delta]
            at = _write_signed(out, at, sizes[row] + _signed_size(delta))
            out[at] = 0
            out[at + 1] = 0
            at = _write_signed(out, at + 2, delta)
            at = _write_bytes(out, at, keys, key_starts[row], key_lengths[row])
            at = _write_bytes(out, at, values, value_starts[row], value_lengths[row])
            at = _write_signed(out, at, header_counts[row])
            for item in range(header_firsts[row], header_firsts[row] + header_counts[row]):
                at = _write_bytes(out, at, names, name_starts[item], name_lengths[item])
                at = _write_bytes(out, at, contents, content_starts[item], content_lengths[item])
    return at


@njit(inline="always", error_model="numpy")
def _mix(state, word):
    state = (state ^ word) * types.uint64(0x9E37_79B9_7F4A_7C15)
    return (state ^ (state >> types.uint64(29))) * types.uint64(0xBF58_476D_1CE4_E5B9)


@njit(inline="always", error_model="numpy")
def _mix_bytes(state, data, start, length):
    state = _mix(state, types.uint64(length + 1))  # null is not what is empty
    at = start
    for _ in range(max(length, 0) >> 3):
        word = types.uint64(0)
        for index in range(8):
            word |= types.uint64(data[at + index]) << types.uint64(8 * index)
        state = _mix(state, word)
        at += 8
    word = types.uint64(0)
    for index in range(max(length, 0) & 7):
        word |= types.uint64(data[at + index]) << types.uint64(8 * index)
    return _mix(state, word)


@njit(error_model="numpy")
def hash_rows(
    rows, key_starts, key_lengths, keys, value_starts, value_lengths, values, header_firsts, header_counts,
    name_starts, name_lengths, names, content_starts, content_lengths, contents, wanted, topics, topic_hashes,
):  # fmt: skip
    """The sum of the rows' hashes: the same for the same rows in any order, in any number of calls that are summed.

    It is kept in markers, so what it is must not change.
    """
    total = types.uint64(0)
    for row in range(rows):
        state = _mix(types.uint64(topic_hashes[topics[row]]), types.uint64(wanted[row] + 1))
        state = _mix_bytes(state, keys, key_starts[row], key_lengths[row])
        state = _mix_bytes(state, values, value_starts[row], value_lengths[row])
        for item in range(header_firsts[row], header_firsts[row] + header_counts[row]):
            state = _mix_bytes(state, names, name_starts[item], name_lengths[item])
            state = _mix_bytes(state, contents, content_starts[item], content_lengths[item])
        total += state ^ (state >> types.uint64(32))
    return types.int64(total)
