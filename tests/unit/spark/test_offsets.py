"""The JSON of checkpoints and of users."""

import json

import pytest

from odradek.model.topic_partition import TopicPartition
from odradek.spark.offsets import InvalidOffsets, Position, parse_numbers, parse_partitions

ORDERS = bytes(range(16))


def test_the_text_of_a_checkpoint_does_not_depend_on_the_order_of_its_parts() -> None:
    offsets = [(TopicPartition("orders", 10), 5), (TopicPartition("orders", 2), 7), (TopicPartition("a", 0), 1)]
    one = Position(dict(offsets), {"orders": ORDERS, "a": bytes(16)}, "group")
    other = Position(dict(reversed(offsets)), {"a": bytes(16), "orders": ORDERS}, "group")
    expected = (
        '{"@group": "group", "a": {"0": 1, "id": "AAAAAAAAAAAAAAAAAAAAAA"}, '
        '"orders": {"2": 7, "10": 5, "id": "AAECAwQFBgcICQoLDA0ODw"}}'
    )
    assert json.dumps(one.to_json()) == json.dumps(other.to_json()) == expected


def test_a_checkpoint_is_read_back() -> None:
    position = Position({TopicPartition("orders", 0): 12}, {"orders": ORDERS}, "group", 2)
    assert position.to_json()["@tasks"] == 2
    assert Position.from_json(json.loads(json.dumps(position.to_json()))) == position


def test_a_checkpoint_of_sparks_own_connector_has_no_ids() -> None:
    position = Position.from_json(json.loads('{"orders":{"1":5,"0":12}}'))
    assert position == Position({TopicPartition("orders", 0): 12, TopicPartition("orders", 1): 5})


@pytest.mark.parametrize(
    "told",
    [
        {"@tasks": "x"},
        {"@tasks": 0},
        {"orders": 3},
        {"orders": {"x": 1}},
        {"orders": {"0": None}},
        {"orders": {"id": "?"}},
    ],
)
def test_a_checkpoint_of_another_source_is_refused(told: dict[str, object]) -> None:
    with pytest.raises(InvalidOffsets, match="the checkpoint is not of this source"):
        Position.from_json(told)


def test_topics_are_the_same_unless_both_ids_are_known_and_differ() -> None:
    known, other, unknown = (Position(topic_ids=ids) for ids in ({"a": ORDERS}, {"a": b"x" * 16}, {"a": bytes(16)}))
    assert known.is_same_topic(known, "a")
    assert not known.is_same_topic(other, "a")
    assert known.is_same_topic(unknown, "a")
    assert known.is_same_topic(Position(), "a")


def test_numbers_of_users() -> None:
    assert parse_numbers('{"a": {"0": 23, "1": -1}}', "") == {TopicPartition("a", 0): 23, TopicPartition("a", 1): -1}
    assert parse_partitions('{"a": [1, 0]}') == (TopicPartition("a", 0), TopicPartition("a", 1))


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"a": [1]}', '{"a": {"0": "1"}}', '{"a": {"0": true}}', '{"a": {"-1": 0}}']
)
def test_numbers_that_are_none_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidOffsets, match="expected for example EXAMPLE"):
        parse_numbers(text, "EXAMPLE")


@pytest.mark.parametrize("text", ["", "3", '{"a": 1}', '{"a": [true]}', '{"a": [-1]}', '{"a": [0.5]}'])
def test_partitions_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(InvalidOffsets, match="expected for example"):
        parse_partitions(text)
