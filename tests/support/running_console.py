"""`odradek console` in a process of its own, for the length of a block."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator

from odradek.model.errors import OdradekError
from odradek.testing.broker import environment

_SAYS = b"console: "
_END_S = 60


class ConsoleFailed(OdradekError):
    """It did not start, or did not end as it should."""


@contextlib.contextmanager
def running_console(bootstrap: str) -> Iterator[str]:
    """The address of its page. It ends with the block, or with this process."""
    command = [sys.executable, "-P", "-m", "odradek", "console", "--bootstrap", bootstrap]
    command += ["--port", "0", "--no-browser", "--attached"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment(), process_group=0) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if not line.startswith(_SAYS):
                raise ConsoleFailed("the console did not start")
            yield line.removeprefix(_SAYS).decode().strip()
            process.stdin.close()
            if process.wait(_END_S) != 0:
                raise ConsoleFailed(f"the console ended with status {process.returncode}")
        finally:
            process.kill()
