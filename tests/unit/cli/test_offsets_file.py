"""Files with offsets of groups."""

import pytest

from odradek.cli.offsets_file import BadFile, read_offsets, to_csv, to_json
from odradek.client.committed import Committed
from odradek.model.numbers import Offset
from odradek.model.topic_partition import TopicPartition

ONE = {
    "app": {TopicPartition("orders", 0): Committed(Offset(5), "here"), TopicPartition("a,b", 1): Committed(Offset(0))}
}
TWO = {**ONE, "other": {TopicPartition("orders", 0): Committed(Offset(7))}}


def without_metadata(groups: dict[str, dict[TopicPartition, Committed]]) -> dict[str, dict[TopicPartition, Committed]]:
    return {
        name: {where: Committed(each.offset) for where, each in offsets.items()} for name, offsets in groups.items()
    }


def test_json_keeps_all() -> None:
    lines = list(to_json(TWO))
    assert lines[0] == '{"group": "app", "topic": "orders", "partition": 0, "offset": 5, "metadata": "here"}'
    assert read_offsets("\n".join(lines)) == TWO


def test_csv_names_the_group_only_where_there_are_several() -> None:
    assert list(to_csv(ONE)) == ["orders,0,5", '"a,b",1,0']
    assert list(to_csv(TWO))[2] == "other,orders,0,7"
    assert read_offsets("\n".join(to_csv(TWO))) == without_metadata(TWO)
    assert read_offsets("\n".join(to_csv(ONE)), ["app"]) == without_metadata(ONE)


def test_lines_without_a_group_are_of_all_that_were_named() -> None:
    assert read_offsets('"orders", 0 , 5\r\n\r\n', ["a", "b"]) == {
        name: {TopicPartition("orders", 0): Committed(Offset(5))} for name in ("a", "b")
    }


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("orders,0,5", "line 1: which group it is for is not said; --group does"),
        ("\ng,orders,0", "line 2: partition 'orders' is no number from 0 to 2147483647"),
        ("orders,0", "line 1: not topic,partition,offset or group,topic,partition,offset"),
        ("g,orders,0,5,6", "line 1: not topic,partition,offset or group,topic,partition,offset"),
        ("g,orders,-1,5", "line 1: partition '-1' is no number"),
        ("g,orders,0,five", "line 1: offset 'five' is no number"),
        ("g,orders,0,9223372036854775808", "line 1: offset 9223372036854775808 is no number"),
        ("g,,0,5", "line 1: a name is empty"),
        ("g,orders,0,5\ng,orders,0,6", "line 2: orders-0 is there twice"),
        ('g,"orders,0,5', "line 1: unexpected end of data"),
        ('{"group": "g"', "line 1: not JSON: "),
        ('{"group": 1, "topic": "t", "partition": 0, "offset": 1}', "line 1: group, topic and metadata must be text"),
        ('{"group": "g", "topic": "t", "partition": true, "offset": 1}', "line 1: partition True is no number"),
        ('{"group": "g", "topic": "t", "partition": 0}', "line 1: offset None is no number"),
    ],
)
def test_what_is_no_such_file(text: str, complaint: str) -> None:
    with pytest.raises(BadFile) as refused:
        read_offsets(text)
    assert str(refused.value).startswith(complaint)
