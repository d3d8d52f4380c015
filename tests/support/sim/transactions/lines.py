"""The ways of an application to those that it talks to, each on a connection of its own."""

from collections.abc import Iterator

from support.sim.line import Coordinated, Line
from support.sim.process import Process
from support.sim.streams import SimHost


class Lines:
    def __init__(self, host: SimHost, process: Process, transactional_id: str) -> None:
        self.transactional_id = transactional_id
        self.coordinator = Line(host, process, Coordinated.transactions(transactional_id))
        self.leader = Line(host, process)
        self.groups = Line(host, process, Coordinated.group(transactional_id))  # one node coordinates all groups

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
