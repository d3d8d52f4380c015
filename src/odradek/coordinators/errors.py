"""Why a coordinator does not do what it was asked for, whatever that was."""

from odradek.model.error_code import ErrorCode
from odradek.model.errors import (
    BatchTooLarge,
    BrokerError,
    MessageTooLarge,
    NotLeaderOrFollower,
    StorageFailed,
    UnknownTopicOrPartition,
)


class NotCoordinator(BrokerError):
    """This node does not lead the partition that the key belongs to, or cannot use it: another node may."""

    code = ErrorCode.NOT_COORDINATOR


class CoordinatorLoading(BrokerError):
    """The records of the partition are still being read."""

    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


class CoordinatorNotAvailable(BrokerError):
    """It is not there, and may be soon."""

    code = ErrorCode.COORDINATOR_NOT_AVAILABLE


class RecordsTooLarge(BrokerError):
    """What a command came to does not fit into a batch. There is nothing that the client could do about it."""

    code = ErrorCode.UNKNOWN_SERVER_ERROR


def for_client(error: BrokerError) -> BrokerError:
    """What a client hears of records that could not be written, or did not settle."""
    if isinstance(error, (MessageTooLarge, BatchTooLarge)):
        return RecordsTooLarge(str(error))
    if isinstance(error, (StorageFailed, NotLeaderOrFollower, UnknownTopicOrPartition)):
        return NotCoordinator(str(error))
    return error
