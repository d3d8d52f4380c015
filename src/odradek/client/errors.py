"""What can go wrong between a client and a cluster. Each message is one line that a person can act on."""

from collections.abc import Iterable, Sequence

from odradek.model.address import Address
from odradek.model.error_code import ErrorCode
from odradek.model.errors import OdradekError

# Kafka's own clients try these again: 4.3's RetriableException, without CORRUPT_MESSAGE, as the same bytes do not get
# better.
_RETRIABLE = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.LISTENER_NOT_FOUND,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)

_TEXTS = {
    ErrorCode.REQUEST_TIMED_OUT: "the request timed out",
    ErrorCode.OFFSET_METADATA_TOO_LARGE: "the metadata of the offset is too large",
    ErrorCode.ILLEGAL_GENERATION: "the group's generation id is not valid",
    ErrorCode.UNKNOWN_MEMBER_ID: "the coordinator is not aware of this member",
    ErrorCode.REBALANCE_IN_PROGRESS: "the group is rebalancing",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed",
    ErrorCode.INVALID_TXN_STATE: "the transaction is in an invalid state for this",
    ErrorCode.NON_EMPTY_GROUP: "the group is not empty",
    ErrorCode.GROUP_ID_NOT_FOUND: "the group id does not exist",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: "the group is actively subscribed to the topic",
    ErrorCode.PRODUCER_FENCED: "there is a newer producer with the same transactional id",
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: "the transactional id could not be found",
}
"""What is said of errors that come without a text: most APIs have no field for one."""


class ClientError(OdradekError):
    """The root of what this package raises."""

    is_retriable = False
    """Whether the same request may work a moment later."""


class Unreachable(ClientError):
    """No connection could be made."""

    is_retriable = True

    def __init__(self, address: Address, reason: str) -> None:
        super().__init__(f"cannot reach {address}: {reason}")
        self.address = address
        self.reason = reason


class NoneReachable(ClientError):
    """None of several addresses answers."""

    def __init__(self, failures: Sequence[ClientError]) -> None:
        super().__init__("; ".join(map(str, failures)))
        self.is_retriable = all(each.is_retriable for each in failures)


class ConnectionLost(ClientError):
    """The connection ended before the answer came: whether the request was carried out is not known."""

    is_retriable = True

    def __init__(self, address: Address, reason: str) -> None:
        super().__init__(f"lost the connection to {address}: {reason}")


class NotKafka(ClientError):
    """The other side says what Kafka's protocol has not."""

    def __init__(self, address: Address, reason: str) -> None:
        super().__init__(f"{address} does not speak Kafka's protocol: {reason}")


class NotServed(ClientError):
    """The broker has no version of an API that is known here."""

    def __init__(self, address: Address, api: str) -> None:
        super().__init__(f"{address} does not serve {api}")


class TooOld(ClientError):
    """The broker's versions of an API have no place for what it was to be asked."""


class Refused(ClientError):
    """A broker answered with an error."""

    def __init__(self, code: int, message: str | None = None) -> None:
        known = ErrorCode(code) if code in ErrorCode.__members__.values() else ErrorCode.UNKNOWN_SERVER_ERROR
        name = known.name if known == code else f"error {code}"
        text = message or _TEXTS.get(known)
        super().__init__(f"{text} ({name})" if text else name)
        self.code = known
        self.message = message
        self.is_retriable = known in _RETRIABLE


def refusal(code: int, message: str | None = None) -> Refused | None:
    """None where the code says that nothing is wrong."""
    return Refused(code, message) if code else None


def raise_if_not_controller(outcomes: Iterable[Refused | None]) -> None:
    """A node that is not the controller any more refuses all of a request, which another may carry out."""
    for outcome in outcomes:
        if outcome is not None and outcome.code is ErrorCode.NOT_CONTROLLER:
            raise outcome
