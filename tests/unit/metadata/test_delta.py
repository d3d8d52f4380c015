"""What each kind of record changes, and that nothing that was handed out changes with it."""

from collections.abc import Sequence

import pytest

from odradek.metadata.delta import Delta
from odradek.metadata.draft import Inconsistent
from odradek.metadata.image import EMPTY, ConfigResource, Endpoint, Image, Partition, Position, QuotaKey, ScramKey
from odradek.metadata.uuids import MIGRATING
from odradek.model.errors import UnsupportedVersion
from odradek.model.numbers import LeaderEpoch, Offset, TimestampMs
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.records.metadata import (
    AccessControlEntryRecord,
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    EntityData,
    FeatureLevelRecord,
    FenceBrokerRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UserScramCredentialRecord,
    ZkMigrationStateRecord,
)
from odradek.wire.schema import Message

ORDERS, BILLS = b"o" * 16, b"b" * 16
DIRECTORY = b"d" * 16
TOPIC = 2
POSITION = Position(Offset(10), LeaderEpoch(1), TimestampMs(1000))


def applied(records: Sequence[Message], before: Image = EMPTY) -> tuple[Image, Delta]:
    delta = Delta(before)
    for record in records:
        delta.replay(record)
    return delta.finish(POSITION), delta


def image_with(*records: Message) -> Image:
    return applied(records)[0]


def topic(name: str, topic_id: bytes, partitions: int = 2) -> list[Message]:
    return [TopicRecord(name=name, topic_id=topic_id), *(partition(topic_id, number) for number in range(partitions))]


def partition(topic_id: bytes, number: int) -> PartitionRecord:
    return PartitionRecord(
        partition_id=number,
        topic_id=topic_id,
        replicas=(1,),
        isr=(1,),
        removing_replicas=(),
        adding_replicas=(),
        leader=1,
        leader_epoch=0,
        partition_epoch=0,
        directories=(DIRECTORY,),
    )


def broker(epoch: int = 5) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=1,
        incarnation_id=b"i" * 16,
        broker_epoch=epoch,
        end_points=(BrokerEndpoint(name="PLAINTEXT", host="h", port=9092, security_protocol=0),),
        features=(BrokerFeature(name="metadata.version", min_supported_version=7, max_supported_version=30),),
        rack=None,
        log_dirs=(DIRECTORY,),
    )


def config(resource: str, name: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=TOPIC, resource_name=resource, name=name, value=value)


# --- topics


def test_a_topic_is_found_by_name_and_by_id() -> None:
    image, delta = applied(topic("orders", ORDERS))
    found = image.topics.get("orders")
    assert found is not None
    assert found is image.topics.by_id(ORDERS)
    assert found.partitions == {
        number: Partition(1, LeaderEpoch(0), 0, (1,), (1,), (DIRECTORY,)) for number in range(2)
    }
    assert [each.name for each in delta.topics.created] == ["orders"]
    assert (len(image.topics), list(image.topics), "orders" in image.topics) == (1, [found], True)
    assert not delta.topics.changed
    assert not delta.topics.deleted
    assert image.position == POSITION


def test_the_image_before_stays_as_it_was() -> None:
    before = image_with(*topic("orders", ORDERS), config("orders", "a", "1"))
    copies = dict(before.topics.names), dict(before.configs.of(TOPIC, "orders"))
    applied(
        [
            *topic("bills", BILLS),
            PartitionChangeRecord(partition_id=0, topic_id=ORDERS, leader=2),
            config("orders", "a", "2"),
            config("bills", "b", "1"),
        ],
        before,
    )
    assert (dict(before.topics.names), dict(before.configs.of(TOPIC, "orders"))) == copies
    assert before.topics.get("orders") == image_with(*topic("orders", ORDERS)).topics.get("orders")


def test_what_does_not_change_is_shared() -> None:
    before = image_with(*topic("orders", ORDERS), config("orders", "a", "1"))
    after, _ = applied([FeatureLevelRecord(name="group.version", feature_level=1)], before)
    assert after.topics is before.topics
    assert after.configs is before.configs


def test_a_change_of_a_partition_leaves_the_fields_that_it_does_not_name() -> None:
    before = image_with(*topic("orders", ORDERS))
    after, delta = applied([PartitionChangeRecord(partition_id=1, topic_id=ORDERS, isr=(), leader=-1)], before)
    found = after.topics.get("orders")
    assert found is not None
    assert found.partitions[1] == Partition(-1, LeaderEpoch(1), 1, (1,), (), (DIRECTORY,))
    (change,) = delta.topics.changed
    assert list(change.partitions) == [1]
    assert (change.before, change.after) == (before.topics.get("orders"), found)


def test_a_leader_that_stays_begins_a_new_epoch_if_it_is_named() -> None:
    before = image_with(*topic("orders", ORDERS))
    after, _ = applied(
        [
            PartitionChangeRecord(partition_id=0, topic_id=ORDERS, leader=1),
            PartitionChangeRecord(partition_id=1, topic_id=ORDERS, leader_recovery_state=1),
        ],
        before,
    )
    found = after.topics.get("orders")
    assert found is not None
    assert [(each.leader, each.leader_epoch, each.partition_epoch) for each in found.partitions.values()] == [
        (1, 1, 1),
        (1, 0, 1),
    ]
    assert found.partitions[1].leader_recovery_state == 1


def test_every_field_of_a_partition_can_change() -> None:
    change = PartitionChangeRecord(
        partition_id=0,
        topic_id=ORDERS,
        isr=(2,),
        leader=2,
        replicas=(2, 3),
        removing_replicas=(1,),
        adding_replicas=(3,),
        leader_recovery_state=1,
        directories=(b"x" * 16, b"y" * 16),
        eligible_leader_replicas=(3,),
        last_known_elr=(1,),
    )
    found = image_with(*topic("orders", ORDERS), change).topics.get("orders")
    assert found is not None
    assert found.partitions[0] == Partition(
        2, LeaderEpoch(1), 1, (2, 3), (2,), (b"x" * 16, b"y" * 16), (3,), (1,), 1, (3,), (1,)
    )


def test_a_partition_from_before_directories_had_ids() -> None:
    record = partition(ORDERS, 0)
    old = PartitionRecord(**{name: getattr(record, name) for name in record.declared} | {"directories": ()})
    found = image_with(TopicRecord(name="orders", topic_id=ORDERS), old).topics.get("orders")
    assert found is not None
    assert found.partitions[0].directories == (MIGRATING,)


def test_replicas_that_change_without_directories_of_their_own() -> None:
    """As records of levels before directories had ids change them."""
    fewer = PartitionChangeRecord(partition_id=0, topic_id=ORDERS, replicas=(2,))
    more = PartitionChangeRecord(partition_id=0, topic_id=ORDERS, replicas=(2, 3, 4))
    for change in (fewer, more):
        found = image_with(*topic("orders", ORDERS, 2), change).topics.get("orders")
        assert found is not None
        changed = found.partitions[0]
        assert len(changed.directories) == len(changed.replicas)


def test_a_deleted_topic_takes_its_settings_along() -> None:
    before = image_with(*topic("orders", ORDERS), config("orders", "a", "1"), config("bills", "a", "1"))
    after, delta = applied([RemoveTopicRecord(topic_id=ORDERS)], before)
    assert len(after.topics) == 0
    assert after.topics.by_id(ORDERS) is None
    assert after.configs.of(TOPIC, "orders") == {}
    assert after.configs.of(TOPIC, "bills") == {"a": "1"}
    assert [each.name for each in delta.topics.deleted] == ["orders"]
    assert list(delta.configs.changed) == [ConfigResource(TOPIC, "orders")]


def test_a_topic_can_be_deleted_and_made_again_at_once() -> None:
    before = image_with(*topic("orders", ORDERS))
    after, delta = applied([RemoveTopicRecord(topic_id=ORDERS), *topic("orders", BILLS, 1)], before)
    found = after.topics.get("orders")
    assert found is not None
    assert (found.id, len(found.partitions)) == (BILLS, 1)
    assert [each.id for each in delta.topics.deleted] == [ORDERS]
    assert [each.id for each in delta.topics.created] == [BILLS]


def test_a_topic_that_comes_and_goes_was_never_there() -> None:
    after, delta = applied([*topic("orders", ORDERS), RemoveTopicRecord(topic_id=ORDERS)])
    assert len(after.topics) == 0
    assert not delta.topics.created
    assert not delta.topics.deleted


def test_eligible_leaders_are_cleared_for_one_topic_or_for_all() -> None:
    eligible = [
        PartitionChangeRecord(partition_id=0, topic_id=each, eligible_leader_replicas=(1,), last_known_elr=(1,))
        for each in (ORDERS, BILLS)
    ]
    before = image_with(*topic("orders", ORDERS), *topic("bills", BILLS), *eligible)

    def eligible_in(image: Image) -> list[str]:
        return [each.name for each in image.topics if each.partitions[0].eligible_leaders]

    assert eligible_in(before) == ["orders", "bills"]
    assert eligible_in(applied([ClearElrRecord(topic_name="orders")], before)[0]) == ["bills"]
    after, delta = applied([ClearElrRecord(topic_name="")], before)
    assert eligible_in(after) == []
    assert [list(change.partitions) for change in delta.topics.changed] == [[0], [0]]


@pytest.mark.parametrize(
    "record",
    [
        partition(BILLS, 0),
        PartitionChangeRecord(partition_id=0, topic_id=BILLS),
        PartitionChangeRecord(partition_id=7, topic_id=ORDERS),
        RemoveTopicRecord(topic_id=BILLS),
        ClearElrRecord(topic_name="bills"),
        TopicRecord(name="orders", topic_id=BILLS),
        RemoveAccessControlEntryRecord(id=b"?" * 16),
        FenceBrokerRecord(id=9, epoch=1),
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=4, fenced=-1),
    ],
)
def test_a_record_that_does_not_fit_is_refused(record: Message) -> None:
    with pytest.raises(Inconsistent):
        applied([record], image_with(*topic("orders", ORDERS), broker()))


# --- settings


def test_settings_come_and_go() -> None:
    image = image_with(config("orders", "a", "1"), config("orders", "b", "2"), config("orders", "a", None))
    assert image.configs.of(TOPIC, "orders") == {"b": "2"}
    image, delta = applied([config("orders", "b", None)], image)
    assert image.configs.resources == {}
    assert list(delta.configs.changed) == [ConfigResource(TOPIC, "orders")]


# --- brokers, controllers, features


def test_a_broker_registers_takes_up_service_and_leaves() -> None:
    image = image_with(broker())
    assert image.brokers[1].fenced
    assert image.brokers[1].endpoints == {"PLAINTEXT": Endpoint("h", 9092, 0)}
    assert image.brokers[1].features["metadata.version"] == (7, 30)
    image, delta = applied([BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5, fenced=-1)], image)
    assert image.brokers[1].active
    assert list(delta.brokers.changed) == [1]
    image, delta = applied([BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5)], image)
    assert not delta.brokers.changed
    image, _ = applied(
        [
            BrokerRegistrationChangeRecord(
                broker_id=1,
                broker_epoch=5,
                fenced=1,
                in_controlled_shutdown=1,
                log_dirs=(b"n" * 16,),
                cordoned_log_dirs=(),
            )
        ],
        image,
    )
    found = image.brokers[1]
    assert (found.fenced, found.in_controlled_shutdown, found.active) == (True, True, False)
    assert (found.directories, found.cordoned_directories) == ((b"n" * 16,), ())
    image, _ = applied([UnregisterBrokerRecord(broker_id=1, broker_epoch=5)], image)
    assert image.brokers == {}


def test_older_records_fence_and_unfence_too() -> None:
    image = image_with(broker(), UnfenceBrokerRecord(id=1, epoch=5))
    assert not image.brokers[1].fenced
    assert applied([FenceBrokerRecord(id=1, epoch=5)], image)[0].brokers[1].fenced


def test_a_flag_with_an_unknown_value_is_newer_than_we_are() -> None:
    with pytest.raises(UnsupportedVersion):
        applied([BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5, fenced=2)], image_with(broker()))


def test_a_controller_registers() -> None:
    record = RegisterControllerRecord(
        controller_id=1, incarnation_id=b"c" * 16, zk_migration_ready=False, end_points=(), features=()
    )
    assert image_with(record).controllers == {1: record}


def test_features_have_levels_and_none_at_zero() -> None:
    image = image_with(
        FeatureLevelRecord(name="metadata.version", feature_level=30),
        FeatureLevelRecord(name="group.version", feature_level=1),
        FeatureLevelRecord(name="kraft.version", feature_level=1),
    )
    assert image.features == {"metadata.version": 30, "group.version": 1}
    assert image.metadata_version == 30
    image, delta = applied([FeatureLevelRecord(name="group.version", feature_level=0)], image)
    assert image.features == {"metadata.version": 30}
    assert list(delta.features.changed) == ["group.version"]


@pytest.mark.parametrize("level", [6, 31])
def test_a_metadata_version_that_kafka_43_has_not_is_refused(level: int) -> None:
    with pytest.raises(UnsupportedVersion, match=f"metadata.version {level}"):
        image_with(FeatureLevelRecord(name="metadata.version", feature_level=level))


# --- the rest


def test_quotas() -> None:
    def quota(remove: bool, *entity: tuple[str, str | None]) -> ClientQuotaRecord:
        data = tuple(EntityData(entity_type=kind, entity_name=name) for kind, name in entity)
        return ClientQuotaRecord(entity=data, key="rate", value=0.0 if remove else 8.0, remove=remove)

    image = image_with(quota(False, ("user", "alice"), ("client-id", None)), quota(False, ("user", None)))
    assert image.quotas.keys() == {
        QuotaKey((("client-id", None), ("user", "alice")), "rate"),
        QuotaKey((("user", None),), "rate"),
    }
    image, _ = applied([quota(True, ("client-id", None), ("user", "alice"))], image)
    assert image.quotas.keys() == {QuotaKey((("user", None),), "rate")}


def test_acls() -> None:
    record = AccessControlEntryRecord(
        id=b"a" * 16,
        resource_type=2,
        resource_name="orders",
        pattern_type=3,
        principal="User:alice",
        host="*",
        operation=3,
        permission_type=3,
    )
    image = image_with(record)
    assert image.acls == {b"a" * 16: record}
    assert applied([RemoveAccessControlEntryRecord(id=b"a" * 16)], image)[0].acls == {}


def test_credentials() -> None:
    record = UserScramCredentialRecord(
        name="alice", mechanism=1, salt=b"s", stored_key=b"k", server_key=b"v", iterations=4096
    )
    image = image_with(record)
    assert image.scram == {ScramKey(1, "alice"): record}
    gone = RemoveUserScramCredentialRecord(name="alice", mechanism=1)
    assert applied([gone, gone], image)[0].scram == {}


def test_tokens() -> None:
    record = DelegationTokenRecord(
        owner="User:a",
        requester="User:b",
        renewers=(),
        issue_timestamp=1,
        max_timestamp=2,
        expiration_timestamp=3,
        token_id="t",
    )
    image = image_with(record)
    assert image.tokens == {"t": record}
    assert applied([RemoveDelegationTokenRecord(token_id="t")], image)[0].tokens == {}


def test_producer_ids() -> None:
    record = ProducerIdsRecord(broker_id=1, broker_epoch=5, next_producer_id=3000)
    assert image_with(record).next_producer_id == 3000
    assert EMPTY.next_producer_id == -1


def test_records_that_say_nothing() -> None:
    assert applied([NoOpRecord(), ZkMigrationStateRecord(zk_migration_state=1)])[0] == applied([])[0]


def test_what_is_no_record_of_metadata_is_refused() -> None:
    with pytest.raises(UnsupportedVersion, match="HeartbeatRequest"):
        applied([HeartbeatRequest(group_id="g", generation_id=1, member_id="m")])
