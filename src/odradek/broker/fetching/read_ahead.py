"""Brings into memory what a fetch is about to send, while the loop goes on."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor

from odradek.process.files import Files, NotCached

_PIECE_BYTES = 256 << 10
_LEAST_BYTES = 64 << 10
"""Beside what is missing, what will be missing next: more of an index, the batches that follow a head."""


class ReadAhead:
    """Reads in a thread, from files that it opens itself: whatever the log does with its own meanwhile."""

    def __init__(self, files: Files, pool: Executor) -> None:
        self._files = files
        self._pool = pool

    async def __call__(self, cold: Sequence[NotCached]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._pool, self._read, cold)

    def _read(self, cold: Sequence[NotCached]) -> None:
        for each in cold:
            try:
                file = self._files.open_to_read(each.path)
            except OSError:
                continue  # deleted or renamed since: whoever asks again will see
            try:
                end = each.at + max(each.size, _LEAST_BYTES)
                for at in range(each.at, end, _PIECE_BYTES):
                    if not file.read(min(_PIECE_BYTES, end - at), at):
                        break
            except OSError:
                continue  # the next one who reads there tells it properly
            finally:
                file.close()
