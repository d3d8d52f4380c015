"""What the kernels of the sink are given and what they give: one declaration for those who compile and who call them.

Pointers to items of a type, in numpy's words, or numbers of 64 bits, in their order.
"""

from pathlib import Path

from odradek.spark.reading.compiled import KernelSource

_COLUMNS = {
    "rows": "number",
    "key_starts": "i8",
    "key_lengths": "i8",
    "keys": "u1",
    "value_starts": "i8",
    "value_lengths": "i8",
    "values": "u1",
    "header_firsts": "i8",
    "header_counts": "i8",
    "name_starts": "i8",
    "name_lengths": "i8",
    "names": "u1",
    "content_starts": "i8",
    "content_lengths": "i8",
    "contents": "u1",
}
"""A column of bytes: where those of each row begin, how many they are (-1 for null), and all bytes. Headers of a row:
the first, and how many; names and contents have an item for each header."""

PLAN_PARAMETERS = {
    **_COLUMNS,
    "wanted": "i8",
    "topics": "i8",
    "table": "i8",
    "slot_count": "number",
    "sticky_bytes_max": "number",
    "batch_bytes_max": "number",
    "slots": "i8",
    "order": "i8",
    "begins": "i8",
    "sizes": "i8",
    "batches": "i8",
}
"""`wanted` has the partitions that rows ask for, -1 for none; `topics` the topic of each row, as a line of the table.

What it gives: the slot of each row (its topic's first, plus its partition), rows in the order of slots, where each slot
begins among them with the end behind the last, and bytes of each row's record without its length and its place in the
batch. `begins` are zeros before, and there is one more than slots; `batches` has room for as many as there are rows.
"""

FILL_PARAMETERS = {
    **_COLUMNS,
    "order": "i8",
    "sizes": "i8",
    "batches": "i8",
    "batch_count": "number",
    "head_bytes": "number",
    "out": "u1",
}
HASH_PARAMETERS = {**_COLUMNS, "wanted": "i8", "topics": "i8", "topic_hashes": "i8"}

TABLE_NUMBERS = 4
TABLE_FIRST_SLOT, TABLE_PARTITIONS, TABLE_STICKY, TABLE_STICKY_BYTES = range(TABLE_NUMBERS)
"""Of each topic. The last two change: the partition that rows without a key go to, and the bytes that went there."""

BATCH_NUMBERS = 4
BATCH_SLOT, BATCH_FIRST, BATCH_COUNT, BATCH_BYTES = range(BATCH_NUMBERS)
"""Of each batch: its slot, its first row in the order, how many there are, and bytes of their records."""


def _source(function: str, parameters: dict[str, str]) -> KernelSource:
    files = tuple(Path(__file__).with_name(name) for name in ("kernel.py", "kernel_layout.py"))
    return KernelSource("odradek.spark.sink.kernel", function, tuple(parameters.items()), files)


PLAN = _source("plan_batches", PLAN_PARAMETERS)
FILL = _source("fill_batches", FILL_PARAMETERS)
HASH = _source("hash_rows", HASH_PARAMETERS)
