"""AddPartitionsToTxn, versions 0 to 5: clients send up to 3; from 4 on it is for brokers, and for many transactions."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.coordination.internal_topics import INTERNAL_TOPICS
from odradek.broker.coordination.transactions import Transactions
from odradek.broker.dispatch import LATER
from odradek.broker.late import answer_late
from odradek.coordinators.errors import for_client
from odradek.coordinators.transactions.joining import check_id
from odradek.coordinators.transactions.transaction import EPOCH_RISES_SINCE, Claim
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.model.numbers import ProducerId
from odradek.model.topic_partition import TopicPartition
from odradek.replication.waiters import Unsettled, Wait
from odradek.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

VERSIONS = (0, 5)
_MANY_SINCE = 4
_FENCED_SINCE = 2
"""Older clients know a fenced producer by its epoch."""
_OLD_CLIENT = 0


class _Outcome(NamedTuple):
    transactional_id: str
    codes: dict[TopicPartition, ErrorCode]
    unsettled: Unsettled | None = None


class AddPartitionsToTxn:
    def __init__(self, broker: Broker, transactions: Transactions) -> None:
        self._broker = broker
        self._transactions = transactions

    def handle(self, call: Call, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse | object:
        outcomes = [self._add(call.version, each) for each in _transactions_of(call.version, request)]
        unsettled = {index: each.unsettled for index, each in enumerate(outcomes) if each.unsettled is not None}
        if not unsettled:
            return _response(call.version, outcomes)

        def answer(errors: Mapping[int, BrokerError]) -> None:
            for index, error in errors.items():
                transactional_id, codes, _ = outcomes[index]
                outcomes[index] = _Outcome(transactional_id, dict.fromkeys(codes, for_client(error).code))
            answer_late(call, lambda: _response(call.version, outcomes))

        Wait(unsettled, answer)
        return LATER

    def _add(self, version: int, asked: AddPartitionsToTxnTransaction) -> _Outcome:
        transactional_id = asked.transactional_id
        partitions = [TopicPartition(topic.name, number) for topic in asked.topics for number in topic.partitions]
        refused = self._refused(version, partitions)
        if refused:
            return _Outcome(transactional_id, dict.fromkeys(partitions, ErrorCode.OPERATION_NOT_ATTEMPTED) | refused)
        who = Claim(transactional_id, ProducerId(asked.producer_id), asked.producer_epoch)
        try:
            check_id(transactional_id)
            if asked.verify_only:
                return _Outcome(transactional_id, self._verify(who, partitions))
            level = EPOCH_RISES_SINCE if version >= _MANY_SINCE else _OLD_CLIENT
            unsettled = self._transactions.decide(transactional_id, lambda shard: shard.join(who, partitions, level))
        except BrokerError as error:
            return _Outcome(transactional_id, dict.fromkeys(partitions, _code_of(version, error)))
        return _Outcome(transactional_id, dict.fromkeys(partitions, ErrorCode.NONE), unsettled)

    def _verify(self, who: Claim, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, ErrorCode]:
        shard = self._transactions.shard_of(who.transactional_id)
        codes = {}
        for partition in partitions:
            try:
                shard.check_joined(who, partition)
            except BrokerError as error:
                codes[partition] = error.code
            else:
                codes[partition] = ErrorCode.NONE
        return codes

    def _refused(self, version: int, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, ErrorCode]:
        """One that is refused refuses them all."""
        refused = {}
        for partition in partitions:
            topic = self._broker.image.topics.get(partition.topic)
            if version < _MANY_SINCE and partition.topic in INTERNAL_TOPICS:
                refused[partition] = ErrorCode.TOPIC_AUTHORIZATION_FAILED  # clients have other ways to offsets
            elif topic is None or partition.partition not in topic.partitions:
                refused[partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return refused


def _transactions_of(version: int, request: AddPartitionsToTxnRequest) -> Sequence[AddPartitionsToTxnTransaction]:
    if version >= _MANY_SINCE:
        return request.transactions
    return (
        AddPartitionsToTxnTransaction(
            transactional_id=request.v3_and_below_transactional_id,
            producer_id=request.v3_and_below_producer_id,
            producer_epoch=request.v3_and_below_producer_epoch,
            topics=request.v3_and_below_topics,
        ),
    )


def _code_of(version: int, error: BrokerError) -> ErrorCode:
    is_fenced = error.code is ErrorCode.PRODUCER_FENCED
    return ErrorCode.INVALID_PRODUCER_EPOCH if is_fenced and version < _FENCED_SINCE else error.code


def _response(version: int, outcomes: Sequence[_Outcome]) -> AddPartitionsToTxnResponse:
    if version < _MANY_SINCE:
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_results(outcomes[0]))
    return AddPartitionsToTxnResponse(
        results_by_transaction=tuple(
            AddPartitionsToTxnResult(transactional_id=each.transactional_id, topic_results=_results(each))
            for each in outcomes
        )
    )


def _results(outcome: _Outcome) -> tuple[AddPartitionsToTxnTopicResult, ...]:
    topics: dict[str, list[AddPartitionsToTxnPartitionResult]] = {}
    for (topic, partition), code in outcome.codes.items():
        result = AddPartitionsToTxnPartitionResult(partition_index=partition, partition_error_code=code)
        topics.setdefault(topic, []).append(result)
    return tuple(
        AddPartitionsToTxnTopicResult(name=name, results_by_partition=tuple(results))
        for name, results in topics.items()
    )
