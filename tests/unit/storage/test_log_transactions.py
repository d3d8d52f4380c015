"""What readers of committed records need: the last stable offset, and which transactions were aborted."""

from collections.abc import Iterator

import pytest

from odradek.model.errors import InvalidProducerEpoch, TransactionCoordinatorFenced
from odradek.model.numbers import Offset, ProducerId
from odradek.records.builder import BatchSpec
from odradek.storage.log import Log
from support.disk import FaultyDisk
from support.logs import append, end_txn, log_of, open_dirs, open_log


@pytest.fixture
def disk() -> FaultyDisk:
    return FaultyDisk("/data")


@pytest.fixture
def log(disk: FaultyDisk) -> Log:
    return open_log(disk)


class Sender:
    """A transactional producer."""

    def __init__(self, log: Log, id: int) -> None:
        self._log = log
        self._id = id
        self._sequence = 0

    def send(self, *values: str) -> int:
        spec = BatchSpec(
            producer_id=ProducerId(self._id), producer_epoch=0, base_sequence=self._sequence, transactional=True
        )
        self._sequence += len(values)
        return append(self._log, *values, spec=spec).base_offset

    def end(self, *, commit: bool) -> int:
        return end_txn(self._log, self._id, 0, commit=commit).base_offset


def committed(log: Log) -> Iterator[str]:
    """What a reader of committed records sees, by the rules of Kafka's clients."""
    aborted = sorted(log.aborted_txns(log.start_offset, log.last_stable_offset), key=lambda txn: txn.first_offset)
    skipped: set[int] = set()
    for head, record in log.records(log.start_offset, log.last_stable_offset):
        while aborted and aborted[0].first_offset <= record.offset:
            skipped.add(aborted.pop(0).producer_id)
        if head.is_control:
            if record.key is not None and record.key[-1] == 0:
                skipped.discard(head.producer_id)
        elif not (head.is_transactional and head.producer_id in skipped):
            yield (record.value or b"").decode()


def test_readers_see_nothing_of_an_open_transaction_nor_what_follows(log: Log) -> None:
    append(log, "before")
    one = Sender(log, 1)
    one.send("a")
    append(log, "after")
    log.advance_high_watermark(log.end_offset)
    assert log.last_stable_offset == 1
    assert list(committed(log)) == ["before"]
    one.end(commit=True)
    log.advance_high_watermark(log.end_offset)
    assert log.last_stable_offset == log.end_offset
    assert list(committed(log)) == ["before", "a", "after"]


def test_readers_skip_what_was_aborted(log: Log) -> None:
    one, two = Sender(log, 1), Sender(log, 2)
    one.send("a")
    two.send("b")
    append(log, "plain")
    one.send("c")
    one.end(commit=False)
    two.end(commit=True)
    one.send("d")
    one.end(commit=True)
    log.advance_high_watermark(log.end_offset)
    assert list(committed(log)) == ["b", "plain", "d"]
    (txn,) = log.aborted_txns(Offset(0), log.end_offset)
    assert txn == (1, 0, 4, 1)  # stable only up to where the other one began


def test_a_decision_counts_once_it_is_replicated(log: Log) -> None:
    one = Sender(log, 1)
    one.send("a", "b")
    log.advance_high_watermark(Offset(2))
    assert log.last_stable_offset == 0
    ended = one.end(commit=True)
    assert log.last_stable_offset == 0
    log.advance_high_watermark(Offset(ended))
    assert log.last_stable_offset == 0
    log.advance_high_watermark(Offset(ended + 1))
    assert log.last_stable_offset == 3


def test_the_last_stable_offset_never_passes_the_high_watermark(log: Log) -> None:
    append(log, "a", "b", "c")
    log.advance_high_watermark(Offset(2))
    assert log.last_stable_offset == 2
    Sender(log, 1).send("d")
    assert log.last_stable_offset == 2
    log.advance_high_watermark(Offset(4))
    assert log.last_stable_offset == 3


def test_the_last_stable_offset_never_falls_below_the_start(log: Log) -> None:
    Sender(log, 1).send("a", "b", "c")
    log.advance_high_watermark(Offset(3))
    assert log.last_stable_offset == 0
    log.advance_start(Offset(2))
    assert log.last_stable_offset == 2


def test_only_transactions_that_touch_the_range_are_told(log: Log) -> None:
    one = Sender(log, 1)
    ranges = []
    for number in range(10):
        first = one.send(str(number), "x")
        ranges.append((first, one.end(commit=number % 2 == 0)))
        append(log, "between")
        if number % 3 == 0:
            log.roll()
    for start in range(0, log.end_offset):
        for end in range(start, log.end_offset + 1):
            expected = [each for number, each in enumerate(ranges) if number % 2 and each[1] >= start and each[0] < end]
            found = log.aborted_txns(Offset(start), Offset(end))
            assert [(txn.first_offset, txn.last_offset) for txn in found] == expected


def test_a_long_transaction_is_told_for_every_part_of_it(log: Log) -> None:
    long, short = Sender(log, 1), Sender(log, 2)
    long.send("a")
    for number in range(5):
        log.roll()
        short.send(str(number))
        short.end(commit=False)
    log.roll()
    long.end(commit=False)
    log.advance_high_watermark(log.end_offset)
    for offset in range(log.end_offset):
        told = {txn.producer_id for txn in log.aborted_txns(Offset(offset), Offset(offset + 1))}
        assert 1 in told
    assert list(committed(log)) == []


@pytest.mark.parametrize("clean", [True, False])
def test_all_of_it_is_the_same_after_reopening(disk: FaultyDisk, clean: bool) -> None:
    dirs = open_dirs(disk)
    log = log_of(dirs)
    one, two, three = (Sender(log, id) for id in (1, 2, 3))
    three.send("open")
    for number in range(30):
        one.send(f"{number}a")
        two.send(f"{number}b")
        one.end(commit=number % 3 == 0)
        two.end(commit=number % 2 == 0)
    log.advance_high_watermark(log.end_offset)
    before = (log.last_stable_offset, log.aborted_txns(Offset(0), log.end_offset), log.end_offset)
    assert before[0] == 0
    if clean:
        dirs.close()
    else:
        disk.crash()
    log = log_of(open_dirs(disk))
    assert (log.last_stable_offset, log.aborted_txns(Offset(0), log.end_offset), log.end_offset) == before
    end_txn(log, 3, 0, commit=True)
    log.advance_high_watermark(log.end_offset)
    assert log.last_stable_offset == log.end_offset
    expected = ["open"]
    for number in range(30):
        expected += [f"{number}a"] * (number % 3 == 0) + [f"{number}b"] * (number % 2 == 0)
    assert list(committed(log)) == expected


def test_fenced_producers_and_coordinators_leave_no_trace(log: Log) -> None:
    one = Sender(log, 1)
    one.send("a")
    end_txn(log, 1, 3, commit=True, coordinator_epoch=7)
    end = log.end_offset
    with pytest.raises(InvalidProducerEpoch):
        one.send("late")
    with pytest.raises(InvalidProducerEpoch):
        end_txn(log, 1, 2, commit=False, coordinator_epoch=7)
    with pytest.raises(TransactionCoordinatorFenced):
        end_txn(log, 1, 3, commit=False, coordinator_epoch=6)
    assert log.end_offset == end
