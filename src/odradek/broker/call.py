"""A request under way: who asked, in which version, and the way back."""

from typing import NamedTuple

from odradek.net.connection import Connection, Reply
from odradek.wire.frame import response_frame
from odradek.wire.schema import Message


class Call(NamedTuple):
    connection: Connection
    reply: Reply
    version: int
    correlation_id: int
    client_id: str | None

    def respond(self, response: Message | None) -> None:
        """Answer; None where the client expects none."""
        if response is None:
            self.reply.send(())
        else:
            # What lies in files are pinned slices, made for the socket: the codec only needs to know their size.
            self.reply.send(response_frame(response, self.version, self.correlation_id))  # type: ignore[arg-type]
