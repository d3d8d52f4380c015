"""At no moment two consumers own a partition whose commits would both be taken.

That is what Kafka promises, and all of it. A consumer that was paused or cut off may well think that it owns what
somebody else has by now; what counts is that it is fenced: its generation is over, or its member id is unknown, or its
epoch is older than what made the partition somebody else's. So where two own the same, both are asked whether the
coordinator would take a commit for it, without committing. This holds in the same words for

- eager consumers, which own nothing while they rebalance, so that one generation's assignments are all there is,
- cooperative ones, which own on in a rebalance, but commit only when they know their assignment in the new generation,
- and those of KIP-848, where a partition goes to the next member when the one before has said that it let go of it.
"""

from odradek.coordinators.groups.group import Member
from odradek.model.errors import BrokerError
from odradek.model.topic_partition import TopicPartition
from support.sim.groups.consumer import Consumer
from support.sim.groups.watching import Checker
from support.sim.groups.world import World
from support.sim.violations import Violation


class OwnershipChecker(Checker):
    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._owners: dict[tuple[str, TopicPartition], list[Consumer]] = {}
        """In the order in which they came to own it."""
        self._owned: dict[Consumer, frozenset[TopicPartition]] = {}

    def owned(self, consumer: Consumer) -> None:
        group_id = consumer.spec.group_id
        before, now = self._owned.get(consumer, frozenset()), consumer.owned
        for partition in sorted(before - now):
            self._owners[group_id, partition].remove(consumer)
        for partition in sorted(now - before):
            self._owners.setdefault((group_id, partition), []).append(consumer)
        self._owned[consumer] = now
        if not consumer.process.is_alive:
            del self._owned[consumer]
        for partition in sorted(now):
            self._check(group_id, partition)

    def loaded(self) -> None:
        self._check_all()

    def ticked(self) -> None:
        self._check_all()

    def _check_all(self) -> None:
        for group_id, partition in self._owners:
            self._check(group_id, partition)

    def _check(self, group_id: str, partition: TopicPartition) -> None:
        owners = self._owners[group_id, partition]
        if len(owners) < 2 or not self.world.broker.is_active:
            return
        taken = [consumer for consumer in owners if self._would_be_taken(consumer, partition)]
        if len(taken) > 1:
            names = " and ".join(f"{each.spec.name} {each.claim()}" for each in taken)
            raise Violation(f"{group_id}: {partition} is owned by {names}, and commits of both would be taken")

    def _would_be_taken(self, consumer: Consumer, partition: TopicPartition) -> bool:
        claim = consumer.claim()
        if claim is None:
            return False
        group = self.world.broker.shard.groups.get(consumer.spec.group_id)
        if group is None:
            return False
        spec = consumer.spec
        try:
            member = Member(claim.member_id, claim.epoch, spec.instance_id)
            check = group.check_commit(member, spec.versions.commit, transactional=False)
            if check is not None:
                check(self.world.admin.image.topics.names[partition.topic].id, partition.partition)
        except BrokerError:
            return False
        return True
