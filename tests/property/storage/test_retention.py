"""Retention through any history of appends, rolls, times and settings: what the settings keep stays, the rest goes.

Both are said of single records and bytes, not of how segments are gone through. A record may go if it is older than
retention.ms, or if there are retention.bytes behind its segment, or if it was deleted. After a round, no segment is
left at the front that may go.
"""

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from odradek.model.numbers import Offset
from odradek.model.topic_config import CleanupPolicy
from support.clock import ManualClock
from support.disk import FaultyDisk
from support.examples import examples
from support.logs import SMALL, append, log_of, offsets_and_values, open_dirs, setting

POLICIES: list[tuple[CleanupPolicy, ...]] = [("delete",), ("compact",), ("compact", "delete")]
AGES = st.sampled_from([-5000, -1, 0, 1, 900, 1000, 1001, 6000])
"""How old a record says that it is; it may say that it is from the future."""


class Retention(RuleBasedStateMachine):
    @initialize(segment_bytes=st.sampled_from([80, 300]))
    def begin(self, segment_bytes: int) -> None:
        self.clock = ManualClock()
        self.disk = FaultyDisk("/data", clock=self.clock)
        self.config = replace(SMALL, segment_bytes=segment_bytes, retention_ms=-1)
        self.times: list[int] = []
        """Of the record at each offset."""
        self.deleted = 0
        """Below it, records were deleted on request."""
        self.open()

    def open(self) -> None:
        self.dirs = open_dirs(self.disk, given=setting(self.config, self.clock))
        self.log = log_of(self.dirs)

    @rule(ages=st.lists(AGES, min_size=1, max_size=4), is_replicated=st.booleans())
    def append(self, ages: list[int], is_replicated: bool) -> None:
        for age in ages:
            at = self.clock.now_ms() - age
            append(self.log, str(len(self.times)), at=at)
            self.times.append(at)
        if is_replicated:
            self.log.advance_high_watermark(self.log.end_offset)

    @rule()
    def roll(self) -> None:
        self.log.roll()

    @rule(ms=st.sampled_from([1, 999, 1000, 5000]))
    def wait(self, ms: int) -> None:
        self.clock.advance(ms)

    @rule(
        ms=st.sampled_from([-1, 0, 1000, 5000]),
        size=st.sampled_from([-1, 0, 69, 70, 200, 500]),
        policy=st.sampled_from(POLICIES),
    )
    def configure(self, ms: int, size: int, policy: tuple[CleanupPolicy, ...]) -> None:
        self.config = replace(self.config, retention_ms=ms, retention_bytes=size, cleanup_policy=policy)
        self.log.config = self.config

    @rule(share=st.floats(0, 1))
    def delete(self, share: float) -> None:
        wanted = Offset(round(self.log.high_watermark * share))
        if self.log.advance_start(wanted):
            self.deleted = wanted
            self.dirs.dirs[0].write_checkpoints()

    @rule(kill=st.booleans())
    def restart(self, kill: bool) -> None:
        if kill:
            self.dirs.abandon()
            self.disk.crash()
        else:
            self.dirs.close()
        self.open()

    @rule()
    def keep_house(self) -> None:
        before = [(each.base_offset, each.size) for each in self.log.segments]
        had = self.log.start_offset
        self.log.apply_retention(self.clock.now_ms())
        self.dirs.remove_due(self.clock.now_ms())
        self.check_what_went(before, had)
        self.check_what_stayed()

    def check_what_went(self, before: list[tuple[Offset, int]], had: int) -> None:
        ends = [*(base for base, _ in before[1:]), self.log.end_offset]
        for number, ((base, _), end) in enumerate(zip(before, ends, strict=True)):
            if base >= self.log.segments[0].base_offset:
                break
            if end <= self.deleted:
                continue
            behind = sum(size for _, size in before[number + 1 :])
            assert "delete" in self.config.cleanup_policy
            assert end <= self.log.high_watermark
            assert (0 <= self.config.retention_bytes <= behind) or all(
                self.is_old(self.times[offset]) for offset in range(base, end)
            )
        if self.log.start_offset > had:
            assert self.log.start_offset == self.log.segments[0].base_offset

    def is_old(self, time: int) -> bool:
        return 0 <= self.config.retention_ms < self.clock.now_ms() - time

    def check_what_stayed(self) -> None:
        first, *others = self.log.segments
        end = others[0].base_offset if others else self.log.end_offset
        assert not (others and end <= self.log.start_offset)
        if (
            "delete" not in self.config.cleanup_policy
            or end > self.log.high_watermark
            or (not others and not first.size)
        ):
            return
        if first.size:  # an empty one in front goes with the next that is old
            assert not all(self.is_old(self.times[offset]) for offset in range(first.base_offset, end))
        assert not 0 <= self.config.retention_bytes <= sum(each.size for each in others)

    @invariant()
    def all_that_is_left_can_be_read(self) -> None:
        start = self.log.start_offset
        assert offsets_and_values(self.log) == [(offset, str(offset)) for offset in range(start, len(self.times))]
        assert start >= self.deleted


TestRetention = Retention.TestCase
TestRetention.settings = settings(max_examples=examples(100), stateful_step_count=40, deadline=None)
