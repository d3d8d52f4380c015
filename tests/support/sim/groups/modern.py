"""A consumer of the consumer protocol (KIP-848): it tells what it owns in heartbeats, and the server says what to own.

What it has to give back it commits, gives back and only then takes what is new; then it tells at once.
"""

from typing import TYPE_CHECKING

from odradek.model.error_code import ErrorCode
from odradek.model.topic_partition import TopicPartition
from odradek.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from support.sim.groups.consumer import RETRIABLE, Claim, Consumer
from support.sim.groups.requests import by_topic
from support.sim.groups.spec import Spec

if TYPE_CHECKING:
    from support.sim.groups.world import World

_JOINING = 0
_LEAVING = -1
_LEAVING_FOR_NOW = -2
"""Of a static member that will be back."""
_TIMEOUT_MS = 5_000
_OWN_IDS = 1
"""The version in which clients make their member ids."""

_FENCED = frozenset((ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND))
"""There is no such group where the members that are left went on with the classic protocol."""
_FATAL = frozenset((ErrorCode.FENCED_INSTANCE_ID, ErrorCode.GROUP_MAX_SIZE_REACHED))
_UNRELEASED_MAX = 10
"""How often a static member asks for a place that its predecessor has not left, before it gives up."""


class ModernConsumer(Consumer):
    def __init__(self, world: "World", spec: Spec) -> None:
        super().__init__(world, spec)
        self.epoch = _JOINING
        if spec.versions.consumer_heartbeat >= _OWN_IDS:
            self.member_id = world.new_id()
        self._target: frozenset[TopicPartition] = frozenset()
        self._tells_all = True
        """The next heartbeat has every field: at first, and whenever an answer was lost."""
        self._told: frozenset[TopicPartition] | None = None
        """What the last heartbeat said that it owns."""
        self._beating = False
        self._telling = False
        """A heartbeat is under way that says what it owns."""
        self._revoking = False
        self._unreleased = 0
        self._is_out = False
        """It left because nobody polled, and joins at the next poll."""

    def claim(self) -> Claim | None:
        return Claim(self.member_id, self.epoch) if self.epoch > _JOINING else None

    def is_at_rest(self) -> bool:
        return self.epoch > _JOINING and self.owned == self._target and self._told == self.owned

    def _poll(self) -> None:
        if self._is_out:
            self._is_out = False
            self.epoch = _JOINING
        self._reconcile()

    # --- heartbeats

    def _beat(self) -> None:
        self.process.later(self.spec.heartbeat_ms, self._beat)
        if self._has_to_leave() and not self._is_out:
            self._poll_too_late()
        else:
            self._beat_now()

    def _beat_now(self) -> None:
        if self._beating or self._is_out or self.is_closing or not self.line.is_ready:
            return
        owned = self.owned
        tells_owned = self._tells_all or (owned != self._told and owned == self._target)
        claim = (self.member_id, self.epoch)
        self._beating, self._telling = True, tells_owned or self.epoch == _JOINING

        def answered(response: ConsumerGroupHeartbeatResponse) -> None:
            self._beating = self._telling = False
            if claim != (self.member_id, self.epoch):
                self._tells_all = True
                return  # it left, or began anew, since
            if response.error_code:
                self._refused(ErrorCode(response.error_code))
                return
            if tells_owned:
                self._told = owned
            self._accepted(response)

        request = self._request(tells_owned)
        self._tells_all = False
        self.line.ask(request, self.spec.versions.consumer_heartbeat, _TIMEOUT_MS, answered, self._unanswered)

    def _request(self, tells_owned: bool) -> ConsumerGroupHeartbeatRequest:
        everything = self._tells_all or self.epoch == _JOINING
        topics = None if self.spec.regex is not None else self.spec.topics
        return ConsumerGroupHeartbeatRequest(
            group_id=self.spec.group_id,
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=self.spec.instance_id,
            rebalance_timeout_ms=self.spec.poll_max_ms if everything else -1,
            subscribed_topic_names=topics if everything else None,
            subscribed_topic_regex=self.spec.regex if everything else None,
            topic_partitions=self._owned_by_id() if tells_owned or everything else None,
        )

    def _owned_by_id(self) -> tuple[TopicPartitions, ...]:
        return tuple(
            TopicPartitions(topic_id=self.image.topics.names[topic].id, partitions=numbers)
            for topic, numbers in by_topic(self.owned).items()
        )

    def _unanswered(self) -> None:
        self._beating = self._telling = False
        self._tells_all = True

    def _accepted(self, response: ConsumerGroupHeartbeatResponse) -> None:
        if response.member_id:
            self.member_id = response.member_id
        if self.epoch != response.member_epoch:
            self.epoch = response.member_epoch
            self.world.owned(self)
        if response.assignment is not None:
            self.image = self.world.admin.image  # a client looks up ids that it does not know
            topics = self.image.topics
            self._target = frozenset(
                TopicPartition(topics.ids[each.topic_id].name, number)
                for each in response.assignment.topic_partitions
                for number in each.partitions
            )

    def _refused(self, error: ErrorCode) -> None:
        self._tells_all = True
        if error in _FENCED:
            self._begin_anew()
        elif error in _FATAL:
            self._gone()
        elif error is ErrorCode.UNRELEASED_INSTANCE_ID:
            self._unreleased += 1
            if self._unreleased > _UNRELEASED_MAX:
                self._gone()
        elif error not in RETRIABLE:
            self.world.unexpected(self, error)

    def _begin_anew(self) -> None:
        """What it owned is lost: somebody else may have it."""
        self.epoch = _JOINING
        self._target = frozenset()
        self._told = None
        self._tells_all = True
        self._own(())

    # --- reconciliation, in the application's thread

    def _reconcile(self) -> None:
        # What it has just said that it does not own may be somebody else's when the answer comes.
        if self._revoking or self._telling or self.epoch <= _JOINING:
            return
        going = self.owned - self._target
        if going:
            self._revoking = True
            self._commit(sorted(going), self._revoked)
        elif self.owned != self._target:
            self._own(self._target)
            self._beat_now()
        elif self._told != self.owned:
            self._beat_now()

    def _revoked(self) -> None:
        self._revoking = False
        if self.is_closing:
            return
        self._own(self.owned & self._target)
        self._reconcile()

    def _commit_refused(self, error: ErrorCode, claim: Claim) -> None:
        """Heartbeats tell what has become of the member; the position stays uncommitted."""

    # --- leaving

    def _poll_too_late(self) -> None:
        self._is_out = True
        if self.line.is_ready and self.epoch > _JOINING:
            self.line.ask(self._leaving(_LEAVING), 0, _TIMEOUT_MS, _ignored, _nothing)
        self._begin_anew()

    def _leave(self) -> None:
        epoch = _LEAVING if self.spec.instance_id is None else _LEAVING_FOR_NOW
        request = self._leaving(epoch)
        self._own(())
        if self.epoch <= _JOINING:
            self._gone()
        else:
            self.line.ask(request, 0, _TIMEOUT_MS, lambda _: self._gone(), self._gone)

    def _leaving(self, epoch: int) -> ConsumerGroupHeartbeatRequest:
        return ConsumerGroupHeartbeatRequest(
            group_id=self.spec.group_id,
            member_id=self.member_id,
            member_epoch=epoch,
            instance_id=self.spec.instance_id,
        )


def _ignored(response: ConsumerGroupHeartbeatResponse) -> None:
    return


def _nothing() -> None:
    return
