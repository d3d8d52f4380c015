"""Which of a log's oldest segments may go. Decides only; the log acts."""

from collections.abc import Sequence
from enum import Enum

from odradek.model.numbers import Offset, TimestampMs
from odradek.model.topic_config import TopicConfig
from odradek.storage.segment import Segment


class Reason(Enum):
    START = "the log starts after it"
    SIZE = "retention.bytes"
    TIME = "retention.ms"


class View:
    """The log as retention sees it."""

    __slots__ = ("config", "end", "high_watermark", "now", "segments", "start")

    def __init__(self, config: TopicConfig, segments: Sequence[Segment], now: TimestampMs) -> None:
        self.config = config
        self.segments = segments
        self.now = now
        self.start = self.end = self.high_watermark = Offset(0)


def deletable(view: View) -> tuple[int, Reason | None]:
    """How many of the first segments may go, and the last reason for it.

    A segment goes only if everything in it is below the high watermark; the last one only if it is not empty.
    """
    count, reason = _below_start(view), None
    if count:
        reason = Reason.START
    if view.config.is_deleted:
        by_size = _beyond_size(view, count)
        if by_size > count:
            count, reason = by_size, Reason.SIZE
        by_time = _beyond_time(view, count)
        if by_time > count:
            count, reason = by_time, Reason.TIME
    return count, reason


def _below_start(view: View) -> int:
    count = 0
    while count + 1 < len(view.segments) and view.segments[count + 1].base_offset <= view.start:
        count += 1
    return count


def _beyond_size(view: View, count: int) -> int:
    if view.config.retention_bytes < 0:
        return count
    excess = sum(segment.size for segment in view.segments[count:]) - view.config.retention_bytes
    while _may_go(view, count) and excess >= view.segments[count].size:
        excess -= view.segments[count].size
        count += 1
    return count


def _beyond_time(view: View, count: int) -> int:
    if view.config.retention_ms < 0:
        return count
    while _may_go(view, count) and view.now - view.segments[count].largest_timestamp > view.config.retention_ms:
        count += 1
    return count


def _may_go(view: View, number: int) -> bool:
    if number >= len(view.segments):
        return False
    is_last = number == len(view.segments) - 1
    end = view.end if is_last else view.segments[number + 1].base_offset
    return view.high_watermark >= end and not (is_last and view.segments[number].size == 0)
