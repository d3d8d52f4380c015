"""Cleaning in a child process: it is all CPU, and in a thread it would hold up everybody else.

`python -m odradek.storage.cleaning.child` is the child: a job on its standard input, a line of JSON; what came of it on
its standard output. It ends when its standard input does: whoever takes over the directory must not find it at work.
"""

import asyncio
import gc
import json
import os
import sys
import threading
import time
from contextlib import suppress

from odradek.model.errors import CorruptBatch, CorruptFile
from odradek.process.files import OsFiles
from odradek.storage.cleaning.clean import clean
from odradek.storage.cleaning.job import Job, Outcome
from odradek.storage.cleaning.throttle import Throttle

_NICENESS = 10
"""Compaction may wait; those who produce and consume may not."""


async def run_in_child(job: Job) -> Outcome:
    """Raises CorruptBatch where the log is damaged, OSError for everything else that may go wrong."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "odradek.storage.cleaning.child",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(job.to_json() + b"\n")
        with suppress(ConnectionError):  # it died, which shows in what it says
            await child.stdin.drain()
        said = await child.stdout.read()
    finally:
        with suppress(ProcessLookupError):
            child.kill()
        child.stdin.close()
        await asyncio.shield(child.wait())
    return _parse(said)


def _parse(said: bytes) -> Outcome:
    try:
        kind, text = json.loads(said)
    except ValueError:
        raise OSError("the process that cleans died") from None
    if kind == "done":
        return Outcome.from_json(text.encode())
    raise CorruptBatch(text) if kind == "corrupt" else OSError(text)


def main() -> None:
    os.nice(_NICENESS)
    gc.disable()  # it would look again and again at millions of values that refer to nothing
    job = Job.from_json(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    throttle = Throttle(job.limits.bytes_per_second, time.monotonic, time.sleep)
    try:
        said = ("done", clean(OsFiles(), job, throttle.spend).to_json().decode())
    except (CorruptBatch, CorruptFile) as error:
        said = ("corrupt", str(error))
    except OSError as error:
        said = ("failed", str(error))
    sys.stdout.buffer.write(json.dumps(said).encode())
    sys.stdout.buffer.flush()


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
