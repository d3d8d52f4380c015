"""Loading the logs of a node at its start: found in the log directories, recovered, and put where they belong.

After a crash with much to read, child processes recover first; what they leave is recovered here.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from odradek.model.errors import CorruptFile, NewerVersion
from odradek.model.numbers import Offset
from odradek.storage import names, partition_metadata, scanner
from odradek.storage.log import Log
from odradek.storage.log_dir import Found, LogDir
from odradek.storage.names import Mark
from odradek.storage.open_files import OpenFiles
from odradek.storage.recovery import Event, Situation, recover
from odradek.storage.scanner import Report

if TYPE_CHECKING:
    from odradek.storage.log_dirs import LogDirs, Setting

SCAN_IN_CHILDREN_BYTES = 64 << 20
"""Below this a scan takes less time than a child takes to start."""

Progress = Callable[[str, int, int], None]
"""Called after each partition: its directory, bytes scanned so far, bytes to scan in all."""


def no_progress(_directory: str, _done: int, _all: int) -> None:
    return


class LogLoader:
    def __init__(self, logs: "LogDirs", open_files: OpenFiles, setting: "Setting") -> None:
        """The logs are put into the directories of `logs`, and what was found and mended into its events."""
        self._logs = logs
        self._open_files = open_files
        self._files = open_files.files
        self._setting = setting
        self._events = logs.events

    def load(self, progress: Progress) -> None:
        """Blocks until every log is ready."""
        situations: list[tuple[LogDir, Found, Situation]] = []
        for log_dir in self._logs.dirs:
            try:
                for found in log_dir.list_partitions(self._events):
                    if found.mark is Mark.DELETE:
                        delay_ms = self._setting.config_of(found.partition.topic).file_delete_delay_ms
                        log_dir.delete_later(found.path, delay_ms, is_dir=True)
                    elif found.mark is not Mark.STRAY:
                        situations.append((log_dir, found, self._situation(log_dir, found)))
            except OSError as error:
                self._failed(log_dir, error)
        situations = self._scan_in_children(situations, progress)
        for log_dir, found, situation in situations:
            if log_dir.online:
                self._load_log(log_dir, found, situation)
                progress(found.path, 0, 0)
        for log_dir in self._logs.dirs:
            log_dir.loaded = True
            if not log_dir.was_clean:
                # A recovery point above the end of its log would be believed for what is written there from now on.
                log_dir.write_checkpoints()

    def _situation(self, log_dir: LogDir, found: Found) -> Situation:
        config = self._setting.config_of(found.partition.topic)
        return Situation(
            directory=found.path,
            clean=log_dir.was_clean,
            repaired=False,
            recovery_point=log_dir.recovery_points.get(found.partition, Offset(0)),
            log_start=log_dir.log_starts.get(found.partition, Offset(0)),
            dense=not config.is_compacted,
            index_interval_bytes=config.index_interval_bytes,
            producer_expiry_ms=self._logs.producer_expiry_ms,
            now=self._setting.clock.now_ms(),
        )

    def _scan_in_children(
        self, situations: list[tuple[LogDir, Found, Situation]], progress: Progress
    ) -> list[tuple[LogDir, Found, Situation]]:
        """After a crash with much to read, let child processes mend the directories first."""
        sizes: dict[str, int] = {}
        for log_dir, _, situation in situations:
            if not situation.clean and log_dir.online:
                sizes[situation.directory] = self._bytes_to_scan(log_dir, situation)
        every = sum(sizes.values())
        if self._setting.children == 0 or every < SCAN_IN_CHILDREN_BYTES:
            return situations
        repaired: dict[str, Report] = {}

        def on_report(report: Report) -> None:
            repaired[report.directory] = report
            progress(report.directory, sum(sizes[each] for each in repaired), every)

        largest_first = sorted((each for _, _, each in situations), key=lambda each: -sizes.get(each.directory, 0))
        wanted = [each for each in largest_first if sizes.get(each.directory)]
        scanner.scan_all(wanted, self._setting.children, on_report)
        for report in repaired.values():
            self._events += report.events
        return [
            (log_dir, found, replace(each, repaired=each.directory in repaired and not repaired[each.directory].error))
            for log_dir, found, each in situations
        ]

    def _bytes_to_scan(self, log_dir: LogDir, situation: Situation) -> int:
        """About how much lies past the recovery point."""
        try:
            entries = sorted(e for e in self._files.list(situation.directory) if e.name.endswith(names.LOG))
        except OSError as error:
            self._failed(log_dir, error)
            return 0
        parsed = [(names.parse_file_name(entry.name), entry.size) for entry in entries]
        sizes = [(each[0], size) for each, size in parsed if each]
        ends = [base for base, _ in sizes[1:]]
        past = [size for (_, size), end in zip(sizes, ends, strict=False) if end > situation.recovery_point]
        return sum(past) + (sizes[-1][1] if sizes else 0)

    def _load_log(self, log_dir: LogDir, found: Found, situation: Situation) -> None:
        try:
            topic_id = self._read_topic_id(found.path)
            recovered = recover(self._open_files, situation)
            config = self._setting.config_of(found.partition.topic)
            log = Log(log_dir, found.path, found.partition, config, recovered, self._setting.jitter)
            log.topic_id = topic_id
            if found.mark is Mark.NONE and not self._wins(log):
                return
            if found.mark is Mark.FUTURE and self._logs.future_of(found.partition) is not None:
                self._logs.rename_to_stray(log)  # there can be one; which of them is begun again does not matter
                return
        except (OSError, CorruptFile) as error:
            self._failed(log_dir, error)
            return
        log.advance_high_watermark(log_dir.high_watermarks.get(found.partition, Offset(0)))
        log.cleaned_to = log_dir.cleaned_to.get(found.partition)
        target = log_dir.future_logs if found.mark is Mark.FUTURE else log_dir.logs
        target[found.partition] = log
        self._events += recovered.events

    def _wins(self, log: Log) -> bool:
        """A crash in the middle of a move leaves a partition in two directories: the one with more in it counts."""
        other = self._logs.get(log.partition)
        if other is None:
            return True
        winner, loser = (log, other) if log.end_offset > other.end_offset else (other, log)
        if loser is other:
            del loser.log_dir.logs[log.partition]
        kept = self._logs.rename_to_stray(loser)
        fields: dict[str, str | int] = {"partition": str(log.partition), "used": winner.directory, "set_aside": kept}
        self._events.append(Event("a partition was in two log directories", fields))
        return winner is log

    def _read_topic_id(self, directory: str) -> str | None:
        path = f"{directory}/{names.PARTITION_METADATA}"
        try:
            return partition_metadata.parse(self._files.read_whole(path), path)
        except FileNotFoundError:
            return None
        except NewerVersion:
            raise
        except CorruptFile as error:
            # Without it Apache Kafka takes the id from the metadata log; with one that is empty it does not start.
            self._files.remove(path)
            self._events.append(Event("removed a corrupt partition.metadata", {"reason": str(error)}))
            return None

    def _failed(self, log_dir: LogDir, error: OSError | CorruptFile) -> None:
        log_dir.take_offline(error)
        self._events.append(Event("a log directory failed", {"path": log_dir.path, "reason": str(error)}))
