"""A request under way: who asked, in which version, and the way back."""

from typing import TYPE_CHECKING, NamedTuple

from odradek.net.connection import Connection, Reply
from odradek.wire.frame import response_frame
from odradek.wire.schema import Message, replace

if TYPE_CHECKING:
    from odradek.broker.quotas.requests import RequestTimes

ANONYMOUS = "ANONYMOUS"
"""The user of a client that has not said who it is. None can, yet."""


class Call(NamedTuple):
    connection: Connection
    reply: Reply
    version: int
    correlation_id: int
    client_id: str | None
    size: int = 0
    """Of the request, its head included, in bytes."""
    times: "RequestTimes | None" = None
    """Where the time of requests is counted, if anybody has a quota of it."""
    user: str = ANONYMOUS

    def respond(self, response: Message | None) -> None:
        """Answer; None where the client expects none."""
        if response is None:
            self.reply.send(())
            return
        if self.times is not None:
            response = self.throttled(response, self.times.charge(self))
        # What lies in files are pinned slices, made for the socket: the codec only needs to know their size.
        self.reply.send(response_frame(response, self.version, self.correlation_id))  # type: ignore[arg-type]

    def throttled(self, response: Message, wait_ms: int) -> Message:
        """Hold the client back for a time, and tell it so; of a time that the response has already, the longer counts.

        Responses without a word for it are those of APIs for brokers: they are not held back.
        """
        told_ms = getattr(response, "throttle_time_ms", wait_ms)
        if wait_ms <= told_ms:
            return response
        self.connection.hold_back(wait_ms)
        return replace(response, throttle_time_ms=wait_ms)
