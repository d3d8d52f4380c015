"""Logs with keys, for tests of compaction: putting, deleting, cleaning in the same process, and what a reader sees."""

from dataclasses import replace

from odradek.model.numbers import LeaderEpoch, Offset, TimestampMs
from odradek.records.builder import PLAIN, BatchSpec, build_batch
from odradek.records.record import Record
from odradek.storage.cleaning.choice import CleanerSetting, Plan, candidate_of, plan
from odradek.storage.cleaning.clean import clean
from odradek.storage.cleaning.job import Outcome
from odradek.storage.log import Appended, Log
from support.logs import NOW, SMALL, append_batch

COMPACTED = replace(SMALL, cleanup_policy=("compact",), min_cleanable_dirty_ratio=0.0, delete_retention_ms=1000)
Pair = tuple[str | None, str | None]


def put(log: Log, *pairs: Pair, spec: BatchSpec = PLAIN, at: int = NOW) -> Appended:
    """One batch with these keys and values; without a value it is a tombstone."""
    records = [
        Record(Offset(number), TimestampMs(at), _encoded(key), _encoded(value))
        for number, (key, value) in enumerate(pairs)
    ]
    appended = append_batch(log, memoryview(build_batch(records, spec)), LeaderEpoch(0))
    log.advance_high_watermark(log.end_offset)
    return appended


def close_segment(log: Log) -> None:
    """Close the active segment, and sync: only then is it cleaned."""
    log.roll()
    log.sync()


def plan_all(log: Log, now: int = NOW, setting: CleanerSetting = CleanerSetting()) -> Plan | None:  # noqa: B008
    """Everything of a log that may be cleaned, however little that is."""
    candidate = candidate_of(log, TimestampMs(now))
    return None if candidate is None else plan(candidate, setting, TimestampMs(now))


def compact(log: Log, now: int = NOW, setting: CleanerSetting = CleanerSetting()) -> Outcome | None:  # noqa: B008
    """Clean a log here and now, as far as one cleaning goes."""
    chosen = plan_all(log, now, setting)
    if chosen is None:
        return None
    files = log.log_dir.files
    outcome = clean(files, chosen.job)
    old = chosen.replaced_by(outcome)
    assert old is not None
    log.replace_segments(old, outcome.made)
    files.sync_dir(log.directory)
    log.cleaned_to = outcome.clean_to
    return outcome


def latest(log: Log) -> dict[str, str]:
    """What a reader of committed records has in the end, who takes a tombstone for a deletion."""
    found: dict[str, str] = {}
    for _, key, value in committed(log):
        if key is not None and value is not None:
            found[key] = value
        elif key is not None:
            found.pop(key, None)
    return found


def committed(log: Log, start: int | None = None) -> list[tuple[int, str | None, str | None]]:
    """Offsets, keys and values as a reader of committed records gets them, from `start` on."""
    first = log.start_offset if start is None else Offset(start)
    aborted = log.aborted_txns(first, log.end_offset)
    return [
        (record.offset, _decoded(record.key), _decoded(record.value))
        for head, record in log.records(first, log.last_stable_offset)
        if not head.is_control
        and not any(
            txn.producer_id == head.producer_id and txn.first_offset <= record.offset < txn.last_offset
            for txn in aborted
            if head.is_transactional
        )
    ]


def _encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def _decoded(data: bytes | None) -> str | None:
    return None if data is None else data.decode()
