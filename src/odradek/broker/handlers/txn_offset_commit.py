"""TxnOffsetCommit, versions 0 to 5. From version 5 on the offsets join the transaction by being committed in it."""

from collections.abc import Callable, Mapping

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.coordination.groups import Groups
from odradek.broker.coordination.transactions import ClientKnows, Transactions
from odradek.broker.dispatch import LATER
from odradek.broker.late import answer_late
from odradek.coordinators.errors import NotCoordinator, for_client
from odradek.coordinators.groups.offsets.transactional import Commit
from odradek.coordinators.groups.shard import GroupShard
from odradek.coordinators.result import CoordinatorResult, RequestContext
from odradek.coordinators.transactions.transaction import Claim
from odradek.model.clock import Clock
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError, UnknownTopicOrPartition
from odradek.replication.waiters import Unsettled, Wait
from odradek.wire.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from odradek.wire.schema import Message

VERSIONS = (0, 5)
_JOINING_SINCE = 5
_ABORTABLE_SINCE = 4
_LOADING_SINCE = 2
"""Older clients know no coordinator that is loading."""
_NO_SEQUENCE = -1


class TxnOffsetCommit:
    def __init__(
        self,
        broker: Broker,
        groups: Groups,
        transactions: Transactions,
        clock: Clock,
        is_verifying: Callable[[], bool],
    ) -> None:
        """`is_verifying` is transaction.partition.verification.enable."""
        self._broker = broker
        self._groups = groups
        self._transactions = transactions
        self._clock = clock
        self._is_verifying = is_verifying

    def handle(self, call: Call, request: TxnOffsetCommitRequest) -> object:
        commit = Commit(request, self._broker.image)
        if not commit.topics:
            return commit.response()
        if not request.group_id:
            return commit.refusal(ErrorCode.INVALID_GROUP_ID)
        try:
            unsettled = self._admit(call.version, commit)
        except BrokerError as error:
            return _refusal(call.version, commit, error.code)
        if unsettled is None:
            return self._commit(call, commit)

        def commit_in_transaction(errors: Mapping[str, BrokerError]) -> None:
            answer_late(call, lambda: self._commit_later(call, commit, errors.get(request.group_id)))

        Wait({request.group_id: unsettled}, commit_in_transaction)
        return LATER

    def _commit(self, call: Call, commit: Commit) -> object:
        return self._groups.ask(
            call, commit.request.group_id, _command(commit), lambda code: _refusal(call.version, commit, code)
        )

    def _commit_later(self, call: Call, commit: Commit, error: BrokerError | None) -> Message | object:
        """What joined the transaction settles before anything is written in it."""
        try:
            if error is not None:
                raise for_client(error)
            self._admit(call.version, commit)  # the transaction may have ended meanwhile
        except BrokerError as refused:
            return _refusal(call.version, commit, refused.code)
        return self._commit(call, commit)

    def _admit(self, version: int, commit: Commit) -> Unsettled | None:
        """Raises unless the partition of the group is in the transaction, or joins it."""
        knows = _known_in(version)
        if knows is not ClientKnows.JOINING and not self._is_verifying():
            return None
        request, writer = commit.request, commit.writer
        place = self._groups.partition_of(request.group_id)
        try:
            producers = self._broker.partition(*place).log.producers
        except UnknownTopicOrPartition as error:
            raise NotCoordinator(str(error)) from None
        rises = knows is ClientKnows.JOINING
        if not producers.is_verification_due(*writer, _NO_SEQUENCE, self._clock.now_ms(), rises=rises):
            return None
        refused, unsettled = self._transactions.admit(Claim(request.transactional_id, *writer), (place,), knows)
        if refused:
            raise refused[place]
        return unsettled


def _command(commit: Commit) -> Callable[[GroupShard, RequestContext], CoordinatorResult]:
    return lambda shard, asked: shard.transactional.commit(asked, commit)


def _known_in(version: int) -> ClientKnows:
    if version >= _JOINING_SINCE:
        return ClientKnows.JOINING
    return ClientKnows.ABORTABLE if version >= _ABORTABLE_SINCE else ClientKnows.NOTHING


def _refusal(version: int, commit: Commit, code: ErrorCode) -> TxnOffsetCommitResponse:
    if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and version < _LOADING_SINCE:
        code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    return commit.refusal(code)
