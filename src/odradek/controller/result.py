"""What a controller decides: records to write, and the response to give once they are committed."""

from typing import Generic, NamedTuple, TypeVar

from odradek.wire.schema import Message

R_co = TypeVar("R_co", covariant=True)


class ControllerResult(NamedTuple, Generic[R_co]):
    records: tuple[Message, ...]
    """Written as one batch: all of them count, or none."""
    response: R_co
