"""What only groups of the consumer protocol refuse."""

from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError


class InvalidHeartbeat(BrokerError):
    """Fields that contradict each other or the epoch."""

    code = ErrorCode.INVALID_REQUEST


class FencedMemberEpoch(BrokerError):
    """The member must give up all that it has, and join again."""

    code = ErrorCode.FENCED_MEMBER_EPOCH


class StaleMemberEpoch(BrokerError):
    """The member learns its epoch from its next heartbeat, and may try again then."""

    code = ErrorCode.STALE_MEMBER_EPOCH


class UnreleasedInstance(BrokerError):
    """Another member is this instance, and has not left."""

    code = ErrorCode.UNRELEASED_INSTANCE_ID


class UnsupportedAssignor(BrokerError):
    code = ErrorCode.UNSUPPORTED_ASSIGNOR


class InvalidExpression(BrokerError):
    """Of a subscription: it is no regular expression, or one that takes too much memory."""

    code = ErrorCode.INVALID_REGULAR_EXPRESSION
