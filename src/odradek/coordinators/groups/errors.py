"""What groups refuse, with Kafka's codes."""

from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError


class UnknownMember(BrokerError):
    """No such member in the group, or no such group."""

    code = ErrorCode.UNKNOWN_MEMBER_ID


class FencedInstance(BrokerError):
    """Another member has taken the place of this static member."""

    code = ErrorCode.FENCED_INSTANCE_ID


class IllegalGeneration(BrokerError):
    code = ErrorCode.ILLEGAL_GENERATION


class RebalanceInProgress(BrokerError):
    code = ErrorCode.REBALANCE_IN_PROGRESS


class InconsistentProtocol(BrokerError):
    """The member and the group have no protocol in common, or are of different kinds."""

    code = ErrorCode.INCONSISTENT_GROUP_PROTOCOL


class GroupFull(BrokerError):
    code = ErrorCode.GROUP_MAX_SIZE_REACHED


class InvalidGroupId(BrokerError):
    code = ErrorCode.INVALID_GROUP_ID


class InvalidSessionTimeout(BrokerError):
    code = ErrorCode.INVALID_SESSION_TIMEOUT


class GroupNotFound(BrokerError):
    code = ErrorCode.GROUP_ID_NOT_FOUND


class GroupNotEmpty(BrokerError):
    code = ErrorCode.NON_EMPTY_GROUP
