"""`odradek cluster` against a broker with two log directories."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from odradek.cli.main import main
from odradek.testing import RunningBroker, running_broker
from support.ended import Ended
from support.raw_client import RawClient
from support.running_node import produce

Odradek = Callable[..., Ended]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def broker(root: Path) -> Iterator[RunningBroker]:
    with running_broker({"log.dirs": f"{root}/a,{root}/b", "broker.rack": "r1"}) as running:
        yield running


@pytest.fixture
def odradek(broker: RunningBroker, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Odradek:
    monkeypatch.setenv("ODRADEK_BOOTSTRAP", broker.bootstrap)

    def run(*arguments: str) -> Ended:
        status = main(("cluster", *arguments))
        return Ended(status, *capfd.readouterr())

    return run


@pytest.fixture
def topic(broker: RunningBroker, request: pytest.FixtureRequest) -> str:
    name = f"cli-{request.node.name.removeprefix('test_')}".replace("_", "-")
    broker.create_topic(name, 2)
    return name


def place_of(root: Path, topic: str, partition: int = 0) -> Path:
    """The log directory that a partition is in."""
    (found,) = (path.parent for path in root.glob(f"?/{topic}-{partition}"))
    return found


def other(root: Path, place: Path) -> Path:
    return root / ("b" if place.name == "a" else "a")


# --- describe, features


def test_the_cluster(odradek: Odradek, broker: RunningBroker) -> None:
    status, out, err = odradek("describe")
    assert (status, err) == (0, "")
    first, titles, row, last = out.splitlines()
    assert first.startswith("cluster ")
    assert first.endswith(", controller 1")
    assert titles.split() == ["ID", "ADDRESS", "RACK", "STATE"]
    assert row.split() == ["1", broker.bootstrap, "r1", "in", "service"]
    assert "metadata.version 30" in last
    (told,) = odradek("describe", "--json").objects
    assert told["brokers"] == [{"id": 1, "address": broker.bootstrap, "rack": "r1", "state": "in service"}]
    assert (told["controller"], told["features"]["metadata.version"]) == (1, 30)


def test_features(odradek: Odradek) -> None:
    found = {each["feature"]: each for each in odradek("features", "--json").objects}
    assert found["metadata.version"] == {"feature": "metadata.version", "level": 30, "least": 7, "most": 30}
    assert "group.version" in odradek("features").out
    assert odradek("features", "group.version=1", "--dry-run") == (0, "group.version could be at level 1\n", "")
    assert odradek("features", "group.version=0", "--downgrade", "--json").objects == [
        {"feature": "group.version", "level": 0, "dry_run": False}
    ]
    assert odradek("features", "group.version=1") == (0, "group.version is at level 1\n", "")


def test_features_that_cannot_be(odradek: Odradek) -> None:
    for levels in (["none=1"], ["metadata.version=99"], ["metadata.version=7"], ["group.version=1", "none=1"]):
        status, out, err = odradek("features", *levels)
        assert (status, out) == (1, "")
        assert "INVALID_UPDATE_VERSION" in err
        assert err.endswith("odradek: no level was changed\n")
    for wrong in (["metadata.version"], ["=1"], ["a=b"], ["a=-1"], ["a=99999"]):
        with pytest.raises(SystemExit, match="2"):
            odradek("features", *wrong)
    assert odradek("features", "--downgrade").status == 2
    assert odradek("features", "a=1", "--unsafe").status == 2


# --- elect


def test_elections(odradek: Odradek, topic: str) -> None:
    for kind in ("preferred", "unclean"):
        status, out, err = odradek("elect", kind, topic)
        assert (status, err) == (0, "")
        assert [line.split()[1:] for line in out.splitlines()[1:]] == [["0", "not", "needed"], ["1", "not", "needed"]]
        assert odradek("elect", kind, "--all") == (0, "", "")
    assert odradek("elect", "preferred", f"{topic}:1", "--json").objects == [
        {"topic": topic, "partition": 1, "outcome": "not needed"}
    ]
    assert odradek("elect", "preferred", f"{topic}:7").status == 1
    assert odradek("elect", "preferred", "none") == (
        1,
        "",
        "odradek: Topic 'none' does not exist (UNKNOWN_TOPIC_OR_PARTITION)\n",
    )
    assert odradek("elect", "preferred").status == 2
    assert odradek("elect", "preferred", topic, "--all").status == 2


# --- move


def test_a_move_to_a_directory(odradek: Odradek, topic: str, root: Path) -> None:
    target = other(root, place_of(root, topic))
    status, out, _ = odradek("move", f"{topic}:0", "--to", str(target))
    assert (status, out) == (0, f"{topic}-0 moved to {target} on broker 1\n")
    assert place_of(root, topic) == target
    (told,) = odradek("move", f"{topic}:0", "--to", str(target), "--json").objects
    assert told == {
        "topic": topic,
        "partition": 0,
        "replicas": None,
        "directories": {"1": str(target)},
        "outcome": "moved",
    }


def test_a_plan(odradek: Odradek, topic: str, root: Path, tmp_path: Path) -> None:
    targets = [other(root, place_of(root, topic, number)) for number in (0, 1)]
    partitions = [
        {"topic": topic, "partition": number, "replicas": [1], "log_dirs": [str(target)]}
        for number, target in enumerate(targets)
    ]
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": partitions}), encoding="utf-8")
    status, out, _ = odradek("move", "--plan", str(plan))
    assert status == 0
    assert out.splitlines() == [
        f"{topic}-{number} moved to brokers 1 and to {target} on broker 1" for number, target in enumerate(targets)
    ]
    assert [place_of(root, topic, number) for number in (0, 1)] == targets


@pytest.mark.parametrize(
    "plan",
    [
        "",
        "[]",
        "{}",
        '{"version": 2, "partitions": []}',
        '{"partitions": [1]}',
        '{"partitions": [{"topic": "t", "partition": 0}]}',
        '{"partitions": [{"topic": "t", "partition": 0, "replicas": []}]}',
        '{"partitions": [{"topic": "t", "partition": true, "replicas": [1]}]}',
        '{"partitions": [{"topic": "t", "partition": 0, "replicas": [1], "log_dirs": ["x"]}]}',
        '{"partitions": [{"topic": "t", "partition": 0, "replicas": [1], "log_dirs": ["any", "any"]}]}',
        '{"partitions": [%s, %s]}' % (('{"topic": "t", "partition": 0, "replicas": [1]}',) * 2),
    ],
)
def test_plans_that_are_none(odradek: Odradek, tmp_path: Path, plan: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(plan, encoding="utf-8")
    status, out, err = odradek("move", "--plan", str(path))
    assert (status, out) == (2, "")
    assert err.startswith(f"odradek: {path}")


def test_brokers_and_directories_that_are_not_there(odradek: Odradek, topic: str, root: Path) -> None:
    before = place_of(root, topic)
    status, out, err = odradek("move", f"{topic}:0", "--to", "/none")
    assert (status, out) == (1, "")
    assert err == f"odradek: {topic}-0: the broker has no such log directory (LOG_DIR_NOT_FOUND)\n"
    status, _, err = odradek("move", f"{topic}:0", "--replicas", "7")
    assert status == 1
    assert "INVALID_REPLICA_ASSIGNMENT" in err
    assert odradek("move", f"{topic}:0", "--to", "none").status == 2
    assert odradek("move", "--to", "/none").status == 2
    assert odradek("move", topic, "--replicas", "1", "--broker", "1").status == 2
    assert odradek("move", f"{topic}:0", "--replicas", "1") == (0, f"{topic}-0 moved to brokers 1\n", "")
    assert place_of(root, topic) == before


async def fill(port: int, topic: str) -> None:
    client = await RawClient.connect("127.0.0.1", port)
    try:
        assert (await produce(client, topic, *map(str, range(100)))).error_code == 0
    finally:
        await client.close()


def test_what_is_on_its_way_and_its_end(
    odradek: Odradek, broker: RunningBroker, topic: str, root: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A move that may copy nothing stays where it is."""
    asyncio.run(fill(broker.port, topic))
    rate = "replica.alter.log.dirs.io.max.bytes.per.second"
    assert main(("configs", "set", "brokers/1", f"{rate}=0")) == 0
    capfd.readouterr()
    before, target = place_of(root, topic), other(root, place_of(root, topic))
    try:
        begun = odradek("move", f"{topic}:0", "--to", str(target), "--no-wait")
        assert begun == (0, f"{topic}-0 moves to {target} on broker 1\n", "")
        (told,) = odradek("move", "--status", "--json").objects
        assert (told["topic"], told["partition"], told["broker"]) == (topic, 0, 1)
        assert (told["from"], told["to"], told["behind"], told["copied"]) == (str(before), str(target), 100, 0)
        assert odradek("move", topic, "--status").out.splitlines()[1].split()[:5] == [
            topic,
            "0",
            "1",
            str(before),
            str(target),
        ]
        assert odradek("move", "none", "--status") == (0, "", "")
        assert odradek("move", topic, "--cancel") == (0, f"ended the move of {topic}-0 on broker 1\n", "")
        assert odradek("move", "--status") == (0, "", "")
        assert odradek("move", "--cancel") == (0, "", "nothing is on its way\n")
    finally:
        main(("configs", "unset", "brokers/1", rate))
    assert place_of(root, topic) == before
