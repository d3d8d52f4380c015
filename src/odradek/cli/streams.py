"""Standard streams that take any text: names of files and records may hold what a terminal's encoding has not."""

import io
from typing import TextIO


def lenient(stream: TextIO) -> TextIO:
    """The same stream, which from now on escapes what it cannot encode."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream
