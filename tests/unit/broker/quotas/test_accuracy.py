"""Clients that send as fast as they may, in time that passes without anybody waiting."""

import heapq
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

import pytest

from odradek.broker.quotas.byte_rates import ByteRates, Grant
from odradek.broker.quotas.limits import Limits
from odradek.broker.quotas.rate import Windows

BOUND = 1_000_000


class Client(NamedTuple):
    user: str
    client_id: str


class Stage:
    """Clients that share a quota, each with one request at a time."""

    def __init__(self, bound: float, clients: int, turn_ms: int) -> None:
        self.now_ms = 0
        self.rates = ByteRates(Windows(), lambda: self.now_ms)
        self.rates.change(Limits({("alice", ""): bound}))
        self._turn_ms = turn_ms
        self._due = [(number, Client("alice", f"client-{number}")) for number in range(clients)]

    def run(self, ask: Callable[[Client], tuple[int, int]], seconds: int) -> int:
        """`ask` gives the bytes that a client got through, and how long it is to wait. Returns the sum of bytes."""
        total = 0
        heapq.heapify(self._due)
        while self._due[0][0] < seconds * 1000:
            self.now_ms, client = heapq.heappop(self._due)
            size, wait_ms = ask(client)
            total += size
            heapq.heappush(self._due, (self.now_ms + max(wait_ms, self._turn_ms), client))
        return total


def produced(bound: float, clients: int, size: int, turn_ms: int, seconds: int = 10) -> float:
    """How many times the quota."""
    stage = Stage(bound, clients, turn_ms)
    return stage.run(lambda client: (size, stage.rates.charge(client, size)), seconds) / bound / seconds


def pair(grant: Grant) -> tuple[int, int]:
    return grant.granted, grant.left


def produced_over_connections(bound: float, clients: int, size: int, turn_ms: int, seconds: int = 10) -> float:
    """The same, collected with a connection of each client."""
    stage = Stage(bound, clients, turn_ms)
    connections: defaultdict[Client, Grant] = defaultdict(Grant)

    def produce(client: Client) -> tuple[int, int]:
        connection = connections[client]
        connection.left -= size
        return size, stage.rates.renew(client, connection, size) if connection.left < 0 else 0

    return stage.run(produce, seconds) / bound / seconds


def fetched(bound: float, clients: int, size: int, turn_ms: int, seconds: int = 10) -> float:
    stage = Stage(bound, clients, turn_ms)

    def fetch(client: Client) -> tuple[int, int]:
        found = min(size, stage.rates.most_at_once(client))
        wait_ms = stage.rates.charge(client, found)
        if wait_ms:
            stage.rates.take_back(client, found)
            return 0, wait_ms
        return found, 0

    return stage.run(fetch, seconds) / bound / seconds


@pytest.mark.parametrize("use", [produced, produced_over_connections, fetched])
@pytest.mark.parametrize(("clients", "size"), [(1, 5_000), (1, 16_384), (1, 90_000), (10, 1_000), (10, 16_384)])
@pytest.mark.parametrize("turn_ms", [2, 45])
@pytest.mark.parametrize("seconds", [10, 40])
def test_clients_that_want_more_get_their_quota(
    use: Callable[..., float], clients: int, size: int, turn_ms: int, seconds: int
) -> None:
    """Within a tenth, as long as what they have under way is little next to what may come in a second."""
    wanted = clients * size * 1000 / turn_ms / BOUND
    got = use(BOUND, clients, size, turn_ms, seconds)
    assert 0.9 * min(wanted, 1) <= got <= 1.1, f"{got:.3f} of the quota"


def test_many_small_requests_over_many_connections() -> None:
    """Each has some bytes uncounted, and together they are next to nothing."""
    assert 0.95 <= produced_over_connections(BOUND, 500, 70, 10) <= 1.1


def test_how_much_of_a_connection_goes_uncounted() -> None:
    alice, connection = Client("alice", "app"), Grant()
    rates = ByteRates(Windows(), lambda: 0)
    little = BOUND // 10_000

    def renewed(size: int) -> int:
        connection.left -= size
        assert connection.left < 0
        return rates.renew(alice, connection, size)

    rates.change(Limits({("bob", ""): BOUND}))
    assert renewed(70) == 0
    assert pair(connection) == (1 << 62, 1 << 62)
    connection.left -= 20_000_000
    rates.change(Limits({("alice", ""): BOUND}))
    assert pair(connection) == (0, 0), "what came without a quota does not count"
    assert renewed(8_000_000) == 0
    assert pair(connection) == (little, little)
    assert renewed(1_000_000) == 0
    assert pair(connection) == (0, 0), "near the quota, all is counted at once"
    assert renewed(2_000_000) == 11_000
    assert pair(connection) == (0, 0)


def test_a_client_with_another_id_on_the_same_connection_is_counted_by_itself() -> None:
    free, bound, connection = Client("alice", "free"), Client("alice", "bound"), Grant()
    rates = ByteRates(Windows(), lambda: 0)
    rates.change(Limits({("", "bound"): BOUND}))

    def renewed(client: Client, size: int) -> int:
        connection.left -= size
        return rates.renew(client, connection, size)

    assert renewed(free, 70) == 0
    before = pair(connection)
    assert renewed(bound, 8_000_000) == 0
    assert renewed(bound, 3_000_000) > 0
    assert pair(connection) == before
    assert connection.client_id == "free"


def test_a_grant_is_taken_back_when_quotas_change() -> None:
    alice, connection, other = Client("alice", "app"), Grant(), Grant()
    rates = ByteRates(Windows(), lambda: 0)
    for limits in (Limits({}), Limits({("alice", ""): 1e15}), Limits({("alice", ""): BOUND}), Limits({})):
        rates.change(limits)
        assert pair(connection) == pair(other) == (0, 0)
        rates.renew(alice, connection, 0)
        rates.renew(alice, other, 0)
        assert min(*pair(connection), *pair(other)) > 0


@pytest.mark.parametrize("use", [produced, produced_over_connections, fetched])
def test_clients_below_their_quota_never_wait(use: Callable[..., float]) -> None:
    assert use(BOUND, 1, 10_000, 10) == pytest.approx(1.0)
    assert use(BOUND, 10, 1_000, 20) == pytest.approx(0.5)


def test_what_is_larger_than_the_quota_of_all_windows_is_fetched_in_parts() -> None:
    assert 0.9 <= fetched(10_000, 1, 50_000_000, 1) <= 1.1
