"""`odradek console`: live results on a page, until it is told to stop."""

import argparse
import asyncio
import os
import signal
import sys
import threading
import webbrowser
from types import ModuleType

from confluent_kafka import KafkaException

from odradek.cli import attached, librdkafka, reaching
from odradek.cli.main import Misused
from odradek.client.client import Client
from odradek.console.feed import Feed
from odradek.console.listening import listen
from odradek.console.loading import load_serving
from odradek.model.address import PORT_MAX
from odradek.model.errors import InvalidConfig
from odradek.process.clock import SystemClock

PORT = 9095
_PACKAGES = ("fastapi", "nicegui", "uvicorn")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="where the page is served (127.0.0.1); there is no login")
    parser.add_argument("--port", metavar="N", type=_port, default=PORT, help=f"({PORT}); 0 for any that is free")
    parser.add_argument("--no-browser", action="store_true", help="do not open the page")
    parser.add_argument("--attached", action="store_true", help="stop when standard input, a pipe, ends")
    reaching.add_arguments(parser)
    parser.set_defaults(handler=console)


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= PORT_MAX:
        raise ValueError(text)
    return number


def console(options: argparse.Namespace) -> int:
    if options.attached:
        try:
            attached.check()
        except InvalidConfig as error:
            raise Misused(str(error)) from None
    try:
        feed = Feed(librdkafka.settings(options), SystemClock())
    except KafkaException as error:
        raise librdkafka.misused(error) from None
    if reaching.is_plaintext(reaching.given_properties(options)):
        reaching.run(options, _answers)
    listening = listen(options.host, options.port)
    serving = load_pages()

    async def main() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        if options.attached:
            attached.watch(stop)
        await serving.serve(feed, listening, stop, lambda url: _tell(url, opens=not options.no_browser))

    asyncio.run(main())
    return 0


async def _answers(client: Client) -> int:
    """librdkafka would wait for a broker that is not there; whoever starts the page wants to hear of it at once."""
    await client.look_up(())
    return 0


def _tell(url: str, *, opens: bool) -> None:
    print(f"console: {url}", flush=True)
    if opens and _has_display():
        threading.Thread(target=webbrowser.open, args=(url,), name="browser", daemon=True).start()


def _has_display() -> bool:
    """Without one, a browser for terminals might be started over what is shown in this one."""
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def load_pages() -> ModuleType:
    try:
        return load_serving()
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _PACKAGES:
            raise
        raise Misused(f"the console needs {package}, which is not installed: pip install 'odradek[console]'") from None
