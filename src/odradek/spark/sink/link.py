"""A client of a cluster on an event loop of its own, for callers that wait: tasks of Spark are plain functions."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from odradek.client.client import Client, parse_bootstrap
from odradek.client.setting import ClientSetting

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")


class Link:
    """Kept for as long as its process lives: a worker of Spark runs many tasks, one after the other."""

    def __init__(self, bootstrap: str, client_id: str, request_timeout_s: float) -> None:
        setting = ClientSetting(client_id=client_id, request_timeout_s=request_timeout_s)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="odradek-sink", daemon=True)
        self._thread.start()
        self.client = Client(parse_bootstrap(bootstrap), setting)

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Waits for what it gives."""
        return self.begin(work).result()

    def begin(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        self.call(self.client.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


_links: dict[tuple[str, str, float], Link] = {}


def link_to(bootstrap: str, client_id: str, request_timeout_s: float) -> Link:
    """The one of this process."""
    key = (bootstrap, client_id, request_timeout_s)
    link = _links.get(key)
    if link is None:
        link = _links[key] = Link(*key)
    return link
