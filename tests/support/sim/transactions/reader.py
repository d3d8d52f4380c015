"""A consumer of committed records that reads everything, in fetches of a size of its own."""

from typing import TYPE_CHECKING

from odradek.wire.messages.fetch import FetchResponse
from support.sim.line import Line
from support.sim.process import Process
from support.sim.script import Script, ask, pause, perform
from support.sim.transactions.fetching import fetch_request, partitions_in
from support.sim.transactions.values import Read, committed_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.model.topic_partition import TopicPartition
    from support.sim.transactions.world import World

_TIMEOUT_MS = 2_000
_GAP_MS = 400


class Reader:
    def __init__(self, world: "World", partitions: "Iterable[TopicPartition]", size: int, version: int) -> None:
        self._process = Process(world.events)
        self._rng = world.rng
        self._line = Line(self._process.host(world.network, "reader"), self._process)
        self._version = version
        self.size = size
        """Of a fetch of one partition."""
        self.positions = dict.fromkeys(partitions, 0)
        self.seen: dict[TopicPartition, list[Read]] = {place: [] for place in self.positions}

    def start(self) -> None:
        self._line.open()
        perform(self._live())

    def _live(self) -> Script[None]:
        while True:
            request = fetch_request(self.positions, self.size)
            response = yield from ask(self._line, request, self._version, _TIMEOUT_MS)
            has_moved = response is not None and self._read(response)
            yield from pause(self._process, 1 if has_moved else self._rng.randrange(_GAP_MS) + 1)

    def _read(self, response: FetchResponse) -> bool:
        """Whether there was anything."""
        before = sum(self.positions.values())
        for place, data in partitions_in(response).items():
            values, position = committed_in(data, self.positions[place])
            self.seen[place] += values
            self.positions[place] = position
        return sum(self.positions.values()) > before
