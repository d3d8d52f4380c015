"""How large logs are, told by their files alone: nothing is opened, and a broker may be at work meanwhile."""

from collections.abc import Iterator
from typing import NamedTuple

from odradek.model.errors import CorruptFile
from odradek.model.topic_partition import TopicPartition
from odradek.process.files import Entry, Files
from odradek.storage import names
from odradek.storage.names import Mark


class LogSize(NamedTuple):
    log_dir: str
    partition: TopicPartition
    size: int
    """Of its segments, without their indexes: so brokers count, too."""
    mark: Mark


def measure(files: Files, path: str) -> list[LogSize]:
    """All logs of a log directory, or of those that a directory has in it. Raises OSError.

    Logs that go away meanwhile are left out. The list is empty where there are none.
    """
    path = path.rstrip("/") or "/"
    entries = [entry.name for entry in files.list(path) if entry.is_dir]
    found = list(_logs_of(files, path, entries))
    if found:
        return found
    inner = [f"{path}/{name}" for name in sorted(entries)]
    return [log for each in inner for log in _logs_of(files, each, [entry.name for entry in _list(files, each)])]


def _logs_of(files: Files, log_dir: str, entries: list[str]) -> Iterator[LogSize]:
    for name in sorted(entries):
        try:
            partition, mark = names.parse_dir_name(name)
        except CorruptFile:
            continue  # not the directory of a partition
        segments = [entry.size for entry in _list(files, f"{log_dir}/{name}") if _is_segment(entry.name)]
        if segments:
            yield LogSize(log_dir, partition, sum(segments), mark)


def _list(files: Files, directory: str) -> list[Entry]:
    try:
        return files.list(directory)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _is_segment(name: str) -> bool:
    parsed = names.parse_file_name(name)
    return parsed is not None and parsed[1:] == (names.LOG, "")
