"""Progress of a stream, committed as an ordinary consumer group: so lag shows in every tool."""

import asyncio
import logging
from collections.abc import Mapping
from concurrent.futures import Future, TimeoutError

from odradek.client.committed import Committed, commit_offsets
from odradek.client.errors import ClientError
from odradek.model.numbers import Offset
from odradek.model.topic_partition import TopicPartition
from odradek.spark.cluster import Cluster

log = logging.getLogger(__name__)

_PAUSE_S = 1.0


class Progress:
    """Commits behind the query's back: what fails is logged and tried again, and never stops a query."""

    def __init__(self, cluster: Cluster, group_id: str) -> None:
        self.group_id = group_id
        self._cluster = cluster
        self._wanted: dict[TopicPartition, int] = {}
        self._committed: dict[TopicPartition, int] = {}
        self._under_way: Future[None] | None = None
        self._waited_for: Mapping[TopicPartition, int] | None = None
        self._told = ""

    def reached(self, offsets: Mapping[TopicPartition, int]) -> None:
        """All before these offsets is done. Returns at once."""
        self._wanted = dict(offsets)
        self._begin()

    def wait(self, timeout_s: float) -> None:
        """Until all that was reached is committed, but not longer than this, and only once for the same offsets."""
        if self._waited_for == self._wanted:
            return
        self._waited_for = self._wanted
        try:
            while (under_way := self._begin()) is not None:
                under_way.result(timeout_s)
        except TimeoutError:
            log.warning("the progress of group %s is not committed yet", self.group_id)

    def _begin(self) -> Future[None] | None:
        """What commits, if there is something to commit. It may have ended just before it was given more to do."""
        if self._is_behind() and (self._under_way is None or self._under_way.done()):
            self._under_way = self._cluster.begin(self._commit())
        return self._under_way if self._is_behind() else None

    def _is_behind(self) -> bool:
        return any(self._committed.get(each) != offset for each, offset in self._wanted.items())

    async def _commit(self) -> None:
        while self._is_behind():
            wanted = self._wanted
            changed = {each: at for each, at in wanted.items() if self._committed.get(each) != at}
            trouble = await self._commit_once(changed)
            if trouble is None:
                self._committed |= changed
                continue
            if trouble != self._told:
                log.warning("the progress of group %s is not committed: %s", self.group_id, trouble)
                self._told = trouble
            await asyncio.sleep(_PAUSE_S)

    async def _commit_once(self, offsets: dict[TopicPartition, int]) -> str | None:
        """None, or why it failed."""
        wanted = {each: Committed(Offset(at)) for each, at in offsets.items()}
        try:
            outcomes = await commit_offsets(self._cluster.client, self.group_id, wanted)
        except ClientError as error:
            return str(error)
        refused = [f"{each}: {error}" for each, error in outcomes.items() if error is not None]
        return ", ".join(refused) or None
