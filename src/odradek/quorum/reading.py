"""Reading the metadata from its files alone: nothing is changed, and nothing is mended."""

from typing import NamedTuple

from odradek.metadata.draft import Inconsistent
from odradek.metadata.image import Image
from odradek.metadata.replay import Replay
from odradek.model.errors import CorruptBatch, CorruptFile
from odradek.model.numbers import Offset
from odradek.process.files import Files
from odradek.quorum import batches, snapshot_file, vote_file
from odradek.quorum.snapshot_file import SnapshotId
from odradek.storage import names


class Metadata(NamedTuple):
    image: Image
    static_voters: tuple[int, ...]
    """As `quorum-state` has them; empty where the voters are kept in the log."""


def read_metadata(files: Files, directory: str) -> Metadata:
    """What the log in `directory` says, as a node would find it: a tail that was torn by a crash does not count.

    Raises CorruptFile, CorruptBatch or Inconsistent where it makes no sense, UnsupportedVersion where a newer Kafka
    wrote it, OSError where it cannot be read.
    """
    entries = [entry.name for entry in files.list(directory)]
    snapshots = sorted(filter(None, map(snapshot_file.parse_name, entries)), reverse=True)
    replay, start = _snapshot(files, directory, snapshots)
    parsed = (names.parse_file_name(entry) for entry in entries)
    bases = sorted(each[0] for each in parsed if each and each[1] == names.LOG)
    for base, following in zip(bases, [*bases[1:], None], strict=False):
        if following is not None and following <= start:
            continue
        path = f"{directory}/{names.file_name(base, names.LOG)}"
        try:
            for head, view in batches.split(memoryview(files.read_whole(path))):
                if head.last_offset < start:
                    continue
                replay, _ = replay.apply(batches.read(view, head, start))
        except CorruptBatch:
            if following is not None:
                raise
    return Metadata(replay.image, vote_file.read(files, directory).voters)


def _snapshot(files: Files, directory: str, newest_first: list[SnapshotId]) -> tuple[Replay, Offset]:
    """The newest that is whole, or nothing."""
    for snapshot in newest_first:
        path = f"{directory}/{snapshot.name}"
        try:
            content = snapshot_file.parse(files.read_whole(path), path)
            return Replay(content.image(snapshot)), snapshot.end_offset
        except (CorruptFile, Inconsistent):
            continue
    return Replay(), Offset(0)
