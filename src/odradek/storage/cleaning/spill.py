"""What does not fit into memory while a log is cleaned: a file of blocks, each under a number, gone in the end."""

from collections import defaultdict
from collections.abc import Callable, Iterator

from odradek.process.files import File, Files


class Spill:
    """The file is made when the first block comes. Every call may raise OSError."""

    def __init__(self, files: Files, path: str, spend: Callable[[int], None]) -> None:
        self._files = files
        self._path = path
        self._spend = spend
        self._file: File | None = None
        self._end = 0
        self._blocks: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)

    def add(self, number: int, block: bytes) -> None:
        if self._file is None:
            self._file = self._files.open(self._path, create=True)
            self._file.truncate(0)  # left over from a cleaning that did not end
        self._file.write(block, self._end)
        self._spend(len(block))
        self._blocks[number].append((self._end, len(block)))
        self._end += len(block)

    def size_of(self, number: int) -> int:
        """Bytes under that number."""
        return sum(size for _, size in self._blocks.get(number, ()))

    def read(self, number: int) -> Iterator[bytes]:
        """The blocks under that number, in the order in which they came."""
        for at, size in self._blocks.get(number, ()):
            assert self._file is not None
            self._spend(size)
            yield self._file.read(size, at)

    def close(self) -> None:
        """Nothing is left of it."""
        if self._file is not None:
            self._file.close()
            self._file = None
            self._files.remove(self._path)
