"""Lines of the log, for people and for programs."""

import json
import logging

import pytest

from odradek.process.log_lines import JsonFormat, LineFormat


def line(form: logging.Formatter, **fields: object) -> str:
    return form.format(logging.makeLogRecord({"msg": "a member left", "levelname": "INFO", "created": 0.0, **fields}))


def test_fields_follow_the_text() -> None:
    assert line(LineFormat(), group="shop", members=2).endswith(" INFO a member left group=shop members=2")


@pytest.mark.parametrize("value", ["two words", "", "a\n2026-01-31 INFO a lie", "\x1b[2J", "a\u2028b", "tab\there"])
def test_what_could_be_misread_is_quoted(value: str) -> None:
    shown = line(LineFormat(), group=value)
    assert shown.endswith(f" group={value!r}")
    assert len(shown.splitlines()) == 1


def test_a_line_of_json_has_all_fields() -> None:
    read = json.loads(line(JsonFormat(), group="a\nb", members=2))
    assert (read["text"], read["level"], read["group"], read["members"]) == ("a member left", "INFO", "a\nb", 2)
