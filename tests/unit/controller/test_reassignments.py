"""Elections that somebody asks for, and moves of replicas between brokers."""

from typing import Any

import pytest

from odradek.controller import brokers, configs, elections, reassignments
from odradek.controller.configs import Alteration, Change, Operation
from odradek.controller.errors import InvalidRequest
from odradek.controller.reassignments import Reassignment
from odradek.metadata.image import NO_LEADER, ConfigResource, Partition, ResourceType
from odradek.model.error_code import ErrorCode
from odradek.wire.records.metadata import PartitionChangeRecord

PREFERRED, UNCLEAN = 0, 1
DONE = ErrorCode.NONE


def partition(cluster: Any, number: int = 0) -> Partition:
    found: Partition = cluster.image.topics.get("orders").partitions[number]
    return found


def elect(cluster: Any, kind: int, *numbers: int, topic: str = "orders") -> list[int]:
    wanted = [(topic, numbers)] if numbers else None
    reply = cluster.do(elections.elect(cluster.image, kind, wanted, cluster.context))
    return [DONE if each.error is None else each.error.code for each in reply]


def alter(cluster: Any, replicas: tuple[int, ...] | None, number: int = 0, *, may_change_factor: bool = True) -> int:
    wanted = [Reassignment("orders", number, replicas)]
    decision = reassignments.alter(cluster.image, wanted, cluster.context, may_change_factor=may_change_factor)
    (outcome,) = cluster.do(decision)
    return DONE if outcome.error is None else outcome.error.code


def fence(cluster: Any, broker_id: int) -> None:
    cluster.do(brokers.fence(cluster.image, broker_id, cluster.epochs[broker_id], cluster.context))


def write(cluster: Any, **fields: Any) -> None:
    """A change that others decided on: brokers that follow, or that are gone."""
    cluster.write(PartitionChangeRecord(partition_id=0, topic_id=cluster.image.topics.get("orders").id, **fields))


# --- elections


def test_a_leader_that_is_where_it_is_to_be(cluster: Any) -> None:
    cluster.create("orders", 2)
    assert elect(cluster, PREFERRED, 0, 1) == [ErrorCode.ELECTION_NOT_NEEDED] * 2
    assert elect(cluster, UNCLEAN, 0) == [ErrorCode.ELECTION_NOT_NEEDED]
    assert elect(cluster, PREFERRED) == []
    assert partition(cluster).leader_epoch == 0


def test_partitions_that_are_not_there(cluster: Any) -> None:
    cluster.create("orders")
    for kind in (PREFERRED, UNCLEAN):
        assert elect(cluster, kind, 1, -1) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 2
        assert elect(cluster, kind, 0, topic="none") == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_elections_that_are_none(cluster: Any) -> None:
    with pytest.raises(InvalidRequest):
        elections.elect(cluster.image, 2, None, cluster.context)


def test_the_first_replica_leads_again(make_cluster: Any) -> None:
    cluster = make_cluster(1, 2)
    cluster.create("orders", -1, assignments=[(0, (1, 2))])
    write(cluster, leader=2)
    assert partition(cluster).leader == 2
    assert elect(cluster, PREFERRED) == [DONE]
    assert (partition(cluster).leader, partition(cluster).leader_epoch) == (1, 2)
    assert partition(cluster).isr == (1, 2)


def test_a_first_replica_that_is_not_in_sync(make_cluster: Any) -> None:
    cluster = make_cluster(1, 2)
    cluster.create("orders", -1, assignments=[(0, (1, 2))])
    write(cluster, leader=2, isr=(2,))
    assert elect(cluster, PREFERRED, 0) == [ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE]
    assert elect(cluster, PREFERRED) == [ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE]
    assert elect(cluster, UNCLEAN, 0) == [ErrorCode.ELECTION_NOT_NEEDED]
    assert partition(cluster).leader == 2


def test_an_unclean_election(make_cluster: Any) -> None:
    cluster = make_cluster(1, 2)
    cluster.create("orders", -1, assignments=[(0, (1, 2))])
    write(cluster, leader=NO_LEADER, isr=(2,))
    fence(cluster, 2)
    assert elect(cluster, PREFERRED, 0) == [ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE]
    assert elect(cluster, UNCLEAN, 0) == [DONE]
    after = partition(cluster)
    assert (after.leader, after.isr, after.leader_recovery_state) == (1, (1,), 1)


def test_nobody_who_could_lead(make_cluster: Any) -> None:
    cluster = make_cluster(1, 2)
    cluster.create("orders", -1, assignments=[(0, (2,))])
    write(cluster, leader=NO_LEADER)
    fence(cluster, 2)
    assert elect(cluster, UNCLEAN, 0) == [ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE]
    assert elect(cluster, UNCLEAN) == [ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE]


def test_an_eligible_leader(make_cluster: Any) -> None:
    """Not in sync, but it has all that was acknowledged: that is clean."""
    cluster = make_cluster(1, 2)
    cluster.create("orders", -1, assignments=[(0, (1, 2))])
    write(cluster, leader=NO_LEADER, isr=(), eligible_leader_replicas=(2, 1), last_known_elr=(1,))
    assert elect(cluster, UNCLEAN, 0) == [DONE]
    after = partition(cluster)
    assert (after.leader, after.isr, after.leader_recovery_state, after.last_known_eligible) == (1, (1,), 0, ())


def test_a_directory_that_is_lost_leads_nothing(make_cluster: Any) -> None:
    cluster = make_cluster(1, 2)
    cluster.create("orders", -1, assignments=[(0, (1, 2))])
    write(
        cluster,
        leader=NO_LEADER,
        isr=(1, 2),
        directories=(bytes(15) + b"\x02", cluster.image.brokers[2].directories[0]),
    )
    assert elect(cluster, UNCLEAN, 0) == [DONE]
    assert partition(cluster).leader == 2


# --- reassignments


def test_to_where_it_is(cluster: Any) -> None:
    cluster.create("orders")
    assert alter(cluster, (1,)) == DONE
    assert partition(cluster).partition_epoch == 0


def test_replicas_that_cannot_be(cluster: Any) -> None:
    cluster.create("orders")
    for replicas in ((), (2,), (1, 2), (1, 1), (-1,)):
        assert alter(cluster, replicas) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert alter(cluster, (1,), 1) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert alter(cluster, None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    assert alter(cluster, None, 5) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_move_to_another_broker_waits_for_it(make_cluster: Any) -> None:
    cluster = make_cluster(1, 2)
    cluster.create("orders", -1, assignments=[(0, (1,))])
    assert alter(cluster, (2,)) == DONE
    after = partition(cluster)
    assert (after.replicas, after.adding, after.removing) == ((2, 1), (2,), (1,))
    assert (after.leader, after.isr, len(after.directories)) == (1, (1,), 2)
    (listed,) = reassignments.ongoing(cluster.image)
    assert (listed.topic, listed.number, listed.partition) == ("orders", 0, after)
    assert reassignments.ongoing(cluster.image, [("orders", (0, 7)), ("none", (0,))]) == (listed,)
    assert reassignments.ongoing(cluster.image, [("orders", (1,))]) == ()


def test_an_end_before_its_time(make_cluster: Any) -> None:
    cluster = make_cluster(1, 2)
    cluster.create("orders", -1, assignments=[(0, (1,))])
    alter(cluster, (2,))
    assert alter(cluster, None) == DONE
    after = partition(cluster)
    assert (after.replicas, after.adding, after.removing, after.leader) == ((1,), (), (), 1)
    assert reassignments.ongoing(cluster.image) == ()
    assert alter(cluster, None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


def test_an_end_that_would_lose_something(make_cluster: Any) -> None:
    """Of those that it would go back to, nobody is in sync."""
    cluster = make_cluster(1, 2)
    cluster.create("orders", -1, assignments=[(0, (1,))])
    alter(cluster, (2,))
    write(cluster, isr=(2,), leader=2)
    assert alter(cluster, None) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    change = Change("unclean.leader.election.enable", Operation.SET, "true")
    resource = ConfigResource(ResourceType.TOPIC, "orders")
    cluster.do(configs.alter(cluster.image, [Alteration(resource, [change])], cluster.context))
    assert alter(cluster, None) == DONE
    assert (partition(cluster).leader, partition(cluster).isr) == (1, (1,))


def test_fewer_replicas_at_once(make_cluster: Any) -> None:
    """All that are to stay are in sync."""
    cluster = make_cluster(1, 2, 3)
    cluster.create("orders", -1, assignments=[(0, (1, 2, 3))])
    assert alter(cluster, (3, 1)) == DONE
    after = partition(cluster)
    assert (after.replicas, after.isr, after.adding, after.removing) == ((3, 1), (1, 3), (), ())
    assert (after.leader, after.leader_epoch) == (1, 1)  # who is gone must not be taken for a follower


def test_the_leader_goes(make_cluster: Any) -> None:
    cluster = make_cluster(1, 2)
    cluster.create("orders", -1, assignments=[(0, (1, 2))])
    assert alter(cluster, (2,)) == DONE
    after = partition(cluster)
    assert (after.replicas, after.isr, after.leader) == ((2,), (2,), 2)


def test_another_order(make_cluster: Any) -> None:
    cluster = make_cluster(1, 2)
    cluster.create("orders", -1, assignments=[(0, (1, 2))])
    before = partition(cluster)
    assert alter(cluster, (2, 1)) == DONE
    after = partition(cluster)
    assert (after.replicas, after.leader, after.leader_epoch) == ((2, 1), 1, 0)
    assert after.directories == before.directories[::-1]
    assert elect(cluster, PREFERRED, 0) == [DONE]
    assert partition(cluster).leader == 2


def test_as_many_replicas_as_before(make_cluster: Any) -> None:
    cluster = make_cluster(1, 2)
    cluster.create("orders", -1, assignments=[(0, (1,))])
    assert alter(cluster, (1, 2), may_change_factor=False) == ErrorCode.INVALID_REPLICATION_FACTOR
    assert alter(cluster, (2,), may_change_factor=False) == DONE
    assert alter(cluster, (1,), may_change_factor=False) == DONE  # one in the end, though two are there now
    assert alter(cluster, (1, 2), may_change_factor=False) == ErrorCode.INVALID_REPLICATION_FACTOR
