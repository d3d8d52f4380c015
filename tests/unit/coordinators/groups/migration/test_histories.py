"""Random histories of a group with members of both protocols: no partition is ever with two of them, none is lost."""

from random import Random

import pytest

from odradek.coordinators.groups.group import GroupKind
from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from support.consumer_stage import GROUP, Consumer
from support.migration_stage import ClassicConsumer, MigrationStage, move

SEEDS = 150
STEPS = 120
MEMBERS_MAX = 6


class History:
    """What happens to a group, by chance. All members that are there are heard of in time."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.stage = MigrationStage(
            BrokerConfig(
                group_initial_rebalance_delay_ms=self.random.choice([0, 3_000]),
                group_consumer_assignment_interval_ms=self.random.choice([0, 1_000]),
                group_consumer_migration_policy=self.random.choice(
                    ["bidirectional"] * 5 + ["upgrade", "downgrade", "disabled"]
                ),
            )
        )
        self.stage.create("orders", self.random.randint(1, 9))
        self.cooperative = self.random.random() < 0.6
        self.members: list[Consumer | ClassicConsumer] = []
        self.instances = 0
        self.kinds: set[object] = set()

    def step(self) -> None:
        chance = self.random.random()
        if not self.members or (chance < 0.08 and len(self.members) < MEMBERS_MAX):
            self.members.append(self._new())
        elif chance < 0.12:
            self._leave()
        elif chance < 0.15:
            self.members.remove(self.random.choice(self.members))  # it crashed
        elif chance < 0.19:
            self._restart_static()
        elif chance < 0.21:
            self._restart_broker()
        elif chance < 0.23:
            self.stage.add_partitions("orders", len(self.stage.image.topics.names["orders"].partitions) + 1)
        elif chance < 0.4:
            self._pass_time()
        else:
            move(self.random.choice(self.members))
        self.check()

    def check(self) -> None:
        if GROUP in self.stage.groups:
            self.kinds.add(self.stage.kind)
        taken = [partition for member in self.members for partition in member.has]
        assert len(set(taken)) == len(taken), f"{sorted(taken)}: one is with two members"

    def settle(self) -> None:
        """Everybody is heard of, until those who crashed are given up and the others have it all."""
        for _ in range(400):
            self._pass_time()
            self.check()
            if self._is_settled():
                return
        raise AssertionError(
            f"{self.stage.groups[GROUP].state_name}: {[sorted(member.has) for member in self.members]}"
        )

    def _is_settled(self) -> bool:
        count = len(self.stage.image.topics.names["orders"].partitions)
        sizes = [len(member.has) for member in self.members if not _is_refused(member)]
        is_stable = self.stage.groups[GROUP].state_name == "Stable"
        # In a classic group the members see to it themselves, and these do not try hard.
        is_even = self.stage.kind is GroupKind.CLASSIC or max(sizes) - min(sizes) <= 1
        return is_stable and sum(sizes) == count and is_even

    def _pass_time(self) -> None:
        self.stage.advance(self.random.randint(0, 4_000))
        for member in self.random.sample(self.members, len(self.members)):
            move(member)

    def _new(self, instance_id: str | None = None) -> Consumer | ClassicConsumer:
        if instance_id is None and self.random.random() < 0.3:
            self.instances += 1
            instance_id = f"i{self.instances}"
        if self.random.random() < 0.5:
            return Consumer(self.stage, instance_id=instance_id)
        return ClassicConsumer(self.stage, cooperative=self.cooperative, instance_id=instance_id)

    def _leave(self) -> None:
        member = self.random.choice(self.members)
        if isinstance(member, Consumer) and not member.epoch:
            return
        if isinstance(member, Consumer) or member.member_id:
            member.leave()
        self.members.remove(member)

    def _restart_static(self) -> None:
        """It stops, says so if its protocol has words for it, and comes back, maybe with the other protocol."""
        static = [member for member in self.members if member.instance_id is not None]
        if not static:
            return
        member = self.random.choice(static)
        if isinstance(member, Consumer) and member.epoch:
            member.leave(-2)
        self.members[self.members.index(member)] = self._new(member.instance_id)

    def _restart_broker(self) -> None:
        self.stage = self.stage.restarted()
        for member in self.members:
            if isinstance(member, ClassicConsumer):
                member.move_to(self.stage)
            else:
                member.stage = self.stage


def _is_refused(member: Consumer | ClassicConsumer) -> bool:
    """Where the policy keeps a classic group what it is, members of the other protocol stay outside."""
    return isinstance(member, Consumer) and member.error is ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("seed", range(SEEDS))
def test_each_partition_has_one_owner(seed: int) -> None:
    history = History(seed)
    for _ in range(STEPS):
        history.step()
    if not history.members:
        history.step()
    history.settle()


def test_histories_see_both_kinds_of_groups() -> None:
    histories = [History(seed) for seed in range(20)]
    for history in histories:
        for _ in range(STEPS):
            history.step()
    assert sum(len(history.kinds) == 2 for history in histories) > 10
