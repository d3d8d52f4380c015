"""Addresses of hosts: each question is answered, whatever becomes of the threads."""

import asyncio
from threading import Thread

import pytest

from odradek.process.resolver import Resolver


def no_thread(_thread: Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_a_host_has_no_address_while_there_can_be_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        resolver = Resolver(lambda _: frozenset(("10.0.0.1",)))
        with monkeypatch.context() as patched:
            patched.setattr(Thread, "start", no_thread)
            for _ in range(5):
                assert await resolver.resolve("orders.example") == frozenset()
        assert await resolver.resolve("orders.example") == frozenset(("10.0.0.1",))

    asyncio.run(asyncio.wait_for(main(), 60))
