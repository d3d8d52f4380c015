"""A disk in memory that breaks in every way that a disk breaks: `FaultyDisk` takes the place of `OsFiles` in tests.

    disk = FaultyDisk("/data")
    disk.crash()                            the process was killed: handles and locks are gone, what it wrote is there
    disk.power_loss()                       all that was not synced is gone; with a seeded Random, some of it
    disk.die_at(7)                          the process dies in its 7th change from now on
    disk.fail_next(Op.SYNC, on=".log")      the next sync of a .log file raises OSError
    disk.set_capacity(1 << 20)              the disk fills up

It passes the same tests as the real one (tests/unit/storage/test_files.py).
"""

import copy
import errno
import os
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from itertools import count
from random import Random
from typing import IO, TYPE_CHECKING

from odradek.model.errors import DirectoryInUse
from odradek.process.files import Entry, File, Lock, NotCached
from support.clock import ManualClock
from support.nodes import DirNode, FileNode, Link, Rename, Unlink

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.model.buffer import Buffer
    from odradek.model.clock import Clock
    from support.nodes import Node


class Op(Enum):
    """What can fail, and what is counted."""

    OPEN = "open"
    CREATE = "create"
    READ = "read"
    WRITE = "write"
    TRUNCATE = "truncate"
    ALLOCATE = "allocate"
    SYNC = "sync"
    LIST = "list"
    MAKE_DIR = "make_dir"
    RENAME = "rename"
    REMOVE = "remove"
    REMOVE_DIR = "remove_dir"
    SYNC_DIR = "sync_dir"
    SYNC_ALL = "sync_all"
    LOCK = "lock"


CHANGES = frozenset(Op) - {Op.OPEN, Op.READ, Op.LIST, Op.LOCK}
"""What a process can die in with a difference."""


SYNCS = frozenset((Op.SYNC, Op.SYNC_DIR, Op.SYNC_ALL))


class Died(BaseException):
    """The process is dead: from here on the disk takes nothing more from it, until `crash`. Not to be caught."""


@dataclass(slots=True)
class Fault:
    """An error that is waiting for its operation."""

    op: Op
    on: str = ""
    """A part of the path; empty for any."""
    error: int = errno.EIO
    after: int = 0
    """So many operations go well first."""
    times: int | None = 1
    """So many fail then; None for all, until `heal`."""
    written: int = 0
    """Bytes of a failing write that get to the file all the same."""


class FaultyFile:
    __slots__ = ("_copy", "_disk", "_life", "_node", "_writable", "path")

    def __init__(self, disk: "FaultyDisk", node: FileNode, path: str, *, writable: bool) -> None:
        self._disk = disk
        self._node: FileNode | None = node
        self._life = disk.life
        self._writable = writable
        self._copy: IO[bytes] | None = None
        self.path = path

    def read(self, size: int, at: int) -> bytes:
        self._disk.warm(self.path)
        with self._disk.during(Op.READ, self.path):
            data = bytes(self._open_node().content[at : at + size])
            self._disk.bytes_read += len(data)
            return data

    def read_cached(self, size: int, at: int) -> bytes:
        self.check_cached(size, at)
        return self.read(size, at)

    def check_cached(self, size: int, at: int) -> None:
        with self._disk.lock_all:
            if self.path in self._disk.cold:
                raise NotCached(self.path, at, size)

    def write(self, data: "Buffer", at: int) -> None:
        with self._disk.lock_all:
            node = self._open_node(to_write=True)
            growth = max(0, at + len(data) - len(node.content))
            through, failure = self._disk.admit_write(self.path, len(data), growth)
            self._change(lambda: node.write(bytes(data)[:through], at))
            if failure is not None:
                raise failure
            self._disk.written(self.path, data)

    def size(self) -> int:
        return len(self._open_node().content)

    def truncate(self, size: int) -> None:
        with self._disk.during(Op.TRUNCATE, self.path):
            node = self._open_node(to_write=True)
            self._change(lambda: node.resize(size))

    def allocate(self, size: int) -> None:
        with self._disk.during(Op.ALLOCATE, self.path):
            node = self._open_node(to_write=True)
            grow = size - len(node.content)
            if grow > 0:
                if self._disk.room(self.path) < grow:
                    raise _error(errno.ENOSPC, self.path)
                self._change(lambda: node.resize(size))

    def sync(self) -> None:
        with self._disk.during(Op.SYNC, self.path):
            self._open_node().sync()

    def modified_ms(self) -> int:
        return self._open_node().modified_ms

    def set_modified_ms(self, at_ms: int) -> None:
        self._open_node(to_write=True).modified_ms = at_ms

    def fileno(self) -> int:
        """Of a copy on the real disk, as the file is now: for those who send from it."""
        content = self._open_node().content
        if self._copy is None:
            self._copy = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed with this file
        os.ftruncate(self._copy.fileno(), len(content))
        os.pwrite(self._copy.fileno(), content, 0)
        return self._copy.fileno()

    def close(self) -> None:
        if self._node is not None and self._life == self._disk.life:
            self._disk.handles[self.path] -= 1
        self._node = None
        if self._copy is not None:
            self._copy.close()
            self._copy = None

    def _open_node(self, *, to_write: bool = False) -> FileNode:
        if self._node is None or self._life != self._disk.life or (to_write and not self._writable):
            raise _error(errno.EBADF, self.path)
        return self._node

    def _change(self, change: "Callable[[], None]") -> None:
        change()
        self._open_node().modified_ms = self._disk.clock.now_ms()


class FaultyLock:
    def __init__(self, disk: "FaultyDisk", path: str) -> None:
        self._disk = disk
        self._path = path
        self._life = disk.life

    def release(self) -> None:
        if self._life == self._disk.life:
            self._disk.locks.discard(self._path)


class FaultyDisk:
    """A file system in memory. Renames stay within one directory, as all of storage's do."""

    def __init__(self, *directories: str, clock: "Clock | None" = None) -> None:
        """`directories` are there from the start, and survive everything."""
        self.clock: Clock = clock or ManualClock()
        self.lock_all = threading.RLock()
        """Syncs come from other threads."""
        self.life = 0
        """Rises when a process dies: what it had open is of an earlier life."""
        self.counts: Counter[Op] = Counter()
        """How often each operation was asked for."""
        self.syncs_by: Counter[str] = Counter()
        """Syncs by the name of the thread that waited for them."""
        self.bytes_read = self.bytes_written = 0
        self.handles: Counter[str] = Counter()
        """Open files by path."""
        self.locks: set[str] = set()
        self.cold: set[str] = set()
        """Files that are not in memory: the first to read from one waits for the disk, and brings it there."""
        self.waited: list[str] = []
        """Names of the threads that did wait."""
        self.written: Callable[[str, Buffer], object] = _nothing
        """Called with the path and the bytes of each write that goes well."""
        self._root = DirNode()
        self._faults: list[Fault] = []
        self._capacities: dict[str, int] = {}
        self._changes_left: int | None = None
        for directory in directories:
            self.make_dir(directory)
        self._root.sync_all()
        self.counts.clear()

    # --- what goes wrong

    def crash(self) -> None:
        """The process that used the disk is gone. Everything that it wrote is there."""
        self.life += 1
        self.handles.clear()
        self.locks.clear()
        self._changes_left = None

    def power_loss(self, rng: Random | None = None) -> None:
        """All that was not synced is gone; with `rng`, some of it may be there, and the last write torn."""
        self.crash()
        self._root.lose_power(rng)

    def warm(self, path: str) -> None:
        if path in self.cold:
            self.cold.discard(path)
            self.waited.append(threading.current_thread().name)

    def die_at(self, number: int) -> None:
        """The process dies in its change number `number` from now on; a write is half done then, others not at all."""
        self._changes_left = number - 1

    @property
    def is_dead(self) -> bool:
        """Whether the process has died as `die_at` said."""
        return self._changes_left is not None and self._changes_left < 0

    def fail_next(self, op: Op, error: int = errno.EIO, *, on: str = "", written: int = 0) -> None:
        """The next `op` on a path that contains `on` raises an OSError; of a write, `written` bytes go through."""
        self.inject(Fault(op, on, error, written=written))

    def inject(self, fault: Fault) -> None:
        self._faults.append(fault)

    def heal(self) -> None:
        """No more errors."""
        self._faults.clear()

    def set_capacity(self, size: int | None, under: str = "") -> None:
        """Files under a path have room for so many bytes in all; None for as many as there are."""
        if size is None:
            self._capacities.pop(under, None)
        else:
            self._capacities[under] = size

    def used(self, under: str = "") -> int:
        return self._find_dir(under).bytes_used

    # --- for tests

    def copy(self) -> "FaultyDisk":
        """The same files, and what is safe of them, on a disk of its own; nothing is open there."""
        other = FaultyDisk(clock=self.clock)
        other._root = copy.deepcopy(self._root)
        return other

    def put(self, path: str, data: bytes) -> None:
        """A file that was always there."""
        node = FileNode(modified_ms=self.clock.now_ms())
        node.write(data, 0)
        node.sync()
        directory, name = self._split(path)
        directory.change(Link(name, node))
        directory.sync()

    def tree(self, under: str = "") -> dict[str, bytes]:
        """The content of every file under a directory, by path from there."""
        return self._find_dir(under).tree()

    @property
    def open_handles(self) -> int:
        return self.handles.total()

    # --- Files

    def open(self, path: str, *, create: bool = False) -> File:
        directory, name = self._split(path)
        if create and name not in directory.names:
            with self.during(Op.CREATE, path):
                directory.change(Link(name, FileNode(modified_ms=self.clock.now_ms())))
        return self._open(path, writable=True)

    def open_to_read(self, path: str) -> File:
        return self._open(path, writable=False)

    def read_whole(self, path: str) -> bytes:
        file = self._open(path, writable=False)
        try:
            return file.read(file.size(), 0)
        finally:
            file.close()

    def exists(self, path: str) -> bool:
        try:
            self._find(path)
        except OSError:
            return False
        return True

    def make_dir(self, path: str) -> None:
        with self.during(Op.MAKE_DIR, path):
            directory, name = self._split(path)
            if name in directory.names:
                raise _error(errno.EEXIST, path)
            directory.change(Link(name, DirNode()))

    def rename(self, old: str, new: str) -> None:
        with self.during(Op.RENAME, f"{old} {new}"):
            directory, name = self._split(old)
            if self._split(new)[0] is not directory:
                raise _error(errno.EXDEV, new)
            if name not in directory.names:
                raise _error(errno.ENOENT, old)
            target = directory.names.get(os.path.basename(new))
            if isinstance(target, DirNode) and target.names:
                raise _error(errno.ENOTEMPTY, new)
            directory.change(Rename(name, os.path.basename(new)))

    def remove(self, path: str) -> None:
        with self.during(Op.REMOVE, path):
            if isinstance(self._find(path), DirNode):
                raise _error(errno.EISDIR, path)
            directory, name = self._split(path)
            directory.change(Unlink(name))

    def remove_dir(self, path: str) -> None:
        with self.during(Op.REMOVE_DIR, path):
            if self._find_dir(path).names:
                raise _error(errno.ENOTEMPTY, path)
            directory, name = self._split(path)
            directory.change(Unlink(name))

    def sync_dir(self, path: str) -> None:
        with self.during(Op.SYNC_DIR, path):
            self._find_dir(path).sync()

    def sync_all(self, path: str) -> None:
        with self.during(Op.SYNC_ALL, path):
            self._root.sync_all()

    def lock(self, path: str) -> Lock:
        with self.during(Op.LOCK, path):
            if path in self.locks:
                raise DirectoryInUse(f"{path} is held by another process: a data directory has one owner")
            self.open(path, create=True).close()
            self.locks.add(path)
            return FaultyLock(self, path)

    def list(self, directory: str) -> list[Entry]:
        with self.during(Op.LIST, directory):
            names = self._find_dir(directory).names
            return [
                Entry(name, 0, True) if isinstance(node, DirNode) else Entry(name, len(node.content), False)
                for name, node in names.items()
            ]

    # --- every operation passes here

    @contextmanager
    def during(self, op: Op, path: str) -> Iterator[None]:
        """One operation: counted, refused where a fault waits for it or the process is dead."""
        with self.lock_all:
            self.counts[op] += 1
            if op in SYNCS:
                self.syncs_by[threading.current_thread().name] += 1
            if self._dies_in(op):
                raise Died
            fault = self._take_fault(op, path)
            if fault is not None:
                raise _error(fault.error, path)
            yield

    def admit_write(self, path: str, size: int, growth: int) -> tuple[int, OSError | Died | None]:
        """How many bytes of a write go through, and what is to be raised then."""
        self.counts[Op.WRITE] += 1
        if self._dies_in(Op.WRITE):
            return (size // 2 if self._changes_left == -1 else 0), Died()
        fault = self._take_fault(Op.WRITE, path)
        if fault is not None:
            return fault.written, _error(fault.error, path)
        missing = growth - self.room(path)
        if missing > 0:
            return max(0, size - missing), _error(errno.ENOSPC, path)
        self.bytes_written += size
        return size, None

    def room(self, path: str) -> int:
        """Bytes that files under the limits on `path` may still grow by."""
        if not self._capacities:
            return 1 << 62
        return min(
            (size - self.used(under) for under, size in self._capacities.items() if path.startswith(under)),
            default=1 << 62,
        )

    def _dies_in(self, op: Op) -> bool:
        if self._changes_left is None or op not in CHANGES:
            return False
        self._changes_left -= 1
        return self._changes_left < 0

    def _take_fault(self, op: Op, path: str) -> Fault | None:
        for fault in self._faults:
            if fault.op is op and fault.on in path:
                if fault.after > 0:
                    fault.after -= 1
                    continue
                if fault.times is not None:
                    fault.times -= 1
                    if fault.times == 0:
                        self._faults.remove(fault)
                return fault
        return None

    # --- the tree

    def _open(self, path: str, *, writable: bool) -> File:
        with self.during(Op.OPEN, path):
            node = self._find(path)
            if isinstance(node, DirNode):
                raise _error(errno.EISDIR, path)
            self.handles[path] += 1
            return FaultyFile(self, node, path, writable=writable)

    def _find(self, path: str) -> "Node":
        node: Node = self._root
        for name in path.split("/"):
            if not name:
                continue
            if isinstance(node, FileNode):
                raise _error(errno.ENOTDIR, path)
            if name not in node.names:
                raise _error(errno.ENOENT, path)
            node = node.names[name]
        return node

    def _find_dir(self, path: str) -> DirNode:
        node = self._find(path)
        if isinstance(node, FileNode):
            raise _error(errno.ENOTDIR, path)
        return node

    def _split(self, path: str) -> tuple[DirNode, str]:
        parent, name = os.path.split(path)
        if not name:
            raise _error(errno.ENOENT, path)
        return self._find_dir(parent), name


def disks_after_death(disk: FaultyDisk, act: "Callable[[FaultyDisk], object]") -> Iterator[FaultyDisk]:
    """Do `act` on copies of a disk, once for each change that it makes, and die in that change.

    Yields what is left each time, with the process gone. Ends after a run in which `act` came to its end.
    """
    for number in count(1):
        tried = disk.copy()
        tried.die_at(number)
        try:
            act(tried)
        except Died:
            tried.crash()
            yield tried
        else:
            return


def _nothing(_path: str, _data: "Buffer") -> None:
    return


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
