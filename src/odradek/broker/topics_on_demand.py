"""Topics that are made because a client asked for them, behind the answer that they are not there yet."""

import logging
from collections.abc import Sequence

from odradek.broker.call import Call
from odradek.broker.coordination.internal_topics import INTERNAL_TOPICS
from odradek.controller.controller import Controller
from odradek.controller.topics import AS_DEFAULT
from odradek.process.guard import Guard
from odradek.process.tasks import Tasks
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse

logger = logging.getLogger(__name__)

UNDER_WAY_MAX = 1_000
"""Past this many, a client that asks again later gets its topic then."""
_VERSION = 7
"""Of CreateTopics: in this one, a quota that is used up refuses the topic."""


class TopicsOnDemand:
    def __init__(self, controller: Controller, tasks: Tasks) -> None:
        self._controller = controller
        self._tasks = tasks
        self._under_way: set[str] = set()

    def ask_for(self, names: Sequence[str], call: Call) -> None:
        """Returns at once. Internal topics are not made here: whoever needs one knows how it has to be.

        Partitions count against the quota of the client that calls, and are not made while that is used up.
        """
        room = UNDER_WAY_MAX - len(self._under_way)
        new = [name for name in names if name not in self._under_way and name not in INTERNAL_TOPICS][:room]
        if new:
            self._under_way.update(new)
            self._tasks.create_task(self._create_reported(new, call), name="topics-on-demand")

    async def _create_reported(self, names: list[str], call: Call) -> None:
        with Guard(call.report):
            await self._create(names, call)

    async def _create(self, names: list[str], call: Call) -> None:
        wanted = tuple(
            CreatableTopic(
                name=name, num_partitions=AS_DEFAULT, replication_factor=AS_DEFAULT, assignments=(), configs=()
            )
            for name in names
        )
        try:
            response = await self._controller.ask(
                CreateTopicsRequest(topics=wanted), call.request_context()._replace(version=_VERSION)
            )
        finally:
            self._under_way.difference_update(names)
        assert isinstance(response, CreateTopicsResponse)
        for each in response.topics:
            if each.error_code:
                fields = {"topic": each.name, "reason": each.error_message}
                logger.warning("a topic cannot be made on demand", extra=fields)
