"""How a node changes metadata: it sends a request to the active controller, on this node or on another."""

from typing import Protocol

from odradek.controller.controller_request_context import ControllerRequestContext
from odradek.wire.schema import Message


class Controller(Protocol):
    async def ask(self, request: Message, context: ControllerRequestContext) -> Message:
        """The response to a request that changes metadata. What it says is committed.

        Expected failures are codes in the response. Nothing but the two arguments reaches the controller, so that it
        may be on another node.
        """
        ...
