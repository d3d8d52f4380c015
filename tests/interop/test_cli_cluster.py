"""`odradek cluster` against Apache Kafka, with two log directories."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from odradek.cli.main import main
from support.apache_kafka import ApacheKafka, Broker, format_new
from support.ended import Ended
from support.one_node import ONE_REPLICA

Odradek = Callable[..., Ended]
LIMIT_S = 60


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kafka")


@pytest.fixture(scope="module")
def broker(kafka: ApacheKafka, root: Path) -> Iterator[Broker]:
    format_new(root / "a", root / "b")
    with kafka.broker(root, [root / "a", root / "b"], {**ONE_REPLICA, "broker.rack": "r1"}) as broker:
        yield broker


@pytest.fixture
def odradek(broker: Broker, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Odradek:
    monkeypatch.setenv("ODRADEK_BOOTSTRAP", broker.address)

    def run(*arguments: str) -> Ended:
        status = main(arguments)
        return Ended(status, *capfd.readouterr())

    return run


def create(odradek: Odradek, root: Path, topic: str, partitions: int = 1) -> None:
    """A broker of Kafka's hears of a topic after its client, and then makes its directories."""
    assert odradek("topics", "create", topic, "--partitions", str(partitions)).status == 0
    deadline = time.monotonic() + LIMIT_S
    while len(list(root.glob(f"?/{topic}-*"))) < partitions or odradek("topics", "describe", topic).status:
        assert time.monotonic() < deadline


def test_the_cluster(odradek: Odradek, broker: Broker) -> None:
    (told,) = odradek("cluster", "describe", "--json").objects
    assert told["brokers"] == [{"id": 1, "address": broker.address, "rack": "r1", "state": "in service"}]
    assert (told["controller"], told["features"]["metadata.version"]) == (1, 30)


def test_features(odradek: Odradek) -> None:
    found = {each["feature"]: each for each in odradek("cluster", "features", "--json").objects}
    assert found["metadata.version"] == {"feature": "metadata.version", "level": 30, "least": 7, "most": 30}
    changed = odradek("cluster", "features", "group.version=0", "--downgrade", "--dry-run")
    assert changed == (0, "group.version could be at level 0\n", "")
    status, out, err = odradek("cluster", "features", "metadata.version=99")
    assert (status, out) == (1, "")
    assert "INVALID_UPDATE_VERSION" in err


def test_elections(odradek: Odradek, root: Path) -> None:
    create(odradek, root, "elected", 2)
    assert odradek("cluster", "elect", "preferred", "elected", "--json").objects == [
        {"topic": "elected", "partition": number, "outcome": "not needed"} for number in (0, 1)
    ]
    assert odradek("cluster", "elect", "unclean", "--all") == (0, "", "")


def test_moves(odradek: Odradek, root: Path, tmp_path: Path) -> None:
    create(odradek, root, "moved")
    (here,) = (path.parent for path in root.glob("?/moved-0"))
    there = root / ("b" if here.name == "a" else "a")
    ended = odradek("cluster", "move", "moved:0", "--to", str(there))
    assert (ended.status, ended.out) == (0, f"moved-0 moved to {there} on broker 1\n")
    assert (there / "moved-0").is_dir()
    plan = tmp_path / "plan.json"
    entry = {"topic": "moved", "partition": 0, "replicas": [1], "log_dirs": [str(here)]}
    plan.write_text(json.dumps({"version": 1, "partitions": [entry]}), encoding="utf-8")
    assert odradek("cluster", "move", "--plan", str(plan)).status == 0
    assert (here / "moved-0").is_dir()
    assert odradek("cluster", "move", "--status") == (0, "", "")
    refused = odradek("cluster", "move", "moved:0", "--to", "/none")
    assert (refused.status, refused.err) == (
        1,
        "odradek: moved-0: the broker has no such log directory (LOG_DIR_NOT_FOUND)\n",
    )
    assert odradek("cluster", "move", "moved:0", "--replicas", "1").status == 0
    assert odradek("cluster", "move", "moved:0", "--replicas", "2").status == 1
