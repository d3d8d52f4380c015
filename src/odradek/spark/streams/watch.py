"""How far the partitions of a stream go and what comes next in them, asked for again and again."""

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace

from odradek.client.errors import ClientError
from odradek.model.topic_partition import TopicPartition
from odradek.spark.cluster import Cluster, Extent, NoSuchTopic
from odradek.spark.offsets import Position
from odradek.spark.options import SourceOptions
from odradek.spark.streams.ahead import NOTHING, Seen, look_ahead

_AROUND_S = 1.0
"""How often all of the cluster is asked for, so that partitions are found that are new: in the background."""
_AROUND_OLD_S = 3.0
"""After so long without an answer, it is waited for."""
_NOT_AHEAD_S = 1.0
"""For so long all is asked for, after a question about what comes next was for nothing: some brokers cannot tell."""
_DOUBTED_PAUSE_S = 0.3
_AHEAD_ASKED_MAX = 5
"""How often a partition is asked for again that ends before what was read of it."""
_MISSING_ASKED_MAX = 33
"""How often one that is not there any more: ten seconds, as in tasks. A query that forgot it would read it anew."""


class Watch:
    """`now_s` is a clock that never goes back."""

    def __init__(self, options: SourceOptions, cluster: Cluster, now_s: Callable[[], float]) -> None:
        self._cluster = cluster
        self._now_s = now_s
        self._read_committed = options.reading.read_committed
        self._missing_are_empty = not options.reading.fail_on_data_loss
        self.seen: Seen | None = None
        """What there was when it was last looked at."""
        self.is_over = False
        """What was seen first is all that will be seen."""
        self._around: Future[Extent] | None = None
        self._asked_s = self._around_s = float("-inf")
        """When the cluster was asked for all of it: the last time, and the last time that it answered."""
        self._ahead_s = float("-inf")
        """Not before is it asked for what comes next alone."""

    def look(self, start: Position, *, with_records: bool) -> Seen:
        """What there is now, for a query that is at `start`; with records where that costs nothing more."""
        if self.is_over and self.seen is not None:
            return self.seen
        self.seen = self._look_ahead(start, with_records) or self._look_at_all(start)
        return self.seen

    def look_around(self, start: Position) -> Extent:
        """All there is, for a batch that comes again, and reads these partitions from there on."""
        return self._cluster.call(self._all(start))

    def _look_ahead(self, start: Position, with_records: bool) -> Seen | None:
        known = self._known(start)
        if known is None:
            return None
        seen = self._cluster.call_leaders(
            set(known.leaders.values()),
            lambda client: look_ahead(
                client, known, start.offsets, with_records=with_records, read_committed=self._read_committed
            ),
        )
        if seen is None:
            self._ahead_s = self._now_s() + _NOT_AHEAD_S
        return seen

    def _look_at_all(self, start: Position) -> Seen:
        self._around, self._around_s = None, self._now_s()
        return Seen(self._cluster.call(self._all(start)), NOTHING)

    def _known(self, start: Position) -> Extent | None:
        """What was seen last, as long as the cluster has the same partitions and leaders; else None."""
        if self.seen is None:
            return None
        known, now_s = self.seen.extent, self._now_s()
        if self._around is not None and self._around.done():
            around, self._around = self._around, None
            if not _has_same_places(around, known):
                return None
            self._around_s = self._asked_s
        if now_s < self._ahead_s or now_s - self._around_s >= _AROUND_OLD_S:
            return None
        if not all(start.is_same_topic(Position(topic_ids=known.topic_ids), topic) for topic in known.topic_ids):
            return None
        if self._around is None and now_s - self._around_s >= _AROUND_S:
            self._around, self._asked_s = self._cluster.begin(self._extent()), now_s
        return known

    async def _extent(self) -> Extent:
        return await self._cluster.extent(missing_are_empty=self._missing_are_empty)

    async def _all(self, start: Position) -> Extent:
        """A leader that has just been elected may not know yet how far its partition may be read, and a broker that has
        just started not all topics: it is asked again before what was read is taken for lost."""
        extent = await self._extent_for(start)
        asked = 0
        while asked < _doubts(start, extent):
            await asyncio.sleep(_DOUBTED_PAUSE_S)
            extent = await self._extent_for(start)
            asked += 1
        ahead = _ahead(start, extent)
        if self._read_committed and ahead:
            # A query that read all so far may be ahead of open transactions: it waits for these, and has lost nothing.
            ends = await self._cluster.high_watermarks()
            waits = {each: at for each, at in ahead.items() if at <= ends.get(each, 0)}
            return replace(extent, latest={**extent.latest, **waits})
        return extent

    async def _extent_for(self, start: Position) -> Extent:
        """Without topics that were read and are gone: what is lost with them is told elsewhere, and more exactly."""
        try:
            return await self._extent()
        except NoSuchTopic:
            extent = await self._cluster.extent(missing_are_empty=True)
            if start.offsets.keys() <= extent.latest.keys():
                raise
            return extent


def _has_same_places(around: Future[Extent], known: Extent) -> bool:
    """An error is for whoever asks again."""
    with contextlib.suppress(ClientError, NoSuchTopic):
        found = around.result()
        return found.leaders == known.leaders and found.topic_ids == known.topic_ids
    return False


def _doubts(start: Position, extent: Extent) -> int:
    """How often such an answer is asked for again."""
    if not start.offsets.keys() <= extent.latest.keys():
        return _MISSING_ASKED_MAX
    return _AHEAD_ASKED_MAX if _ahead(start, extent) else 0


def _ahead(start: Position, extent: Extent) -> dict[TopicPartition, int]:
    """Where a query is further than its partitions go. Offsets of a topic that was made again mean nothing."""
    now = Position(topic_ids=extent.topic_ids)
    return {
        each: at
        for each, at in start.offsets.items()
        if extent.latest.get(each, at) < at and start.is_same_topic(now, each.topic)
    }
