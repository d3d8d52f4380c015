"""How lines of the log look: fixed text and fields, for people or for programs."""

import json
import logging

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


def _fields(record: logging.LogRecord) -> dict[str, object]:
    """What was given as `extra`."""
    return {name: value for name, value in vars(record).items() if name not in _OWN}


class LineFormat(logging.Formatter):
    """`2026-01-31 12:00:00,000 WARNING closed a connection client=127.0.0.1:5 reason='...'`"""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        said = "".join(f" {name}={_shown(value)}" for name, value in _fields(record).items())
        return super().formatMessage(record) + said


class JsonFormat(logging.Formatter):
    """One object a line."""

    def format(self, record: logging.LogRecord) -> str:
        line = {"time": self.formatTime(record), "level": record.levelname, "text": record.getMessage()}
        fields = {
            name: value if isinstance(value, (int, float, str)) else str(value)
            for name, value in _fields(record).items()
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps({**line, **fields})


def _shown(value: object) -> str:
    text = str(value)
    # Clients choose names: with a line break in one they could write lines of their own.
    return repr(text) if " " in text or not text or not text.isprintable() else text
