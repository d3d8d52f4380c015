"""What is on a terminal after the demo has drawn on it."""

import io
import re
from os import terminal_size

import pytest

from odradek.demo.screen import Gone, Lines, Terminal

_PARTS = re.compile(r"\x1b\[(\??)(\d*)([A-Za-z])|(\n)|([^\x1b\n]+)")


class Seen:
    """A terminal, as far as the demo needs one."""

    def __init__(self) -> None:
        self.rows: list[str] = [""]
        self.row = self.column = 0
        self.has_cursor = True

    def show(self, text: str) -> None:
        at = 0
        while at < len(text):
            match = _PARTS.match(text, at)
            assert match is not None, text[at:]
            at = match.end()
            self._take(*match.groups())

    def _take(
        self, mode: str | None, number: str | None, final: str | None, newline: str | None, text: str | None
    ) -> None:
        if newline is not None:
            self.row, self.column = self.row + 1, 0
            self.rows += [""] * (self.row + 1 - len(self.rows))
        elif text is not None:
            row = self.rows[self.row].ljust(self.column)
            self.rows[self.row] = row[: self.column] + text + row[self.column + len(text) :]
            self.column += len(text)
        elif mode:
            assert number == "25"
            self.has_cursor = final == "h"
        elif final == "F":
            self.row, self.column = self.row - int(number or 1), 0
            assert self.row >= 0
        elif final == "K":
            self.rows[self.row] = self.rows[self.row][: self.column]
        elif final == "J":
            self.rows[self.row] = self.rows[self.row][: self.column]
            del self.rows[self.row + 1 :]
        else:
            raise AssertionError(final)


def drawn(stream: io.StringIO) -> Seen:
    seen = Seen()
    seen.show(stream.getvalue())
    return seen


def test_a_frame_replaces_the_one_before() -> None:
    stream = io.StringIO()
    with Terminal(stream, terminal_size((80, 24))) as screen:
        screen.say("before")
        screen.draw(["one", "two and more", "three"])
        screen.draw(["one", "2", "three", "four"])
        assert drawn(stream).rows == ["before", "one", "2", "three", "four", ""]
        screen.draw(["one"])
        assert drawn(stream).rows == ["before", "one", ""]
        assert not drawn(stream).has_cursor
        screen.say("after")
        screen.draw(["last"])
    assert drawn(stream).rows == ["before", "one", "after", "last", ""]
    assert drawn(stream).has_cursor


def test_lines_that_stay_as_they_are_are_not_drawn_again() -> None:
    stream = io.StringIO()
    with Terminal(stream, terminal_size((80, 24))) as screen:
        screen.draw(["steady", "number 1"])
        screen.draw(["steady", "number 2"])
    assert stream.getvalue().count("steady") == 1


def test_a_small_terminal_shows_what_fits() -> None:
    stream = io.StringIO()
    with Terminal(stream, terminal_size((10, 3))) as screen:
        screen.draw(["0123456789abc", "second", "third", "fourth"])
        screen.draw(["0123456789xyz", "second", "third", "fourth"])
    assert drawn(stream).rows == ["012345678", "second", ""]


def test_the_cursor_comes_back_after_an_error() -> None:
    stream = io.StringIO()

    def fail() -> None:
        with Terminal(stream, terminal_size((80, 24))) as screen:
            screen.draw(["one"])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert drawn(stream).has_cursor


def test_a_file_gets_only_lines_that_stay() -> None:
    stream = io.StringIO()
    with Lines(stream) as screen:
        screen.draw(["one", "two"])
        screen.say("said", "twice")
    assert stream.getvalue() == "said\ntwice\n"


@pytest.mark.parametrize("kind", [Terminal, Lines])
def test_a_reader_that_went_away_is_told_as_such(kind: type[Terminal] | type[Lines]) -> None:
    stream = io.StringIO()
    stream.close()
    with pytest.raises(Gone), kind(stream) as screen:
        screen.say("to nobody")
