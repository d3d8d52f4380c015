"""What tasks tell the driver, and whose work it was. Nothing here costs time to import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import WriterCommitMessage

if TYPE_CHECKING:
    from odradek.spark.sink.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Job:
    """One batch of a query, or one batch write."""

    name: str
    """The id of the query, or the name that the user gave."""
    batch: int
    of_query: bool = True
    """Else it is a batch write."""

    def transactional_id(self, prefix: str, task: int) -> str:
        return f"{prefix}-{self.name}-{task}"


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """At least once: there is nothing left to do."""

    rows: int


@dataclass(frozen=True, slots=True)
class Before:
    """Of a batch that comes again, and whose task 0 was committed."""

    tasks: int
    """How many there were then."""
    transaction: Transaction
    """That of task 0 now, with nothing in it: it tells the driver whether another has taken its place."""


@dataclass(frozen=True)
class Prepared(WriterCommitMessage):
    """Exactly once: the rows are there when the driver has committed."""

    job: Job
    task: int
    rows: int
    row_hash: int
    transaction: Transaction | None
    """None where there is nothing to commit: no rows, or they were committed before."""
    before: Before | None = None
    """Where the rows of task 0 were committed before."""
