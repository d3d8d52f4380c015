"""Leader epochs: where each leader's part of a log begins."""

import pytest

from odradek.model.errors import CorruptFile, NewerVersion
from odradek.model.numbers import LeaderEpoch, Offset
from odradek.storage.leader_epochs import EpochEntry, LeaderEpochs, pack, parse, write
from support.disk import FaultyDisk


def epochs(*entries: tuple[int, int]) -> LeaderEpochs:
    return LeaderEpochs(tuple(EpochEntry(LeaderEpoch(epoch), Offset(start)) for epoch, start in entries))


THREE = epochs((0, 0), (2, 10), (5, 30))


def assign(given: LeaderEpochs, epoch: int, start: int) -> LeaderEpochs:
    return given.assign(LeaderEpoch(epoch), Offset(start))


def test_a_new_leader_begins_at_an_offset() -> None:
    assert assign(epochs(), 3, 7) == epochs((3, 7))
    assert assign(THREE, 6, 40) == epochs((0, 0), (2, 10), (5, 30), (6, 40))


def test_the_same_leader_again_changes_nothing() -> None:
    assert assign(THREE, 5, 30) is THREE
    assert assign(THREE, 5, 35) is THREE


def test_a_leader_that_wrote_nothing_is_forgotten_for_the_next() -> None:
    assert assign(THREE, 6, 30) == epochs((0, 0), (2, 10), (6, 30))


def test_what_contradicts_a_new_leader_goes() -> None:
    assert assign(THREE, 3, 20) == epochs((0, 0), (2, 10), (3, 20))
    assert assign(THREE, 7, 5) == epochs((0, 0), (7, 5))


def test_a_cut_drops_the_leaders_past_it() -> None:
    assert THREE.truncate_to(Offset(31)) is THREE
    assert THREE.truncate_to(Offset(30)) == epochs((0, 0), (2, 10))
    assert THREE.truncate_to(Offset(5)) == epochs((0, 0))
    assert THREE.truncate_to(Offset(0)) == epochs()


def test_a_later_start_moves_the_epoch_that_it_lies_in() -> None:
    assert THREE.start_at(Offset(0)) is THREE
    assert THREE.start_at(Offset(5)) == epochs((0, 5), (2, 10), (5, 30))
    assert THREE.start_at(Offset(10)) == epochs((2, 10), (5, 30))
    assert THREE.start_at(Offset(11)) == epochs((2, 11), (5, 30))
    assert THREE.start_at(Offset(99)) == epochs((5, 99))
    assert epochs().start_at(Offset(9)) == epochs()


def test_every_offset_has_the_epoch_of_its_leader() -> None:
    assert [THREE.epoch_of(Offset(offset)) for offset in (0, 9, 10, 29, 30, 99)] == [0, 0, 2, 2, 5, 5]
    assert epochs((2, 10)).epoch_of(Offset(9)) == -1
    assert epochs().epoch_of(Offset(0)) == -1


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (-1, (-1, -1)),
        (0, (0, 10)),
        (1, (0, 10)),  # the largest epoch that is known and not above it
        (2, (2, 30)),
        (3, (2, 30)),
        (4, (2, 30)),
        (5, (5, 50)),  # the latest ends where the log ends
        (6, (-1, -1)),
    ],
)
def test_a_follower_asks_where_an_epoch_ends(asked: int, answer: tuple[int, int]) -> None:
    assert THREE.end_offset(LeaderEpoch(asked), Offset(50)) == answer


def test_an_epoch_before_the_first_one_ends_where_that_begins() -> None:
    assert epochs((3, 7)).end_offset(LeaderEpoch(1), Offset(50)) == (1, 7)
    assert epochs().end_offset(LeaderEpoch(1), Offset(50)) == (-1, -1)


def test_the_file_is_that_of_kafka() -> None:
    disk = FaultyDisk("/data")
    write(disk, "/data", THREE)
    assert disk.tree("/data") == {"leader-epoch-checkpoint": b"0\n3\n0 0\n2 10\n5 30\n"}
    assert parse(pack(THREE), "p") == THREE
    assert parse(b"", "p") == epochs()
    assert parse(b"0\n0\n", "p") == epochs()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"0\n1\n5\n", "line 3: 1 fields where 2 belong"),
        (b"0\n1\n5 x\n", "line 3: 'x' is no number"),
        (b"0\n2\n5 10\n5 20\n", "line 4: epoch 5 at 20 is out of order"),
        (b"0\n2\n5 10\n6 10\n", "line 4: epoch 6 at 10 is out of order"),
        (b"0\n1\n-1 10\n", "line 3: epoch -1 at 10 is out of order"),
        (b"0\n1\n1 -10\n", "line 3: epoch 1 at -10 is out of order"),
        (b"0\n2\n5 10\n", "1 lines where line 2 announces 2"),
    ],
)
def test_a_corrupt_file_is_named_with_its_line(data: bytes, said: str) -> None:
    with pytest.raises(CorruptFile, match=f"^some/epochs.*{said}"):
        parse(data, "some/epochs")


def test_a_newer_version_is_refused_as_such() -> None:
    with pytest.raises(NewerVersion):
        parse(b"1\n0\n", "p")
