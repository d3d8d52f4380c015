"""The page, served until somebody ends it. This is the only module that starts the web server."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator

import uvicorn
from fastapi import FastAPI
from nicegui import ui

from odradek.console.feed import Feed
from odradek.console.page import Page
from odradek.model.address import format_host

_MESSAGES_KEPT = 10
"""For a browser that lost its connection for a moment. What it missed comes with the next picture."""
_RECONNECT_S = 10.0
_GRACE_S = 1
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="5" fill="none" '
    'stroke="#0072B2" stroke-width="3"/><circle cx="8" cy="8" r="1.6" fill="#D55E00"/></svg>'
)


async def serve(feed: Feed, listening: socket.socket, stop: asyncio.Event, when_ready: Callable[[str], None]) -> None:
    """Until `stop`. The address is handed over when the page can be had."""
    host, port = listening.getsockname()[:2]
    app = FastAPI(openapi_url=None)

    def page() -> None:
        Page(lambda: feed.picture)

    ui.run_with(
        app,
        root=page,
        title="odradek",
        favicon=_ICON,
        dark=None,
        tailwind=False,
        binding_refresh_interval=None,
        reconnect_timeout=_RECONNECT_S,
        message_history_length=_MESSAGES_KEPT,
        show_welcome_message=False,
    )
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=_GRACE_S)
    server = _Server(config, lambda: when_ready(f"http://{format_host(host)}:{port}/"))
    feed.start()
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(server.serve(sockets=[listening]), name="web server")
            await stop.wait()
            server.should_exit = True
    finally:
        await asyncio.to_thread(feed.stop)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, when_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._when_ready = when_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._when_ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are for the command that serves."""
        yield
