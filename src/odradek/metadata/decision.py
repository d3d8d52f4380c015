"""What a command comes to: records that are to be written, and the answer to give once they are committed."""

from typing import Generic, NamedTuple, TypeVar

from odradek.wire.schema import Message

R_co = TypeVar("R_co", covariant=True)


class Decision(NamedTuple, Generic[R_co]):
    records: tuple[Message, ...]
    """Written as one batch: all of them count, or none."""
    reply: R_co
