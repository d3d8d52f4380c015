"""What queries have done, as the processes of their sources find it."""

import json
import os
import socket
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark import SparkContext

from odradek.spark.runtime.queries import NotTold, Queries, is_done, name_gateway, tell_gateway

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


def test_processes_that_nobody_told_do_not_ask() -> None:
    assert Queries.here({}) is None


def test_where_java_listens_is_told_to_this_user_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    listening = SimpleNamespace(address="127.0.0.1", port=25333, auth_token="secret")
    monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(gateway_parameters=listening))
    with name_gateway():
        file = Path(os.environ["ODRADEK_SPARK_GATEWAY"])
    assert "ODRADEK_SPARK_GATEWAY" not in os.environ
    tell_gateway()
    assert json.loads(file.read_text()) == vars(listening)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_java_that_cannot_be_asked_is_told(tmp_path: Path) -> None:
    file = tmp_path / "gateway"
    with pytest.raises(NotTold):
        Queries(file).have_done(END, "mine")
    file.write_text("{")
    with pytest.raises(NotTold):
        Queries(file).have_done(END, "mine")
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    file.write_text(json.dumps({"address": "127.0.0.1", "port": port, "auth_token": "secret"}))
    with pytest.raises(NotTold):
        Queries(file).have_done(END, "mine")
