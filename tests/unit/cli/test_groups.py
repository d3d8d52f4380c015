"""What `odradek groups` is told, and how it says what it was refused."""

from pathlib import Path

import pytest

from odradek.cli.groups_plan import within
from odradek.cli.groups_scope import complaint
from odradek.cli.main import main
from odradek.cli.topic_scope import TopicScope, parse_scope
from odradek.client.errors import ClientError, Refused
from odradek.client.lag import Extent
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import Offset
from odradek.model.topic_partition import TopicPartition


@pytest.fixture(autouse=True)
def _nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODRADEK_BOOTSTRAP", "127.0.0.1:1")


@pytest.mark.parametrize(
    "arguments",
    [
        ["list", "--state", "asleep"],
        ["list", "--type", "classic,old"],
        ["members"],
        ["reset", "app", "--all-topics"],
        ["reset", "app", "--all-topics", "--to-earliest", "--to-latest"],
        ["reset", "app", "--topic", "orders:x", "--to-earliest"],
        ["reset", "app", "--topic", ":0", "--to-earliest"],
        ["reset", "app", "--all-topics", "--by-duration", "P"],
        ["reset", "app", "--all-topics", "--to-earliest", "--dry-run", "--execute"],
        ["import"],
        ["delete"],
    ],
)
def test_what_argparse_refuses(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["groups", *arguments])
    assert stopped.value.code == 2
    assert "usage: odradek groups" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["reset", "app", "--to-earliest"], "give either --topic or --all-topics; --from-file needs neither"),
        (["reset", "app", "--to-earliest", "--all-topics", "--topic", "t"], "give either --topic or --all-topics"),
        (["reset", "app", "--from-file", "f", "--all-topics"], "give either --topic or --all-topics"),
        (["export", "--csv", "--json"], "give either --csv or --json"),
        (["delete", "app", "--offsets"], "--offsets and --topic go together"),
        (["delete", "app", "--topic", "orders"], "--offsets and --topic go together"),
    ],
)
def test_what_the_command_refuses(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"odradek: {told}")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "arguments", "told"),
    [
        ("orders,0,5\n", ["import"], "line 1: which group it is for is not said; --group does"),
        ("", ["import"], "has no offsets"),
        (
            "a,t,0,1\nb,t,0,1\n",
            ["import", "--group", "c"],
            "has 2 groups, so --group cannot say which of them is meant",
        ),
        ("other,orders,0,5\n", ["reset", "app", "--from-file"], "has no offsets of app"),
        ("orders,zero,5\n", ["reset", "app", "--from-file"], "line 1: partition 'zero' is no number"),
    ],
)
def test_files_that_cannot_be_meant(
    content: str, arguments: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "offsets"
    file.write_text(content)
    assert main(["groups", *arguments, str(file)]) == 2
    assert capsys.readouterr().err.startswith(f"odradek: {file}: {told}")


@pytest.mark.parametrize("arguments", [["list"], ["describe", "app"], ["delete", "app"], ["export"]])
def test_no_broker_is_one_line_and_status_1(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", *arguments]) == 1
    assert capsys.readouterr().err == "odradek: cannot reach 127.0.0.1:1: connection refused\n"


def test_topics_and_partitions() -> None:
    assert parse_scope("orders") == TopicScope("orders")
    assert parse_scope("orders:2, 0,2") == TopicScope("orders", (0, 2))
    assert str(parse_scope("orders:2,0")) == "orders:0,2"
    scope = parse_scope("orders:0")
    assert scope.has(TopicPartition("orders", 0))
    assert not scope.has(TopicPartition("orders", 1))
    assert parse_scope("orders").has(TopicPartition("orders", 1))
    assert not parse_scope("orders").has(TopicPartition("order", 1))


def test_offsets_are_kept_within_the_log() -> None:
    log = Extent(Offset(5), Offset(10))
    assert [within(each, log) for each in (5, 10)] == [(5, None), (10, None)]
    assert within(-3, log) == (5, "-3 is before the log's start")
    assert within(11, log) == (10, "11 is behind the log's end")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Refused(ErrorCode.GROUP_ID_NOT_FOUND, "Group app not found."), "Consumer group 'app' does not exist"),
        (Refused(ErrorCode.NON_EMPTY_GROUP), "app: the group is not empty: stop its members first (NON_EMPTY_GROUP)"),
        (Refused(ErrorCode.GROUP_AUTHORIZATION_FAILED), "app: Group authorization failed (GROUP_AUTHORIZATION_FAILED)"),
        (ClientError("lost"), "app: lost"),
    ],
)
def test_complaints(error: ClientError, told: str) -> None:
    assert complaint("app", error) == told
