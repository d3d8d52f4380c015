"""Levels of loggers, shown and changed by Kafka's names."""

import logging
from collections.abc import Iterator

import pytest

from odradek.broker.settings.loggers import TRACE, Loggers
from odradek.controller.configs import Change, Operation
from odradek.controller.errors import InvalidConfiguration, InvalidRequest
from odradek.model.errors import BrokerError

NAME = "odradek.of.a.test"


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    made = logging.getLogger(NAME)
    yield made
    made.setLevel(logging.NOTSET)


def set_to(level: str | None, name: str = NAME) -> Change:
    return Change(name, Operation.SET, level)


@pytest.mark.parametrize(
    ("level", "expected"),
    [("FATAL", logging.CRITICAL), ("WARN", logging.WARNING), ("DEBUG", logging.DEBUG), ("TRACE", TRACE)],
)
def test_levels_are_set_and_shown(logger: logging.Logger, level: str, expected: int) -> None:
    Loggers().change([set_to(level)])
    assert logger.level == expected
    assert Loggers().levels()[NAME] == level


def test_a_level_that_is_deleted_is_that_of_the_logger_above(logger: logging.Logger) -> None:
    logger.setLevel(logging.DEBUG)
    Loggers().change([Change(NAME, Operation.DELETE)])
    assert logger.level == logging.NOTSET
    assert Loggers().levels()[NAME] == Loggers().levels()["root"]


def test_a_level_between_two_names_is_the_next_that_is_written(logger: logging.Logger) -> None:
    logger.setLevel(logging.INFO + 1)
    assert Loggers().levels()[NAME] == "WARN"
    logger.setLevel(logging.CRITICAL + 1)
    assert Loggers().levels()[NAME] == "OFF"


def test_only_our_own_loggers_are_shown() -> None:
    logging.getLogger("of.somebody.else")
    assert all(name == "root" or name.startswith("odradek.") for name in Loggers().levels() if name != "odradek")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([set_to("DEBUG", "no.such.logger")], InvalidConfiguration),
        ([set_to("LOUD")], InvalidConfiguration),
        ([set_to("debug")], InvalidConfiguration),
        ([set_to(None)], InvalidRequest),
        ([Change(NAME, Operation.APPEND, "DEBUG")], InvalidRequest),
        ([Change("root", Operation.DELETE)], InvalidRequest),
        ([set_to("DEBUG"), set_to("INFO")], InvalidRequest),
    ],
)
def test_what_cannot_be_changed(logger: logging.Logger, changes: list[Change], expected: type[BrokerError]) -> None:
    another = logging.getLogger("odradek.of.another.test")
    with pytest.raises(expected):
        Loggers().change([set_to("FATAL", another.name), *changes])
    assert logger.level == another.level == logging.NOTSET


def test_validating_changes_nothing(logger: logging.Logger) -> None:
    Loggers().change([set_to("DEBUG")], validate_only=True)
    assert logger.level == logging.NOTSET
