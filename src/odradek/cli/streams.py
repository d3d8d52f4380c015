"""Standard streams that take any text: names of files and records may hold what a terminal's encoding has not."""

import io
import sys
from typing import TextIO

CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) != "\t"}
"""For `str.translate`: what others wrote must not move a terminal's cursor, let alone more."""


def lenient(stream: TextIO) -> TextIO:
    """The same stream, which from now on escapes what it cannot encode."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream


def complain(text: object) -> None:
    """One line on standard error."""
    print(f"odradek: {text}".translate(CONTROLS), file=lenient(sys.stderr))


def confirmed(question: str) -> bool:
    """Whether the person at the terminal says yes."""
    print(f"{question} [y/N] ", end="", file=lenient(sys.stderr), flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
