"""A browser without a window, told what to do over its own protocol for developers (CDP): Debian's chromium."""

import base64
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

from websockets.sync.client import ClientConnection, connect

from odradek.model.errors import OdradekError

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_OPTIONS = (
    "--headless=new",
    "--remote-debugging-port=0",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--no-sandbox",  # which root cannot have; it opens pages of the tests alone
)
_LISTENING = b"DevTools listening on "
_PATIENCE_S = 300
"""After it something is broken: no machine is that slow."""
_WAIT = "new Promise(done => { const look = () => (%s) ? done(true) : setTimeout(look, 50); look(); })"


class BrowserFailed(OdradekError):
    """A browser did not start, or a page did not do what it was told."""


def find_browser() -> str | None:
    return next((path for path in map(shutil.which, _NAMES) if path is not None), None)


class Tab:
    """A page. It remembers what was requested and what went wrong."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._session: str | None = None
        self.requests: list[str] = []
        """The address of each request, also of those over a web socket."""
        self.complaints: list[str] = []
        """Errors and warnings in the page's console."""

    def open(self, url: str, width: int = 1440, height: int = 900) -> None:
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")
        self.resize(width, height)
        self._call("Page.navigate", url=url)

    def resize(self, width: int, height: int) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", **metrics)

    def prefer(self, scheme: str) -> None:
        """`light` or `dark`, as the system would say."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self._call("Emulation.setEmulatedMedia", features=[feature])

    def evaluate(self, expression: str) -> Any:
        """What it is; of a promise, what it becomes."""
        answer = self._call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise BrowserFailed(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Until the expression is true."""
        self.evaluate(_WAIT % condition)

    def press(self, x: float, y: float) -> None:
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def hover(self, x: float, y: float) -> None:
        self._call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def screenshot(self) -> bytes:
        """A PNG."""
        return base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"])

    def text(self, selector: str) -> str:
        return str(self.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        session = {} if self._session is None else {"sessionId": self._session}
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters, **session}))
        while True:
            try:
                message = json.loads(self._socket.recv(timeout=_PATIENCE_S))
            except TimeoutError:
                told = f"{method} {parameters} had no answer within {_PATIENCE_S} s"
                raise BrowserFailed(f"{told}; the page complained of: {self.complaints}") from None
            if message.get("id") != number:
                self._note(message)
            elif "error" in message:
                raise BrowserFailed(f"{method}: {message['error']['message']}")
            else:
                result: dict[str, Any] = message["result"]
                return result

    def _note(self, message: dict[str, Any]) -> None:
        told = message.get("params", {})
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(told["request"]["url"])
            case "Network.webSocketCreated":
                self.requests.append(told["url"])
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(told["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if told["type"] in ("error", "warning", "assert"):
                self.complaints.append(json.dumps(told["args"]))
            case "Log.entryAdded" if told["entry"]["level"] in ("error", "warning"):
                self.complaints.append(json.dumps(told["entry"]))


@contextlib.contextmanager
def running_browser(path: str) -> Iterator[str]:
    """The address of its protocol, for `tab`. It is gone with the block, and so is all that it wrote."""
    with tempfile.TemporaryDirectory(prefix="odradek-browser-", ignore_cleanup_errors=True) as profile:
        command = [path, *_OPTIONS, f"--user-data-dir={profile}", "about:blank"]
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, "HOME": profile}
        ) as process:
            try:
                assert process.stderr is not None
                lines = iter(process.stderr.readline, b"")
                found = next((line for line in lines if line.startswith(_LISTENING)), None)
                if found is None:
                    raise BrowserFailed(f"{path} did not start")
                # It may have more to say, and would wait for somebody to read it.
                threading.Thread(target=deque, args=(lines, 0), name="browser's lines", daemon=True).start()
                yield found.removeprefix(_LISTENING).decode().strip()
            finally:
                process.terminate()


@contextlib.contextmanager
def tab(protocol: str) -> Iterator[Tab]:
    with connect(protocol, max_size=None, ping_interval=None) as socket:  # a busy page may be long in answering
        yield Tab(socket)
