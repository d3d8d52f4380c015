"""Ranges of files, as parts of answers."""

from pathlib import Path


class RangeOfFile:
    """Has its file open until it is released."""

    held = 0
    """How many are, of all."""

    def __init__(self, path: Path, position: int, size: int) -> None:
        self._file = path.open("rb")
        self.position = position
        self.size = size
        self.released = 0
        RangeOfFile.held += 1

    def fileno(self) -> int:
        return self._file.fileno()

    def read(self, position: int, size: int) -> bytes:
        self._file.seek(position)
        found = self._file.read(size)
        if len(found) < size:
            raise OSError("a file ended before its range did")
        return found

    def release(self) -> None:
        self.released += 1
        RangeOfFile.held -= 1
        self._file.close()
