"""How far each batch of a stream goes, decided in the process that Spark keeps for the source of a running query."""

import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from odradek.model.topic_partition import TopicPartition
from odradek.spark.cluster import Cluster, Extent
from odradek.spark.edges import AtOffsets
from odradek.spark.given_options import InvalidOption
from odradek.spark.offsets import Position
from odradek.spark.options import SourceOptions
from odradek.spark.planning import limit_bytes, limit_rows, split
from odradek.spark.reading.errors import DataLoss
from odradek.spark.reading.range import Range
from odradek.spark.resolving import starts_of
from odradek.spark.runtime.queries import NotTold, Queries
from odradek.spark.streams.ahead import NOTHING, with_found
from odradek.spark.streams.completion import Completion
from odradek.spark.streams.losses import (
    Losses,
    begin_at,
    find_expired_starts,
    find_losses,
    find_unknown_starts,
    up_to_end,
)
from odradek.spark.streams.progress import Progress
from odradek.spark.streams.watch import Watch

log = logging.getLogger(__name__)

_COMMIT_WAIT_S = 5.0
_SIZES_KEPT_S = 60.0
_FEW_ROWS = 1000
"""Whatever their size."""
_SIZE_UNKNOWN = 1000.0
"""Of a record, in bytes, where nobody could say: a limit holds also then."""
_AGAIN_S = 0.05
"""Whoever asks again so soon after an answer without news has done nothing meanwhile: Spark does it a hundred times a
second while no source of a query has any."""
_NEWS_S = 0.05
"""How long it is then left to wait. With a second source that has news, this is how much later they are heard."""
_AHEAD_PAUSE_S = 1.0
"""Without records in plans, after a batch that had too many of them."""
_SMALL_OFFSETS = 50_000
"""A batch with no more of them has no more tasks than can run at the same time."""
_NO_ID = bytes(16)
_SKIPPED = "@skipped"


class StreamDriver:
    """`now_s` is a clock that never goes back; so many tasks as `slots` run at the same time, if it is known. Of
    `queries`, where they can be asked, it hears that a batch is done before Spark says so."""

    def __init__(
        self,
        options: SourceOptions,
        cluster: Cluster,
        now_s: Callable[[], float],
        news_s: float = _NEWS_S,
        slots: int | None = None,
        queries: Queries | None = None,
    ) -> None:
        self._options = options
        self._cluster = cluster
        self._now_s = now_s
        self._news_s = news_s
        self._slots = slots
        self._idle_s = float("-inf")
        """When it was last told that there is no news."""
        self._is_by_pattern = options.subscription.pattern is not None
        self._losses = Losses(fail=options.reading.fail_on_data_loss)
        self._initial: Position | None = None
        self._no_start: InvalidOption | DataLoss | None = None
        """Why the options lead to no start."""
        self._watch = Watch(options, cluster, now_s)
        self._takes_records_s = float("-inf")
        """Not before: the last batch was too large."""
        self._own_group_id = f"{options.group_prefix}-{secrets.token_hex(4)}"
        """For a query whose checkpoint has none yet."""
        self._progress: Progress | None = None
        self._queries = queries
        self._completion = Completion(self._is_done, self._reached)
        self._sizes: dict[TopicPartition, float] = {}
        self._sized_s = float("-inf")
        self._sized_rows = 0
        """How many were waiting then."""
        self._batch_s = float("-inf")
        """When a batch was last let through that might have waited for more."""

    def read_all_there_is_now(self) -> None:
        """And nothing that comes later."""
        self._watch.is_over = True

    def initial(self) -> Position:
        """The same whenever it is asked for: Spark does so twice.

        Nowhere, if the options lead to none. That is an error for a query that begins; but a first batch that comes
        again knows its own, and is not refused since a partition was added that the options do not name.
        """
        if self._initial is None:
            try:
                self._initial = self._cluster.call(self._resolve_start())
            except (InvalidOption, DataLoss) as error:
                self._initial, self._no_start = Position(), error
        return self._initial

    def advance(self, start: Position, *, limited: bool) -> Position:
        """Where the next batch ends; at `start` where there is nothing to do.

        All before `start` is done by now. Spark says so itself once it knows of a next batch; without one, it does not.
        """
        self._completion.told()
        self._check_begins(start)
        progress = self._committing_to(start.group, start)
        extent = self._look_or_wait(start)
        self._losses.report(find_losses(start, extent, by_pattern=self._is_by_pattern))
        begin = begin_at(start, extent)
        ends = self._limited(begin, extent) if limited else dict(extent.latest)
        named_group = None if self._options.group_id else progress.group_id
        sizes = [ends[each] - offset for each, offset in begin.items() if ends[each] > offset]
        begun = begin if self._is_first(start) else _new_to(start, begin, extent.topic_ids)
        end = Position(ends, extent.topic_ids, named_group, self._tasks(sizes), begun or None)
        if sizes:
            return end
        progress.reached(start.offsets)
        progress.wait(_COMMIT_WAIT_S)
        is_same = end.start is None and replace(end, tasks=start.tasks, start=start.start) == start
        return start if is_same else end

    def done(self, position: Position) -> None:
        """Spark says that all before it is done."""
        self._completion.told()
        self._reached(position)

    def _reached(self, position: Position) -> None:
        if self._progress is not None:
            self._progress.reached(position.offsets)

    def _is_done(self, end: Position) -> bool:
        """As far as Spark can be asked."""
        if self._queries is None or self._progress is None:
            return False
        try:
            return self._queries.have_done(end.to_json(), self._progress.group_id)
        except NotTold as error:
            log.debug("whether a batch is done is not known before the next one: %s", error)
            return False

    def latest(self) -> dict[str, Any] | None:
        """For the query's progress, with what was skipped so far."""
        if self._watch.seen is None:
            return None
        extent = self._watch.seen.extent
        told = Position(extent.latest, extent.topic_ids, self._options.group_id).to_json()
        return {_SKIPPED: self._losses.skipped, **told} if self._losses.skipped else told

    def ranges(self, start: Position, end: Position) -> list[Range]:
        """The same for the same two, as far as the cluster still has what is in them."""
        if end.start is not None:
            start = _where_it_began(start, end, end.start)
        else:
            self._check_begins(start)
        extent, records = self._watch.seen or (None, NOTHING)
        has_no_start = extent is None and end.start is None and self._is_first(start)
        if extent is None:
            or_equal = has_no_start and self._options.starts_at_end
            self._losses.report(find_unknown_starts(start, end, or_equal=or_equal))
        if extent is None or not all(each in extent.latest for each in end.offsets):
            known = {each: start.offsets.get(each, 0) for each in end.offsets}
            extent = self._watch.look_around(Position(known, start.topic_ids))
        if has_no_start:
            named = self._options.starting.offsets if isinstance(self._options.starting, AtOffsets) else {}
            self._losses.report(find_expired_starts(start, end, extent, named))
        lost = find_losses(_shared(start, end), extent, by_pattern=self._is_by_pattern)
        self._losses.report(up_to_end(lost, end, extent))
        begin = begin_at(start, extent)
        found = [
            Range(each.topic, end.topic_ids.get(each.topic, _NO_ID), each.partition, begin[each], offset)
            for each, offset in sorted(end.offsets.items())
            if each in begin and end.is_same_topic(Position(topic_ids=extent.topic_ids), each.topic)
        ]
        pieces = split(found, pieces_min=self._options.pieces_min, rows_max=self._options.piece_rows_max)
        planned = [with_found(each, records) for each in pieces]
        if records is not NOTHING and any(each.ahead is None for each in planned):
            self._takes_records_s = self._now_s() + _AHEAD_PAUSE_S  # a batch of this size is fetched by its tasks
        if self._queries is not None:
            self._committing_to(end.group, start)
            self._completion.planned(end)
        return planned

    def _is_first(self, start: Position) -> bool:
        """Whether a batch that starts there is the first of its query. Its end has where it started: asked for again,
        that may be elsewhere."""
        return self._initial is not None and start.start is None and start.offsets == self._initial.offsets

    def _check_begins(self, start: Position) -> None:
        """Raises InvalidOption or DataLoss for a query that begins there, and nowhere."""
        if self._no_start is not None and self._is_first(start):
            raise self._no_start

    async def _resolve_start(self) -> Position:
        extent = await self._cluster.extent_at_start()
        starts = await starts_of(self._cluster, self._options, extent)
        return Position(starts, extent.topic_ids, None if self._options.group_id else self._own_group_id)

    def _committing_to(self, kept: str | None, start: Position) -> Progress:
        """With where the query starts, so that lag shows during its first batch. `kept` is what a checkpoint says."""
        group_id = self._options.group_id or kept or self._own_group_id
        if self._progress is None or self._progress.group_id != group_id:
            log.info("progress is committed to group %s", group_id)
            self._progress = Progress(self._cluster, group_id)
            self._progress.reached(start.offsets)
        return self._progress

    def _look(self, start: Position) -> Extent:
        """Without records for a query that waits for many of them: it would be sent the same ones again and again."""
        with_records = self._options.limits.rows_min is None and self._now_s() >= self._takes_records_s
        return self._watch.look(start, with_records=with_records).extent

    def _look_or_wait(self, start: Position) -> Extent:
        """With the query idle, news are waited for: they are heard at once, and for fewer questions."""
        extent = self._look(start)
        if self._watch.is_over or dict(start.offsets) != dict(extent.latest):
            return extent
        if self._now_s() - self._idle_s < _AGAIN_S:
            self._cluster.call(self._cluster.until_news(extent, self._news_s))
            extent = self._look(start)
        self._idle_s = self._now_s()
        return extent

    def _tasks(self, sizes: Sequence[int]) -> int | None:
        """How many share partitions with so many offsets; None where each has its own."""
        options = self._options
        tasks = options.tasks_max
        if tasks is None and options.pieces_min is None and options.piece_rows_max is None:
            tasks = self._slots if sum(sizes) <= _SMALL_OFFSETS else None
        return tasks if tasks is not None and tasks < len(sizes) else None

    # --- limits

    def _limited(self, begin: Mapping[TopicPartition, int], extent: Extent) -> dict[TopicPartition, int]:
        limits = self._options.limits
        ends = dict(extent.latest)
        if self._waits(sum(ends[each] - offset for each, offset in begin.items())):
            return dict(begin)
        if limits.rows_max is not None:
            ends = limit_rows(limits.rows_max, begin, ends)
        if limits.bytes_max is not None:
            sizes = self._sizes_for(limits.bytes_max, begin, ends, extent)
            ends = limit_bytes(limits.bytes_max, begin, ends, sizes)
        return ends

    def _waits(self, rows: int) -> bool:
        """Whether a batch of so many rows is to wait for more."""
        limits = self._options.limits
        if limits.rows_min is None or self._watch.is_over:
            return False
        now_s = self._now_s()
        if rows < limits.rows_min and (now_s - self._batch_s) * 1000 < limits.delay_ms_max:
            return True
        self._batch_s = now_s
        return False

    def _sizes_for(
        self,
        bytes_max: int,
        begin: Mapping[TopicPartition, int],
        ends: Mapping[TopicPartition, int],
        extent: Extent,
    ) -> dict[TopicPartition, float]:
        """Asked for anew where the limit may be reached, and where more is waiting than when it was last asked for:
        that may be of another kind. Else now and then: a stream that keeps up need not know."""
        waiting = {each: ends[each] - offset for each, offset in begin.items() if ends[each] > offset}
        expected = sum(rows * self._sizes.get(each, 0) for each, rows in waiting.items())
        is_old = self._now_s() - self._sized_s > _SIZES_KEPT_S
        is_near = 2 * expected > bytes_max
        rows = sum(waiting.values())
        is_more = rows > max(2 * self._sized_rows, _FEW_ROWS)
        wanted = {each: begin[each] for each in waiting if is_old or is_near or is_more or each not in self._sizes}
        if wanted:
            self._sizes |= self._cluster.call(self._cluster.bytes_per_record(wanted, extent))
            self._sized_s, self._sized_rows = self._now_s(), rows
        unknown = max(self._sizes.values(), default=_SIZE_UNKNOWN)
        return {each: self._sizes.get(each, unknown) for each in waiting}


def _new_to(
    start: Position, begin: Mapping[TopicPartition, int], topic_ids: Mapping[str, bytes]
) -> dict[TopicPartition, int]:
    """Those partitions that no batch up to `start` has read."""
    now = Position(topic_ids=topic_ids)
    return {
        each: at for each, at in begin.items() if each not in start.offsets or not start.is_same_topic(now, each.topic)
    }


def _where_it_began(start: Position, end: Position, begun: Mapping[TopicPartition, int]) -> Position:
    """Of a batch that comes again, in partitions that it was the first to read: what was there then counts, not what is
    left. `begun` is of the batch that ends at `end`, so of none that begins there: Spark has such, without records."""
    if start.start is not None:
        begun = _new_to(start, begun, end.topic_ids)
    ids = {each.topic: end.topic_ids[each.topic] for each in begun if each.topic in end.topic_ids}
    return Position({**start.offsets, **begun}, {**start.topic_ids, **ids})


def _shared(start: Position, end: Position) -> Position:
    """Without partitions that no batch reads any more."""
    return Position({each: at for each, at in start.offsets.items() if each in end.offsets}, start.topic_ids)
