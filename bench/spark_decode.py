"""What it costs to make Arrow columns of record batches: ./run bench spark_decode

Answers of 8 MB as a broker sends them, of batches of 16 KB before compression and of 1 MB, of records with keys of 8
bytes. Beside each stands what their CRCs and their inflation alone allow, as the limit. Times are those of the CPU of
one core, so that other work on the machine counts less. Nothing is fetched here, and there is no Spark.
"""

import time
from collections.abc import Callable
from statistics import median

import harness
from harness import Figure

from odradek.model.numbers import LeaderEpoch, Offset, TimestampMs
from odradek.records.batch import HEAD_SIZE, Codec, check_crc, stamp
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.compression import decompress
from odradek.records.record import Record
from odradek.spark.reading.batches import split, visible
from odradek.spark.reading.columns import PLAIN_COLUMNS
from odradek.spark.reading.decode import Decoder
from odradek.spark.reading.range import Range, ReadSetting

ANSWER_BYTES = 8 << 20
COLUMNS = {"all columns": PLAIN_COLUMNS, "value alone": ("value",)}
WORDS = [b"%08x" % (number * 2654435761 % (1 << 32)) for number in range(4096)]
PLACE = "topic-0"


def record(offset: int, value_bytes: int) -> Record:
    words = b"".join(WORDS[(offset * 31 + number) % len(WORDS)] for number in range(value_bytes // 8 + 1))
    timestamp = TimestampMs(1_700_000_000_000 + offset)
    return Record(Offset(offset), timestamp, b"key%05d" % (offset % 100_000), words[:value_bytes])


def answer(value_bytes: int, batch_bytes: int, codec: Codec) -> tuple[memoryview, int]:
    """The bytes of whole batches, and how many records they have."""
    count = max(1, batch_bytes // (value_bytes + 16))
    batch = build_batch((record(number, value_bytes) for number in range(count)), BatchSpec(codec=codec))
    answer = bytearray()
    for number in range(ANSWER_BYTES // len(batch)):
        stamp(memoryview(batch), Offset(number * count), LeaderEpoch(0))
        answer += batch
    return memoryview(bytes(answer)), number * count + count


def cpu_seconds(rounds: int, *works: Callable[[], object]) -> list[float]:
    times: list[list[float]] = [[] for _ in works]
    for _ in range(rounds + 1):  # the first one warms up
        for taken, work in zip(times, works, strict=True):
            begin = time.thread_time()
            work()
            taken.append(time.thread_time() - begin)
    return [median(taken[1:]) for taken in times]


def figures_of(rounds: int, value_bytes: int, batch_bytes: int, codec: Codec) -> list[Figure]:
    records, rows = answer(value_bytes, batch_bytes, codec)

    def unavoidable() -> None:
        for batch in split(records, PLACE, 0):
            check_crc(batch.view, batch.head)
            decompress(codec, batch.view[HEAD_SIZE:])

    def decoding(columns: tuple[str, ...]) -> Callable[[], object]:
        setting = ReadSetting(bootstrap="", columns=columns)
        decoder = Decoder(Range("topic", bytes(16), 0, 0, rows), setting)

        def decode() -> None:
            read = sum(each.num_rows for each in decoder.decode(visible(split(records, PLACE, 0), (), PLACE)))
            assert read == rows

        return decode

    limit, *taken = cpu_seconds(rounds, unavoidable, *map(decoding, COLUMNS.values()))
    what = f"{value_bytes:,} B, {codec.name.lower()}, batches of {batch_bytes >> 10} KB"
    return [
        figure
        for name, seconds in zip(COLUMNS, taken, strict=True)
        for figure in (
            Figure(f"{what}, {name}", rows / seconds / 1e6, "M rows/s", rows / limit / 1e6, "CRC and inflation"),
            Figure(f"{what}, {name}: values", rows * value_bytes / seconds / 1e6, "MB/s"),
        )
    ]


def main() -> None:
    options = harness.parser(__doc__ or "", rounds=15).parse_args()
    figures = [
        figure
        for value_bytes in (100, 1000)
        for codec in (Codec.NONE, Codec.ZSTD, Codec.LZ4)
        for batch_bytes in (16 << 10, 1 << 20)
        for figure in figures_of(options.rounds, value_bytes, batch_bytes, codec)
    ]
    harness.report("spark_decode", figures, save_them=options.save)


if __name__ == "__main__":
    main()
