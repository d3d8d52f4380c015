"""Where the lines go: what a file holds to one stream, what is wrong with it to the other."""

from typing import TextIO

from odradek.cli.streams import CONTROLS


class Printer:
    def __init__(self, out: TextIO, err: TextIO) -> None:
        self.failed = False
        """Something could not be read, or is wrong."""
        self._out = out
        self._err = err
        # What a producer sent must not move the cursor, let alone more. Into a pipe it goes as it is.
        self._escapes = CONTROLS if out.isatty() else None

    def line(self, text: str) -> None:
        self._out.write(text)
        self._out.write("\n")

    def lines(self, lines: list[str]) -> None:
        if lines:
            self.line("\n".join(lines))

    def decode(self, data: bytes) -> str:
        """Keys and values as text, whatever they are."""
        text = data.decode(errors="replace")
        return text if self._escapes is None else text.translate(self._escapes)

    def remark(self, text: str) -> None:
        """Worth knowing, but nothing is wrong."""
        self._err.write(f"{text}\n")

    def complain(self, path: str, text: str, position: int | None = None) -> None:
        self.failed = True
        self._err.write(f"{path}: {text}\n" if position is None else f"{path} at {position}: {text}\n")

    def report(self, title: str, lines: list[str]) -> None:
        """What is wrong, in a list of its own."""
        if lines:
            self.failed = True
            self._err.write("\n".join((title, *lines, "")))
