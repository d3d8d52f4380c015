"""From where options say that reading starts or ends to offsets, once it is known what partitions there are."""

import logging
from collections.abc import Mapping
from typing import assert_never

from odradek.model.topic_partition import TopicPartition
from odradek.spark.cluster import Cluster, Extent
from odradek.spark.edges import AtOffsets, AtTime, AtTimes, Everywhere
from odradek.spark.given_options import InvalidOption
from odradek.spark.offsets import EARLIEST, LATEST
from odradek.spark.options import SourceOptions
from odradek.spark.reading.errors import DataLoss

log = logging.getLogger(__name__)

_NONE_SO_LATE = -1


async def starts_of(cluster: Cluster, options: SourceOptions, extent: Extent) -> dict[TopicPartition, int]:
    """Raises InvalidOption, and DataLoss for a start that was named and has expired."""
    match options.starting:
        case Everywhere(offset):
            found = dict(extent.latest if offset == LATEST else extent.earliest)
        case AtOffsets(offsets, option):
            found = _named(offsets, extent, option)
            for partition, offset in found.items():
                _check_start(partition, offset, extent, options)
        case AtTime(time_ms, option):
            found = await _starts_at(cluster, dict.fromkeys(extent.latest, time_ms), extent, options)
        case AtTimes(times_ms, option):
            _check_all_named(times_ms, extent, option)
            found = await _starts_at(cluster, times_ms, extent, options)
        case _:
            assert_never(options.starting)
    return {each: max(offset, extent.earliest[each]) for each, offset in found.items()}


async def ends_of(cluster: Cluster, options: SourceOptions, extent: Extent) -> dict[TopicPartition, int]:
    """Raises InvalidOption."""
    match options.ending:
        case Everywhere(_):
            return dict(extent.latest)
        case AtOffsets(offsets, option):
            found = _named(offsets, extent, option)
            for partition, offset in found.items():
                if offset > extent.latest[partition]:
                    why = f"{partition} would end at {offset}, but {_end_of(partition, extent, options)}"
                    raise InvalidOption(option, why, "lower it, or give -1 for the end")
            return found
        case AtTime(time_ms, option):
            times = dict.fromkeys(extent.latest, time_ms)
        case AtTimes(times, option):
            _check_all_named(times, extent, option)
        case _:
            assert_never(options.ending)
    found = await cluster.at_times(times)
    return {each: extent.latest[each] if at == _NONE_SO_LATE else at for each, at in found.items()}


def _named(offsets: Mapping[TopicPartition, int], extent: Extent, option: str) -> dict[TopicPartition, int]:
    _check_all_named(offsets, extent, option)
    stand_ins = {EARLIEST: extent.earliest, LATEST: extent.latest}
    return {each: stand_ins[offset][each] if offset in stand_ins else offset for each, offset in offsets.items()}


def _check_all_named(named: Mapping[TopicPartition, int], extent: Extent, option: str) -> None:
    if missing := [str(each) for each in extent.latest if each not in named]:
        raise InvalidOption(option, f"{', '.join(missing)} is missing in it", "name all partitions that are read")
    if unknown := [str(each) for each in sorted(named) if each not in extent.latest]:
        raise InvalidOption(option, f"{', '.join(unknown)} is not one that is read", "name only those that are")


def _check_start(partition: TopicPartition, offset: int, extent: Extent, options: SourceOptions) -> None:
    if offset > extent.latest[partition]:
        why = f"{partition} would start at {offset}, but {_end_of(partition, extent, options)}"
        raise InvalidOption("startingOffsets", why, "lower it, or give -1 for the end")
    if offset < extent.earliest[partition]:
        loss = DataLoss(str(partition), offset, extent.earliest[partition])
        if options.reading.fail_on_data_loss:
            raise loss
        log.warning("%s", loss)


def _end_of(partition: TopicPartition, extent: Extent, options: SourceOptions) -> str:
    shown = (
        " for readers of committed records (a transaction may be open there)" if options.reading.read_committed else ""
    )
    return f"ends at {extent.latest[partition]}{shown}"


async def _starts_at(
    cluster: Cluster, times_ms: Mapping[TopicPartition, int], extent: Extent, options: SourceOptions
) -> dict[TopicPartition, int]:
    found = await cluster.at_times(times_ms)
    late = [each for each, at in found.items() if at == _NONE_SO_LATE]
    if late and not options.latest_if_none_so_late:
        why = f"{late[0]} has no record at or after {times_ms[late[0]]}"
        raise InvalidOption(
            "startingTimestamp" if isinstance(options.starting, AtTime) else "startingOffsetsByTimestamp",
            why,
            "give an earlier time, or startingOffsetsByTimestampStrategy=latest to start at the end",
        )
    return {each: extent.latest[each] if at == _NONE_SO_LATE else at for each, at in found.items()}
