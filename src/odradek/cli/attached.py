"""Commands that end with whoever started them: standard input is a pipe that nobody writes to, until it ends."""

import asyncio
import os
import stat

from odradek.model.errors import InvalidConfig

_STDIN = 0


def check() -> None:
    """Raises InvalidConfig where standard input is no pipe."""
    mode = os.fstat(_STDIN).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        raise InvalidConfig("--attached: standard input must be a pipe")


def watch(stop: asyncio.Event) -> None:
    """Sets it when whoever holds the other end has closed it, or is no more."""
    asyncio.get_running_loop().add_reader(_STDIN, _stop_at_end, stop)


def _stop_at_end(stop: asyncio.Event) -> None:
    if not os.read(_STDIN, 4096):
        asyncio.get_running_loop().remove_reader(_STDIN)
        stop.set()
