"""`odradek groups` and `odradek consume --group` against a broker."""

import io
import json
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from odradek.cli.main import main
from odradek.testing import RunningBroker
from support.commands import next_line, started
from support.ended import Ended

pytestmark = pytest.mark.slow
PROTOCOLS = ("classic", "consumer")
LIMIT_S = 60


Odradek = Callable[..., Ended]


@pytest.fixture
def odradek(
    odradek_shared_broker: RunningBroker, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Odradek:
    monkeypatch.setenv("ODRADEK_BOOTSTRAP", odradek_shared_broker.bootstrap)

    def run(*arguments: str, given: str = "", at_terminal: bool = False) -> Ended:
        stdin = io.StringIO(given) if at_terminal else io.TextIOWrapper(io.BytesIO(given.encode()))
        monkeypatch.setattr(stdin, "isatty", lambda: at_terminal)
        monkeypatch.setattr(sys, "stdin", stdin)
        status = main(arguments)
        return Ended(status, *capfd.readouterr())

    return run


@pytest.fixture
def topic(request: pytest.FixtureRequest, odradek: Odradek) -> str:
    """A topic of two partitions with ten records in each; its name is also good for a group that no other test has."""
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name.removeprefix("test_"))
    assert odradek("topics", "create", name, "--partitions", "2").status == 0
    for partition in ("0", "1"):
        lines = "\n".join(f"{partition}/{at}" for at in range(10))
        assert odradek("produce", name, "--partition", partition, given=lines).status == 0
    return name


def commit(odradek: Odradek, group: str, topic: str, *offsets: int) -> None:
    lines = "\n".join(f"{topic},{partition},{offset}" for partition, offset in enumerate(offsets))
    assert odradek("groups", "import", "-", "--group", group, "--execute", given=lines).status == 0


def test_describe_for_people(odradek: Odradek, odradek_shared_broker: RunningBroker, topic: str) -> None:
    commit(odradek, topic, topic, 2, 10)
    lines = odradek("groups", "describe", topic).out.splitlines()
    where = f"coordinator 1 ({odradek_shared_broker.bootstrap})"
    assert lines[0] == f"{topic}: Empty, classic group, 0 members, lag 8, {where}"
    assert lines[1].split() == ["TOPIC", "PARTITION", "CURRENT", "END", "LAG", "MEMBER", "HOST", "CLIENT"]
    assert lines[2].split() == [topic, "0", "2", "10", "8", "-", "-", "-"]
    assert lines[3].split() == [topic, "1", "10", "10", "0", "-", "-", "-"]
    assert len(lines) == 4


def test_records_that_are_gone_are_no_lag(odradek: Odradek, odradek_shared_broker: RunningBroker, topic: str) -> None:
    commit(odradek, topic, topic, 2, 3)
    admin = AdminClient({"bootstrap.servers": odradek_shared_broker.bootstrap, "log_level": 0})
    for future in admin.delete_records([TopicPartition(topic, 0, 6)]).values():
        future.result(LIMIT_S)
    (described,) = odradek("groups", "describe", topic, "--json").objects
    assert described["lag"] == 4 + 7
    first, second = described["partitions"]
    assert (first["current"], first["start"], first["end"], first["lag"]) == (2, 6, 10, 4)
    assert first["note"] == "committed 2, but the log begins at 6: the lag counts from there"
    assert second["note"] is None
    assert f"{topic}-0: {first['note']}\n" in odradek("groups", "describe", topic).out


def test_offsets_of_a_topic_that_was_deleted(odradek: Odradek, topic: str) -> None:
    odradek("topics", "create", f"{topic}-2")
    commit(odradek, topic, topic, 2, 3)
    commit(odradek, topic, f"{topic}-2", 0)
    assert odradek("topics", "delete", f"{topic}-2", "--yes").status == 0
    (described,) = odradek("groups", "describe", topic, "--json").objects
    assert [each["lag"] for each in described["partitions"] if each["topic"] == topic] == [8, 7]
    assert odradek("groups", "describe", topic).status == 0


def test_age_is_that_of_the_first_unread_record(odradek: Odradek, topic: str) -> None:
    odradek("topics", "create", f"{topic}-2", "--partitions", "2", "--config", "retention.ms=-1")
    first_ms = 1_700_000_000_000
    for codec in ("none", "zstd"):
        records = [{"value": "v", "partition": 0, "timestamp": first_ms + 1000 * at} for at in range(5)]
        given = "\n".join(map(json.dumps, records))
        assert odradek("produce", f"{topic}-2", "--json", "--compression", codec, given=given).status == 0
    for offset, seconds in ((0, 0), (3, 3), (5, 0), (8, 3)):
        commit(odradek, f"{topic}-{offset}", f"{topic}-2", offset, 0)
        before = time.time()  # noqa: TID251 - the time of the system is what the command has, too
        (described,) = odradek("groups", "describe", f"{topic}-{offset}", "--age", "--json").objects
        after = time.time()  # noqa: TID251
        unread, empty = described["partitions"]
        assert before - 0.001 <= unread["age_s"] + first_ms / 1000 + seconds <= after + 0.001
        assert empty["age_s"] is None
    lines = odradek("groups", "describe", f"{topic}-8", "--age").out.splitlines()
    assert lines[1].split()[5] == "AGE"
    assert lines[2].split()[6] == "s"


def test_a_list_for_people(odradek: Odradek, topic: str) -> None:
    commit(odradek, topic, topic, 1)
    rows = [line.split() for line in odradek("groups", "list").out.splitlines()]
    assert rows[0] == ["GROUP", "KIND", "STATE", "PROTOCOL", "MEMBERS"]
    assert [topic, "classic", "Empty", "-", "0"] in rows
    assert topic in odradek("groups", "list", "--state", "EMPTY,stable", "--type", "Classic").out
    assert topic not in odradek("groups", "list", "--state", "stable").out
    assert topic not in odradek("groups", "list", "--type", "consumer,share").out


def test_a_group_that_is_not_there(odradek: Odradek) -> None:
    for arguments in (["describe"], ["members"], ["delete"]):
        assert odradek("groups", *arguments, "nobody") == (1, "", "odradek: Consumer group 'nobody' does not exist\n")
    assert odradek("groups", "export", "nobody") == (1, "", "odradek: nobody has no offsets\n")
    assert odradek("groups", "delete", "nobody", "--if-exists") == (0, "", "")


def test_a_dry_run_changes_nothing(odradek: Odradek, topic: str) -> None:
    commit(odradek, topic, topic, 1, 2)
    ended = odradek("groups", "reset", topic, "--all-topics", "--to-latest")
    assert ended.status == 0
    assert ended.err == "a dry run: nothing was changed, --execute does it\n"
    assert odradek("groups", "export", topic, "--csv").out == f"{topic},0,1\n{topic},1,2\n"
    assert odradek("groups", "reset", topic, "--all-topics", "--to-latest", "--execute").err == ""
    assert odradek("groups", "export", topic, "--csv").out == f"{topic},0,10\n{topic},1,10\n"


def test_a_plan_that_cannot_be_as_a_whole_changes_nothing(odradek: Odradek, topic: str) -> None:
    commit(odradek, topic, topic, 1, 2)
    status, out, err = odradek("groups", "reset", topic, "--topic", f"{topic}:0,7", "--to-latest", "--execute")
    assert (status, out, err) == (1, "", f"odradek: {topic}: partition {topic}-7 does not exist\n")
    assert odradek("groups", "export", topic, "--csv").out == f"{topic},0,1\n{topic},1,2\n"


def test_groups_move_to_another_name_through_a_file(odradek: Odradek, topic: str, tmp_path: Path) -> None:
    commit(odradek, topic, topic, 1, 2)
    file = str(tmp_path / "offsets.json")
    assert odradek("groups", "export", topic, "--output", file) == (0, "", f"2 offsets written to {file}\n")
    assert odradek("groups", "import", file, "--group", f"{topic}-2", "--execute").status == 0
    assert odradek("groups", "export", f"{topic}-2", "--csv").out == f"{topic},0,1\n{topic},1,2\n"
    assert odradek("groups", "delete", topic, f"{topic}-2").out == f"deleted {topic}\ndeleted {topic}-2\n"


@pytest.mark.parametrize(("answer", "status"), [("y\n", 0), ("n\n", 1)])
def test_delete_asks_on_a_terminal(odradek: Odradek, topic: str, answer: str, status: int) -> None:
    commit(odradek, topic, topic, 1)
    ended = odradek("groups", "delete", topic, given=answer, at_terminal=True)
    assert ended.status == status
    assert ended.err.startswith(f"delete {topic}? [y/N] ")
    assert odradek("groups", "describe", topic).status == 1 - status


# --- consume as a member


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_was_printed_is_committed(odradek: Odradek, topic: str, protocol: str) -> None:
    options = ["consume", topic, "--group", topic, "--protocol", protocol, "--from-beginning"]
    first = odradek(*options, "--max", "7")
    assert (first.status, first.err) == (0, "")
    rest = odradek(*options, "--until-end")
    everything = [f"{partition}/{at}" for partition in (0, 1) for at in range(10)]
    assert sorted(first.out.split() + rest.out.split()) == sorted(everything)
    assert odradek("groups", "export", topic, "--csv").out == f"{topic},0,10\n{topic},1,10\n"
    (described,) = odradek("groups", "describe", topic, "--json").objects
    assert (described["state"], described["kind"], described["members"]) == ("Empty", protocol, 0)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_member_commits_as_it_goes_and_leaves_at_an_interrupt(
    odradek: Odradek, topic: str, odradek_shared_broker: RunningBroker, protocol: str, tmp_path: Path
) -> None:
    file = tmp_path / "client.properties"
    file.write_text("auto.commit.interval.ms=10\n")
    options = ["consume", topic, "--group", topic, "--protocol", protocol, "--from-beginning"]
    with started(odradek_shared_broker.bootstrap, *options, "--command-config", str(file)) as process:
        for _ in range(20):
            assert next_line(process.stdout)
        deadline = time.monotonic() + LIMIT_S
        while odradek("groups", "export", topic, "--csv").out != f"{topic},0,10\n{topic},1,10\n":
            assert time.monotonic() < deadline
        (member,) = odradek("groups", "members", topic, "--json").objects
        assert member["assignment"] == {topic: [0, 1]}
        assert (member["client"], member["kind"]) == ("odradek", protocol)
        refused = odradek("groups", "reset", topic, "--all-topics", "--to-earliest", "--execute")
        assert refused == (1, "", f"odradek: {topic}: it has 1 member (Stable): stop them first\n")
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=LIMIT_S) == (b"", b"")
        assert process.returncode == 130
    assert odradek("groups", "members", topic, "--json").objects == []


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_members_share_the_partitions(
    odradek: Odradek, topic: str, odradek_shared_broker: RunningBroker, protocol: str
) -> None:
    options = ["consume", topic, "--group", topic, "--protocol", protocol, "--from-beginning"]
    with (
        started(odradek_shared_broker.bootstrap, *options) as one,
        started(odradek_shared_broker.bootstrap, *options) as other,
    ):
        deadline = time.monotonic() + LIMIT_S
        while sorted(each["assignment"][topic] for each in members(odradek, topic)) != [[0], [1]]:
            assert time.monotonic() < deadline
        for process in (one, other):
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=LIMIT_S)


def members(odradek: Odradek, group: str) -> list[dict[str, Any]]:
    """Those that have partitions."""
    return [each for each in odradek("groups", "members", group, "--json").objects if each["assignment"]]


def test_a_member_whose_broker_dies_goes_on_and_ends_when_told(odradek_broker: RunningBroker) -> None:
    odradek_broker.create_topic("orders")
    main(["produce", "orders", "--value", "one", "--bootstrap", odradek_broker.bootstrap, "--quiet"])
    with started(odradek_broker.bootstrap, "consume", "orders", "--group", "app", "--from-beginning") as process:
        assert next_line(process.stdout) == b"one\n"
        odradek_broker.kill()
        assert next_line(process.stderr) == b"odradek: no broker answers any more; waiting for one\n"
        odradek_broker.restart()
        main(["produce", "orders", "--value", "two", "--bootstrap", odradek_broker.bootstrap, "--quiet"])
        while (line := next_line(process.stdout)) == b"one\n":  # if it was not committed before the end
            pass
        assert line == b"two\n"
        odradek_broker.kill()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT_S)
        assert process.returncode == 130
    odradek_broker.restart()
