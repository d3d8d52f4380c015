"""Asking whether a lock is held, without taking it: a broker that starts just then must not find it taken."""

import fcntl
import os
import struct
import sys

_FLOCK = {"linux": ("hhqqi4x", 0), "darwin": ("qqihh", 3)}
"""The layout of `struct flock` on 64-bit systems, and which of its fields is the type."""


def is_held(path: str) -> bool:
    """Whether another process holds the lock; False where that cannot be found out."""
    layout = _FLOCK.get(sys.platform)
    if layout is None or struct.calcsize("P") != 8:
        return False
    form, type_at = layout
    question = [0] * len(struct.unpack(form, bytes(struct.calcsize(form))))
    question[type_at] = fcntl.F_WRLCK
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        answer = fcntl.fcntl(fd, fcntl.F_GETLK, struct.pack(form, *question))
    except OSError:
        return False
    finally:
        os.close(fd)
    return bool(struct.unpack(form, answer)[type_at] != fcntl.F_UNLCK)
