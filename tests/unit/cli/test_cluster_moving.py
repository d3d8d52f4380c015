"""Who waits for replicas that move is told where they got to, whatever is seen of them in between."""

import argparse
from collections.abc import Callable, Sequence

import pytest

from odradek.cli import cluster_moving
from odradek.cli.cluster_plan import Goal
from odradek.client.client import Client, parse_bootstrap
from odradek.client.log_dirs import LogDirView, Replica
from odradek.model.topic_partition import TopicPartition
from support import virtual_time

ORDERS = TopicPartition("orders", 0)
GOALS = [Goal(ORDERS, directories={1: "/b"})]

Wait = Callable[[Sequence[Sequence[Replica]]], int]


def replica(path: str, *, is_future: bool = False) -> Replica:
    return Replica(1, ORDERS, path, 0, is_future, lag=7 if is_future else 0)


@pytest.fixture
def wait(monkeypatch: pytest.MonkeyPatch) -> Wait:
    """Waits for `GOALS` at a broker that tells of these replicas, one answer after the other, and then of the last."""

    def run(answers: Sequence[Sequence[Replica]]) -> int:
        told = iter([*answers[:-1]])

        async def describe(_client: Client) -> list[LogDirView]:
            found = next(told, answers[-1])
            return [
                LogDirView(1, path, tuple(each for each in found if each.log_dir == path), None, None)
                for path in ("/a", "/b")
            ]

        async def none(_client: Client) -> list[object]:
            return []

        monkeypatch.setattr(cluster_moving, "describe_log_dirs", describe)
        monkeypatch.setattr(cluster_moving, "list_reassignments", none)
        client = Client(parse_bootstrap("127.0.0.1:1"))
        return virtual_time.run(cluster_moving.wait(client, GOALS, argparse.Namespace(json=False)))

    return run


def test_it_is_there(wait: Wait, capsys: pytest.CaptureFixture[str]) -> None:
    assert wait([[replica("/a"), replica("/b", is_future=True)], [replica("/b")]]) == 0
    assert capsys.readouterr() == ("orders-0 moved to /b on broker 1\n", "1 replica on the way, 7 offsets behind\n")


def test_directories_that_change_places_one_after_the_other(wait: Wait, capsys: pytest.CaptureFixture[str]) -> None:
    under_way = [replica("/a"), replica("/b", is_future=True)]
    assert wait([[replica("/a")], under_way, [replica("/a")], [replica("/a")], [replica("/b")]]) == 0
    assert capsys.readouterr().out == "orders-0 moved to /b on broker 1\n"


def test_it_did_not_get_there(wait: Wait, capsys: pytest.CaptureFixture[str]) -> None:
    assert wait([[replica("/a"), replica("/b", is_future=True)], [replica("/a")]]) == 1
    assert "orders-0: it did not get to /b on broker 1; the broker's log says why" in capsys.readouterr().err
