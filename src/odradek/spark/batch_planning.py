"""What a batch query reads: from offsets to offsets, as its options and its filters say."""

from collections.abc import Mapping
from dataclasses import replace

from odradek.model.topic_partition import TopicPartition
from odradek.spark.cluster import Cluster, Extent
from odradek.spark.edges import AtOffsets, Everywhere, Subscription
from odradek.spark.filters import Narrowing
from odradek.spark.given_options import InvalidOption
from odradek.spark.options import SourceOptions
from odradek.spark.planning import split
from odradek.spark.reading.range import Range
from odradek.spark.resolving import ends_of, starts_of


def plan_batch(options: SourceOptions, narrowing: Narrowing) -> list[Range]:
    """Raises InvalidOption, NoSuchTopic, DataLoss, and ClientError where no broker answers."""
    cluster = Cluster(options)
    return cluster.call(_plan(cluster, options, narrowing))


def partitions_now(options: SourceOptions) -> list[TopicPartition]:
    """What there is to read, empty ones too, where their offsets are looked up later. Raises as `plan_batch` does."""
    cluster = Cluster(options)
    return sorted(cluster.call(cluster.extent_at_start()).earliest)


def plan_partition(options: SourceOptions, partition: TopicPartition) -> list[Range]:
    """All that one partition has now; nothing or one range."""
    alone = replace(options, subscription=Subscription(partitions=(partition,)), pieces_min=None, piece_rows_max=None)
    return plan_batch(alone, Narrowing())


async def _plan(cluster: Cluster, options: SourceOptions, narrowing: Narrowing) -> list[Range]:
    extent = await cluster.extent_at_start()
    starts, ends = await starts_of(cluster, options, extent), await ends_of(cluster, options, extent)
    _check_order(options, starts, ends)
    starts = {each: offset for each, offset in starts.items() if narrowing.has(each)}
    if narrowing.time_ms_least is not None and starts:
        starts = await _not_before(cluster, starts, narrowing.time_ms_least, extent)
    ranges = [
        Range(
            each.topic,
            extent.topic_ids[each.topic],
            each.partition,
            max(offset, narrowing.offset_least),
            min(ends[each], narrowing.offset_most + 1),
        )
        for each, offset in sorted(starts.items())
    ]
    return split(ranges, pieces_min=options.pieces_min, rows_max=options.piece_rows_max)


def _check_order(
    options: SourceOptions, starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> None:
    """Only now is it known which offsets are meant by times, and by the earliest. Where a start was named that has
    expired, what was named counts: that there is nothing to read is told elsewhere."""
    if isinstance(options.ending, Everywhere):
        return
    named = options.starting.offsets if isinstance(options.starting, AtOffsets) else {}
    for each, start in sorted(starts.items()):
        given = named.get(each, start)
        if (given if 0 <= given < start else start) > ends[each]:
            why = f"{each} would end at offset {ends[each]}, before its start, {start}"
            raise InvalidOption(options.ending.option, why, "mend where the query starts, or where it ends")


async def _not_before(
    cluster: Cluster, starts: dict[TopicPartition, int], time_ms: int, extent: Extent
) -> dict[TopicPartition, int]:
    found = await cluster.at_times(dict.fromkeys(starts, time_ms))
    late = {each: extent.latest[each] if at < 0 else at for each, at in found.items()}
    return {each: max(offset, late.get(each, offset)) for each, offset in starts.items()}
