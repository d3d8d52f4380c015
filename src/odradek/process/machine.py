"""What a node has of the machine that it runs on: one value, so that a simulation can give it another."""

import os
import resource
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from random import Random, SystemRandom

from odradek.model.clock import Clock
from odradek.process.clock import SystemClock
from odradek.process.files import Files, OsFiles
from odradek.process.network import Network
from odradek.process.sockets import SystemNetwork

_DISK_THREADS = 4


def raise_handle_limit() -> int:
    """Raise the soft limit on open files to the hard one; returns the limit that holds now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 1 << 20 if hard == resource.RLIM_INFINITY else hard
    if soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (ValueError, OSError):
            return soft  # some systems cap it below the hard limit they show: live with what there is
        return wanted
    return soft


def _new_pool() -> Executor:
    return ThreadPoolExecutor(_DISK_THREADS, thread_name_prefix="disk")


@dataclass(frozen=True, slots=True)
class Machine:
    """By default, the one that this process runs on."""

    files: Files = field(default_factory=OsFiles)
    clock: Clock = field(default_factory=SystemClock)
    random: Random = field(default_factory=SystemRandom)
    """For ids and jitter."""
    network: Network = field(default_factory=SystemNetwork)
    new_pool: Callable[[], Executor] = _new_pool
    """Threads for calls that block: syncs, cold reads, decompression of what is large. Whoever asks shuts it down."""
    children: int = field(default_factory=lambda: os.cpu_count() or 1)
    """Processes that may help with a recovery or a compaction; 0 where they would not see the same files."""
    handles: Callable[[], int] = raise_handle_limit
    """How many files and connections a node may have open."""

    def new_uuid(self) -> bytes:
        return self.random.randbytes(16)
