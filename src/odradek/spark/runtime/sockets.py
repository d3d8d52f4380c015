"""Connections of a Python process to the Java of Spark, where they are TCP: what is sent does not wait for more.

Both ends of such a connection have Nagle's algorithm on, and both send what belongs together in parts. A part that
does not fill a packet is held back until all before it is acknowledged, and the other end acknowledges late what it
does not answer, as it cannot yet: each time up to 40 ms, for a task that takes ten. `session()` has Spark use Unix
sockets, which know no such thing; this is for sessions that were made in another way.
"""

import gc
import os
import socket
from contextlib import suppress
from functools import cache, partial
from ipaddress import ip_address

_OPEN_FILES = "/dev/fd"
_QUICKACK: int | None = getattr(socket, "TCP_QUICKACK", None)
"""Linux has it."""
_WHOLE = 2
"""The generation of a collection that looks at all objects, as Spark's does. Others are made all the time."""


@cache
def send_at_once() -> None:
    """From now on, on the connections to this machine that the process has: the one for tasks is there by then.

    What we send is sent as it comes. What Java sends is acknowledged as soon as it is read, until we answer: the system
    takes that for a conversation again, in which an answer is acknowledgement enough. So it is asked for after each
    task. Of that we are told by the collection of garbage that Spark makes then, and by nothing else.
    """
    connections = _to_this_machine()
    for number in connections:
        _set(number, socket.TCP_NODELAY)
    if connections and _QUICKACK is not None:
        gc.callbacks.append(partial(_acknowledge, connections, _QUICKACK))


def _acknowledge(connections: list[int], option: int, phase: str, info: dict[str, int]) -> None:
    if phase == "start" and info["generation"] == _WHOLE:
        for number in connections:
            _set(number, option)


def _to_this_machine() -> list[int]:
    """All files of each: a worker has three of its connection, two of which are closed with the task that has them."""
    found = []
    for number in _open_files():
        with suppress(OSError):
            if _is_to_this_machine(number):
                found.append(number)
    return found


def _open_files() -> list[int]:
    try:
        return [int(name) for name in os.listdir(_OPEN_FILES)]
    except OSError:
        return []


def _is_to_this_machine(number: int) -> bool:
    """Raises OSError where nobody is at the other end, and for a file that is no socket."""
    with _opened_again(number) as found:
        if found.family not in (socket.AF_INET, socket.AF_INET6) or found.type != socket.SOCK_STREAM:
            return False
        return ip_address(found.getpeername()[0]).is_loopback


def _set(number: int, option: int) -> None:
    with suppress(OSError), _opened_again(number) as found:  # it may be closed by now
        found.setsockopt(socket.IPPROTO_TCP, option, 1)


def _opened_again(number: int) -> socket.socket:
    """Another file of the same connection. Raises OSError for what is no socket, and where sockets have a time limit by
    default: then Python would take the connection, for whoever uses it, for one that does not wait."""
    if socket.getdefaulttimeout() is not None:
        raise OSError("sockets have a time limit")
    copy = os.dup(number)
    try:
        return socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        raise
