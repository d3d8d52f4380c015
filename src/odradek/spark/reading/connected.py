"""The clients of a process, and the event loop that they live on.

Spark uses a worker for one task after the other, and each would connect anew. So a process keeps what is connected, on
a loop in a thread of its own, which fetches on while Spark takes what it was given.
"""

import asyncio
import os
import sys
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from odradek.client.client import Client, parse_bootstrap
from odradek.client.direct import DirectLeaders
from odradek.client.setting import ClientSetting
from odradek.spark.reading.range import ReadSetting

if TYPE_CHECKING:
    from odradek.spark.reading.fetching import Leaders

T = TypeVar("T")

_FRAME_BYTES_MAX = 1 << 30
"""A batch is fetched whole, however large it is. But the first bytes of another protocol must not pass for a size."""


class Connected:
    """One for a process, see `here`."""

    def __init__(self) -> None:
        self._process_id = os.getpid()
        self._loop = _new_loop()
        self._clients: dict[tuple[object, ...], Client] = {}
        self._directs: dict[Client, DirectLeaders] = {}
        self.leaders: Leaders = {}
        """For one task after the other: each would ask for them anew."""
        threading.Thread(target=self._loop.run_forever, name="odradek-fetch", daemon=True).start()

    @property
    def is_of_this_process(self) -> bool:
        """A fork has the memory of its parent, but none of its threads."""
        return self._process_id == os.getpid()

    def submit(self, call: Coroutine[Any, Any, T]) -> Future[T]:
        """Runs on the loop. To cancel it there, cancel what this returns."""
        return asyncio.run_coroutine_threadsafe(call, self._loop)

    def client(self, setting: ReadSetting) -> Client:
        """Not connected before it is asked for something, and kept as long as the process."""
        times = (setting.connect_timeout_s, setting.request_timeout_s, setting.timeout_s)
        key = (setting.bootstrap, setting.client_id, *times)
        if key not in self._clients:
            self._clients[key] = Client(
                parse_bootstrap(setting.bootstrap),
                ClientSetting(
                    client_id=setting.client_id,
                    connect_timeout_s=setting.connect_timeout_s,
                    request_timeout_s=setting.request_timeout_s,
                    timeout_s=setting.timeout_s,
                    frame_bytes_max=_FRAME_BYTES_MAX,
                ),
            )
        return self._clients[key]

    def direct(self, client: Client) -> DirectLeaders:
        """For whoever waits for an answer himself; kept as the client is."""
        if client not in self._directs:
            self._directs[client] = DirectLeaders(client)
        return self._directs[client]


def _new_loop() -> asyncio.AbstractEventLoop:
    """uvloop takes a fifth off the CPU time of what a stream asks for a batch."""
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    import uvloop

    return uvloop.new_event_loop()


_here: Connected | None = None
_lock = threading.Lock()


def here() -> Connected:
    global _here  # what belongs to a process has no other place
    with _lock:
        if _here is None or not _here.is_of_this_process:
            _here = Connected()
        return _here
