"""What a node has of the machine that it runs on: one value, so that a simulation can give it another."""

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
    children: int | None = None
    """Processes that may help with a recovery or a compaction: None for as many as are of use, 0 where they would not
    see the same files."""
