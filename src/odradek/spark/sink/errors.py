"""What can go wrong in a sink. Each message is one line that names the place and, where there is one, the way out."""

from odradek.model.errors import OdradekError


class SinkError(OdradekError):
    """The root of what a sink raises."""


class BadSchema(SinkError):
    """A column that has to be there is not, or has a type that records cannot take."""


class BadRow(SinkError):
    """A row that no record can be made of. Rows are counted from 0 in each task."""

    def __init__(self, row: int, why: str) -> None:
        super().__init__(f"row {row} of this task: {why}")
        self.row = row


class CannotWrite(SinkError):
    """A partition, or a whole topic, did not take records, and will not."""


class Fenced(SinkError):
    """Somebody else has taken the transactional id: a later attempt of the task, or another driver."""


class BadReplay(SinkError):
    """A batch that was written in part comes again with other rows."""


class CannotCommit(SinkError):
    """A transaction could not be ended."""


class BadMarker(SinkError):
    """The place of a marker has something else."""
