"""What queries have done, as the processes of their sources find it."""

import socket
from typing import Any

import pytest

from odradek.spark.runtime.queries import NotTold, Queries, is_done

END = {"@group": "odradek-spark-7f3a", "orders": {"0": 12}}
NAMED = {"orders": {"0": 12}}


@pytest.mark.parametrize(
    ("source", "end", "group", "done"),
    [
        ({"endOffset": END}, END, "odradek-spark-7f3a", True),
        ({"endOffset": {**END, "orders": {"0": 11}}}, END, "odradek-spark-7f3a", False),
        ({"endOffset": {**END, "@group": "another"}}, END, "odradek-spark-7f3a", False),
        ({"endOffset": NAMED, "latestOffset": {"@group": "mine", "orders": {"0": 20}}}, NAMED, "mine", True),
        ({"endOffset": NAMED, "latestOffset": {"@group": "another", "orders": {"0": 20}}}, NAMED, "mine", False),
        ({"endOffset": NAMED, "latestOffset": None}, NAMED, "mine", False),
        ({"endOffset": None, "latestOffset": None}, NAMED, "mine", False),
        ({"description": "a source of rates", "endOffset": 12}, END, "odradek-spark-7f3a", False),
    ],
)
def test_a_source_of_a_query_is_known_by_its_end_and_its_group(
    source: dict[str, Any], end: dict[str, Any], group: str, done: bool
) -> None:
    assert is_done(source, end, group) is done


def test_a_java_that_cannot_be_asked_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    with pytest.raises(NotTold):
        Queries({"address": "127.0.0.1", "port": port, "auth_token": "secret"}).have_done(END, "mine")
