"""Heartbeats with anything in them: each gets an answer, and the group stays one that can be told and loaded."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.model.error_code import ErrorCode
from odradek.wire.codec import encode
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from support.consumer_stage import GROUP, ConsumerStage

ids = st.sampled_from(["", "a", "b", "c", " ", "\x00", "ü" * 300])
expressions = st.one_of(st.none(), st.sampled_from(["", "top.*", "(", "\x00", "[^a]{3,}", "\\Q"]), st.text(max_size=8))
numbers = st.one_of(st.integers(-3, 8), st.sampled_from([-(1 << 31), (1 << 31) - 1]))
topic_ids = st.sampled_from([bytes(16), (999).to_bytes(16, "big"), b"\xff" * 16])
owned = st.builds(TopicPartitions, topic_id=topic_ids, partitions=st.lists(numbers, max_size=4).map(tuple))
requests = st.builds(
    ConsumerGroupHeartbeatRequest,
    group_id=st.just(GROUP),
    member_id=ids,
    member_epoch=numbers,
    instance_id=st.one_of(st.none(), ids),
    rack_id=st.one_of(st.none(), ids),
    rebalance_timeout_ms=numbers,
    subscribed_topic_names=st.one_of(st.none(), st.lists(st.sampled_from(["topic", "", "x"]), max_size=3).map(tuple)),
    subscribed_topic_regex=expressions,
    server_assignor=st.one_of(st.none(), st.sampled_from(["uniform", "range", ""])),
    topic_partitions=st.one_of(st.none(), st.just(()), st.lists(owned, max_size=3).map(tuple)),
)
joins = st.builds(
    ConsumerGroupHeartbeatRequest,
    group_id=st.just(GROUP),
    member_id=st.sampled_from(["a", "b", "c"]),
    member_epoch=st.just(0),
    instance_id=st.sampled_from([None, "one", "two"]),
    rebalance_timeout_ms=st.integers(0, 5),
    subscribed_topic_names=st.just(("topic",)),
    subscribed_topic_regex=expressions,
    topic_partitions=st.just(()),
)


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(
    asked=st.lists(st.one_of(requests, joins), max_size=25), version=st.integers(0, 1), wait_ms=st.integers(0, 9_000)
)
def test_every_heartbeat_is_answered(asked: list[ConsumerGroupHeartbeatRequest], version: int, wait_ms: int) -> None:
    stage = ConsumerStage()
    stage.create("topic", 3)
    for request in asked:
        size = len(stage.log)
        answer = stage.ask(request, version)
        assert answer is not None
        assert encode(answer, version)
        assert ErrorCode(answer.error_code) is not ErrorCode.UNKNOWN_SERVER_ERROR
        if answer.error_code:
            assert len(stage.log) == size
        stage.advance(wait_ms)
    again = stage.restarted()
    assert again.groups.keys() == stage.groups.keys()
    if stage.groups:
        assert again.consumer.describe(GROUP) == stage.consumer.describe(GROUP)
