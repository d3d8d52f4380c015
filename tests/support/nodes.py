"""What a `FaultyDisk` is made of: files and directories, each with what is there now and what would survive power loss.

Every change is kept until a sync makes it safe. Power loss undoes changes from the last one back, never one in the
middle: within one file, and within one directory, a disk keeps their order, as journaling file systems do. Between two
files or directories there is no order.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Union

from odradek.model.buffer import Buffer

_HOLE_LEAST = 16
"""A disk loses whole blocks. In a hole of a few bytes there may be just the epoch of a batch, which no CRC covers, so
that nobody could find it."""


@dataclass(frozen=True, slots=True)
class Write:
    at: int
    data: bytes

    def apply(self, content: bytearray) -> None:
        if self.data:
            _grow(content, self.at + len(self.data))
            content[self.at : self.at + len(self.data)] = self.data

    def tear(self, content: bytearray, rng: Random) -> None:
        """A part of it got to the disk; the file may have grown for the whole of it."""
        Write(self.at, self.data[: rng.randint(0, len(self.data))]).apply(content)
        if rng.random() < 0.5:
            _grow(content, self.at + len(self.data))


@dataclass(frozen=True, slots=True)
class Resize:
    size: int

    def apply(self, content: bytearray) -> None:
        del content[self.size :]
        _grow(content, self.size)

    def tear(self, content: bytearray, rng: Random) -> None:
        """It happens or it does not."""


@dataclass(slots=True, eq=False)
class FileNode:
    content: bytearray = field(default_factory=bytearray)
    modified_ms: int = 0
    _safe: bytearray = field(default_factory=bytearray)
    _unsafe: list[Write | Resize] = field(default_factory=list)

    def write(self, data: Buffer, at: int) -> None:
        self._change(Write(at, bytes(data)))

    def resize(self, size: int) -> None:
        self._change(Resize(size))

    def _change(self, change: Write | Resize) -> None:
        change.apply(self.content)
        self._unsafe.append(change)

    def sync(self) -> None:
        for change in self._unsafe:
            change.apply(self._safe)
        self._unsafe.clear()

    def lose_power(self, rng: Random | None) -> None:
        """Without `rng` all that was not synced is gone."""
        old_size = len(self._safe)
        if rng is not None:
            kept = rng.randint(0, len(self._unsafe))
            for change in self._unsafe[:kept]:
                change.apply(self._safe)
            for change in self._unsafe[kept : kept + 1]:
                change.tear(self._safe, rng)
            if len(self._safe) > old_size and rng.random() < 0.25:
                # The file's size got there, some of its blocks did not.
                start = rng.randrange(old_size, len(self._safe))
                end = min(max(rng.randint(start, len(self._safe)), start + _HOLE_LEAST), len(self._safe))
                self._safe[start:end] = bytes(end - start)
        self._unsafe.clear()
        self.content = bytearray(self._safe)


Node = Union[FileNode, "DirNode"]


@dataclass(frozen=True, slots=True)
class Link:
    name: str
    node: Node

    def apply(self, names: dict[str, Node]) -> None:
        names[self.name] = self.node


@dataclass(frozen=True, slots=True)
class Unlink:
    name: str

    def apply(self, names: dict[str, Node]) -> None:
        del names[self.name]


@dataclass(frozen=True, slots=True)
class Rename:
    old: str
    new: str

    def apply(self, names: dict[str, Node]) -> None:
        names[self.new] = names.pop(self.old)


@dataclass(slots=True, eq=False)
class DirNode:
    names: dict[str, Node] = field(default_factory=dict)
    _safe: dict[str, Node] = field(default_factory=dict)
    _unsafe: list[Link | Unlink | Rename] = field(default_factory=list)

    def change(self, change: Link | Unlink | Rename) -> None:
        change.apply(self.names)
        self._unsafe.append(change)

    def sync(self) -> None:
        self._safe = dict(self.names)
        self._unsafe.clear()

    def lose_power(self, rng: Random | None) -> None:
        for change in self._unsafe[: rng.randint(0, len(self._unsafe))] if rng else ():
            change.apply(self._safe)
        self._unsafe.clear()
        self.names = dict(self._safe)
        for name in sorted(self.names):
            self.names[name].lose_power(rng)

    def sync_all(self) -> None:
        self.sync()
        for node in self.names.values():
            if isinstance(node, DirNode):
                node.sync_all()
            else:
                node.sync()

    def tree(self) -> dict[str, bytes]:
        """The content of every file, by path from here."""
        found: dict[str, bytes] = {}
        for name in sorted(self.names):
            node = self.names[name]
            if isinstance(node, DirNode):
                found |= {f"{name}/{inner}": content for inner, content in node.tree().items()}
            else:
                found[name] = bytes(node.content)
        return found

    @property
    def bytes_used(self) -> int:
        return sum(node.bytes_used if isinstance(node, DirNode) else len(node.content) for node in self.names.values())


def _grow(content: bytearray, size: int) -> None:
    if size > len(content):
        content.extend(bytes(size - len(content)))
