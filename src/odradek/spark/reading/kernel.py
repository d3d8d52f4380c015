# mypy: disable-error-code="no-untyped-def,untyped-decorator"
"""The loop over records, for numba: from the bytes of batches to the buffers of Arrow columns.

Imported to be compiled alone, which happens once on a machine: see `compiled`. It works on pointers or arrays,
whichever it is compiled for; tests compile it for arrays, with their bounds checked. All that `data` says of lengths
and places is checked before it is used, by the rules of `odradek.records.record.read_records`.

One pass: how many rows and bytes a column has at most is known from the heads of the batches and from the size of the
data, and memory that is not touched costs nothing.
"""

from numba import njit, types

from odradek.spark.reading.layout import (
    BATCH_NUMBERS,
    CORRUPT_DELTA,
    CORRUPT_HEADERS,
    CORRUPT_LENGTH,
    CORRUPT_REST,
    CORRUPT_TIMESTAMP,
    FINE,
    FOUND_AT,
    FOUND_BATCH,
    FOUND_CONTENT_NULLS,
    FOUND_HEADERLESS,
    FOUND_HEADERS,
    FOUND_KEY_NULLS,
    FOUND_NAMES_NOT_ASCII,
    FOUND_RECORD,
    FOUND_ROWS,
    FOUND_VALUE_NULLS,
    UNFIT_TIMESTAMP,
    WANT_HEADERS,
    WANT_KEYS,
    WANT_OFFSETS,
    WANT_TIMESTAMPS,
    WANT_TYPES,
    WANT_VALUES,
)

_MILLIS_MAX = ((1 << 63) - 1) // 1000
_INT63 = (1 << 63) - 1


@njit(inline="always")
def _read_int32(data, at, end):
    """The unsigned number at `at` and where it ends; -1 for the place where it is too large or runs past `end`."""
    if at >= end:
        return 0, -1
    value = types.int64(data[at])
    at += 1
    if value < 0x80:
        return value, at
    value &= 0x7F
    shift = 7
    while at < end and shift < 35:
        byte = types.int64(data[at])
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, (-1 if value >> 32 else at)
        shift += 7
    return 0, -1


@njit(inline="always")
def _read_int64(data, at, end):
    """The signed number at `at` and where it ends; -1 for the place where it is too large or runs past `end`."""
    value = types.int64(0)
    shift = 0
    while at < end and shift < 70:
        byte = types.int64(data[at])
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return ((value >> 1) & _INT63) ^ -(value & 1), (-1 if shift == 63 and byte > 1 else at)
        shift += 7
    return types.int64(0), -1


@njit(inline="always")
def _read_size(data, at, end):
    """A length, or -1 for null, and where its part begins; -1 for that place where the part runs past `end`."""
    value, at = _read_int32(data, at, end)
    size = -1 if value & 1 else value >> 1
    return size, (at if size <= end - at else -1)


@njit(inline="always")
def _append(data, at, size, parts, ends, number):
    """Copy a part to where the one before it ends; null is as long as nothing."""
    to = types.int64(ends[number])
    for i in range(size):
        parts[to + i] = data[at + i]
    ends[number + 1] = to + max(size, 0)


@njit(inline="always")
def _set_null(valid, number):
    valid[number >> 3] &= ~(1 << (number & 7)) & 0xFF


@njit
def _read_headers(  # noqa: PLR0913
    data, at, end, is_wanted, name_ends, names, content_ends, contents, content_valid, found
):
    """How many there are; -1 where they are corrupt. `at` is where their count lies, `end` where they must end."""
    count, at = _read_int32(data, at, end)
    if at < 0 or count & 1 or count >> 1 > end - at:
        return -1
    for _ in range(count >> 1):
        name_size, name_at = _read_size(data, at, end)
        if name_at < 0 or name_size < 0:
            return -1
        content_size, content_at = _read_size(data, name_at + name_size, end)
        if content_at < 0:
            return -1
        at = content_at + max(content_size, 0)
        if is_wanted:
            header = found[FOUND_HEADERS]
            _append(data, name_at, name_size, names, name_ends, header)
            _append(data, content_at, content_size, contents, content_ends, header)
            for i in range(name_size):
                found[FOUND_NAMES_NOT_ASCII] |= types.int64(data[name_at + i]) >> 7
            if content_size < 0:
                _set_null(content_valid, header)
                found[FOUND_CONTENT_NULLS] += 1
            found[FOUND_HEADERS] = header + 1
    return count >> 1 if at == end else -1


@njit
def decode(  # noqa: C901, PLR0913, PLR0915
    data,
    heads,
    batches,
    start,
    end,
    wants,
    key_ends,
    keys,
    key_valid,
    value_ends,
    values,
    value_valid,
    offsets,
    timestamps,
    timestamp_types,
    header_ends,
    header_valid,
    name_ends,
    names,
    content_ends,
    contents,
    content_valid,
    found,
):
    """FINE, with what `found` then has; else what is wrong, with the place. `found` is all zeros before.

    Records outside of [start, end) are checked, and left out.
    """
    row = 0
    if wants & WANT_KEYS:
        key_ends[0] = 0
    if wants & WANT_VALUES:
        value_ends[0] = 0
    if wants & WANT_HEADERS:
        header_ends[0] = name_ends[0] = content_ends[0] = 0
    for batch in range(batches):
        place = batch * BATCH_NUMBERS
        at = heads[place]
        data_end = heads[place + 1]
        base_offset = heads[place + 2]
        base_timestamp = heads[place + 3]
        timestamp_type = heads[place + 4]
        last_delta_max = heads[place + 5]
        last_delta = -1
        found[FOUND_BATCH] = batch
        for number in range(heads[place + 6]):
            found[FOUND_RECORD] = number
            found[FOUND_AT] = at
            length, at = _read_size(data, at, data_end)
            if at < 0 or length < 0:
                return CORRUPT_LENGTH
            record_end = at + length
            timestamp_delta, at = _read_int64(data, at + 1, record_end)  # the first byte means nothing
            if at < 0:
                return CORRUPT_LENGTH
            delta, at = _read_int32(data, at, record_end)
            if at < 0:
                return CORRUPT_LENGTH
            if delta & 1 or delta >> 1 <= last_delta or delta >> 1 > last_delta_max:
                return CORRUPT_DELTA
            last_delta = delta >> 1
            key_size, key_at = _read_size(data, at, record_end)
            if key_at < 0:
                return CORRUPT_LENGTH
            value_size, value_at = _read_size(data, key_at + max(key_size, 0), record_end)
            if value_at < 0:
                return CORRUPT_LENGTH
            headers_at = value_at + max(value_size, 0)
            if headers_at >= record_end:
                return CORRUPT_LENGTH
            timestamp = base_timestamp
            if timestamp_type == 0:
                timestamp += timestamp_delta
                if ((base_timestamp ^ timestamp) & (timestamp_delta ^ timestamp)) < 0:
                    return CORRUPT_TIMESTAMP
            at = record_end
            offset = base_offset + last_delta
            is_wanted = start <= offset < end
            if wants & WANT_HEADERS:
                headers = 0
                if data[headers_at] != 0 or headers_at + 1 != record_end:
                    headers = _read_headers(
                        data,
                        headers_at,
                        record_end,
                        is_wanted,
                        name_ends,
                        names,
                        content_ends,
                        contents,
                        content_valid,
                        found,
                    )
                    if headers < 0:
                        return CORRUPT_HEADERS
                if is_wanted:
                    header_ends[row + 1] = found[FOUND_HEADERS]
                    if headers == 0:
                        _set_null(header_valid, row)
                        found[FOUND_HEADERLESS] += 1
            if not is_wanted:
                continue
            if wants & WANT_KEYS:
                _append(data, key_at, key_size, keys, key_ends, row)
                if key_size < 0:
                    _set_null(key_valid, row)
                    found[FOUND_KEY_NULLS] += 1
            if wants & WANT_VALUES:
                _append(data, value_at, value_size, values, value_ends, row)
                if value_size < 0:
                    _set_null(value_valid, row)
                    found[FOUND_VALUE_NULLS] += 1
            if wants & WANT_OFFSETS:
                offsets[row] = offset
            if wants & WANT_TIMESTAMPS:
                if not -_MILLIS_MAX <= timestamp <= _MILLIS_MAX:
                    found[FOUND_RECORD] = offset
                    found[FOUND_AT] = timestamp
                    return UNFIT_TIMESTAMP
                timestamps[row] = timestamp * 1000
            if wants & WANT_TYPES:
                timestamp_types[row] = timestamp_type
            row += 1
        if at != data_end:
            found[FOUND_AT] = at
            return CORRUPT_REST
    found[FOUND_ROWS] = row
    return FINE
