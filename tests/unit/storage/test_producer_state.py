"""What a partition knows of its producers: repeats, gaps, fences, transactions."""

import pytest

from odradek.model.errors import (
    CorruptFile,
    InvalidProducerEpoch,
    InvalidTxnState,
    OutOfOrderSequence,
    TransactionCoordinatorFenced,
)
from odradek.model.numbers import Offset, ProducerId, TimestampMs
from odradek.records.batch import SEQUENCE_MAX, BatchHead, parse_head
from odradek.records.builder import BatchSpec
from odradek.records.control import ControlType, EndTxnMarker
from odradek.storage import producer_snapshot
from odradek.storage.producer_state import CompletedTxn, NotedBatch, ProducerState
from support.logs import NOW, batch, marker

A, B = ProducerId(1), ProducerId(2)


def head(
    producer: ProducerId, sequence: int, count: int = 1, *, epoch: int = 0, transactional: bool = False
) -> BatchHead:
    spec = BatchSpec(producer_id=producer, producer_epoch=epoch, base_sequence=sequence, transactional=transactional)
    return parse_head(batch(*["x"] * count, spec=spec))


class Story:
    """Appends what is admitted, as a log does."""

    def __init__(self) -> None:
        self.state = ProducerState(Offset(0))

    def send(
        self, producer: ProducerId, sequence: int, count: int = 1, *, epoch: int = 0, transactional: bool = False
    ) -> NotedBatch | None:
        sent = head(producer, sequence, count, epoch=epoch, transactional=transactional)
        known = self.state.admit(sent)
        if known is None:
            self.state.note(sent, self.state.end_offset)
            self.state.end_offset = Offset(self.state.end_offset + count)
        return known

    def end(
        self, producer: ProducerId, *, commit: bool, epoch: int = 0, coordinator: int = 0, level: int = 0
    ) -> CompletedTxn | None:
        sent = parse_head(marker(producer, epoch, commit=commit, coordinator_epoch=coordinator))
        kind = EndTxnMarker(ControlType.COMMIT if commit else ControlType.ABORT, coordinator)
        self.state.check_marker(sent, kind, level)
        ended = self.state.note_marker(sent, self.state.end_offset, kind)
        self.state.end_offset = Offset(self.state.end_offset + 1)
        return ended


@pytest.fixture
def story() -> Story:
    return Story()


# --- sequences


def test_batches_follow_each_other_without_a_gap(story: Story) -> None:
    assert story.send(A, 0, 3) is None
    assert story.send(A, 3, 2) is None
    with pytest.raises(OutOfOrderSequence, match="sequence number 6 of producer 1, expected was 5"):
        story.send(A, 6)
    with pytest.raises(OutOfOrderSequence):
        story.send(A, 4)
    assert story.send(A, 5) is None


def test_a_repeat_is_answered_with_its_first_offset(story: Story) -> None:
    story.send(B, 0, 10)
    story.send(A, 0, 3)
    story.send(A, 3, 2)
    again = story.send(A, 0, 3)
    assert again is not None
    assert (again.first_offset, again.last_offset) == (10, 12)
    assert story.state.end_offset == 15


def test_half_a_repeat_is_none(story: Story) -> None:
    story.send(A, 0, 3)
    for sequence, count in ((0, 2), (1, 2), (0, 4)):
        with pytest.raises(OutOfOrderSequence):
            story.send(A, sequence, count)


def test_five_batches_are_remembered_and_the_sixth_last_is_not(story: Story) -> None:
    for sequence in range(6):
        story.send(A, sequence)
    for sequence in range(1, 6):
        again = story.send(A, sequence)
        assert again is not None
        assert again.first_offset == sequence
    with pytest.raises(OutOfOrderSequence):
        story.send(A, 0)


def test_an_unknown_producer_may_begin_anywhere(story: Story) -> None:
    assert story.send(A, 77) is None
    assert story.send(A, 78) is None


def test_but_not_behind_its_first_batch_which_was_too_large_and_comes_again_in_parts(story: Story) -> None:
    story.state.put_off(head(A, 7, 5))
    story.state.put_off(head(A, 12, 5))
    for sequence in (8, 12, 17):
        with pytest.raises(OutOfOrderSequence, match=f"sequence number {sequence} of producer 1, expected was 7"):
            story.send(A, sequence)
    assert story.send(B, 17) is None
    for sequence in (7, 8, 12):
        assert story.send(A, sequence, 4 if sequence == 8 else 1) is None


def test_an_earlier_one_that_is_too_large_counts_and_one_of_a_new_epoch(story: Story) -> None:
    for first, epoch in ((9, 0), (7, 0), (0, 1)):
        story.state.put_off(head(A, first, 2, epoch=epoch))
        with pytest.raises(OutOfOrderSequence, match=f"expected was {first}"):
            story.send(A, first + 2, epoch=epoch)
    assert story.send(A, 0, 2, epoch=1) is None
    assert story.send(A, 2, epoch=1) is None


def test_a_record_that_is_too_large_does_not_come_again(story: Story) -> None:
    story.state.put_off(head(A, 0))
    assert story.send(A, 1) is None


def test_more_than_can_be_on_the_way_behind_it_are_taken_as_it_was_given_up(story: Story) -> None:
    for _ in range(2):
        story.state.put_off(head(A, 0, 5))
        for sequence in range(5, 8):
            with pytest.raises(OutOfOrderSequence):
                story.send(A, sequence)
    with pytest.raises(OutOfOrderSequence):
        story.send(A, 8)
    assert story.send(A, 9) is None


def test_a_producer_that_gives_up_goes_on_with_a_new_epoch(story: Story) -> None:
    story.state.put_off(head(A, 0, 5))
    assert story.send(A, 0, epoch=1) is None
    assert story.send(A, 1, epoch=1) is None


def test_what_is_known_of_a_producer_is_enough(story: Story) -> None:
    story.send(A, 0, 3)
    story.state.put_off(head(A, 3, 2))
    with pytest.raises(OutOfOrderSequence, match="expected was 3"):
        story.send(A, 5)
    assert story.send(A, 3) is None
    story.state.expire(TimestampMs(NOW + 100), 100)
    assert story.send(A, 9) is None


def test_of_very_many_producers_the_first_ones_are_forgotten(story: Story) -> None:
    for number in range(1001):
        story.state.put_off(head(ProducerId(number), 0, 2))
    assert story.send(ProducerId(0), 2) is None
    with pytest.raises(OutOfOrderSequence):
        story.send(ProducerId(1), 2)


def test_sequences_go_on_at_zero_after_the_largest(story: Story) -> None:
    story.send(A, SEQUENCE_MAX - 1, 2)
    assert story.send(A, 0) is None
    story.send(B, SEQUENCE_MAX - 1, 4)
    known = story.state.get(B)
    assert known is not None
    assert known.last_sequence == 1
    assert story.send(B, 2) is None
    again = story.send(B, SEQUENCE_MAX - 1, 4)
    assert again is not None
    assert again.first_offset == 3


def test_after_the_largest_no_other_sequence_follows(story: Story) -> None:
    story.send(A, SEQUENCE_MAX)
    with pytest.raises(OutOfOrderSequence, match="expected was 0"):
        story.send(A, 1)


# --- epochs


def test_an_older_epoch_is_fenced(story: Story) -> None:
    story.send(A, 0, epoch=3)
    with pytest.raises(
        InvalidProducerEpoch, match="producer 1 attempted to produce with an old epoch, 2: its last seen one is 3"
    ):
        story.send(A, 1, epoch=2)
    with pytest.raises(InvalidProducerEpoch):
        story.end(A, commit=True, epoch=2)


def test_a_new_epoch_begins_at_zero(story: Story) -> None:
    story.send(A, 0, 5)
    with pytest.raises(OutOfOrderSequence, match="expected was 0"):
        story.send(A, 5, epoch=1)
    assert story.send(A, 0, epoch=1) is None
    with pytest.raises(InvalidProducerEpoch):
        story.send(A, 0, 5)  # not even a repeat of the old epoch


def test_a_repeat_in_a_new_epoch_is_a_batch_of_its_own(story: Story) -> None:
    story.send(A, 0)
    assert story.send(A, 0, epoch=1) is None
    assert story.state.end_offset == 2


# --- expiry


def test_producers_that_were_long_silent_are_forgotten(story: Story) -> None:
    story.send(A, 0)
    assert story.state.expire(TimestampMs(NOW + 999), 1000) == 0
    assert story.state.expire(TimestampMs(NOW + 1000), 1000) == 1
    assert len(story.state) == 0
    assert story.send(A, 55) is None


def test_a_producer_with_an_open_transaction_is_not_forgotten(story: Story) -> None:
    story.send(A, 0, transactional=True)
    assert story.state.expire(TimestampMs(NOW + 10_000), 1000) == 0
    story.end(A, commit=True)
    assert story.state.expire(TimestampMs(NOW + 10_000), 1000) == 1


# --- transactions


def test_a_transaction_holds_the_first_undecided_offset_until_it_ends(story: Story) -> None:
    story.send(B, 0, 4)
    story.send(A, 0, 2, transactional=True)
    story.send(A, 2, 2, transactional=True)
    assert story.state.first_undecided_offset == 4
    ended = story.end(A, commit=True)
    assert ended is not None
    assert not ended.aborted
    assert ended.txn == (A, 4, 8, 9)
    assert story.state.first_undecided_offset is None


def test_the_oldest_open_transaction_counts(story: Story) -> None:
    story.send(A, 0, transactional=True)
    story.send(B, 0, transactional=True)
    assert story.state.first_undecided_offset == 0
    ended = story.end(A, commit=False)
    assert ended is not None
    assert ended == CompletedTxn(ended.txn, aborted=True)
    assert ended.txn == (A, 0, 2, 1)  # stable up to where B began
    assert story.state.first_undecided_offset == 1
    story.end(B, commit=True)
    assert story.state.first_undecided_offset is None


def test_a_marker_without_a_transaction_completes_none(story: Story) -> None:
    assert story.end(A, commit=False) is None
    story.send(A, 0)
    assert story.end(A, commit=True) is None
    assert story.state.first_undecided_offset is None


def test_sequences_go_on_through_transactions(story: Story) -> None:
    story.send(A, 0, transactional=True)
    story.end(A, commit=True)
    assert story.send(A, 1, transactional=True) is None
    again = story.send(A, 0, transactional=True)
    assert again is not None
    assert again.first_offset == 0


def test_a_marker_with_a_new_epoch_fences_the_old_and_sequences_begin_anew(story: Story) -> None:
    story.send(A, 0, transactional=True)
    story.end(A, commit=True, epoch=1)
    with pytest.raises(InvalidProducerEpoch):
        story.send(A, 1, transactional=True)
    with pytest.raises(OutOfOrderSequence):
        story.send(A, 1, epoch=1, transactional=True)
    assert story.send(A, 0, epoch=1, transactional=True) is None


def test_a_producer_in_a_transaction_sends_nothing_outside_it(story: Story) -> None:
    story.send(A, 0, transactional=True)
    with pytest.raises(InvalidTxnState, match="producer 1 has an open transaction"):
        story.send(A, 1)


def test_a_coordinator_of_an_older_epoch_is_fenced(story: Story) -> None:
    story.send(A, 0, transactional=True)
    story.end(A, commit=True, coordinator=5)
    story.send(A, 1, transactional=True)
    with pytest.raises(TransactionCoordinatorFenced, match="coordinator epoch 4 for producer 1 is behind 5"):
        story.end(A, commit=True, coordinator=4)
    assert story.end(A, commit=True, coordinator=6) is not None


# --- transactions whose epochs rise with each


def test_a_marker_with_the_epoch_of_an_open_transaction_is_late(story: Story) -> None:
    story.send(A, 0, epoch=3, transactional=True)
    with pytest.raises(InvalidProducerEpoch):
        story.end(A, commit=True, epoch=3, level=2)
    story.end(A, commit=True, epoch=4, level=2)
    story.end(A, commit=True, epoch=4, level=2)  # a repeat, where nothing is open
    story.send(A, 0, epoch=4, transactional=True)
    with pytest.raises(InvalidProducerEpoch):
        story.end(A, commit=False, epoch=4, level=2)
    with pytest.raises(InvalidProducerEpoch):
        story.end(A, commit=False, epoch=3, level=2)
    assert story.end(A, commit=False, epoch=5, level=2) is not None


def test_before_that_a_marker_has_the_epoch_of_its_transaction(story: Story) -> None:
    for level in (0, 1):
        story.send(A, level, epoch=3, transactional=True)
        assert story.end(A, commit=True, epoch=3, level=level) is not None


def test_above_the_largest_epoch_there_is_none(story: Story) -> None:
    story.send(A, 0, epoch=32_767, transactional=True)
    assert story.end(A, commit=False, epoch=32_767, level=2) is not None


# --- the first batch of a transaction, which its coordinator is asked about


def is_due(story: Story, sequence: int, epoch: int = 0, *, rises: bool = False) -> bool:
    return story.state.is_verification_due(A, epoch, sequence, TimestampMs(0), rises=rises)


def test_the_coordinator_is_asked_once_for_a_transaction(story: Story) -> None:
    assert is_due(story, 0)
    story.send(A, 0, transactional=True)
    assert not is_due(story, 1)
    assert is_due(story, 1, epoch=1)
    story.end(A, commit=True)
    assert is_due(story, 1)


def test_a_batch_is_not_taken_before_one_that_was_refused(story: Story) -> None:
    assert is_due(story, 4)
    assert is_due(story, 5)
    with pytest.raises(OutOfOrderSequence):
        story.send(A, 5, transactional=True)
    story.send(A, 4, transactional=True)
    story.send(A, 5, transactional=True)


def test_what_was_refused_in_an_older_epoch_counts_no_more(story: Story) -> None:
    assert is_due(story, 0)
    assert is_due(story, 7, epoch=1)
    story.send(A, 7, epoch=1, transactional=True)


def test_where_epochs_rise_a_new_producer_begins_at_zero(story: Story) -> None:
    assert is_due(story, 3, rises=True)
    with pytest.raises(OutOfOrderSequence):
        story.send(A, 3, transactional=True)
    assert is_due(story, 0, rises=True)
    story.send(A, 0, transactional=True)
    story.end(A, commit=True, epoch=1, level=2)
    assert is_due(story, 2, epoch=1, rises=True)
    with pytest.raises(OutOfOrderSequence):
        story.send(A, 2, epoch=1, transactional=True)


def test_the_marker_before_leaves_the_next_transaction_to_be_asked_about(story: Story) -> None:
    story.send(A, 0, transactional=True)
    assert is_due(story, 0, epoch=1, rises=True)
    story.end(A, commit=True, epoch=1, level=2)
    with pytest.raises(OutOfOrderSequence):
        story.send(A, 1, epoch=1, transactional=True)
    story.send(A, 0, epoch=1, transactional=True)


def test_a_fenced_producer_is_refused_before_its_coordinator_is_asked(story: Story) -> None:
    story.send(A, 0, epoch=2)
    with pytest.raises(InvalidProducerEpoch):
        is_due(story, 0, epoch=1)


def test_what_was_asked_about_long_ago_is_forgotten(story: Story) -> None:
    assert is_due(story, 4)
    story.state.expire(TimestampMs(100), 100)
    story.send(A, 9, transactional=True)


# --- snapshots


def parse(data: bytes) -> ProducerState:
    return ProducerState(Offset(0), producer_snapshot.parse(data, "some.snapshot"))


def test_a_snapshot_keeps_the_last_batch_and_the_open_transaction(story: Story) -> None:
    story.send(A, 0, 3)
    story.send(A, 3, 2)
    story.send(B, SEQUENCE_MAX - 1, 3, epoch=2, transactional=True)
    read = parse(producer_snapshot.pack(story.state))
    assert read.first_undecided_offset == 5
    assert read.admit(head(A, 3, 2)) == NotedBatch(3, 4, Offset(3), Offset(4), NOW)
    assert read.admit(head(B, SEQUENCE_MAX - 1, 3, epoch=2)) is not None
    with pytest.raises(OutOfOrderSequence):
        read.admit(head(A, 0, 3))  # the batch before the last is not in it
    assert read.admit(head(A, 5)) is None
    assert read.admit(head(B, 1, epoch=2, transactional=True)) is None


def test_a_snapshot_of_a_producer_known_by_a_marker_alone(story: Story) -> None:
    story.end(A, commit=True, epoch=3, coordinator=9)
    (known,) = parse(producer_snapshot.pack(story.state))
    assert (known.id, known.epoch, known.coordinator_epoch, known.batches, known.last_sequence) == (A, 3, 9, (), -1)


def test_an_empty_snapshot_has_ten_bytes(story: Story) -> None:
    assert len(producer_snapshot.pack(story.state)) == 10
    assert list(parse(producer_snapshot.pack(story.state))) == []


def test_a_changed_byte_anywhere_makes_a_snapshot_corrupt(story: Story) -> None:
    story.send(A, 0)
    packed = producer_snapshot.pack(story.state)
    for position in range(len(packed)):
        changed = bytearray(packed)
        changed[position] ^= 0x40
        with pytest.raises(CorruptFile, match=r"^some\.snapshot: "):
            parse(bytes(changed))
        with pytest.raises(CorruptFile, match=r"^some\.snapshot: "):
            parse(packed[:position])
    with pytest.raises(CorruptFile, match=r"^some\.snapshot: "):
        parse(packed + b"\0")
