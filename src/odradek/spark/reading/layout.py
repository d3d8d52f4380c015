"""What the kernel is given and what it gives: one declaration for those who compile it and those who call it."""

NUMBER = "number"
"""The kind of a parameter that is one, of 64 bits, and no pointer."""
PARAMETERS = {
    "data": "u1",
    "heads": "i8",
    "batches": NUMBER,
    "start": NUMBER,
    "end": NUMBER,
    "wants": NUMBER,
    "key_ends": "i4",
    "keys": "u1",
    "key_valid": "u1",
    "value_ends": "i4",
    "values": "u1",
    "value_valid": "u1",
    "offsets": "i8",
    "timestamps": "i8",
    "timestamp_types": "i4",
    "header_ends": "i4",
    "header_valid": "u1",
    "name_ends": "i4",
    "names": "u1",
    "content_ends": "i4",
    "contents": "u1",
    "content_valid": "u1",
    "found": "i8",
}
"""In their order. Pointers have the type of their items, in numpy's words.

`ends` of parts have one item more than there are parts: 0, and behind each part where it ends. Bits of `valid` are all
set before, and cleared for nulls. Pointers to what is not wanted are never followed.
"""

BATCH_NUMBERS = 7
"""Of each batch in `heads`: where its records begin in `data` and where they end, base offset, the timestamp that
deltas count from or that all records have, timestamp type, last offset delta, record count."""

WANT_KEYS, WANT_VALUES, WANT_OFFSETS, WANT_TIMESTAMPS, WANT_TYPES, WANT_HEADERS = (1 << bit for bit in range(6))

FOUND_ROWS, FOUND_KEY_NULLS, FOUND_VALUE_NULLS, FOUND_HEADERLESS, FOUND_HEADERS = range(5)
FOUND_CONTENT_NULLS, FOUND_NAMES_NOT_ASCII, FOUND_BATCH, FOUND_RECORD, FOUND_AT = range(5, 10)
FOUND_NUMBERS = 10
"""The last three have a meaning where something is wrong: the batch, the record in it, and where in `data` it begins.
For UNFIT_TIMESTAMP, the record is an offset, and the place the timestamp."""

FINE = 0
CORRUPT_LENGTH, CORRUPT_DELTA, CORRUPT_TIMESTAMP, CORRUPT_HEADERS, CORRUPT_REST, UNFIT_TIMESTAMP = range(1, 7)
