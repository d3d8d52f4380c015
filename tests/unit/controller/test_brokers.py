"""Brokers that come, lead and go; what they are given: producer ids, places, levels of features."""

from dataclasses import replace
from typing import Any

import pytest

from odradek.controller import brokers, directories, features, producer_ids
from odradek.controller.brokers import Registration
from odradek.controller.directories import InDirectory
from odradek.controller.errors import (
    BrokerNotRegistered,
    InvalidRegistration,
    InvalidReplicationFactor,
    InvalidUpdateVersion,
    PolicyViolation,
    StaleBrokerEpoch,
)
from odradek.controller.features import FeatureUpdate, UpgradeType
from odradek.metadata.features import SUPPORTED, Levels
from odradek.metadata.image import Endpoint, Partition
from odradek.model.error_code import ErrorCode
from odradek.model.errors import UnsupportedVersion
from odradek.model.numbers import LeaderEpoch
from odradek.wire.records.metadata import (
    ConfigRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
)

REGISTRATION = Registration(1, b"i" * 16, {"PLAINTEXT": Endpoint("h", 9092)}, (b"d" * 16,))


def partition(cluster: Any, name: str = "orders") -> Partition:
    found: Partition = cluster.image.topics.get(name).partitions[0]
    return found


# --- registering


def test_the_epoch_is_the_offset_of_the_registration(make_cluster: Any) -> None:
    cluster = make_cluster()
    end = cluster.image.end_offset
    epoch = cluster.do(brokers.register(cluster.image, REGISTRATION, cluster.context))
    assert epoch == end
    broker = cluster.image.brokers[1]
    assert (broker.epoch, broker.fenced, broker.directories) == (end, True, (b"d" * 16,))
    assert broker.features == SUPPORTED


def test_the_same_incarnation_keeps_its_epoch_and_its_state(make_cluster: Any) -> None:
    cluster = make_cluster()
    epoch = cluster.do(brokers.register(cluster.image, REGISTRATION, cluster.context))
    cluster.do(brokers.unfence(cluster.image, 1, epoch, cluster.context))
    assert cluster.do(brokers.register(cluster.image, replace(REGISTRATION, rack="r"), cluster.context)) == epoch
    assert (cluster.image.brokers[1].rack, cluster.image.brokers[1].fenced) == ("r", False)
    later = cluster.do(
        brokers.register(cluster.image, replace(REGISTRATION, incarnation_id=b"j" * 16), cluster.context)
    )
    assert later > epoch
    assert cluster.image.brokers[1].fenced


@pytest.mark.parametrize(
    "registration",
    [
        replace(REGISTRATION, directories=()),
        replace(REGISTRATION, directories=(b"d" * 16, b"d" * 16)),
        replace(REGISTRATION, directories=(bytes(16),)),
        replace(REGISTRATION, features={}),
    ],
)
def test_registrations_that_are_refused(make_cluster: Any, registration: Registration) -> None:
    cluster = make_cluster()
    with pytest.raises(InvalidRegistration):
        brokers.register(cluster.image, registration, cluster.context)


def test_a_broker_that_does_not_support_a_level_is_refused(make_cluster: Any) -> None:
    cluster = make_cluster()
    older = replace(REGISTRATION, features={**SUPPORTED, "metadata.version": Levels(7, 29)})
    with pytest.raises(UnsupportedVersion):
        brokers.register(cluster.image, older, cluster.context)


def test_a_directory_belongs_to_one_broker(make_cluster: Any) -> None:
    cluster = make_cluster()
    cluster.do(brokers.register(cluster.image, REGISTRATION, cluster.context))
    with pytest.raises(InvalidRegistration):
        brokers.register(cluster.image, replace(REGISTRATION, broker_id=2), cluster.context)


def test_a_broker_of_an_earlier_life_has_no_say(cluster: Any) -> None:
    for command in (brokers.unfence, brokers.fence, brokers.shut_down):
        with pytest.raises(StaleBrokerEpoch):
            command(cluster.image, 1, cluster.epochs[1] - 1, cluster.context)
        with pytest.raises(StaleBrokerEpoch):
            command(cluster.image, 9, 1, cluster.context)
    with pytest.raises(StaleBrokerEpoch):
        producer_ids.allocate(cluster.image, 1, cluster.epochs[1] - 1)


# --- leading


def restart(cluster: Any) -> None:
    cluster.add_broker(1)


def test_a_broker_that_comes_back_leads_in_a_new_epoch(cluster: Any) -> None:
    cluster.create("orders")
    before = partition(cluster)
    restart(cluster)
    after = partition(cluster)
    assert after == replace(
        before, leader_epoch=LeaderEpoch(before.leader_epoch + 1), partition_epoch=before.partition_epoch + 1
    )


@pytest.mark.parametrize(
    "state", [{"isr": (1,)}, {"isr": (), "eligible_leader_replicas": (1,), "last_known_elr": (1,)}]
)
def test_it_leads_what_lost_its_leader(cluster: Any, state: dict[str, Any]) -> None:
    topic_id = cluster.create("orders").id
    cluster.write(PartitionChangeRecord(partition_id=0, topic_id=topic_id, leader=-1, **state))
    restart(cluster)
    found = partition(cluster)
    assert (found.leader, found.isr, found.eligible_leaders, found.last_known_eligible) == (1, (1,), (), ())
    assert found.leader_recovery_state == 0


def test_the_last_one_that_is_known_leads_and_has_to_recover(cluster: Any) -> None:
    topic_id = cluster.create("orders").id
    lost = PartitionChangeRecord(partition_id=0, topic_id=topic_id, leader=-1, isr=(), last_known_elr=(1,))
    cluster.write(lost)
    restart(cluster)
    found = partition(cluster)
    assert (found.leader, found.isr, found.leader_recovery_state) == (1, (1,), 1)


def test_it_does_not_lead_what_others_have(make_cluster: Any) -> None:
    cluster = make_cluster(1, 2)
    cluster.create("orders", -1, assignments=[(0, (2, 1))])
    topic_id = cluster.create("bills", -1, assignments=[(0, (2, 1))]).id
    cluster.write(PartitionChangeRecord(partition_id=0, topic_id=topic_id, leader=-1, isr=(2,)))
    restart(cluster)
    assert partition(cluster).leader == 2
    assert partition(cluster, "bills").leader == 2, "who is in sync, and in service"
    cluster.do(brokers.fence(cluster.image, 2, cluster.epochs[2], cluster.context))
    restart(cluster)
    assert partition(cluster, "bills").leader == -1, "only the other one was in sync"


def test_stopping_in_order(cluster: Any) -> None:
    cluster.do(brokers.shut_down(cluster.image, 1, cluster.epochs[1], cluster.context))
    broker = cluster.image.brokers[1]
    assert (broker.in_controlled_shutdown, broker.fenced) == (True, True)
    assert brokers.shut_down(cluster.image, 1, cluster.epochs[1], cluster.context).records == ()
    assert brokers.fence(cluster.image, 1, cluster.epochs[1], cluster.context).records == ()


def test_a_broker_that_is_gone(cluster: Any) -> None:
    cluster.do(brokers.fence(cluster.image, 1, cluster.epochs[1], cluster.context))
    assert cluster.image.brokers[1].fenced
    assert not cluster.image.brokers[1].in_controlled_shutdown


def test_a_broker_that_is_unregistered_leads_nothing(cluster: Any) -> None:
    """And leads it again when it comes back, having lost nothing."""
    cluster.create("orders")
    before = partition(cluster)
    cluster.do(brokers.unregister(cluster.image, 1, cluster.context))
    assert 1 not in cluster.image.brokers
    left = partition(cluster)
    assert (left.leader, left.isr, left.eligible_leaders, left.last_known_eligible) == (-1, (), (1,), (1,))
    assert left.leader_epoch == before.leader_epoch + 1
    cluster.add_broker(1)
    again = partition(cluster)
    assert (again.leader, again.isr, again.eligible_leaders, again.leader_recovery_state) == (1, (1,), (), 0)


def test_without_eligible_leaders_the_last_in_sync_stays_so(cluster: Any) -> None:
    cluster.write(FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=0))
    cluster.create("orders")
    cluster.do(brokers.unregister(cluster.image, 1, cluster.context))
    assert (partition(cluster).leader, partition(cluster).isr) == (-1, (1,))
    cluster.add_broker(1)
    assert (partition(cluster).leader, partition(cluster).isr) == (1, (1,))


def test_another_in_sync_leads_what_an_unregistered_broker_led(make_cluster: Any) -> None:
    cluster = make_cluster(1, 2, 3)
    cluster.create("orders", assignments=[(0, (1, 3, 2))], partitions=-1)
    cluster.do(brokers.unregister(cluster.image, 1, cluster.context))
    assert (partition(cluster).leader, partition(cluster).isr, partition(cluster).eligible_leaders) == (3, (3, 2), ())
    epoch = partition(cluster).leader_epoch
    cluster.do(brokers.unregister(cluster.image, 2, cluster.context))
    assert (partition(cluster).leader, partition(cluster).isr) == (3, (3,))
    assert partition(cluster).leader_epoch == epoch


def test_a_broker_with_all_directories_cordoned_takes_no_replicas(make_cluster: Any) -> None:
    cluster = make_cluster(1, 2)
    epoch, (first, second) = cluster.epochs[1], cluster.image.brokers[1].directories
    cluster.do(brokers.cordon(cluster.image, 1, epoch, [first]))
    assert cluster.create("orders", replication_factor=2).replication_factor == 2
    cluster.do(brokers.cordon(cluster.image, 1, epoch, [second, first]))
    assert isinstance(cluster.create("more", replication_factor=2), InvalidReplicationFactor)
    cluster.create("less", 3)
    assert {each.replicas for each in cluster.image.topics.get("less").partitions.values()} == {(2,)}
    cluster.do(brokers.cordon(cluster.image, 2, cluster.epochs[2], cluster.image.brokers[2].directories))
    assert isinstance(cluster.create("none"), InvalidReplicationFactor)
    cluster.do(brokers.cordon(cluster.image, 1, epoch, []))
    assert cluster.create("again").replication_factor == 1


def test_what_is_known_of_cordoned_directories_is_not_written_again(cluster: Any) -> None:
    epoch, directories = cluster.epochs[1], cluster.image.brokers[1].directories
    assert brokers.cordon(cluster.image, 1, epoch, []).records == ()
    cluster.do(brokers.cordon(cluster.image, 1, epoch, directories))
    assert brokers.cordon(cluster.image, 1, epoch, directories[::-1]).records == ()
    with pytest.raises(StaleBrokerEpoch):
        brokers.cordon(cluster.image, 1, epoch + 1, directories)


def test_an_old_cluster_knows_no_cordoned_directories(cluster: Any) -> None:
    cluster.write(FeatureLevelRecord(name="metadata.version", feature_level=29))
    assert brokers.cordon(cluster.image, 1, cluster.epochs[1], cluster.image.brokers[1].directories).records == ()


def test_who_is_not_registered_cannot_be_unregistered(cluster: Any) -> None:
    with pytest.raises(BrokerNotRegistered):
        brokers.unregister(cluster.image, 2, cluster.context)
    cluster.do(brokers.unregister(cluster.image, 1, cluster.context))
    with pytest.raises(BrokerNotRegistered):
        brokers.unregister(cluster.image, 1, cluster.context)


def test_one_in_service_is_not_unfenced_again(cluster: Any) -> None:
    assert brokers.unfence(cluster.image, 1, cluster.epochs[1], cluster.context).records == ()


def test_an_old_cluster_knows_no_directories(make_cluster: Any) -> None:
    cluster = make_cluster()
    old = replace(cluster.image, features={"metadata.version": 10})
    (record,) = brokers.register(old, REGISTRATION, cluster.context).records
    assert isinstance(record, RegisterBrokerRecord)
    assert record.log_dirs == ()


# --- producer ids


def test_blocks_of_producer_ids(cluster: Any) -> None:
    for first in (0, 1000, 2000):
        decision = producer_ids.allocate(cluster.image, 1, cluster.epochs[1])
        assert decision.response == (first, 1000)
        assert decision.records == (
            ProducerIdsRecord(broker_id=1, broker_epoch=cluster.epochs[1], next_producer_id=first + 1000),
        )
        cluster.do(decision)


def test_producer_ids_come_to_an_end(cluster: Any) -> None:
    cluster.write(ProducerIdsRecord(broker_id=1, next_producer_id=(1 << 63) - 1000))
    with pytest.raises(PolicyViolation):
        producer_ids.allocate(cluster.image, 1, cluster.epochs[1])


# --- directories


def test_a_broker_tells_where_its_replicas_are(cluster: Any) -> None:
    topic_id = cluster.create("orders").id
    directory = cluster.image.brokers[1].directories[1]
    told = [InDirectory(topic_id, 0, directory)]
    assert cluster.do(directories.assign(cluster.image, 1, cluster.epochs[1], told))[0].error is None
    assert partition(cluster).directories == (directory,)
    assert partition(cluster).leader_epoch == 0
    assert directories.assign(cluster.image, 1, cluster.epochs[1], told).records == ()


def test_replicas_that_it_has_not(make_cluster: Any) -> None:
    cluster = make_cluster(1, 2)
    topic_id = cluster.create("orders", -1, assignments=[(0, (2,))]).id
    told = [
        InDirectory(topic_id, 0, b"d" * 16),
        InDirectory(topic_id, 5, b"d" * 16),
        InDirectory(b"?" * 16, 0, b"d" * 16),
    ]
    decision = directories.assign(cluster.image, 1, cluster.epochs[1], told)
    assert decision.records == ()
    assert [each.error and each.error.code for each in decision.response] == [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
    ]


# --- features


def test_a_feature_is_turned_off_and_on(cluster: Any) -> None:
    cluster.do(features.update(cluster.image, [FeatureUpdate("group.version", 0, UpgradeType.SAFE_DOWNGRADE)]))
    assert "group.version" not in cluster.image.features
    decision = features.update(cluster.image, [FeatureUpdate("group.version", 1)], validate_only=True)
    assert decision.records == ()
    cluster.do(features.update(cluster.image, [FeatureUpdate("group.version", 1)]))
    assert cluster.image.features["group.version"] == 1


@pytest.mark.parametrize(
    "update",
    [
        FeatureUpdate("group.version", 2),
        FeatureUpdate("group.version", -1),
        FeatureUpdate("group.version", 0),
        FeatureUpdate("group.version", 0, 9),
        FeatureUpdate("no.such.version", 1),
        FeatureUpdate("kraft.version", 1),
        FeatureUpdate("metadata.version", 31),
        FeatureUpdate("metadata.version", 29, UpgradeType.SAFE_DOWNGRADE),
        FeatureUpdate("metadata.version", 29, UpgradeType.UNSAFE_DOWNGRADE),
        FeatureUpdate("metadata.version", 0, UpgradeType.UNSAFE_DOWNGRADE),
    ],
)
def test_levels_that_are_refused(cluster: Any, update: FeatureUpdate) -> None:
    with pytest.raises(InvalidUpdateVersion):
        features.update(cluster.image, [update])


def test_of_a_feature_that_is_named_twice_the_last_counts(cluster: Any) -> None:
    down = FeatureUpdate("group.version", 0, UpgradeType.SAFE_DOWNGRADE)
    decision = features.update(cluster.image, [FeatureUpdate("group.version", 1), down])
    assert decision.records == (FeatureLevelRecord(name="group.version", feature_level=0),)


def test_a_downgrade_that_loses_nothing(cluster: Any) -> None:
    old = replace(cluster.image, features={"metadata.version": 29, "group.version": 1})
    decision = features.update(old, [FeatureUpdate("metadata.version", 24, UpgradeType.SAFE_DOWNGRADE)])
    assert decision.records == (FeatureLevelRecord(name="metadata.version", feature_level=24),)


def test_no_downgrade_to_more(cluster: Any) -> None:
    old = replace(cluster.image, features={"metadata.version": 30})
    with pytest.raises(InvalidUpdateVersion):
        features.update(old, [FeatureUpdate("group.version", 1, UpgradeType.SAFE_DOWNGRADE)])


def test_eligible_leaders_pin_min_insync_replicas(cluster: Any) -> None:
    name = "eligible.leader.replicas.version"
    cluster.do(features.update(cluster.image, [FeatureUpdate(name, 0, UpgradeType.SAFE_DOWNGRADE)]))
    for broker, value in (("", None), ("1", "1")):
        cluster.write(ConfigRecord(resource_type=4, resource_name=broker, name="min.insync.replicas", value=value))
    cluster.do(features.update(cluster.image, [FeatureUpdate(name, 1)], min_insync_replicas=2))
    assert cluster.image.configs.of(4, "") == {"min.insync.replicas": "2"}
    assert cluster.image.configs.of(4, "1") == {}
    old = replace(cluster.image, features={"metadata.version": 22})
    with pytest.raises(InvalidUpdateVersion):
        features.update(old, [FeatureUpdate(name, 1)])


# --- many partitions


def test_only_partitions_of_the_broker_are_looked_at(make_cluster: Any) -> None:
    cluster = make_cluster(1, 2, 3)
    for name, replicas in (("a", (1, 2)), ("b", (2, 3)), ("c", (3, 1))):
        cluster.create(name, -1, assignments=[(0, replicas), (1, replicas)])
    image = cluster.image
    assert [(topic.name, numbers) for topic, numbers in image.topics.on_broker(1)] == [("a", (0, 1)), ("c", (0, 1))]
    cluster.do(brokers.fence(image, 1, cluster.epochs[1], cluster.context))
    assert [partition(cluster, name).leader for name in "abc"] == [2, 2, 3]
    assert [partition(cluster, name).isr for name in "abc"] == [(2,), (2, 3), (3,)]


def test_the_last_broker_keeps_what_it_leads(cluster: Any) -> None:
    """Nobody could lead it meanwhile: two records for each partition would say nothing."""
    cluster.create("orders", 3)
    records = brokers.shut_down(cluster.image, 1, cluster.epochs[1], cluster.context).records
    assert [type(each).__name__ for each in records] == ["BrokerRegistrationChangeRecord"] * 2


def test_nobody_leads_what_the_last_broker_kept_before_it_is_back(make_cluster: Any) -> None:
    cluster = make_cluster(1, 2)
    cluster.create("orders", -1, assignments=[(0, (1, 2))])
    for broker in (2, 1):
        cluster.do(brokers.fence(cluster.image, broker, cluster.epochs[broker], cluster.context))
    assert (partition(cluster).leader, partition(cluster).isr) == (1, (1,))
    cluster.add_broker(2)
    assert partition(cluster).leader == -1, "only the other one was in sync"
    cluster.add_broker(1)
    assert (partition(cluster).leader, partition(cluster).isr) == (1, (1,))


def test_a_broker_that_comes_back_without_a_word_is_led_for_by_others(make_cluster: Any) -> None:
    """It was not fenced: its new incarnation is the first that is heard of its end."""
    cluster = make_cluster(1, 2)
    cluster.create("orders", -1, assignments=[(0, (1, 2))])
    cluster.add_broker(1, unfence=False)
    assert (partition(cluster).leader, partition(cluster).isr) == (2, (2,))
