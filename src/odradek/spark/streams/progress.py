"""Progress of a stream, committed as an ordinary consumer group: so lag shows in every tool."""

import asyncio
import contextlib
import logging
from collections.abc import Mapping

from odradek.client.committed import Committed, commit_offsets
from odradek.client.errors import ClientError, Refused
from odradek.model.error_code import ErrorCode
from odradek.model.errors import UnsupportedVersion
from odradek.model.numbers import Offset
from odradek.model.topic_partition import TopicPartition
from odradek.spark.cluster import Cluster

log = logging.getLogger(__name__)

_APART_S = 0.25
"""Commits of a query that is never idle: each is work for the broker, and who looks at lag sees no difference."""
_PAUSE_S = 1.0
"""After a commit that failed."""
_HAS_MEMBERS = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.REBALANCE_IN_PROGRESS)
"""What a group answers to one who is no member, while it has some."""


class Progress:
    """Commits behind the query's back: what fails is logged and tried again, and never stops a query.

    Given its work from Spark's thread, it does all of it on the loop of the clients.
    """

    def __init__(self, cluster: Cluster, group_id: str) -> None:
        self.group_id = group_id
        self._cluster = cluster
        self._wanted: dict[TopicPartition, int] = {}
        self._committed: dict[TopicPartition, int] = {}
        self._committed_s = float("-inf")
        """When, by the clock of the loop."""
        self._one_at_a_time = asyncio.Lock()
        self._is_waited_for = asyncio.Event()
        self._waited_for: Mapping[TopicPartition, int] | None = None
        self._is_in_vain = False
        """Whether nothing was committed since it was last waited for."""
        self._told = ""

    def reached(self, offsets: Mapping[TopicPartition, int]) -> None:
        """All before these offsets is done. Returns at once; it is committed soon."""
        self._wanted = dict(offsets)
        if self._is_behind():
            self._cluster.begin(self._keep_up())

    def wait(self, timeout_s: float) -> None:
        """Until all that was reached is committed, but not longer than this, and only once for the same offsets. Where
        that was in vain, not again before something is committed."""
        if self._waited_for == self._wanted or self._is_in_vain:
            return
        self._waited_for = self._wanted
        catching_up = self._cluster.begin(self._catch_up())
        try:
            catching_up.result(timeout_s)
        except TimeoutError:
            catching_up.cancel()
            self._is_in_vain = True
            log.warning("the progress of group %s is not committed yet", self.group_id)

    def _is_behind(self) -> bool:
        return any(self._committed.get(each) != offset for each, offset in self._wanted.items())

    # --- on the loop

    async def _keep_up(self) -> None:
        if not self._one_at_a_time.locked():  # whoever has it goes on until nothing is left
            async with self._one_at_a_time:
                await self._commit()

    async def _catch_up(self) -> None:
        self._is_waited_for.set()
        try:
            async with self._one_at_a_time:
                await self._commit()
        finally:
            self._is_waited_for.clear()

    async def _commit(self) -> None:
        while self._is_behind():
            await self._keep_apart()
            wanted = self._wanted
            changed = {each: at for each, at in wanted.items() if self._committed.get(each) != at}
            trouble = await self._commit_once(changed)
            if trouble is None:
                self._committed |= changed
                self._is_in_vain = False
                self._committed_s = asyncio.get_running_loop().time()
                continue
            if trouble != self._told:
                log.warning("the progress of group %s is not committed: %s", self.group_id, trouble)
                self._told = trouble
            await asyncio.sleep(_PAUSE_S)

    async def _keep_apart(self) -> None:
        """From the last commit, unless somebody waits for this one."""
        left_s = self._committed_s + _APART_S - asyncio.get_running_loop().time()
        if left_s > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._is_waited_for.wait(), left_s)

    async def _commit_once(self, offsets: dict[TopicPartition, int]) -> str | None:
        """None, or why it failed."""
        wanted = {each: Committed(Offset(at)) for each, at in offsets.items()}
        try:
            outcomes = await commit_offsets(self._cluster.client, self.group_id, wanted)
        except (ClientError, UnsupportedVersion) as error:
            return str(error)
        refused = {each: error for each, error in outcomes.items() if error is not None}
        if any(isinstance(error, Refused) and error.code in _HAS_MEMBERS for error in refused.values()):
            return "consumers are members of it; give the query a kafka.group.id of its own"
        return ", ".join(f"{each}: {error}" for each, error in refused.items()) or None
