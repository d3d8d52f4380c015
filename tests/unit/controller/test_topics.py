"""Topics: what can be created, grown and deleted, and with which code the rest is refused."""

from dataclasses import replace
from typing import Any

import pytest

from odradek.controller import brokers, topics
from odradek.controller.errors import PolicyViolation, TopicDeletionDisabled
from odradek.controller.topics import Doomed, Growth, NewTopic
from odradek.metadata.image import Partition
from odradek.metadata.uuids import UNASSIGNED
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import LeaderEpoch
from odradek.wire.records.metadata import ClearElrRecord, ConfigRecord, PartitionRecord, RemoveTopicRecord, TopicRecord


def code(outcome: Any) -> ErrorCode:
    found: ErrorCode = outcome.code
    return found


# --- creating


def test_records_and_reply_of_a_new_topic(cluster: Any) -> None:
    wanted = NewTopic("orders", 2, 1, configs={"retention.ms": "5"})
    decision = topics.create(cluster.image, [wanted], cluster.context)
    first, setting, *partitions = decision.records
    assert isinstance(first, TopicRecord)
    assert isinstance(setting, ConfigRecord)
    assert [each.partition_id for each in partitions if isinstance(each, PartitionRecord)] == [0, 1]
    ((name, outcome),) = decision.response
    assert isinstance(outcome, topics.CreatedTopic)
    assert name == "orders"
    assert (outcome.id, outcome.partitions, outcome.replication_factor) == (first.topic_id, 2, 1)
    assert outcome.configs == {"retention.ms": "5"}
    assert "orders" not in cluster.image.topics, "a decision changes nothing"
    cluster.do(decision)
    topic = cluster.image.topics.get("orders")
    assert topic is not None
    assert topic.partitions[1] == Partition(1, LeaderEpoch(0), 0, (1,), (1,), (UNASSIGNED,))


def test_a_broker_with_one_directory_has_no_choice(make_cluster: Any) -> None:
    cluster = make_cluster()
    cluster.add_broker(1, directories=1)
    cluster.create("orders")
    assert cluster.image.topics.get("orders").partitions[0].directories == cluster.image.brokers[1].directories


def test_numbers_that_are_not_given_are_the_nodes(cluster: Any) -> None:
    cluster.context = replace(cluster.context, default_partitions=5)
    outcome = cluster.create("orders", -1)
    assert (outcome.partitions, outcome.replication_factor) == (5, 1)


@pytest.mark.parametrize("name", ["a", "A-1_x.y", "." * 3, "a" * 249, "__consumer_offsets"])
def test_names_that_can_be(cluster: Any, name: str) -> None:
    assert cluster.create(name).partitions == 1


@pytest.mark.parametrize("name", ["", ".", "..", "a" * 250, "a b", "ä", "a/b", "a\n", "a:b"])
def test_names_that_cannot_be(cluster: Any, name: str) -> None:
    assert code(cluster.create(name)) == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_dots_and_underscores_do_not_tell_topics_apart(cluster: Any) -> None:
    cluster.create("a.b_c")
    assert code(cluster.create("a_b.c")) == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert cluster.create("a-b-c").partitions == 1
    assert code(cluster.create("a.b_c")) == ErrorCode.TOPIC_ALREADY_EXISTS


def test_the_metadata_log_is_no_topic(cluster: Any) -> None:
    assert code(cluster.create("__cluster_metadata")) == ErrorCode.INVALID_REQUEST


def test_a_topic_that_is_there(cluster: Any) -> None:
    cluster.create("orders")
    assert code(cluster.create("orders")) == ErrorCode.TOPIC_ALREADY_EXISTS


def test_one_bad_topic_does_not_hurt_the_others(cluster: Any) -> None:
    wanted = [NewTopic("good", 1), NewTopic("b ad", 1), NewTopic("twice", 1), NewTopic("twice", 2)]
    reply = cluster.do(topics.create(cluster.image, wanted, cluster.context))
    outcomes = {name: getattr(outcome, "code", None) for name, outcome in reply}
    assert outcomes == {
        "good": None,
        "b ad": ErrorCode.INVALID_TOPIC_EXCEPTION,
        "twice": ErrorCode.INVALID_REQUEST,
    }
    assert list(cluster.image.topics.names) == ["good"]


def test_validate_only_writes_nothing(cluster: Any) -> None:
    decision = topics.create(cluster.image, [NewTopic("orders", 1)], cluster.context, validate_only=True)
    assert decision.records == ()
    assert isinstance(decision.response[0].outcome, topics.CreatedTopic)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"partitions": 0}, ErrorCode.INVALID_PARTITIONS),
        ({"partitions": -2}, ErrorCode.INVALID_PARTITIONS),
        ({"replication_factor": 0}, ErrorCode.INVALID_REPLICATION_FACTOR),
        ({"replication_factor": 2}, ErrorCode.INVALID_REPLICATION_FACTOR),
        ({"replication_factor": -2}, ErrorCode.INVALID_REPLICATION_FACTOR),
        ({"configs": {"retention.ms": "x"}}, ErrorCode.INVALID_CONFIG),
        ({"configs": {"no.such.setting": "1"}}, ErrorCode.INVALID_CONFIG),
        ({"configs": {"retention.ms": None}}, ErrorCode.INVALID_CONFIG),
        ({"configs": {"remote.storage.enable": "true"}}, ErrorCode.INVALID_CONFIG),
        ({"assignments": [(0, (2,))]}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ({"assignments": [(0, ())]}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ({"assignments": [(0, (1, 1))]}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ({"assignments": [(1, (1,))]}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ({"assignments": [(0, (1,)), (0, (1,))]}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ({"assignments": [(0, (1,))], "partitions": 1}, ErrorCode.INVALID_REQUEST),
        ({"assignments": [(0, (1,))], "replication_factor": 1}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_is_refused(cluster: Any, fields: dict[str, Any], expected: ErrorCode) -> None:
    assert code(cluster.create("orders", **({"partitions": -1} | fields))) == expected
    assert len(cluster.image.topics) == 0


def test_an_assignment_by_hand(make_cluster: Any) -> None:
    cluster = make_cluster(1, 2)
    outcome = cluster.create("orders", -1, assignments=[(1, (2, 1)), (0, (1, 2))])
    assert (outcome.partitions, outcome.replication_factor) == (2, 2)
    found = cluster.image.topics.get("orders").partitions
    assert [(each.leader, each.replicas) for _, each in sorted(found.items())] == [(1, (1, 2)), (2, (2, 1))]
    unequal = cluster.create("other", -1, assignments=[(0, (1, 2)), (1, (1,))])
    assert code(unequal) == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_leaders_are_spread_over_the_brokers_in_service(make_cluster: Any) -> None:
    cluster = make_cluster(1, 2, 3)
    cluster.add_broker(4, unfence=False)
    cluster.create("orders", 6, replication_factor=3)
    partitions = cluster.image.topics.get("orders").partitions.values()
    assert sorted(each.leader for each in partitions) == [1, 1, 2, 2, 3, 3]
    assert all(set(each.replicas) == {1, 2, 3} for each in partitions)
    cluster.create("more", 1, replication_factor=4)
    (partition,) = cluster.image.topics.get("more").partitions.values()
    assert partition.replicas[-1] == 4
    assert 4 not in partition.isr


def test_without_a_broker_in_service_nothing_can_be_placed(make_cluster: Any) -> None:
    cluster = make_cluster()
    assert code(cluster.create("orders")) == ErrorCode.INVALID_REPLICATION_FACTOR
    cluster.add_broker(1, unfence=False)
    assert code(cluster.create("orders")) == ErrorCode.INVALID_REPLICATION_FACTOR
    assert code(cluster.create("orders", -1, assignments=[(0, (1,))])) == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_a_broker_that_shuts_down_gets_no_new_partitions(cluster: Any) -> None:
    cluster.do(brokers.shut_down(cluster.image, 1, cluster.epochs[1], cluster.context))
    assert code(cluster.create("orders")) == ErrorCode.INVALID_REPLICATION_FACTOR


def test_too_many_partitions_at_once(cluster: Any) -> None:
    wanted = [NewTopic("a", 9_999), NewTopic("b", 2)]
    with pytest.raises(PolicyViolation):
        topics.create(cluster.image, wanted, cluster.context)


def test_min_insync_replicas_clears_eligible_leaders(cluster: Any) -> None:
    wanted = NewTopic("orders", 1, configs={"min.insync.replicas": "1"})
    kinds = [type(each) for each in topics.create(cluster.image, [wanted], cluster.context).records]
    assert kinds == [TopicRecord, ConfigRecord, ClearElrRecord, PartitionRecord]


def test_an_id_that_stands_for_something_else_is_not_taken(cluster: Any) -> None:
    ids = iter([bytes(16), bytes(15) + b"\x01", b"x" * 16])
    cluster.context = replace(cluster.context, new_uuid=lambda: next(ids))
    assert cluster.create("orders").id == b"x" * 16


# --- growing


def test_a_topic_grows(cluster: Any) -> None:
    cluster.create("orders", 2)
    assert cluster.do(topics.create_partitions(cluster.image, [Growth("orders", 4)])) == (("orders", None),)
    assert sorted(cluster.image.topics.get("orders").partitions) == [0, 1, 2, 3]
    by_hand = Growth("orders", 5, [(1,)])
    assert cluster.do(topics.create_partitions(cluster.image, [by_hand]))[0].error is None
    decision = topics.create_partitions(cluster.image, [Growth("orders", 9)], validate_only=True)
    assert (decision.records, decision.response) == ((), (("orders", None),))


@pytest.mark.parametrize(
    ("growth", "expected"),
    [
        (Growth("orders", 2), ErrorCode.INVALID_PARTITIONS),
        (Growth("orders", 1), ErrorCode.INVALID_PARTITIONS),
        (Growth("orders", -1), ErrorCode.INVALID_PARTITIONS),
        (Growth("bills", 3), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (Growth("orders", 4, [(1,)]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (Growth("orders", 3, [(7,)]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (Growth("orders", 3, [()]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (Growth("orders", 20_000), ErrorCode.POLICY_VIOLATION),
    ],
)
def test_growth_that_is_refused(cluster: Any, growth: Growth, expected: ErrorCode) -> None:
    cluster.create("orders", 2)
    decision = topics.create_partitions(cluster.image, [growth])
    assert decision.records == ()
    assert code(decision.response[0].error) == expected


def test_a_topic_that_is_named_twice_does_not_grow(cluster: Any) -> None:
    cluster.create("orders", 2)
    decision = topics.create_partitions(cluster.image, [Growth("orders", 3), Growth("orders", 4)])
    assert decision.records == ()
    assert [code(each.error) for each in decision.response] == [ErrorCode.INVALID_REQUEST]


# --- deleting


def test_deleting_by_name_and_by_id(cluster: Any) -> None:
    first, second = cluster.create("a").id, cluster.create("b").id
    decision = topics.delete(cluster.image, [Doomed("a"), Doomed(id=second)], cluster.context)
    assert decision.records == (RemoveTopicRecord(topic_id=first), RemoveTopicRecord(topic_id=second))
    assert decision.response == (("a", first, None), ("b", second, None))
    cluster.do(decision)
    assert len(cluster.image.topics) == 0


def test_deleting_what_is_not_there(cluster: Any) -> None:
    topic_id = cluster.create("a").id
    doomed = [Doomed("b"), Doomed(id=b"?" * 16), Doomed(), Doomed("a", topic_id), Doomed("a"), Doomed(id=topic_id)]
    decision = topics.delete(cluster.image, doomed, cluster.context)
    assert [each.error and code(each.error) for each in decision.response] == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,  # by name and by id, which is twice
    ]
    assert decision.records == ()


def test_the_same_name_twice(cluster: Any) -> None:
    cluster.create("a")
    decision = topics.delete(cluster.image, [Doomed("a"), Doomed("a")], cluster.context)
    assert (decision.records, len(decision.response)) == ((), 1)


def test_the_same_id_twice(cluster: Any) -> None:
    topic_id = cluster.create("a").id
    decision = topics.delete(cluster.image, [Doomed(id=topic_id), Doomed("a"), Doomed(id=topic_id)], cluster.context)
    assert decision.records == ()
    assert [(each.name, each.error and code(each.error)) for each in decision.response] == [
        (None, ErrorCode.INVALID_REQUEST),
        ("a", ErrorCode.INVALID_REQUEST),
    ]


def test_deletion_can_be_disabled(cluster: Any) -> None:
    with pytest.raises(TopicDeletionDisabled):
        topics.delete(cluster.image, [], replace(cluster.context, delete_topic_enable=False))
