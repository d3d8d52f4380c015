"""The web server and its pages, loaded when the console runs and not before."""

import contextlib
import importlib
import sys
from collections.abc import Iterator
from types import ModuleType

_UNUSED = ("aio_pika", "aiohttp", "kafka", "kombu", "redis", "valkey", "zmq")
"""What python-socketio imports where it is installed, for clients and queues that no page has a use for."""


def load_serving() -> ModuleType:
    """`odradek.console.serving`. Raises ModuleNotFoundError where a package is not installed."""
    with _hidden(*_UNUSED):
        return importlib.import_module("odradek.console.serving")


@contextlib.contextmanager
def _hidden(*names: str) -> Iterator[None]:
    """As if they were not installed. They are two fifths of the time of a start, and a quarter of the memory."""
    hidden = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None is how Python is told of it
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
