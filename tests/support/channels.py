"""Channels, for those who can wait."""

import asyncio

from odradek.process.network import Acceptor, Channel


async def accepted(acceptor: Acceptor) -> Channel:
    ready = asyncio.Event()
    acceptor.on_acceptable(ready.set)
    async with asyncio.timeout(30):
        await ready.wait()
    acceptor.on_acceptable(None)
    return acceptor.accept()


async def received(channel: Channel, size: int) -> bytes:
    """So many bytes, or all until the stream ends."""
    readable, found = asyncio.Event(), bytearray()
    channel.on_readable(readable.set)
    async with asyncio.timeout(30):
        while len(found) < size:
            await readable.wait()
            readable.clear()
            buffer = bytearray(size - len(found))
            try:
                count = channel.receive_into(buffer)
            except BlockingIOError:
                continue
            if not count:
                break
            found += buffer[:count]
    channel.on_readable(None)
    return bytes(found)
