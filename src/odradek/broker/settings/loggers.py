"""The levels of this node's loggers, by Kafka's names: shown and changed while it runs, and forgotten when it ends.

Loggers have the names of Python's: those of our packages, `odradek.net` for example, and `root` for all.
"""

import logging
from collections.abc import Sequence

from odradek.controller.configs import Change, Operation
from odradek.controller.errors import InvalidConfiguration, InvalidRequest

ROOT = "root"

TRACE = 5
"""Python has no such level: below DEBUG."""

_LEVELS = {
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": TRACE,
}


class Loggers:
    def levels(self) -> dict[str, str]:
        """What counts for each logger, its own level or that of the nearest above it."""
        return {name: _name_of(logger.getEffectiveLevel()) for name, logger in sorted(_loggers().items())}

    def change(self, changes: Sequence[Change], *, validate_only: bool = False) -> None:
        """All of them or none. Raises InvalidRequest or InvalidConfiguration."""
        if len({change.name for change in changes}) < len(changes):
            raise InvalidRequest("The request has duplicate config keys")
        for change in changes:
            if change.value is None and change.operation != Operation.DELETE:
                raise InvalidRequest(f"Null value not supported for: {change.name}")
        loggers = _loggers()
        for change in changes:
            _check(change, loggers)
        if not validate_only:
            for change in changes:
                level = logging.NOTSET if change.value is None else _LEVELS.get(change.value, logging.NOTSET)
                loggers[change.name].setLevel(logging.NOTSET if change.operation == Operation.DELETE else level)


def _loggers() -> dict[str, logging.Logger]:
    known = logging.root.manager.loggerDict
    ours = {name: each for name, each in known.items() if isinstance(each, logging.Logger)}
    return {name: each for name, each in ours.items() if name.partition(".")[0] == "odradek"} | {ROOT: logging.root}


def _check(change: Change, loggers: dict[str, logging.Logger]) -> None:
    if change.operation not in (Operation.SET, Operation.DELETE):
        raise InvalidRequest("Such an operation is not allowed for the level of a logger, which is set or deleted")
    if change.name not in loggers:
        raise InvalidConfiguration(f"Logger {change.name} does not exist")
    if change.operation == Operation.SET and change.value not in _LEVELS:
        raise InvalidConfiguration(
            f"The log level of {change.name} cannot be {change.value}: Valid log levels are {', '.join(_LEVELS)}"
        )
    if change.operation == Operation.DELETE and change.name == ROOT:
        raise InvalidRequest("Removing the log level of the root logger is not allowed")


def _name_of(level: int) -> str:
    """The least severe of Kafka's names that a message must have to be written."""
    above = [name for name, value in _LEVELS.items() if value >= level]
    return above[-1] if above else "OFF"
