"""Which topics a command about groups is for, and what it says of groups that it cannot do it for."""

import argparse

from odradek.cli.topic_scope import parse_scope
from odradek.client.errors import ClientError, Refused
from odradek.model.error_code import ErrorCode

_REASONS = {
    ErrorCode.NON_EMPTY_GROUP: "the group is not empty: stop its members first",
    ErrorCode.UNKNOWN_MEMBER_ID: "the group is not empty: stop its members first",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: "members subscribe to the topic",
}
"""In place of messages: the protocol has none for these."""


def add_topics(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--topic",
        metavar="TOPIC[:0,1]",
        type=parse_scope,
        action="append",
        default=[],
        help="a topic, or some partitions of it; may be repeated",
    )


def complaint(name: str, error: ClientError) -> str:
    if not isinstance(error, Refused):
        return f"{name}: {error}"
    if error.code is ErrorCode.GROUP_ID_NOT_FOUND:
        return f"Consumer group '{name}' does not exist"
    reason = None if error.message else _REASONS.get(error.code)
    return f"{name}: {reason} ({error.code.name})" if reason else f"{name}: {error}"
