"""The indexes against plain lists, with so many entries that they are written out and read by pages."""

from bisect import bisect_right
from random import Random
from struct import Struct

import pytest

from odradek.model.errors import CorruptFile
from odradek.model.numbers import FilePos, Offset, ProducerId, TimestampMs
from odradek.storage import transaction_index
from odradek.storage.entry_file import EntryFile
from odradek.storage.offset_index import OffsetIndex
from odradek.storage.open_files import Handle, OpenFiles
from odradek.storage.time_index import TimeIndex
from odradek.storage.transaction_index import AbortedTxn, TransactionIndex
from support.disk import FaultyDisk, Op

PAIR = Struct(">ii")


@pytest.fixture
def disk() -> FaultyDisk:
    return FaultyDisk("/data")


@pytest.fixture
def handle(disk: FaultyDisk) -> Handle:
    return Handle(OpenFiles(disk), "/data/entries")


def stored(handle: Handle, count: int) -> EntryFile:
    """Entries 0, 10, 20 and so on, all in the file."""
    entries = EntryFile(handle, PAIR, 0)
    for number in range(count):
        entries.append(number * 10, number)
    entries.close()
    return EntryFile(handle, PAIR, count)


# --- entries of any kind


@pytest.mark.parametrize("count", [1, 2, 511, 512, 513, 1023, 1024, 1025, 5000])
def test_every_entry_is_found_wherever_it_lies(handle: Handle, count: int) -> None:
    for entries in (stored(handle, count), EntryFile(handle, PAIR, 0)):
        for number in range(len(entries), count):
            entries.append(number * 10, number)
        assert len(entries) == count
        assert entries.last() == ((count - 1) * 10, count - 1)
        wanted = list(range(count))
        Random(count).shuffle(wanted)
        for number in wanted[:300]:
            assert entries.entry(number) == (number * 10, number)
            assert entries.floor(number * 10) == (number * 10, number)
            assert entries.floor(number * 10 + 9) == (number * 10, number)
            assert entries.count_below(number * 10) == number
            assert entries.count_below(number * 10 + 1) == number + 1
        assert entries.floor(-1) is None
        handle.close()
        handle.get().truncate(0)


def test_entries_are_found_after_all_that_waited_in_memory_were_cut(handle: Handle) -> None:
    entries = stored(handle, 600)
    entries.append(6000, 600)
    entries.truncate(600)
    assert entries.floor(9999) == (5990, 599)
    assert entries.floor(5) == (0, 0)


@pytest.mark.parametrize("step", [1, 200, 700])
def test_reading_on_needs_each_page_once(disk: FaultyDisk, handle: Handle, step: int) -> None:
    entries = stored(handle, 5000)
    entries.floor(0)
    disk.bytes_read = 0
    for number in range(0, 5000, step):
        assert entries.floor(number * 10) == (number * 10, number)
    assert disk.bytes_read <= 2 * 5000 * PAIR.size


def test_entries_wait_in_memory_and_are_written_some_hundred_at_a_time(disk: FaultyDisk, handle: Handle) -> None:
    entries = EntryFile(handle, PAIR, 0)
    for number in range(511):
        entries.append(number, number)
    assert disk.counts[Op.WRITE] == 0
    for number in range(511, 5000):
        entries.append(number, number)
    assert disk.counts[Op.WRITE] == 5000 // 512
    entries.spill()
    assert disk.tree("/data") == {"entries": b"".join(PAIR.pack(number, number) for number in range(5000))}


@pytest.mark.parametrize("count", [0, 1, 5, 511, 512, 599, 600])
def test_what_is_cut_is_gone_and_the_next_entries_follow(disk: FaultyDisk, handle: Handle, count: int) -> None:
    entries = stored(handle, 512)
    for number in range(512, 600):
        entries.append(number * 10, number)
    assert entries.floor(1 << 30) == (5990, 599)  # so that a page is kept
    assert entries.floor(2000) == (2000, 200)
    entries.truncate(count)
    assert len(entries) == count
    assert entries.last() == (((count - 1) * 10, count - 1) if count else None)
    assert entries.floor(1 << 30) == entries.last()
    assert entries.count_below(1 << 30) == count
    entries.append(7000, 7)
    assert entries.last() == entries.floor(7000) == (7000, 7)
    assert entries.floor(6999) == (((count - 1) * 10, count - 1) if count else None)
    entries.close()
    expected = [(number * 10, number) for number in range(count)] + [(7000, 7)]
    assert disk.tree("/data") == {"entries": b"".join(PAIR.pack(*entry) for entry in expected)}


def test_a_lookup_reads_a_page_and_not_the_file(disk: FaultyDisk, handle: Handle) -> None:
    entries = stored(handle, 100_000)
    disk.counts.clear()
    assert entries.floor(500_005) == (500_000, 50_000)
    assert disk.counts[Op.READ] <= 10
    disk.counts.clear()
    assert entries.floor(500_105) == (500_100, 50_010)
    assert disk.counts[Op.READ] == 0  # the page is still there


def test_a_file_that_became_shorter_is_an_error_of_the_disk(disk: FaultyDisk, handle: Handle) -> None:
    entries = stored(handle, 1000)
    disk.put("/data/entries", b"\0" * 800)
    with pytest.raises(OSError, match="/data/entries"):
        entries.entry(900)


def test_random_entries_and_cuts_are_as_in_a_list(handle: Handle) -> None:
    for seed in range(20):
        rng = Random(seed)
        entries, plain = EntryFile(handle, PAIR, 0), list[tuple[int, int]]()
        for _ in range(rng.randrange(30)):
            for _ in range(rng.choice([1, 10, 300, 700])):
                plain.append((plain[-1][0] + rng.randrange(1, 5) if plain else 0, rng.randrange(100)))
                entries.append(*plain[-1])
            if rng.random() < 0.4:
                count = rng.randrange(len(plain) + 1)
                del plain[count:]
                entries.truncate(count)
            if rng.random() < 0.2:
                entries.close()
            for _ in range(5):
                key = rng.randrange(-1, 3 * len(plain) + 2)
                at = bisect_right(plain, key, key=lambda entry: entry[0])
                assert entries.floor(key) == (plain[at - 1] if at else None), seed
            assert len(entries) == len(plain)
        entries.truncate(0)
        entries.close()


# --- offsets


def test_an_offset_is_looked_for_from_the_last_entry_that_is_not_above_it(disk: FaultyDisk, handle: Handle) -> None:
    index = OffsetIndex(handle, Offset(1000), 0)
    assert index.lookup(Offset(5000)) == (1000, 0)
    for number in range(1, 3000):
        index.append(Offset(1000 + 10 * number), FilePos(100 * number))
    assert index.lookup(Offset(1000)) == (1000, 0)
    assert index.lookup(Offset(1009)) == (1000, 0)
    assert index.lookup(Offset(1010)) == (1010, 100)
    assert index.lookup(Offset(21_015)) == (21_010, 200_100)
    assert index.last() == (30_990, 299_900)
    index.truncate_to(Offset(21_010))
    assert index.last() == (21_000, 200_000)
    index.entries.close()
    assert disk.tree("/data")["entries"][:8].hex() == "0000000a00000064"


# --- times


def test_a_time_is_looked_for_from_the_last_entry_that_is_not_after_it(disk: FaultyDisk, handle: Handle) -> None:
    index = TimeIndex(handle, Offset(1000), 0)
    assert index.last() == (-1, 1000)
    for number in range(1, 3000):
        index.maybe_append(TimestampMs(100 * number), Offset(1000 + number))
    assert index.lookup(TimestampMs(99)) == 1000
    assert index.lookup(TimestampMs(100)) == 1001
    assert index.lookup(TimestampMs(150_050)) == 2500
    assert index.last() == (299_900, 3999)
    index.truncate_to(Offset(2500))
    assert index.last() == (149_900, 2499)
    index.entries.close()
    assert disk.tree("/data")["entries"][:12].hex() == "000000000000006400000001"


def test_only_later_times_make_an_entry(handle: Handle) -> None:
    index = TimeIndex(handle, Offset(0), 0)
    for time, offset in ((5, 1), (5, 2), (4, 3), (6, 4)):
        index.maybe_append(TimestampMs(time), Offset(offset))
    assert [index.entries.entry(number) for number in range(len(index.entries))] == [(5, 1), (6, 4)]
    index.entries.close()
    again = TimeIndex(handle, Offset(0), 2)
    again.maybe_append(TimestampMs(6), Offset(5))
    again.maybe_append(TimestampMs(7), Offset(6))
    assert again.last() == (7, 6)
    again.truncate_to(Offset(6))
    again.maybe_append(TimestampMs(7), Offset(6))
    assert again.last() == (7, 6)


# --- aborted transactions

TXNS = [AbortedTxn(ProducerId(7), Offset(10 * n), Offset(10 * n + 5), Offset(10 * n + 6)) for n in range(100)]


def test_aborted_transactions_are_in_the_file_at_once(disk: FaultyDisk, handle: Handle) -> None:
    index = TransactionIndex(handle, Offset(0), 0)
    assert not disk.exists("/data/entries")
    for txn in TXNS:
        index.append(txn)
    disk.crash()
    content = disk.tree("/data")["entries"]
    assert content[:34].hex() == "0000" + "0000000000000007" + "00" * 8 + "0000000000000005" + "0000000000000006"
    again = TransactionIndex(Handle(OpenFiles(disk), "/data/entries"), Offset(0), 100)
    assert again.entries() == TXNS
    again.truncate_to(Offset(505))
    assert again.entries() == TXNS[:50]
    again.append(TXNS[60])
    assert disk.tree("/data")["entries"] == transaction_index.pack([*TXNS[:50], TXNS[60]])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\0" * 33, "33 bytes is no whole number of entries"),
        (transaction_index.pack(TXNS[:1]) + b"\1", "35 bytes"),
        (transaction_index.pack(TXNS[:1]) + b"\0\1" + b"\0" * 32, "at 34: version 1"),
        (transaction_index.pack(TXNS[:2][::-1]), "at 34: offsets 0 to 5 out of order"),
        (transaction_index.pack([TXNS[1]._replace(first_offset=Offset(99))]), "at 0: offsets 99 to 15"),
    ],
)
def test_a_corrupt_transaction_index_is_named_with_its_position(data: bytes, said: str) -> None:
    with pytest.raises(CorruptFile, match=f"^some.txnindex.*{said}"):
        transaction_index.parse(data, "some.txnindex", Offset(0))


def test_entries_before_the_segment_are_those_of_another() -> None:
    with pytest.raises(CorruptFile, match="at 0: offsets 0 to 5 out of order"):
        transaction_index.parse(transaction_index.pack(TXNS[:1]), "some.txnindex", Offset(6))
