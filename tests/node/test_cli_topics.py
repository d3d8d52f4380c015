"""`odradek topics` and `odradek configs` against a broker."""

import io
import sys
from collections.abc import Callable

import pytest

from support.ended import Ended

Odradek = Callable[..., Ended]


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A name that no other test has."""
    return f"cli-{request.node.name.removeprefix('test_')}".replace("_", "-")


def test_the_life_of_a_topic(odradek: Odradek, topic: str) -> None:
    assert odradek("topics", "create", topic, "--partitions", "2") == (0, f"created {topic}\n", "")
    status, out, err = odradek("topics", "create", topic)
    assert (status, out) == (1, "")
    assert err.startswith(f"odradek: {topic}: ")
    assert err.endswith("(TOPIC_ALREADY_EXISTS)\n")
    assert odradek("topics", "create", topic, "--if-not-exists") == (0, "", "")
    assert topic in [line.split()[0] for line in odradek("topics", "list").out.splitlines()]
    assert odradek("topics", "alter", topic, "--partitions", "3", "--config", "retention.ms=5000").status == 0
    (described,) = odradek("topics", "describe", topic, "--json").objects
    assert [each["partition"] for each in described["partitions"]] == [0, 1, 2]
    assert described["configs"] == {"retention.ms": "5000"}
    status, out, err = odradek("topics", "alter", topic, "--partitions", "1")
    assert (status, out) == (1, "")
    assert "(INVALID_PARTITIONS)" in err
    assert odradek("topics", "delete", topic) == (0, f"deleted {topic}\n", "")
    status, out, err = odradek("topics", "delete", topic)
    assert (status, out) == (1, "")
    assert "(UNKNOWN_TOPIC_OR_PARTITION)" in err
    assert odradek("topics", "delete", topic, "--if-exists") == (0, "", "")
    assert odradek("topics", "describe", topic) == (1, "", f"odradek: Topic '{topic}' does not exist\n")


def test_each_of_several_topics_has_its_own_outcome(odradek: Odradek, topic: str) -> None:
    ended = odradek("topics", "create", topic, "no/name", "--json")
    assert ended.status == 1
    assert ended.objects[0] == {"topic": topic, "outcome": "created"}
    assert ended.objects[1]["error"] == "INVALID_TOPIC_EXCEPTION"
    assert ended.err.startswith("odradek: no/name: ")


def test_describe_for_people(odradek: Odradek, topic: str) -> None:
    odradek("topics", "create", topic, "--partitions", "2", "--config", "segment.bytes=2000000")
    odradek("produce", topic, "--value", "one", "--value", "two", "--partition", "1")
    lines = odradek("topics", "describe", topic).out.splitlines()
    assert lines[0].startswith(f"{topic}: 2 partitions, replication factor 1, 2 records, ")
    assert lines[1] == "  segment.bytes=2000000"
    assert lines[2].split() == ["PARTITION", "LEADER", "REPLICAS", "ISR", "START", "END", "RECORDS", "SIZE"]
    assert lines[3].split() == ["0", "1", "1", "1", "0", "0", "0", "0", "B"]
    assert lines[4].split()[:7] == ["1", "1", "1", "1", "0", "2", "2"]
    assert {len(line) for line in lines[2:]} == {len(lines[2])}


def test_all_topics_are_described_without_a_name(odradek: Odradek, topic: str) -> None:
    odradek("topics", "create", topic)
    assert topic in [each["topic"] for each in odradek("topics", "describe", "--json").objects]


@pytest.mark.parametrize(("answer", "status"), [("y\n", 0), ("yes\n", 0), ("n\n", 1), ("", 1)])
def test_delete_asks_on_a_terminal(
    odradek: Odradek, topic: str, monkeypatch: pytest.MonkeyPatch, answer: str, status: int
) -> None:
    name = topic.replace("[", ".").replace("]", "").replace("\\", "")
    odradek("topics", "create", name)
    terminal = io.StringIO(answer)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    ended = odradek("topics", "delete", name)
    assert ended.status == status
    assert ended.err.startswith(f"delete {name} and all its records? [y/N] ")
    assert odradek("topics", "delete", name, "--yes").status == 1 - status


def test_settings_are_set_shown_and_taken_back(odradek: Odradek, topic: str) -> None:
    odradek("topics", "create", topic)
    resource = f"topics/{topic}"
    assert odradek("configs", "set", resource, "retention.ms=7", "cleanup.policy=compact", "--dry-run") == (
        0,
        f"{resource}: would set retention.ms=7\n{resource}: would set cleanup.policy=compact\n",
        "",
    )
    assert "topic" not in [each["source"] for each in odradek("configs", "describe", resource, "--json").objects]
    done = f"{resource}: set cleanup.policy=compact\n"
    assert odradek("configs", "set", resource, "cleanup.policy=compact") == (0, done, "")
    lines = odradek("configs", "describe", resource).out.splitlines()
    assert lines[0] == f"{resource}:"
    assert ["cleanup.policy", "compact", "topic", "delete"] in [line.split() for line in lines]
    (shown,) = [
        each for each in odradek("configs", "describe", resource, "--json").objects if each["name"] == "cleanup.policy"
    ]
    assert shown == {
        "resource": resource,
        "name": "cleanup.policy",
        "value": "compact",
        "source": "topic",
        "default": "delete",
        "sensitive": False,
        "read_only": False,
        "synonyms": [
            {"name": "cleanup.policy", "value": "compact", "source": "topic"},
            {"name": "log.cleanup.policy", "value": "delete", "source": "default"},
        ],
    }
    assert odradek("configs", "unset", resource, "cleanup.policy").status == 0
    assert "cleanup.policy" not in odradek("configs", "describe", resource).out
    assert "cleanup.policy" in odradek("configs", "describe", resource, "--all").out


def test_settings_that_are_refused(odradek: Odradek, topic: str) -> None:
    odradek("topics", "create", topic)
    status, out, err = odradek("configs", "set", f"topics/{topic}", "retention.ms=long")
    assert (status, out) == (1, "")
    assert err.startswith(f"odradek: topics/{topic}: ")
    assert err.endswith("(INVALID_CONFIG)\n")
    assert odradek("configs", "describe", "brokers/99") == (
        1,
        "",
        "odradek: there is no broker 99 (BROKER_NOT_AVAILABLE)\n",
    )


def test_settings_of_brokers(odradek: Odradek) -> None:
    shown = {each["name"]: each for each in odradek("configs", "describe", "brokers/1", "--all", "--json").objects}
    assert shown["node.id"]["value"] == "1"
    assert shown["log.retention.hours"]["default"] == "168"
    assert shown["ssl.key.password"]["sensitive"]
    assert odradek("configs", "describe", "brokers").status == 0


def test_settings_of_groups_metrics_and_loggers(odradek: Odradek) -> None:
    for resource, name, value, before in (
        ("groups/shop", "consumer.session.timeout.ms", "50000", None),
        ("client-metrics/shop", "interval.ms", "5000", None),
        ("broker-loggers/1", "odradek.broker.partitions.moves", "DEBUG", "INFO"),
    ):
        assert odradek("configs", "set", resource, f"{name}={value}") == (0, f"{resource}: set {name}={value}\n", "")
        shown = {each["name"]: each["value"] for each in odradek("configs", "describe", resource, "--json").objects}
        assert shown[name] == value
        assert odradek("configs", "unset", resource, name).status == 0
        shown = {each["name"]: each["value"] for each in odradek("configs", "describe", resource, "--json").objects}
        assert shown.get(name) == before
    refused = odradek("configs", "set", "broker-loggers/1", "odradek.broker.partitions.moves=LOUD")
    assert refused.status == 1
    assert refused.err.startswith(
        "odradek: broker-loggers/1: The log level of odradek.broker.partitions.moves cannot be LOUD: "
    )
