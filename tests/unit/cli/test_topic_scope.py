"""Topics and partitions as they are named on a command line."""

import pytest

from odradek.cli.topic_scope import chosen, parse_scope
from odradek.client.cluster import ClusterView, PartitionView, TopicView
from odradek.client.errors import Refused
from odradek.model.error_code import ErrorCode
from odradek.model.topic_partition import TopicPartition


def topic(name: str, partitions: int, error: Refused | None = None) -> TopicView:
    parts = tuple(PartitionView(number, 1, 0, (1,), (1,), ()) for number in range(partitions))
    return TopicView(name, bytes(16), False, parts, error)


VIEW = ClusterView(
    None,
    1,
    {},
    {
        "orders": topic("orders", 3),
        "payments": topic("payments", 1),
        "gone": topic("gone", 0, Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)),
        "odd": topic("odd", 0, Refused(ErrorCode.INVALID_TOPIC_EXCEPTION)),
    },
)


def test_partitions_are_chosen_once_and_in_order() -> None:
    scopes = [parse_scope(text) for text in ("payments", "orders:2", "orders:2,0")]
    assert chosen(VIEW, scopes) == [
        TopicPartition("orders", 0),
        TopicPartition("orders", 2),
        TopicPartition("payments", 0),
    ]
    assert len(chosen(VIEW, [parse_scope("orders")])) == 3


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("gone", r"Topic 'gone' does not exist \(UNKNOWN_TOPIC_OR_PARTITION\)"),
        ("odd", "^INVALID_TOPIC_EXCEPTION$"),
        ("orders:1,3", r"orders has no partition 3 \(UNKNOWN_TOPIC_OR_PARTITION\)"),
    ],
)
def test_what_is_not_there_is_told(text: str, complaint: str) -> None:
    with pytest.raises(Refused, match=complaint):
        chosen(VIEW, [parse_scope(text)])
