"""`odradek log sizes` of data directories: what it prints. That of brokers is in the tests of a node."""

import json
from pathlib import Path

import pytest

from odradek.cli.main import main

SEGMENT = "00000000000000000000.log"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name, size in (("d1/orders-0", 1500), ("d1/orders-1", 200), ("d2/payments-0", 900), ("d2/orders-10", 200)):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / SEGMENT).write_bytes(bytes(size))
    return tmp_path


def sizes(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[list[str]]:
    assert main(["log", "sizes", *arguments]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return [line.split() for line in printed.out.splitlines()]


def test_the_largest_come_first(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sizes(capsys, str(data)) == [
        ["TOPIC", "PARTITION", "DIRECTORY", "SIZE"],
        ["orders", "0", f"{data}/d1", "1.5", "kB"],
        ["payments", "0", f"{data}/d2", "900", "B"],
        ["orders", "1", f"{data}/d1", "200", "B"],
        ["orders", "10", f"{data}/d2", "200", "B"],
        ["4", "logs,", "2.8", "kB"],
    ]


def test_by_name_topic_and_directory(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by_name = sizes(capsys, str(data / "d1"), str(data / "d2"), "--sort", "name", "--top", "3")
    assert [line[:2] for line in by_name[1:4]] == [["orders", "0"], ["orders", "1"], ["orders", "10"]]
    assert sizes(capsys, str(data), "--by", "topic")[:3] == [
        ["TOPIC", "PARTITIONS", "SIZE"],
        ["orders", "3", "1.9", "kB"],
        ["payments", "1", "900", "B"],
    ]
    assert sizes(capsys, str(data), "--by", "directory", "--topic", "orders") == [
        ["DIRECTORY", "LOGS", "SIZE"],
        [f"{data}/d1", "2", "1.7", "kB"],
        [f"{data}/d2", "1", "200", "B"],
        ["3", "logs,", "1.9", "kB"],
    ]


def test_json(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "sizes", str(data), "--topic", "payments", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "topic": "payments",
        "partition": 0,
        "broker": None,
        "directory": f"{data}/d2",
        "size": 900,
        "note": None,
    }


def test_a_directory_of_kafka_s(golden_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    *_, summary = sizes(capsys, str(golden_data / "clean"))
    assert summary == ["22", "logs,", "4.4", "MB"]


def test_a_log_on_its_way_out_is_marked(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (data / "d1/orders-1").rename(data / "d1/orders-1.0123456789abcdef0123456789abcdef-delete")
    marked = sizes(capsys, str(data), "--topic", "orders")[2]
    assert marked == ["orders", "1", f"{data}/d1", "200", "B", "delete"]


def test_what_has_no_logs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("text")
    assert main(["log", "sizes", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"odradek: {tmp_path} has no logs in it\n"
    assert main(["log", "sizes", str(tmp_path / "file")]) == 2
    assert main(["log", "sizes", str(tmp_path / "nowhere")]) == 1
    assert "No such file or directory" in capsys.readouterr().err
