"""Where the last record of each key lies, against a dict: with room for all keys, for some, and for hardly any."""

from random import Random
from typing import NamedTuple

import pytest

from odradek.model.numbers import Offset, TimestampMs
from odradek.records.batch import HEAD_SIZE
from odradek.records.builder import build_batch
from odradek.records.record import Record
from odradek.records.spans import read_spans
from odradek.storage.cleaning.last_places import LastPlaces
from odradek.storage.cleaning.spill import Spill
from support.disk import FaultyDisk


class Batch(NamedTuple):
    data: bytes
    keys: list[bytes | None]
    starts: list[int]


def batch_of(keys: list[bytes | None]) -> Batch:
    records = [Record(Offset(number), TimestampMs(0), key, b"value") for number, key in enumerate(keys)]
    data = bytes(build_batch(records)[HEAD_SIZE:]) if records else b""
    starts = [0]
    while starts[-1] < len(data):
        starts.append(read_spans(data, starts[-1:])[0][3])
    return Batch(data, keys, starts[:-1])


PATH = "/data/00000000000000000000.keys.cleaned"
ROOMS = {"hardly any": 2_000, "some": 20_000, "all": 1 << 30}


def random_batches(rng: Random, count: int) -> list[Batch]:
    return [
        batch_of([None if rng.random() < 0.1 else b"key %d" % rng.randrange(600) for _ in range(rng.randrange(30))])
        for _ in range(count)
    ]


def expected_of(segments: list[list[Batch]]) -> list[list[list[int]]]:
    """By segment and batch: where the records start that stay."""
    last: dict[bytes, tuple[int, int, int]] = {}
    for number, segment in enumerate(segments):
        for place, (_, keys, starts) in enumerate(segment):
            last |= {key: (number, place, at) for key, at in zip(keys, starts, strict=True) if key is not None}
    stay = set(last.values())
    return [
        [[at for at in starts if (number, place, at) in stay] for place, (_, _, starts) in enumerate(segment)]
        for number, segment in enumerate(segments)
    ]


def unreplaced(batch: Batch, dirty: set[bytes | None]) -> list[int]:
    last = {key: at for key, at in zip(batch.keys, batch.starts, strict=True) if key is not None}
    return sorted(at for key, at in last.items() if key not in dirty)


def note(last: LastPlaces, segments: list[list[Batch]], numbers: range) -> None:
    for number in numbers:
        last.begin_segment(number)
        for data, keys, _ in segments[number]:
            if keys:
                last.note(data, len(keys))
            else:
                last.skip()


@pytest.fixture
def disk() -> FaultyDisk:
    return FaultyDisk("/data")


@pytest.mark.parametrize("room", ROOMS)
@pytest.mark.parametrize("clean", [0, 2])
def test_it_says_what_a_dict_says(disk: FaultyDisk, room: str, clean: int) -> None:
    rng = Random(7)
    segments = [random_batches(rng, 20) for _ in range(5)]
    spent: list[int] = []
    spill = Spill(disk, PATH, spent.append)
    last = LastPlaces(ROOMS[room], spill)
    note(last, segments, range(clean, len(segments)))
    assert last.is_spilled == (room != "all")
    if last.is_spilled and clean:
        last.begin_older()
        note(last, segments, range(clean))
    last.settle()
    found = []
    for number, segment in enumerate(segments):
        first = last.first_of(number)
        if first is None:
            assert number < clean
            found.append([last.unreplaced(data, len(keys)) for data, keys, _ in segment])
        else:
            found.append([last.starts_in(first + place) for place in range(len(segment))])
    if last.is_spilled:
        assert found == expected_of(segments)
    else:
        assert found[clean:] == expected_of(segments[clean:])
        dirty = {key for segment in segments[clean:] for batch in segment for key in batch.keys}
        for segment, stay in zip(segments[:clean], found, strict=False):
            assert stay == [unreplaced(batch, dirty) for batch in segment]
    noted = segments if last.is_spilled else segments[clean:]
    assert len(last) == len({key for segment in noted for batch in segment for key in batch.keys} - {None})
    assert (sum(spent) > 0) == last.is_spilled
    spill.close()
    assert not disk.exists(PATH)


def test_what_is_held_stays_within_the_bound(disk: FaultyDisk) -> None:
    spill = Spill(disk, PATH, lambda _size: None)
    last = LastPlaces(100_000, spill)
    last.begin_segment(0)
    most = 0
    for base in range(0, 20_000, 100):
        last.note(batch_of([b"%016d" % (base + each) for each in range(100)]).data, 100)
        most = max(most, len(last))
    assert 100 < most <= 100_000 // 160
    last.settle()
    assert len(last) == 20_000
    spill.close()


def test_a_file_that_was_left_over_does_not_count(disk: FaultyDisk) -> None:
    disk.put(PATH, b"left over" * 100)
    spill = Spill(disk, PATH, lambda _size: None)
    spill.add(3, b"a")
    spill.add(4, b"b")
    spill.add(3, b"cd")
    assert disk.read_whole(PATH) == b"abcd"
    assert list(spill.read(3)) == [b"a", b"cd"]
    assert (spill.size_of(3), spill.size_of(5)) == (3, 0)
    spill.close()
