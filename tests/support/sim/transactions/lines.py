"""The ways of an application to those that it talks to, each on a connection of its own."""

from collections.abc import Iterator

from support.sim.line import Line
from support.sim.network import Network, Server
from support.sim.process import Process


class Lines:
    def __init__(self, network: Network, server: Server, process: Process, transactional_id: str) -> None:
        self.transactional_id = transactional_id
        self.coordinator, self.leader, self.groups = (
            Line(network, server, process, transactional_id) for _ in range(3)
        )

    def __iter__(self) -> Iterator[Line]:
        return iter((self.coordinator, self.leader, self.groups))

    def open(self) -> None:
        for line in self:
            line.open()

    def lose(self) -> None:
        for line in self:
            line.lose()

    def cut(self) -> None:
        for line in self:
            line.cut()

    def heal(self) -> None:
        for line in self:
            line.heal()
