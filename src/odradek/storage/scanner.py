"""Recovery in child processes: a scan is all CPU, and in a thread it would hold up everybody else.

Files in, files out: a child mends a partition's directory on disk and reports what it did; the one who asked then
opens it as one that is whole. `python -m odradek.storage.scanner` is the child: situations on its standard input,
reports on its standard output, each a line of JSON.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import NamedTuple

from odradek.model.errors import OdradekError
from odradek.process.files import OsFiles
from odradek.storage.open_files import OpenFiles
from odradek.storage.recovery import Event, Situation, recover


class Report(NamedTuple):
    directory: str
    events: list[Event]
    scanned_bytes: int
    error: str | None
    """Why the directory could not be mended; whoever opens it next will see the same."""


def scan_all(situations: Sequence[Situation], children: int, on_report: Callable[[Report], None]) -> None:
    """Mend every directory, in at most `children` processes. One that dies leaves its share to the caller."""
    waiting = list(reversed(situations))
    lock = threading.Lock()
    workers = [
        threading.Thread(target=_feed_child, args=(waiting, lock, on_report), name=f"scan-{number}")
        for number in range(min(children, len(situations)))
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def _feed_child(waiting: list[Situation], lock: threading.Lock, on_report: Callable[[Report], None]) -> None:
    command = [sys.executable, "-m", "odradek.storage.scanner"]
    try:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            if child.stdin is None or child.stdout is None:
                raise RuntimeError("a child without pipes")
            while True:
                with lock:
                    if not waiting:
                        break
                    situation = waiting.pop()
                child.stdin.write(json.dumps(asdict(situation)).encode() + b"\n")
                child.stdin.flush()
                report = _parse_report(child.stdout.readline())
                with lock:
                    on_report(report)
    except (OSError, ValueError, TypeError):
        # It did not start, died, or answers nonsense. What it did not report is scanned by who opens the directory.
        return


def _parse_report(line: bytes) -> Report:
    directory, events, scanned_bytes, error = json.loads(line)
    return Report(directory, [Event(*event) for event in events], scanned_bytes, error)


def main() -> None:
    open_files = OpenFiles(OsFiles())
    for line in sys.stdin.buffer:
        situation = Situation(**json.loads(line))
        try:
            recovered = recover(open_files, situation)
            for segment in recovered.segments:
                segment.abandon()
            report = Report(situation.directory, recovered.events, recovered.scanned_bytes, None)
        except (OSError, OdradekError) as error:
            report = Report(situation.directory, [], 0, str(error))
        sys.stdout.buffer.write(json.dumps(report).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
