"""Decodes damaged batches by the kernel as numba compiles it for arrays, where NUMBA_BOUNDSCHECK=1 checks every access.

Arguments: a seed, and how many batches to damage. An access out of bounds ends it with an IndexError.
"""

import sys
from collections.abc import Mapping
from random import Random
from typing import Any

from odradek.model.numbers import Offset, TimestampMs
from odradek.records.batch import HEAD_SIZE, parse_head, write_head
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.spark.reading.batches import split, visible
from odradek.spark.reading.columns import ALL_COLUMNS
from odradek.spark.reading.decode import Decoder, Kernel
from odradek.spark.reading.errors import ReadError
from odradek.spark.reading.kernel import decode
from odradek.spark.reading.range import Range, ReadSetting


def damaged(rng: Random) -> bytearray:
    count = rng.randrange(1, 6)
    records = [
        Record(
            Offset(number),
            TimestampMs(rng.randrange(1 << 40)),
            rng.choice([None, rng.randbytes(rng.randrange(20))]),
            rng.choice([None, rng.randbytes(rng.randrange(200))]),
            tuple((f"h{each}", rng.choice([None, rng.randbytes(5)])) for each in range(rng.randrange(3))),
        )
        for number in range(count)
    ]
    batch = build_batch(records, BatchSpec())
    for _ in range(rng.randrange(4)):
        batch[rng.randrange(HEAD_SIZE, len(batch))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    del batch[max(HEAD_SIZE, len(batch) - rng.choice([0, 0, 1, rng.randrange(20)])) :]
    head = parse_head(batch)
    write_head(batch, head._replace(length=len(batch) - 12, count=rng.choice([count, count, count + 1])))
    return batch


def checked(given: Mapping[str, Any]) -> int:
    return int(decode(*given.values()))


def with_too_little_room(given: Mapping[str, Any]) -> int:
    return checked({**given, "offsets": given["offsets"][:0]})


def read(raw: bytes, kernel: Kernel) -> int:
    decoder = Decoder(Range("t", bytes(16), 0, 0, 1 << 40), ReadSetting(bootstrap="", columns=ALL_COLUMNS), kernel)
    return sum(each.num_rows for each in decoder.decode(visible(split(memoryview(raw), "t-0", 0), (), "t-0")))


def main(seed: int, times: int) -> None:
    sound = build_batch([Record(Offset(0), TimestampMs(0), None, None)])
    assert read(bytes(sound), checked) == 1
    try:
        read(bytes(sound), with_too_little_room)
    except IndexError:
        pass
    else:
        raise AssertionError("bounds are not checked")
    rng = Random(seed)
    refused = 0
    for _ in range(times):
        try:
            read(b"".join(damaged(rng) for _ in range(rng.randrange(1, 3))), checked)
        except ReadError:
            refused += 1
    assert times // 4 < refused < times, f"{refused} of {times} refused: the damage is all of one kind"


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
