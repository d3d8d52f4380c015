"""The one door to the file system: everything in this package that touches files goes through `Files`.

`OsFiles` is the real one. `support.disk` has one that loses unsynced writes, tears the last one, fails on
request and fills up; both pass the same tests.
"""

import errno
import fcntl
import os
from contextlib import suppress
from typing import NamedTuple, Protocol

from odradek.model.buffer import Buffer
from odradek.model.errors import DirectoryInUse

# The size of a file that grew is part of what fdatasync makes safe; only times are left out. macOS has neither call.
_sync = getattr(os, "fdatasync", os.fsync)
_allocate = getattr(os, "posix_fallocate", None)
_NOWAIT = getattr(os, "RWF_NOWAIT", None)
_CANNOT_TELL = (errno.EOPNOTSUPP, errno.EINVAL)
"""Said by file systems that do not know what is cached."""
_RUN_BYTES = 128 << 10
"""What Linux reads ahead unless it is told otherwise."""


class NotCached(Exception):
    """Bytes of a file are not in memory: to read them now would mean to wait for the disk."""

    def __init__(self, path: str, at: int, size: int) -> None:
        super().__init__(f"{path}: {size} bytes at {at} are not in memory")
        self.path = path
        self.at = at
        self.size = size


class Entry(NamedTuple):
    """One name in a directory."""

    name: str
    size: int
    is_dir: bool


class File(Protocol):
    """An open file, read and written at positions. Every call may raise OSError."""

    path: str

    def read(self, size: int, at: int) -> bytes:
        """Up to `size` bytes from `at`; fewer only at the end of the file."""
        ...

    def read_cached(self, size: int, at: int) -> bytes:
        """As `read`, but raises NotCached rather than wait for the disk, where the system can tell."""
        ...

    def check_cached(self, size: int, at: int) -> None:
        """Raise NotCached if some of these bytes are not in memory.

        It looks at a byte here and there: what the system reads ahead and forgets are runs of pages.
        """
        ...

    def write(self, data: Buffer, at: int) -> None:
        """All of `data`; where it raises, any part may have been written."""
        ...

    def size(self) -> int: ...
    def truncate(self, size: int) -> None: ...

    def allocate(self, size: int) -> None:
        """Extend the file to `size` with zeros that have room on the disk."""
        ...

    def sync(self) -> None:
        """Return when everything written so far would survive power loss."""
        ...

    def modified_ms(self) -> int: ...
    def set_modified_ms(self, at_ms: int) -> None: ...
    def fileno(self) -> int: ...
    def close(self) -> None: ...


class Lock(Protocol):
    def release(self) -> None: ...


class Files(Protocol):
    """The file system. Every call may raise OSError."""

    def open(self, path: str, *, create: bool = False) -> File:
        """Open for reading and writing; a missing file is made where `create` is given."""
        ...

    def open_to_read(self, path: str) -> File: ...
    def read_whole(self, path: str) -> bytes: ...
    def list(self, directory: str) -> list[Entry]:
        """What comes or goes meanwhile may be in it or not."""
        ...

    def exists(self, path: str) -> bool: ...
    def make_dir(self, path: str) -> None: ...
    def rename(self, old: str, new: str) -> None: ...
    def remove(self, path: str) -> None: ...
    def remove_dir(self, path: str) -> None: ...

    def sync_dir(self, path: str) -> None:
        """Return when the names in this directory would survive power loss."""
        ...

    def sync_all(self, path: str) -> None:
        """Return when everything in the file system that holds `path` would survive power loss."""
        ...

    def lock(self, path: str) -> Lock:
        """Hold `path` against other processes, or raise DirectoryInUse."""
        ...


class OsFile:
    __slots__ = ("_fd", "path")

    def __init__(self, fd: int, path: str) -> None:
        self._fd = fd
        self.path = path

    def read(self, size: int, at: int) -> bytes:
        data = os.pread(self._fd, size, at)
        if 0 < len(data) < size:
            rest = self.read(size - len(data), at + len(data))
            return data + rest if rest else data
        return data

    def read_cached(self, size: int, at: int) -> bytes:
        if _NOWAIT is None:
            return self.read(size, at)
        buffer = bytearray(size)
        try:
            have = os.preadv(self._fd, (buffer,), at, _NOWAIT)
        except BlockingIOError:
            raise NotCached(self.path, at, size) from None
        except OSError as error:
            if error.errno not in _CANNOT_TELL:
                raise
            return self.read(size, at)
        if have < size and at + have < self.size():
            raise NotCached(self.path, at + have, size - have)
        del buffer[have:]
        return bytes(buffer)

    def check_cached(self, size: int, at: int) -> None:
        if _NOWAIT is None:
            return
        fd, byte, preadv, end = self._fd, (bytearray(1),), os.preadv, at + size
        place = at
        try:
            for place in range(at, end, _RUN_BYTES):
                preadv(fd, byte, place, _NOWAIT)
            place = end - 1
            preadv(fd, byte, place, _NOWAIT)
        except BlockingIOError:
            raise NotCached(self.path, place, end - place) from None
        except OSError as error:
            if error.errno not in _CANNOT_TELL:
                raise

    def write(self, data: Buffer, at: int) -> None:
        done = os.pwrite(self._fd, data, at)
        if done != len(data):
            self.write(memoryview(data)[done:], at + done)

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def truncate(self, size: int) -> None:
        os.ftruncate(self._fd, size)

    def allocate(self, size: int) -> None:
        if _allocate is not None:
            _allocate(self._fd, 0, size)
        else:
            os.ftruncate(self._fd, size)

    def sync(self) -> None:
        _sync(self._fd)

    def modified_ms(self) -> int:
        return os.fstat(self._fd).st_mtime_ns // 1_000_000

    def set_modified_ms(self, at_ms: int) -> None:
        os.utime(self._fd, ns=(at_ms * 1_000_000, at_ms * 1_000_000))

    def fileno(self) -> int:
        return self._fd

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


_held: set[tuple[int, int]] = set()
"""Device and inode of the files that this process has locked: a POSIX lock does not keep its own process out, and is
lost with the first handle on the file that the process closes."""


class OsLock:
    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._identity = _identity(os.fstat(fd))
        _held.add(self._identity)

    def release(self) -> None:
        # The file stays, as Kafka's does: removing it would let two processes hold locks on two different inodes.
        _held.discard(self._identity)
        os.close(self._fd)


def _identity(stat: os.stat_result) -> tuple[int, int]:
    return stat.st_dev, stat.st_ino


class OsFiles:
    def open(self, path: str, *, create: bool = False) -> File:
        return OsFile(os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0), 0o644), path)

    def open_to_read(self, path: str) -> File:
        return OsFile(os.open(path, os.O_RDONLY | os.O_CLOEXEC), path)

    def read_whole(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def list(self, directory: str) -> list[Entry]:
        found = []
        with os.scandir(directory) as entries:
            for each in entries:
                try:
                    size = 0 if each.is_dir() else each.stat().st_size
                except FileNotFoundError:
                    continue  # it went meanwhile: threads list directories in which the loop renames and removes
                found.append(Entry(each.name, size, each.is_dir()))
        return found

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def make_dir(self, path: str) -> None:
        os.mkdir(path)

    def rename(self, old: str, new: str) -> None:
        os.rename(old, new)

    def remove(self, path: str) -> None:
        os.unlink(path)

    def remove_dir(self, path: str) -> None:
        os.rmdir(path)

    def sync_dir(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def sync_all(self, path: str) -> None:
        import ctypes  # only here, and not cheap to load

        syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
        if syncfs is None:
            os.sync()
            return
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if syncfs(fd) != 0:
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number), path)
        finally:
            os.close(fd)

    def lock(self, path: str) -> Lock:
        if os.path.exists(path) and _identity(os.stat(path)) in _held:
            raise DirectoryInUse(f"{path} is held by this process already: is the directory named twice?")
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            # Java's FileChannel.tryLock takes a POSIX record lock, so this keeps Apache Kafka out too.
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            raise DirectoryInUse(f"{path} is held by another process: a data directory has one owner") from None
        except OSError:
            os.close(fd)
            raise
        return OsLock(fd)


def replace_file(files: Files, path: str, data: bytes, *, sync: bool = True) -> None:
    """Write a file that must be whole: after a crash it has the old content or the new, never a mix.

    Without `sync` that holds when the process is killed; after power loss the file may be empty.
    """
    temp = path + ".tmp"
    file = files.open(temp, create=True)
    try:
        file.truncate(0)
        file.write(data, 0)
        if sync:
            file.sync()  # crash before here: recovery removes *.tmp
    finally:
        file.close()
    files.rename(temp, path)  # crash here: old or new
    if sync:
        files.sync_dir(os.path.dirname(path))  # only now does the new name survive power loss


def write_file(files: Files, path: str, data: bytes, *, sync: bool) -> None:
    """Write a file that can be made again from others."""
    file = files.open(path, create=True)
    try:
        file.write(data, 0)
        file.truncate(len(data))
        if sync:
            file.sync()
    finally:
        file.close()


def sync_file(files: Files, path: str) -> None:
    """Make a file safe that was written without a sync, if it is there."""
    try:
        file = files.open(path)
    except FileNotFoundError:
        return
    try:
        file.sync()
    finally:
        file.close()


def make_dirs(files: Files, path: str) -> None:
    """Make a directory and those above it, as far as they are missing."""
    if not files.exists(path):
        make_dirs(files, os.path.dirname(path))
        with suppress(FileExistsError):  # another process was quicker
            files.make_dir(path)


def remove_tree(files: Files, path: str) -> None:
    for entry in files.list(path):
        inner = f"{path}/{entry.name}"
        if entry.is_dir:
            remove_tree(files, inner)
        else:
            files.remove(inner)
    files.remove_dir(path)
