"""What applications know of their transactions: what they wrote, and what they heard of the end."""

from dataclasses import dataclass, field
from enum import Enum, auto

from odradek.model.topic_partition import TopicPartition
from support.sim.transactions.values import Tag, Value


class Outcome(Enum):
    NOT_ASKED = auto()
    """Nobody has asked for a commit, so there must be none."""
    ASKED = auto()
    """Committed or not: the answer was lost, or never came."""
    COMMITTED = auto()


@dataclass(slots=True)
class Entry:
    tag: Tag
    values: dict[Value, TopicPartition] = field(default_factory=dict)
    """What it is to write, and where."""
    outcome: Outcome = Outcome.NOT_ASKED


class Ledger:
    def __init__(self) -> None:
        self.entries: dict[Tag, Entry] = {}

    def begin(self, tag: Tag) -> Entry:
        entry = self.entries[tag] = Entry(tag)
        return entry

    def count(self, outcome: Outcome) -> int:
        return sum(entry.outcome is outcome for entry in self.entries.values())
