"""`odradek log verify`: findings on standard output as they are made, progress on standard error."""

import argparse
import json
import sys
import time
from collections import Counter
from dataclasses import asdict
from typing import TextIO

from odradek.cli import lock_probe
from odradek.cli.quantities import count, size
from odradek.cli.streams import lenient
from odradek.process.files import OsFiles
from odradek.storage.verify import Finding, NotADataDirectory, Severity, Tally, Verification

EXIT_ERRORS = 1
EXIT_NO_DIRECTORY = 2
_REDRAW_S = 0.1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "directories", nargs="+", metavar="DIR", help="a log directory, one that holds several, or one partition's"
    )
    parser.add_argument("--deep", action="store_true", help="also decompress every batch and read every record")
    parser.add_argument("--json", action="store_true", help="print findings and the summary as JSON, one object a line")
    parser.add_argument("--progress", action="store_true", help="show progress even if standard error is no terminal")
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """0 if nothing is wrong, 1 if there are errors, 2 if a path is no data directory."""
    progress = Progress(sys.stderr, shown=arguments.progress or sys.stderr.isatty())
    verification = Verification(OsFiles(), deep=arguments.deep, is_held=lock_probe.is_held, on_progress=progress.update)
    progress.tally = verification.tally
    try:
        for directory in arguments.directories:
            verification.add(directory)
    except NotADataDirectory as error:
        print(f"odradek: {error}", file=sys.stderr)
        return EXIT_NO_DIRECTORY
    counts: Counter[Severity] = Counter()
    lenient(sys.stdout)
    try:
        for finding in verification.run():
            counts[finding.severity] += 1
            progress.clear()
            print(_as_json(finding) if arguments.json else as_text(finding))
    finally:
        progress.clear()
    seconds = progress.elapsed_s()
    print((_json_summary if arguments.json else text_summary)(verification.tally, counts, seconds))
    return EXIT_ERRORS if counts[Severity.ERROR] else 0


class Progress:
    """One line, rewritten in place. Also the clock: it starts when this is made."""

    def __init__(self, stream: TextIO, *, shown: bool) -> None:
        self.tally = Tally()
        self._stream = stream
        self._shown = shown
        self._width = 0
        self._start = time.monotonic()
        self._drawn = self._start

    def elapsed_s(self) -> float:
        return max(time.monotonic() - self._start, 1e-6)

    def update(self) -> None:
        now = time.monotonic()
        if not self._shown or now - self._drawn < _REDRAW_S:
            return
        self._drawn = now
        tally = self.tally
        share = tally.bytes / tally.bytes_found if tally.bytes_found else 1
        line = (
            f"{min(share, 1):4.0%}  {size(tally.bytes)} of {size(max(tally.bytes_found, tally.bytes))}, "
            f"{tally.files} files, {size(tally.bytes / self.elapsed_s())}/s"
        )
        self._stream.write(f"\r{line:<{self._width}}")
        self._stream.flush()
        self._width = len(line)

    def clear(self) -> None:
        """Take the line away, so that other output has its own."""
        if self._width:
            self._stream.write(f"\r{'':<{self._width}}\r")
            self._stream.flush()
            self._width = 0


def as_text(finding: Finding) -> str:
    return f"{finding.severity.value:<7}  {finding}"


def _as_json(finding: Finding) -> str:
    fields = {
        "type": "finding",
        "severity": finding.severity.value,
        "path": finding.path,
        "position": finding.position,
        "line": finding.line,
        "text": finding.text,
    }
    return json.dumps({name: value for name, value in fields.items() if value is not None})


def _json_summary(tally: Tally, counts: Counter[Severity], seconds: float) -> str:
    found = {f"{severity.value}s": counts[severity] for severity in Severity}
    looked_at = {name: value for name, value in asdict(tally).items() if name != "bytes_found"}
    return json.dumps({"type": "summary", **found, **looked_at, "seconds": round(seconds, 3)})


def text_summary(tally: Tally, counts: Counter[Severity], seconds: float) -> str:
    looked_at = (
        f"{count(tally.partitions, 'partition')}, {count(tally.segments, 'segment')}, "
        f"{count(tally.batches, 'batch', 'es')}, {count(tally.records, 'record')}, {size(tally.bytes)} "
        f"in {seconds:.2f} s ({size(tally.bytes / seconds)}/s)"
    )
    found = ", ".join(count(counts[severity], severity.value) for severity in Severity)
    return f"checked {looked_at}: {found}"
