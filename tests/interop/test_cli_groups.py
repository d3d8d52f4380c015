"""`odradek groups` and `odradek consume --group`: the same calls on Apache Kafka and on odradek say the same."""

import io
import json
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from odradek.cli.main import main
from support.ended import Ended
from support.kafka_tools import KafkaTools
from support.same_answers import Side

GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
PROTOCOLS = ("classic", "consumer")
RECORDS = 12
FIRST_MS = 1_700_000_000_000
LIMIT_S = 300

Both = tuple[Side, Side]


class Player:
    """Runs commands on one of the brokers, and keeps what they said, with what must differ replaced."""

    def __init__(self, side: Side, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self.bootstrap = f"127.0.0.1:{side.port}"
        self.told: list[tuple[str, Ended]] = []
        self._monkeypatch = monkeypatch
        self._capfd = capfd
        self._ids: dict[str, str] = {}

    def quietly(self, *arguments: str, given: str = "") -> Ended:
        """Not compared."""
        self._monkeypatch.setenv("ODRADEK_BOOTSTRAP", self.bootstrap)
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        status = main(arguments)
        return Ended(status, *self._capfd.readouterr())

    def __call__(self, *arguments: str, given: str = "") -> Ended:
        ended = self.quietly(*arguments, given=given)
        self.told.append((" ".join(arguments), self._alike(ended)))
        return ended

    def name(self, member: dict[str, Any]) -> None:
        """Who gets which partition is decided by ids that are drawn: so members are known by what they got."""
        if member["assignment"]:
            owned = json.dumps(member["assignment"])
            for field in ("member", "client", "instance"):
                self._ids[member[field]] = f"{field} of {owned}"

    def _alike(self, ended: Ended) -> Ended:
        text = f"{ended.out}\0{ended.err}"
        for drawn, name in self._ids.items():
            text = text.replace(drawn, name)
        text = text.replace(self.bootstrap, "BROKER")
        text = re.sub(r"(epoch\"?:? )\d+|(consumer +)\d+", r"\1\2EPOCH", text)  # as often as members came one by one
        text = re.sub(r" +", " ", text)  # the widths of columns differ with what is in them
        out, err = text.split("\0")
        return Ended(ended.status, "\n".join(sorted(out.splitlines())), err)

    def create(self, topic: str, partitions: int) -> None:
        """With as many records in each partition, a second between two of them."""
        self.quietly("topics", "create", topic, "--partitions", str(partitions), "--config", "retention.ms=-1")
        # A broker of Kafka's hears of it later, and to produce does not wait for long.
        within_limit(lambda: self.quietly("topics", "describe", topic).status == 0)
        for partition in range(partitions):
            lines = [
                json.dumps({"value": f"{partition}/{at}", "partition": partition, "timestamp": FIRST_MS + 1000 * at})
                for at in range(RECORDS)
            ]
            assert self.quietly("produce", topic, "--json", given="\n".join(lines)).status == 0

    def cut(self, topic: str, partition: int, before: int) -> None:
        """Deletes records."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        for future in admin.delete_records([TopicPartition(topic, partition, before)]).values():
            future.result(LIMIT_S)


Story = Callable[[Player], None]


def within_limit(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline


@pytest.fixture
def same(both: Both, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[[Story], None]:
    # Otherwise a member that leaves complains of a broker that is slow.
    monkeypatch.setattr("odradek.cli.group_reader._CLOSE_S", LIMIT_S)

    def play(story: Story) -> None:
        theirs, ours = (Player(side, monkeypatch, capfd) for side in both)
        story(theirs)
        story(ours)
        assert len(theirs.told) == len(ours.told)
        for (call, expected), (_, told) in zip(theirs.told, ours.told, strict=True):
            assert (call, told) == (call, expected)

    return play


@contextmanager
def members(player: Player, group: str, topic: str, protocol: str, count: int) -> Iterator[None]:
    """Consumers in a thread that polls them in turn, from when the group is stable and every partition has an owner."""
    stopping = threading.Event()
    failures: list[KafkaException] = []

    def poll() -> None:
        settings = {"bootstrap.servers": player.bootstrap, "group.id": group, "group.protocol": protocol}
        settings |= {"enable.auto.commit": "false", "log_level": "0"}
        consumers = [
            Consumer({**settings, "client.id": f"client-{at}", "group.instance.id": f"instance-{at}"})
            for at in range(count)
        ]
        try:
            for each in consumers:
                each.subscribe([topic])
            while not stopping.is_set():
                for each in consumers:
                    each.poll(0.05)
        except KafkaException as error:
            failures.append(error)
        finally:
            for each in consumers:
                each.close()

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        within_limit(lambda: bool(failures) or is_settled(player, group, topic, count))
        assert not failures
        yield
    finally:
        stopping.set()
        thread.join()
    assert not failures


def is_settled(player: Player, group: str, topic: str, count: int) -> bool:
    """Whether each of the members has a partition."""
    (described,) = player.quietly("groups", "describe", group, "--json").objects or [{}]
    found = player.quietly("groups", "members", group, "--json").objects
    for each in found:
        player.name(each)
    owned = [each["assignment"][topic] for each in found if each["assignment"]]
    return described.get("state") == "Stable" and len(owned) == count


def is_empty(player: Player, group: str) -> bool:
    """Whether the last member was heard to leave: it does not wait for long to be."""
    (described,) = player.quietly("groups", "describe", group, "--json").objects
    return bool(described["state"] == "Empty")


def listed(player: Player, *options: str) -> dict[str, dict[str, Any]]:
    """Others have groups on the same brokers."""
    return {each["group"]: each for each in player.quietly("groups", "list", *options, "--json").objects}


def test_offsets_are_copied_shown_set_and_deleted(same: Callable[[Story], None]) -> None:
    def story(odradek: Player) -> None:
        topic, group = "groups-offsets", "groups-offsets-app"
        odradek.create(topic, 3)
        offsets = [
            {"group": group, "topic": topic, "partition": at, "offset": 3 * at, "metadata": f"m{at}"}
            for at in (0, 1, 2)
        ]
        file = "\n".join(map(json.dumps, offsets))
        odradek("groups", "describe", group)
        odradek("groups", "import", "-", given=file)
        odradek("groups", "describe", group)
        odradek("groups", "import", "-", "--execute", given=file)
        odradek("groups", "describe", group)
        odradek("groups", "describe", group, "--json")
        odradek("groups", "members", group)
        odradek("groups", "export", group)
        odradek("groups", "export", group, "--csv")
        odradek("groups", "export", "groups-none")
        assert listed(odradek, "--state", "empty", "--type", "classic,consumer")[group] == {
            "group": group,
            "kind": "classic",
            "state": "Empty",
            "protocol": "",
            "members": 0,
        }
        assert group not in listed(odradek, "--state", "stable")
        assert group not in listed(odradek, "--type", "consumer")
        odradek.cut(topic, 0, 5)
        odradek("groups", "describe", group)
        odradek("groups", "delete", group, "--offsets", "--topic", f"{topic}:1")
        odradek("groups", "delete", group, "--offsets", "--topic", f"{topic}:1")
        odradek("groups", "export", group)
        odradek("groups", "delete", "groups-none", "--offsets", "--topic", topic)
        odradek("groups", "delete", group, "groups-none")
        odradek("groups", "delete", group, "--if-exists", "--json")
        odradek("groups", "export", group)

    same(story)


def test_every_way_to_reset(same: Callable[[Story], None], tmp_path: Path) -> None:
    file = tmp_path / "offsets.csv"
    file.write_text("groups-reset,0,7\ngroups-reset,1,700\n")
    ways = [
        ["--to-earliest"],
        ["--to-latest"],
        ["--to-offset", "4"],
        ["--to-offset", "99"],
        ["--to-time", str(FIRST_MS + 3500)],
        ["--to-time", "2023-11-14T22:13:25Z"],
        ["--to-time", "2100-01-01T00:00:00Z"],
        ["--by-duration", "PT1H"],
        ["--shift-by", "-2"],
        ["--shift-by", "-100"],
        ["--to-current"],
    ]

    def story(odradek: Player) -> None:
        topic, group = "groups-reset", "groups-reset-app"
        odradek.create(topic, 2)
        odradek.cut(topic, 1, 3)
        odradek("groups", "reset", group, "--topic", topic, "--shift-by", "1")
        odradek("groups", "reset", group, "--topic", f"{topic}:0", "--to-current")
        odradek("groups", "reset", group, "--topic", "groups-none", "--to-earliest")
        odradek("groups", "reset", group, "--topic", f"{topic}:5", "--to-earliest")
        for way in ways:
            odradek("groups", "reset", group, "--topic", topic, *way)
            odradek("groups", "reset", group, "--topic", f"{topic}:0,1", *way, "--execute")
            odradek("groups", "export", group)
        odradek("groups", "reset", group, "--all-topics", "--to-earliest", "--json", "--execute")
        odradek("groups", "reset", group, "--from-file", str(file), "--execute")
        odradek("groups", "describe", group)
        odradek("groups", "reset", group, f"{group}-2", "--topic", topic, "--to-earliest")
        odradek("groups", "delete", group)

    same(story)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_groups_with_members(same: Callable[[Story], None], protocol: str) -> None:
    def story(odradek: Player) -> None:
        topic = group = f"groups-live-{protocol}-app"
        odradek.create(topic, 2)
        odradek("groups", "reset", group, "--topic", topic, "--to-offset", "3", "--execute")
        with members(odradek, group, topic, protocol, 2):
            odradek("groups", "describe", group)
            odradek("groups", "describe", group, "--json")
            odradek("groups", "members", group, "--verbose")
            odradek("groups", "members", group, "--json")
            assert listed(odradek, "--state", "stable", "--type", protocol)[group]["members"] == 2
            odradek("groups", "reset", group, "--topic", topic, "--to-earliest", "--execute")
            odradek("groups", "delete", group)
            odradek("groups", "delete", group, "--offsets", "--topic", topic)

    same(story)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_consume_in_a_group_goes_on_where_it_was(same: Callable[[Story], None], protocol: str) -> None:
    def story(odradek: Player) -> None:
        topic = group = f"groups-consume-{protocol}-app"
        odradek.create(topic, 1)
        options = ["consume", topic, "--group", group, "--protocol", protocol]
        odradek(*options, "--from-beginning", "--max", "5")
        odradek("groups", "export", group, "--csv")
        odradek(*options, "--until-end")
        odradek("groups", "export", group, "--csv")
        odradek(*options, "--until-end")
        within_limit(lambda: is_empty(odradek, group))
        odradek("groups", "reset", group, "--all-topics", "--shift-by", "-1", "--execute")
        odradek(*options, "--max", "1")
        within_limit(lambda: is_empty(odradek, group))
        odradek("groups", "delete", group)

    same(story)


def test_files_go_to_and_fro_between_the_tools(
    both: Both,
    tools: KafkaTools,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "offsets.csv"
    for side in both:
        odradek = Player(side, monkeypatch, capfd)
        topic, group = "groups-files", "groups-files-app"
        odradek.create(topic, 2)
        to_start = ["--topic", topic, "--to-earliest", "--execute"]
        to_four = ["--topic", topic, "--to-offset", "4", "--execute"]
        assert odradek.quietly("groups", "reset", group, f"{group}-2", *to_four).status == 0
        for groups in ([group], [group, f"{group}-2"]):
            named = [word for each in groups for word in ("--group", each)]
            options = ["--bootstrap-server", odradek.bootstrap, "--reset-offsets", *named]
            ours = odradek.quietly("groups", "export", *groups, "--csv").out
            theirs = tools.run(GROUPS, *options, "--all-topics", "--to-current", "--export", "--dry-run").out
            assert sorted(theirs.split()) == sorted(ours.split())
            assert odradek.quietly("groups", "reset", *groups, *to_start).status == 0
            file.write_text(ours)
            tools.run(GROUPS, *options, "--from-file", str(file), "--execute")
            assert odradek.quietly("groups", "export", *groups, "--csv").out == ours
            assert odradek.quietly("groups", "reset", *groups, *to_start).status == 0
            file.write_text(theirs)
            assert odradek.quietly("groups", "reset", *groups, "--from-file", str(file), "--execute").status == 0
            assert odradek.quietly("groups", "export", *groups, "--csv").out == ours
        odradek.quietly("groups", "delete", group, f"{group}-2")
