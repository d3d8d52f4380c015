"""What a command of a coordinator comes to: records for its log, and answers to those who asked, now or before.

State that is in the log changes in `replay` alone, which every record goes through once it is appended, and again when
the log is loaded. What no record has (who waits for an answer, deadlines, members that joined and are in no generation
yet) is changed by commands as they decide, and is gone after a restart.
"""

from collections.abc import Hashable, Iterable
from typing import NamedTuple

from odradek.model.numbers import ProducerId
from odradek.wire.schema import Message

Effect = object
"""What is to be done outside of the coordinator's own log. Those who run the coordinator know how."""


class Writer(NamedTuple):
    """A producer whose transaction decides whether records count."""

    producer_id: ProducerId
    epoch: int


class RequestContext(NamedTuple):
    """A request: who waits for the answer, and what its head and its connection say."""

    ticket: Hashable
    """Stands for the request. A coordinator keeps it and gives it back, and knows no more of it."""
    version: int
    client_id: str = ""
    client_host: str = ""
    """As Kafka writes it: `/127.0.0.1`."""

    def answer(self, response: Message, *records: "Stored") -> "CoordinatorResult":
        """The usual outcome: this one is answered, and nobody else."""
        return CoordinatorResult(records, (Answer(self.ticket, response),))


class Stored(NamedTuple):
    """A record of a coordinator's topic. Without a value it deletes what was stored under its key."""

    key: Message
    value: Message | None
    version: int = 0
    """Of the value."""


class Answer(NamedTuple):
    ticket: Hashable
    response: Message


class CoordinatorResult(NamedTuple):
    records: tuple[Stored, ...] = ()
    answers: tuple[Answer, ...] = ()
    """They leave once the records are in the log. If those cannot be written, the tickets get an error instead."""
    is_atomic: bool = True
    """Whether the records go into one batch, all or none. If not, many of them become several batches."""
    effects: tuple[Effect, ...] = ()
    """Performed, one after the other, once the records are in the log, and answered."""
    writer: "Writer | None" = None
    """Whose transaction the records are in."""

    def __add__(self, other: "CoordinatorResult") -> "CoordinatorResult":  # type: ignore[override]
        """One after the other, written together, and so in no transaction."""
        return CoordinatorResult(
            self.records + other.records,
            self.answers + other.answers,
            self.is_atomic or other.is_atomic,
            self.effects + other.effects,
        )


NOTHING = CoordinatorResult(is_atomic=False)


def all_of(decisions: Iterable[CoordinatorResult]) -> CoordinatorResult:
    whole = NOTHING
    for decision in decisions:
        whole += decision
    return whole
