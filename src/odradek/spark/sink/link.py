"""A client of a cluster for callers that wait: tasks of Spark are plain functions."""

import os
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from odradek.client.client import Client, parse_bootstrap
from odradek.client.setting import ClientSetting
from odradek.spark.reading.connected import here

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")


class Link:
    """Lives on the event loop of its process."""

    def __init__(self, bootstrap: str, client_id: str, request_timeout_s: float) -> None:
        setting = ClientSetting(client_id=client_id, request_timeout_s=request_timeout_s)
        self.client = Client(parse_bootstrap(bootstrap), setting)

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Waits for what it gives."""
        return self.begin(work).result()

    def begin(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        return here().submit(work)

    def close(self) -> None:
        self.call(self.client.close())


_links: dict[tuple[int, str, str, float], Link] = {}
"""Kept for as long as a process lives: a worker of Spark runs many tasks. A fork has links of its own."""


def link_to(bootstrap: str, client_id: str, request_timeout_s: float) -> Link:
    key = (os.getpid(), bootstrap, client_id, request_timeout_s)
    link = _links.get(key)
    if link is None:
        link = _links[key] = Link(bootstrap, client_id, request_timeout_s)
    return link
