"""Requests that the controller answers alone: the broker sends them on, and gives the client its response.

| API | versions |
|---|---|
| CreateTopics | 2 to 7 |
| DeleteTopics | 1 to 6 |
| CreatePartitions | 0 to 3 |
| ElectLeaders | 0 to 2 |
| AlterPartitionReassignments | 0 to 1 |
| AlterClientQuotas | 0 to 1 |
| AlterUserScramCredentials | 0 |
| UpdateFeatures | 0 to 2 |
| UnregisterBroker | 0 |
"""

from odradek.broker.call import Call
from odradek.controller.controller import Controller
from odradek.wire.schema import Message

FORWARDED: dict[int, tuple[int, int]] = {
    19: (2, 7),
    20: (1, 6),
    37: (0, 3),
    43: (0, 2),
    45: (0, 1),
    49: (0, 1),
    51: (0, 0),
    57: (0, 2),
    64: (0, 0),
}
"""The versions that are served, by the keys of the APIs."""


class Forwarded:
    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    async def handle(self, call: Call, request: Message) -> Message:
        response = await self._controller.ask(request, call.request_context())
        wait_ms: int = getattr(response, "throttle_time_ms", 0)
        if wait_ms:  # the controller says how long; the broker holds the client back
            call.client.connection.mute(wait_ms)
        return response
