"""A request under way: who asked, in which version, and the way back."""

from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.client import Client
from odradek.controller.controller_request_context import ControllerRequestContext
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BadRequest, BrokerError, UnsupportedVersion
from odradek.net.framing import Reply
from odradek.process.guard import Guard, report
from odradek.wire.apis import APIS
from odradek.wire.frame import response_frame
from odradek.wire.schema import Message, has_field, replace

if TYPE_CHECKING:
    from odradek.broker.quotas.requests import RequestTimes


class Call(NamedTuple):
    client: Client
    reply: Reply
    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    size: int = 0
    """Of the request, its head included, in bytes."""
    times: "RequestTimes | None" = None
    """Where the time of requests is counted, if anybody has a quota of it."""

    @property
    def user(self) -> str:
        """Whose quotas hold."""
        return self.client.principal.name

    def request_context(self) -> ControllerRequestContext:
        """What the controller is told of the client."""
        return ControllerRequestContext(self.version, self.client_id, self.user, self.client.host)

    def respond(self, response: Message | None) -> None:
        """Answer; None where the client expects none."""
        if response is None:
            self.reply.send(())
            return
        if self.times is not None:
            response = self.throttled(response, self.times.charge(self))
        self._send(response)

    def _send(self, response: Message) -> None:
        # What lies in files are pinned slices, made for the socket: the codec only needs to know their size.
        self.reply.send(response_frame(response, self.version, self.correlation_id))  # type: ignore[arg-type]

    def throttled(self, response: Message, wait_ms: int) -> Message:
        """Mute the client for a time, and say so; of a time that the response has already, the longer counts.

        Responses without a throttle time are those of APIs for brokers: these are not muted.
        """
        if wait_ms <= getattr(response, "throttle_time_ms", wait_ms):
            return response
        self.client.connection.mute(wait_ms)
        return replace(response, throttle_time_ms=wait_ms)

    # --- failures

    def answer(self, response: Message | None) -> None:
        """`respond` within a guard. Without one, for speed: members of groups are answered so."""
        try:
            self.respond(response)
        except Exception as error:  # noqa: BLE001 - it is this request's failure alone
            self.fail(error)

    def guard(self) -> Guard:
        """For all that is done for this request once its handler has returned: an exception is its failure alone."""
        return Guard(self.fail)

    def fail(self, error: Exception) -> None:
        """Answer with an error that nobody handled.

        The connection closes instead, once the answers before this one are sent, where the response has no place for an
        error of the whole request, or where an answer was given already.
        """
        if isinstance(error, (BadRequest, UnsupportedVersion)):
            self.reply.refuse(str(error))
            return
        self.report(error)
        api = APIS.get(self.api_key)
        if api is None or self.reply.parts is not None or not has_field(api.response, "error_code", self.version):
            self.reply.refuse("internal error")
            return
        code = error.code if isinstance(error, BrokerError) else ErrorCode.UNKNOWN_SERVER_ERROR
        self._send(replace(api.response(), error_code=code))

    def report(self, error: Exception) -> None:
        """Log an error that nobody handled, of what is not answered to the client."""
        api = APIS.get(self.api_key)
        report(
            error,
            "a request",
            api=api.name if api else self.api_key,
            version=self.version,
            client=self.client_id,
            correlation_id=self.correlation_id,
            peer=str(self.client.address),
        )
