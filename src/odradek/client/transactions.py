"""Transactions as their coordinators know them: listed, described, and ended by fencing their producers."""

from collections.abc import Sequence
from dataclasses import dataclass

from odradek.client.brokers import ask_brokers
from odradek.client.client import Client
from odradek.client.cluster import Coordinator
from odradek.client.coordinators import CoordinatorType, ask_coordinators
from odradek.client.errors import ClientError, Refused, refusal
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import NO_PRODUCER_ID, ProducerId, TimestampMs
from odradek.model.topic_partition import TopicPartition
from odradek.wire.messages import describe_transactions as describing
from odradek.wire.messages.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse

EMPTY = "Empty"
ONGOING = "Ongoing"
OPEN_STATES = (ONGOING, "PrepareCommit", "PrepareAbort", "PrepareEpochFence")
STATES = (EMPTY, *OPEN_STATES, "CompleteCommit", "CompleteAbort")
_NOT_STARTED = -1
_NO_EPOCH = -1


@dataclass(frozen=True, slots=True)
class ListedTransaction:
    transactional_id: str
    coordinator_id: int
    producer_id: ProducerId
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionView:
    transactional_id: str
    coordinator: Coordinator
    producer_id: ProducerId
    epoch: int
    state: str
    timeout_ms: int
    started_ms: TimestampMs | None
    """None while there is no transaction."""
    partitions: tuple[TopicPartition, ...]
    """Those in it, in order."""

    def is_overdue(self, now: TimestampMs) -> bool:
        """Whether its coordinator should have aborted it already."""
        return self.state == ONGOING and self.started_ms is not None and self.started_ms + self.timeout_ms < now


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which transactions are wanted: those that all of it holds for."""

    states: Sequence[str] = ()
    producer_ids: Sequence[ProducerId] = ()
    open_for_ms: int | None = None
    """Longer than this; what was never begun counts as begun in 1970, and what is over goes on counting."""
    pattern: str | None = None
    """A regular expression for the whole of the id."""

    def request(self) -> ListTransactionsRequest:
        """Raises UnsupportedVersion as it is sent, where the broker's version has no place for something."""
        return ListTransactionsRequest(
            state_filters=tuple(self.states),
            producer_id_filters=tuple(self.producer_ids),
            duration_filter=-1 if self.open_for_ms is None else self.open_for_ms,
            transactional_id_pattern=self.pattern,
        )


async def list_transactions(client: Client, choice: Choice | None = None) -> list[ListedTransaction]:
    """Of all brokers, in the order of their ids. Raises what keeps one of them from answering."""
    request = (choice or Choice()).request()

    async def ask(node_id: int) -> ListTransactionsResponse:
        response = await client.ask_node(node_id, request, ListTransactionsResponse)
        if response.error_code:
            raise Refused(response.error_code)
        if response.unknown_state_filters:
            raise Refused(ErrorCode.INVALID_REQUEST, f"no such state: {', '.join(response.unknown_state_filters)}")
        return response

    found: dict[str, ListedTransaction] = {}  # by their ids: one that moves meanwhile is told of twice
    for node_id, response in (await ask_brokers(client, ask)).items():
        for each in response.transaction_states:
            listed = ListedTransaction(
                each.transactional_id, node_id, ProducerId(each.producer_id), each.transaction_state
            )
            found[listed.transactional_id] = listed
    return [found[transactional_id] for transactional_id in sorted(found)]


async def describe_transactions(
    client: Client, transactional_ids: Sequence[str]
) -> dict[str, TransactionView | ClientError]:
    """One that is not known is refused with TRANSACTIONAL_ID_NOT_FOUND."""

    async def ask(coordinator: Coordinator, some: Sequence[str]) -> dict[str, TransactionView | ClientError]:
        request = DescribeTransactionsRequest(transactional_ids=tuple(some))
        response = await client.ask_node(coordinator.node_id, request, DescribeTransactionsResponse)
        return {
            each.transactional_id: refusal(each.error_code) or _read(each, coordinator)
            for each in response.transaction_states
        }

    return await ask_coordinators(client, transactional_ids, ask, CoordinatorType.TRANSACTIONS)


def _read(state: describing.TransactionState, coordinator: Coordinator) -> TransactionView:
    partitions = [TopicPartition(topic.topic, number) for topic in state.topics for number in topic.partitions]
    is_open = state.transaction_start_time_ms > _NOT_STARTED
    return TransactionView(
        transactional_id=state.transactional_id,
        coordinator=coordinator,
        producer_id=ProducerId(state.producer_id),
        epoch=state.producer_epoch,
        state=state.transaction_state,
        timeout_ms=state.transaction_timeout_ms,
        started_ms=TimestampMs(state.transaction_start_time_ms) if is_open else None,
        partitions=tuple(sorted(partitions)),
    )


async def fence(client: Client, view: TransactionView) -> ClientError | None:
    """Whoever has this id is fenced, and what it had open is aborted when this returns."""
    transactional_id = view.transactional_id

    async def ask(coordinator: Coordinator, some: Sequence[str]) -> dict[str, ClientError | None]:
        request = InitProducerIdRequest(
            transactional_id=transactional_id,
            transaction_timeout_ms=view.timeout_ms,
            producer_id=NO_PRODUCER_ID,
            producer_epoch=_NO_EPOCH,
        )
        response = await client.ask_node(coordinator.node_id, request, InitProducerIdResponse)
        return dict.fromkeys(some, refusal(response.error_code))

    return (await ask_coordinators(client, [transactional_id], ask, CoordinatorType.TRANSACTIONS))[transactional_id]
