"""Recovery in child processes: a scan is all CPU, and in a thread it would hold up everybody else.

Files in, files out: a child mends a partition's directory on disk and reports what it did; the one who asked then
opens it as one that is whole. `python -m odradek.storage.scanner` is the child: pickled situations on its standard
input, pickled reports on its standard output.
"""

import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import IO, NamedTuple

from odradek.model.errors import OdradekError
from odradek.storage.files import OsFiles
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
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        if child.stdin is None or child.stdout is None:
            raise RuntimeError("a child without pipes")
        try:
            while waiting:
                with lock:
                    if not waiting:
                        break
                    situation = waiting.pop()
                pickle.dump(situation, child.stdin)
                child.stdin.flush()
                report = pickle.load(child.stdout)
                with lock:
                    on_report(report)
        except (EOFError, BrokenPipeError):
            return  # it died: what it had not reported is scanned again by the one who opens the directory


def _situations(source: IO[bytes]) -> Iterator[Situation]:
    while True:
        try:
            yield pickle.load(source)
        except EOFError:
            return


def main() -> None:
    open_files = OpenFiles(OsFiles())
    for situation in _situations(sys.stdin.buffer):
        try:
            recovered = recover(open_files, situation)
            for segment in recovered.segments:
                segment.abandon()
            report = Report(situation.directory, recovered.events, recovered.scanned_bytes, None)
        except (OSError, OdradekError) as error:
            report = Report(situation.directory, [], 0, str(error))
        pickle.dump(report, sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
