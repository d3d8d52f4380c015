"""Topics by regular expression (RE2): matching takes time that is linear in the name, whatever the expression.

Kafka looks for topics in the background, so a member learns of them with a later heartbeat. Here it is done at once: an
expression is held against each name one time, and later against names that are new.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import re2  # type: ignore[import-untyped]

from odradek.coordinators.groups.consumer.errors import InvalidExpression
from odradek.metadata.image import Topics
from odradek.model.numbers import TimestampMs

_MEMORY_MAX = 1 << 20
"""That a compiled expression may take; one that needs more is refused."""
_REMEMBERED_MAX = 1000
"""Expressions. When there are more, all are forgotten, and found again when they are asked for."""


class Matched(NamedTuple):
    """What an expression stands for."""

    topics: frozenset[str] = frozenset()
    version: int = 0
    """Offset of the metadata that the topics were looked for in."""
    matched_ms: TimestampMs = TimestampMs(0)


class _Known(NamedTuple):
    names: Mapping[str, Any]
    """Those that it was held against."""
    topics: frozenset[str]


class Expressions:
    """Remembers what it found."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}

    def match(self, pattern: str, topics: Topics) -> frozenset[str]:
        """The names that match as a whole. An invalid expression, which only a log can have, matches none."""
        known = self._known.get(pattern)
        if known is None or known.names is not topics.names:
            known = self._known[pattern] = _Known(topics.names, _match(pattern, topics.names, known))
            if len(self._known) > _REMEMBERED_MAX:
                self._known = {pattern: known}
        return known.topics


def check_expression(pattern: str) -> None:
    """Raises InvalidExpression."""
    _compile(pattern)


def _match(pattern: str, names: Mapping[str, Any], known: _Known | None) -> frozenset[str]:
    kept = frozenset() if known is None else known.topics & names.keys()
    fresh = names.keys() if known is None else names.keys() - known.names.keys()
    if not fresh:
        return kept
    try:
        compiled = _compile(pattern)
    except InvalidExpression:
        return frozenset()
    return kept | {name for name in fresh if compiled.fullmatch(name.encode())}


def _compile(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY_MAX
    options.never_capture = True
    try:
        return re2.compile(pattern.encode(), options)  # bytes are matched three times as fast
    except re2.error as error:
        reason = error.args[0].decode(errors="replace")
        raise InvalidExpression(
            f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: {reason}"
        ) from None
