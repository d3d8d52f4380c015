"""Names of files and directories, as Apache Kafka writes and reads them."""

import pytest

from odradek.model.errors import CorruptFile
from odradek.model.numbers import Offset
from odradek.model.topic_partition import TopicPartition
from odradek.storage.names import Mark, file_name, marked_dir_name, parse_dir_name, parse_file_name

ID = "5b3a92f1a4c74b6f8e0d1c2b3a495867"


def test_a_file_is_named_by_twenty_digits() -> None:
    assert file_name(Offset(42), ".log") == "00000000000000000042.log"
    assert parse_file_name("00000000000000000042.log") == (42, ".log", "")
    assert parse_file_name("09223372036854775807.snapshot") == ((1 << 63) - 1, ".snapshot", "")
    assert parse_file_name("00000000000000000042.timeindex.cleaned") == (42, ".timeindex", ".cleaned")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "42.log",
        "000000000000000000042.log",
        "00000000000000000042",
        "00000000000000000042.log.deleted.again",
        "00000000000000000042.LOG",
        "-0000000000000000042.log",
        "partition.metadata",
        "00000000000000000042.log ",
        "٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٤٢.log",
        "99999999999999999999.log",
    ],
)
def test_other_names_are_not_those_of_segments(name: str) -> None:
    assert parse_file_name(name) is None


@pytest.mark.parametrize(
    ("name", "topic", "partition", "mark"),
    [
        ("orders-3", "orders", 3, Mark.NONE),
        ("my-topic.with_all-0", "my-topic.with_all", 0, Mark.NONE),
        (f"orders-3.{ID}-delete", "orders", 3, Mark.DELETE),
        (f"my.topic-12.{ID}-future", "my.topic", 12, Mark.FUTURE),
        (f"orders-3.{ID}-stray", "orders", 3, Mark.STRAY),
        ("a-delete-1", "a-delete", 1, Mark.NONE),
    ],
)
def test_a_directory_is_named_by_its_partition(name: str, topic: str, partition: int, mark: Mark) -> None:
    assert parse_dir_name(name) == (TopicPartition(topic, partition), mark)


@pytest.mark.parametrize(
    "name",
    ["", "orders", "orders-", "-3", "orders-x", "orders--3x", "a-delete", "orders-3-delete", "orders-٣", "orders-1²"],
)
def test_other_directories_are_named_in_the_error(name: str) -> None:
    with pytest.raises(CorruptFile, match="directory"):
        parse_dir_name(name)


@pytest.mark.parametrize("mark", [Mark.DELETE, Mark.FUTURE, Mark.STRAY])
def test_marked_names_are_read_back(mark: Mark) -> None:
    where = TopicPartition("orders", 3)
    assert parse_dir_name(marked_dir_name(where, ID, mark)) == (where, mark)


def test_the_longest_topic_still_makes_a_name_that_file_systems_take() -> None:
    where = TopicPartition("t" * 249, 99_999)
    for mark in (Mark.DELETE, Mark.STRAY):
        name = marked_dir_name(where, ID, mark)
        assert len(name) == 255
        assert parse_dir_name(name).mark is mark
