"""Where the demo shows itself: a terminal, whose last lines are drawn again in place, or a file that gets lines."""

import contextlib
import os
import shutil
from collections.abc import Sequence
from os import terminal_size
from types import TracebackType
from typing import Protocol, TextIO

_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
_CLEAR_LINE, _CLEAR_BELOW = "\x1b[K", "\x1b[J"


class Gone(Exception):
    """Nobody reads it any more: the terminal was closed, or the pipe."""


class Screen(Protocol):
    is_terminal: bool

    def draw(self, lines: Sequence[str]) -> None:
        """In place of what was drawn before."""
        ...

    def say(self, *lines: str) -> None:
        """Lines that stay, below what was drawn last."""
        ...


class Terminal:
    """Draws only lines that have changed, and hides the cursor, from its first drawing to the end of its block."""

    is_terminal = True

    def __init__(self, stream: TextIO, size: terminal_size | None = None) -> None:
        self._stream, self._size = stream, size
        self._drawn: list[str] = []
        self._is_hidden = False

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if self._is_hidden:
            with contextlib.suppress(Gone):
                self._write(_SHOW)

    def draw(self, lines: Sequence[str]) -> None:
        size = self._size or shutil.get_terminal_size()
        # The cursor stays below the last line, so one row is for it; a line that is too long would take two.
        shown = [line[: size.columns - 1] for line in lines[: size.lines - 1]]
        parts = [] if self._is_hidden else [_HIDE]
        self._is_hidden = True
        if self._drawn:
            parts.append(f"\x1b[{len(self._drawn)}F")
        for number, line in enumerate(shown):
            is_same = number < len(self._drawn) and self._drawn[number] == line
            parts.append("\n" if is_same else f"{line}{_CLEAR_LINE}\n")
        if len(shown) < len(self._drawn):
            parts.append(_CLEAR_BELOW)
        self._drawn = shown
        self._write("".join(parts))

    def say(self, *lines: str) -> None:
        self._drawn = []
        self._write("".join(f"{line}\n" for line in lines))

    def _write(self, text: str) -> None:
        _write(self._stream, text)


class Lines:
    """For a file or a pipe: what is drawn in place is left out."""

    is_terminal = False

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        pass

    def draw(self, lines: Sequence[str]) -> None:
        pass

    def say(self, *lines: str) -> None:
        _write(self._stream, "".join(f"{line}\n" for line in lines))


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except (OSError, ValueError):
        # What is still buffered must not raise again when the interpreter shuts down.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise Gone from None
