"""The requests of a transaction: taking its id, its partitions, its marker, its end."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from odradek import __version__
from odradek.client.client import Client
from odradek.client.cluster import Coordinator
from odradek.client.committed import Committed
from odradek.client.coordinators import CoordinatorType, ask_coordinators
from odradek.client.errors import ClientError, Refused
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import NO_LEADER_EPOCH, Offset, ProducerId
from odradek.model.topic_partition import TopicPartition
from odradek.spark.sink.errors import CannotCommit, CannotWrite, Fenced
from odradek.spark.sink.marker import Marker, from_committed, to_committed
from odradek.spark.sink.producer import Identity
from odradek.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from odradek.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from odradek.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

T = TypeVar("T")

_FEATURE = "transaction.version"
_EPOCH_FOR_EACH = 2
"""From this level on (KIP-890), partitions join a transaction as they are written to, and each has its own epoch."""
# The last versions of a client that knows nothing of it.
PRODUCE_BEFORE_MAX = 11
_ADD_PARTITIONS_BEFORE_MAX = 3
_COMMIT_OFFSETS_BEFORE_MAX = 4
_END_BEFORE_MAX = 4
_FETCH_BY_NAME_MAX = 9
_VERSIONS = ApiVersionsRequest(client_software_name="odradek", client_software_version=__version__)
_FENCED = frozenset(
    {ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_ID_MAPPING}
)


@dataclass(frozen=True, slots=True)
class Transaction:
    """Plain, so that a task can hand it to the driver, which ends it."""

    transactional_id: str
    producer_id: ProducerId
    epoch: int
    is_old: bool
    """Whether the cluster works as before KIP-890."""

    @property
    def identity(self) -> Identity:
        return Identity(self.producer_id, self.epoch, self.transactional_id)

    @property
    def produce_version_max(self) -> int | None:
        return PRODUCE_BEFORE_MAX if self.is_old else None


async def take_id(client: Client, transactional_id: str, timeout_ms: int) -> Transaction:
    """Whoever had the id is fenced, and what it had open is aborted when this returns. Raises CannotWrite."""
    request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=timeout_ms)

    async def ask(coordinator: Coordinator) -> Transaction:
        served = await client.ask_node(coordinator.node_id, _VERSIONS, ApiVersionsResponse)
        _check(served.error_code)
        levels = {each.name: each.max_version_level for each in served.finalized_features}
        response = await client.ask_node(coordinator.node_id, request, InitProducerIdResponse)
        if response.error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT:
            raise Refused(
                response.error_code,
                f"{timeout_ms} ms is above the broker's transaction.max.timeout.ms: lower kafka.transaction.timeout.ms",
            )
        _check(response.error_code)
        producer_id = ProducerId(response.producer_id)
        is_old = levels.get(_FEATURE, 0) < _EPOCH_FOR_EACH
        return Transaction(transactional_id, producer_id, response.producer_epoch, is_old)

    try:
        return await _ask_for(client, transactional_id, CoordinatorType.TRANSACTIONS, ask)
    except ClientError as error:
        raise CannotWrite(f"cannot take the transactional id {transactional_id}: {error}") from None


async def join(client: Client, transaction: Transaction, partitions: Collection[TopicPartition]) -> None:
    """For clusters where partitions do not join by themselves. Raises Fenced or CannotWrite."""
    topics: dict[str, list[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append(number)
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transaction.transactional_id,
        v3_and_below_producer_id=transaction.producer_id,
        v3_and_below_producer_epoch=transaction.epoch,
        v3_and_below_topics=tuple(
            AddPartitionsToTxnTopic(name=name, partitions=tuple(numbers)) for name, numbers in topics.items()
        ),
    )

    async def ask(coordinator: Coordinator) -> None:
        response = await client.ask_node(
            coordinator.node_id, request, AddPartitionsToTxnResponse, _ADD_PARTITIONS_BEFORE_MAX
        )
        codes = {
            each.partition_error_code
            for topic in response.results_by_topic_v3_and_below
            for each in topic.results_by_partition
        }
        # One partition that is refused keeps all others out, and only its own code says why.
        for code in sorted(codes, key=lambda each: each == ErrorCode.OPERATION_NOT_ATTEMPTED):
            _check(code)

    await _work(client, transaction, CoordinatorType.TRANSACTIONS, ask, "add partitions to")


async def read_marker(client: Client, transactional_id: str, place: TopicPartition) -> Marker | None:
    """The last one that was committed, once no transaction of this id is on its way to its end any more.

    Raises CannotWrite or BadMarker.
    """
    wanted = OffsetFetchRequestTopics(name=place.topic, partition_indexes=(place.partition,))
    group = OffsetFetchRequestGroup(group_id=transactional_id, topics=(wanted,))
    request = OffsetFetchRequest(groups=(group,), require_stable=True)

    async def ask(coordinator: Coordinator) -> Committed | None:
        response = await client.ask_node(coordinator.node_id, request, OffsetFetchResponse, _FETCH_BY_NAME_MAX)
        (told,) = response.groups
        _check(told.error_code)
        for topic in told.topics:
            for each in topic.partitions:
                _check(each.error_code)
                if each.committed_offset >= 0:
                    return Committed(Offset(each.committed_offset), each.metadata or "")
        return None

    try:
        committed = await _ask_for(client, transactional_id, CoordinatorType.GROUPS, ask)
    except ClientError as error:
        raise CannotWrite(f"cannot read the marker of {transactional_id}: {error}") from None
    return None if committed is None else from_committed(committed, f"group {transactional_id}")


async def leave_marker(client: Client, transaction: Transaction, place: TopicPartition, marker: Marker) -> None:
    """In place of one that this transaction has left already. Raises Fenced or CannotWrite."""
    if transaction.is_old:
        joining = AddOffsetsToTxnRequest(
            transactional_id=transaction.transactional_id,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.epoch,
            group_id=transaction.transactional_id,
        )

        async def ask(coordinator: Coordinator) -> None:
            _check((await client.ask_node(coordinator.node_id, joining, AddOffsetsToTxnResponse)).error_code)

        await _work(client, transaction, CoordinatorType.TRANSACTIONS, ask, "add a marker to")
    offset, metadata, _ = to_committed(marker)
    kept = TxnOffsetCommitRequestPartition(
        partition_index=place.partition,
        committed_offset=offset,
        committed_leader_epoch=NO_LEADER_EPOCH,
        committed_metadata=metadata,
    )
    topic = TxnOffsetCommitRequestTopic(name=place.topic, partitions=(kept,))
    request = TxnOffsetCommitRequest(
        transactional_id=transaction.transactional_id,
        group_id=transaction.transactional_id,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.epoch,
        topics=(topic,),
    )
    version_max = _COMMIT_OFFSETS_BEFORE_MAX if transaction.is_old else None

    async def commit(coordinator: Coordinator) -> None:
        response = await client.ask_node(coordinator.node_id, request, TxnOffsetCommitResponse, version_max)
        for each in response.topics:
            for part in each.partitions:
                if part.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    raise Refused(part.error_code, f"{place}, where markers are kept, is not there")
                _check(part.error_code)

    await _work(client, transaction, CoordinatorType.GROUPS, commit, "leave a marker in")


async def end(client: Client, transaction: Transaction, *, commit: bool, timeout_s: float | None = None) -> None:
    """May be repeated. Tried for so long, or as long as all that this client is asked for.

    Raises Fenced or CannotCommit.
    """
    request = EndTxnRequest(
        transactional_id=transaction.transactional_id,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.epoch,
        committed=commit,
    )

    async def ask(coordinator: Coordinator) -> None:
        version_max = _END_BEFORE_MAX if transaction.is_old else None
        code = (await client.ask_node(coordinator.node_id, request, EndTxnResponse, version_max)).error_code
        if commit or code != ErrorCode.INVALID_TXN_STATE:  # or it never began, or is over: there is nothing to abort
            _check(code)

    try:
        await _work(client, transaction, CoordinatorType.TRANSACTIONS, ask, "commit" if commit else "abort", timeout_s)
    except CannotWrite as error:
        raise CannotCommit(str(error)) from None


async def _work(
    client: Client,
    transaction: Transaction,
    of: CoordinatorType,
    ask: Callable[[Coordinator], Awaitable[None]],
    what: str,
    timeout_s: float | None = None,
) -> None:
    try:
        await _ask_for(client, transaction.transactional_id, of, ask, timeout_s)
    except ClientError as error:
        said = f"cannot {what} the transaction of {transaction.transactional_id}: {error}"
        if isinstance(error, Refused) and error.code in _FENCED:
            raise Fenced(f"{said}: a later attempt has taken its place, or it was open for too long") from None
        if isinstance(error, Refused) and error.code is ErrorCode.INVALID_TXN_STATE:
            raise CannotWrite(
                f"{said}: it was open for too long (raise kafka.transaction.timeout.ms), or a later attempt has taken "
                "its place"
            ) from None
        raise CannotWrite(said) from None


async def _ask_for(
    client: Client,
    key: str,
    of: CoordinatorType,
    ask: Callable[[Coordinator], Awaitable[T]],
    timeout_s: float | None = None,
) -> T:
    async def ask_one(coordinator: Coordinator, _: Sequence[str]) -> Mapping[str, T | ClientError]:
        return {key: await ask(coordinator)}

    outcome = (await ask_coordinators(client, [key], ask_one, of, timeout_s))[key]
    if isinstance(outcome, ClientError):
        raise outcome
    return outcome


def _check(code: int) -> None:
    if code:
        raise Refused(code)
