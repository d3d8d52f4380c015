"""What verification has to say: findings, and how much it has looked at."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from odradek.model.errors import CorruptFile
from odradek.process.files import Entry, Files

PER_FILE_MAX = 20
"""Findings of one severity about one file that are told one by one."""

_LIST_AGAIN = 9

_IN_BYTES = re.compile(r" at (\d+): (.*)", re.DOTALL)
_IN_LINES = re.compile(r", line (\d+): (.*)", re.DOTALL)


class Severity(Enum):
    ERROR = "error"
    """Something is wrong: data is damaged or missing, or a file would mislead a broker."""
    WARNING = "warning"
    """Not as it should be, but a broker puts it right by itself and nothing that was acknowledged is lost by it."""
    NOTE = "note"
    """Nothing is wrong; worth knowing."""


class Finding(NamedTuple):
    severity: Severity
    path: str
    text: str
    position: int | None = None
    """In bytes."""
    line: int | None = None
    """Of a text file, from 1."""

    def __str__(self) -> str:
        place = f" at {self.position}" if self.position is not None else f", line {self.line}" if self.line else ""
        return f"{self.path}{place}: {self.text}"


@dataclass(slots=True)
class Tally:
    """How much was looked at so far."""

    bytes_found: int = 0
    """In files of batches, before they are read."""
    bytes: int = 0
    files: int = 0
    log_dirs: int = 0
    partitions: int = 0
    segments: int = 0
    batches: int = 0
    records: int = 0


class Run(NamedTuple):
    """What all checks of one verification share."""

    files: Files
    tally: Tally
    deep: bool
    on_progress: Callable[[], None]
    """Called now and then, some hundred times for each GB, so that someone may look at the tally."""

    def list(self, directory: str) -> list[Entry]:
        """Sorted by name."""
        for _ in range(_LIST_AGAIN):
            try:
                return sorted(self.files.list(directory))
            except FileNotFoundError:
                continue  # a broker is at work: a file went away between its name and its size
        return sorted(self.files.list(directory))

    def advance(self, size: int) -> None:
        self.tally.bytes += size
        self.on_progress()


def error(path: str, text: str, position: int | None = None) -> Finding:
    return Finding(Severity.ERROR, path, text, position)


def warning(path: str, text: str, position: int | None = None) -> Finding:
    return Finding(Severity.WARNING, path, text, position)


def note(path: str, text: str, position: int | None = None) -> Finding:
    return Finding(Severity.NOTE, path, text, position)


def from_corrupt(path: str, corrupt: CorruptFile) -> Finding:
    """The finding that a parser's error amounts to: its message names the path and the place."""
    text = str(corrupt).removeprefix(path)
    if found := _IN_BYTES.fullmatch(text):
        return error(path, found[2], int(found[1]))
    if found := _IN_LINES.fullmatch(text):
        return Finding(Severity.ERROR, path, found[2], line=int(found[1]))
    return error(path, text.removeprefix(": "))


def from_os(path: str, problem: OSError, in_use: bool, position: int | None = None) -> Finding:
    """The finding that a failed read amounts to. Where a broker is at work, files come and go."""
    if in_use and isinstance(problem, FileNotFoundError):
        return note(path, "went away while the directory was read")
    return error(path, f"cannot be read: {problem.strerror or problem}", position)


def bounded(findings: Iterable[Finding]) -> Iterator[Finding]:
    """All of them, unless one file has very many: an index of another segment is wrong in every entry."""
    counts: Counter[tuple[str, Severity]] = Counter()
    for finding in findings:
        key = finding.path, finding.severity
        counts[key] += 1
        if counts[key] <= PER_FILE_MAX:
            yield finding
    for (path, severity), count in counts.items():
        if count > PER_FILE_MAX:
            yield Finding(severity, path, f"and {count - PER_FILE_MAX} more like these")
