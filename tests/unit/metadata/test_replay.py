"""Batches onto an image; transactions; what a new leader writes first."""

import pytest

from odradek.metadata.bootstrap import activation_records, feature_records
from odradek.metadata.draft import Inconsistent
from odradek.metadata.features import NEW_CLUSTER, SUPPORTED, record_version
from odradek.metadata.image import EMPTY
from odradek.metadata.replay import Batch, Replay
from odradek.model.errors import UnsupportedVersion
from odradek.model.numbers import LeaderEpoch, Offset, TimestampMs
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.records.metadata import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from odradek.wire.schema import Message

BEGIN, END, ABORT = BeginTransactionRecord(name="t"), EndTransactionRecord(), AbortTransactionRecord()


def topic(name: str) -> TopicRecord:
    return TopicRecord(name=name, topic_id=name.encode().ljust(16))


def after(state: Replay, *records: Message) -> Replay:
    base = state.image.end_offset
    last = Offset(base + max(len(records), 1) - 1)
    return state.apply(Batch(base, last, LeaderEpoch(3), TimestampMs(7), records))[0]


def names(state: Replay) -> list[str]:
    return sorted(state.image.topics.names)


def test_batches_move_the_position() -> None:
    state = after(Replay(), topic("a"), topic("b"))
    assert (state.image.offset, state.image.epoch, state.image.position.timestamp) == (1, 3, 7)
    state = after(state)
    assert (state.image.offset, names(state)) == (2, ["a", "b"])


def test_a_transaction_shows_at_its_end() -> None:
    state = after(Replay(), topic("before"), BEGIN, topic("a"))
    assert names(state) == ["before"]
    state = after(state, topic("b"))
    assert names(state) == ["before"]
    assert state.transaction is not None
    state = after(state, END, topic("after"))
    assert names(state) == ["a", "after", "b", "before"]
    assert state.transaction is None


def test_an_aborted_transaction_was_never_there() -> None:
    state = after(after(Replay(), BEGIN, topic("a")), ABORT, topic("b"))
    assert names(state) == ["b"]


def test_a_transaction_within_one_batch() -> None:
    assert names(after(Replay(), BEGIN, topic("a"), END, BEGIN, topic("b"), ABORT)) == ["a"]


def test_applying_changes_nothing_in_what_was_there() -> None:
    state = after(Replay(), BEGIN, topic("a"))
    after(state, topic("b"))
    assert names(after(state, END)) == ["a"]


@pytest.mark.parametrize(
    ("records", "offset"),
    [
        ((topic("a"), END), 1),
        ((ABORT,), 0),
        ((BEGIN, BEGIN), 1),
        ((topic("a"), RemoveTopicRecord(topic_id=b"?" * 16)), 1),
    ],
)
def test_what_does_not_fit_is_named_by_its_offset(records: tuple[Message, ...], offset: int) -> None:
    with pytest.raises(Inconsistent, match=f"offset {offset}:"):
        after(Replay(), *records)


def test_what_is_too_new_is_named_by_its_offset() -> None:
    with pytest.raises(UnsupportedVersion, match="offset 1:"):
        after(Replay(), topic("a"), HeartbeatRequest(group_id="g", generation_id=1, member_id="m"))


# --- the first records


def test_a_new_cluster_gets_its_features_in_one_transaction() -> None:
    records = activation_records(Replay(), feature_records(), min_insync_replicas=2)
    assert isinstance(records[0], BeginTransactionRecord)
    assert isinstance(records[-1], EndTransactionRecord)
    image = after(Replay(), *records).image
    assert image.features == NEW_CLUSTER
    assert image.configs.of(4, "") == {"min.insync.replicas": "2"}
    assert image.has_eligible_leaders


def test_an_old_cluster_had_neither_transactions_nor_eligible_leaders() -> None:
    bootstrap = (FeatureLevelRecord(name="metadata.version", feature_level=10),)
    assert activation_records(Replay(), bootstrap, 1) == bootstrap


def test_a_cluster_that_is_there_gets_nothing() -> None:
    state = after(Replay(), *activation_records(Replay(), feature_records(), 1))
    assert activation_records(state, feature_records(), 1) == ()


def test_what_a_former_leader_left_unfinished_is_aborted() -> None:
    state = after(Replay(), *activation_records(Replay(), feature_records(), 1))
    (record,) = activation_records(after(state, BEGIN, topic("a")), (), 1)
    assert isinstance(record, AbortTransactionRecord)
    begun = after(Replay(), *activation_records(Replay(), feature_records(), 1)[:-1])
    records = activation_records(begun, feature_records(), 1)
    assert isinstance(records[0], AbortTransactionRecord)
    assert after(begun, *records).image.features == NEW_CLUSTER


# --- versions of records


@pytest.mark.parametrize(("level", "partition", "broker"), [(7, 0, 1), (8, 0, 2), (17, 1, 3), (23, 2, 3), (30, 2, 4)])
def test_versions_follow_the_clusters_level(level: int, partition: int, broker: int) -> None:
    assert record_version(PartitionChangeRecord(topic_id=b"t" * 16), level) == partition
    registration = RegisterBrokerRecord(
        broker_id=1, incarnation_id=b"i" * 16, broker_epoch=1, end_points=(), features=(), rack=None
    )
    assert record_version(registration, level) == broker
    assert record_version(ConfigRecord(resource_type=2, resource_name="", name="", value=None), level) == 0


def test_a_change_of_a_broker_takes_the_least_version_that_holds_it() -> None:
    def version(**fields: object) -> int:
        return record_version(BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=1, **fields), 30)  # type: ignore[arg-type]

    assert version(fenced=-1) == 0
    assert version(in_controlled_shutdown=1) == 1
    assert version(log_dirs=(b"d" * 16,)) == 2
    assert version(cordoned_log_dirs=()) == 3


def test_a_new_cluster_has_supported_levels() -> None:
    for name, level in NEW_CLUSTER.items():
        assert SUPPORTED[name].least <= level <= SUPPORTED[name].most
    assert EMPTY.metadata_version == SUPPORTED["metadata.version"].least
