"""Topics that are made because a client asked for them, behind the answer that they are not there yet."""

import logging
from collections.abc import Sequence

from odradek.broker.call import Call
from odradek.broker.internal_topics import INTERNAL_TOPICS
from odradek.broker.quotas.mutations import MutationRates
from odradek.controller import topics
from odradek.controller.context import ContextOf
from odradek.controller.topics import Created, NewTopic
from odradek.model.errors import BrokerError
from odradek.process.guard import Guard
from odradek.process.tasks import Tasks
from odradek.quorum.metadata_log import MetadataLog

logger = logging.getLogger(__name__)

UNDER_WAY_MAX = 1_000
"""Past this many, a client that asks again later gets its topic then."""


class TopicsOnDemand:
    def __init__(self, metadata: MetadataLog, context: ContextOf, tasks: Tasks, mutations: MutationRates) -> None:
        self._metadata = metadata
        self._context = context
        self._mutations = mutations
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
        wanted = [NewTopic(name) for name in names]
        account = self._mutations.account(call, is_strict=True)
        try:
            created = await self._metadata.perform(
                lambda image: topics.create(image, wanted, self._context(image), charge=account.charge)
            )
        except BrokerError as error:
            created = tuple(Created(name, error) for name in names)
        finally:
            self._under_way.difference_update(names)
        for name, outcome in created:
            if isinstance(outcome, BrokerError):
                logger.warning("a topic cannot be made on demand", extra={"topic": name, "reason": str(outcome)})
