"""Random histories of commands: every way to the same point gives the same image, and nobody misses a change."""

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.controller import brokers, configs, directories, features, producer_ids, topics
from odradek.controller.context import Context
from odradek.controller.result import ControllerResult
from odradek.metadata.bootstrap import activation_records, feature_records
from odradek.metadata.features import record_version
from odradek.metadata.image import Broker, ConfigResource, Endpoint, Image, ResourceType, Topic
from odradek.metadata.replay import Batch, Replay, image_of
from odradek.metadata.snapshot import records_of
from odradek.model.errors import BrokerError
from odradek.model.numbers import LeaderEpoch, Offset, TimestampMs
from odradek.wire.records.metadata import (
    AbortTransactionRecord,
    AccessControlEntryRecord,
    BeginTransactionRecord,
    ClientQuotaRecord,
    DelegationTokenRecord,
    EndTransactionRecord,
    EntityData,
    NoOpRecord,
    RemoveDelegationTokenRecord,
    UserScramCredentialRecord,
)
from odradek.wire.schema import Message
from odradek.wire.stored import read_metadata_record, write_metadata_record
from support.examples import examples

if TYPE_CHECKING:
    from odradek.metadata.delta import Delta

NAMES = st.sampled_from(["a", "b.c", "b_c", "d", "e-e", "", ".."])
SMALL = st.integers(-1, 4)
SETTINGS = st.sampled_from(
    [("retention.ms", "-1"), ("cleanup.policy", "compact"), ("min.insync.replicas", "2"), ("segment.bytes", "1")]
)
DIRECTORIES = tuple(bytes([number]) * 16 for number in (1, 2))

Command = Callable[["World"], tuple[Message, ...]]


class World:
    """An image with a broker in service, and everything that ever happened to it."""

    def __init__(self) -> None:
        numbers = count(1000)
        self.context = Context(lambda: next(numbers).to_bytes(16, "big"))
        self.state = Replay()
        self.batches: list[Batch] = []
        self.deltas: list[tuple[Delta, Image]] = []
        self.write(activation_records(self.state, feature_records(), 1))
        registration = brokers.Registration(1, b"i" * 16, {"PLAINTEXT": Endpoint("h", 1)}, DIRECTORIES)
        self.epoch = self.do(brokers.register(self.image, registration, self.context))
        self.do(brokers.unfence(self.image, 1, self.epoch, self.context))

    @property
    def image(self) -> Image:
        return self.state.image

    def do(self, decision: ControllerResult[Any]) -> Any:
        self.write(decision.records)
        return decision.response

    def write(self, records: tuple[Message, ...]) -> None:
        if not records:
            return
        base = self.image.end_offset
        stored = tuple(self._stored(record) for record in records)
        assert stored == records
        batch = Batch(base, Offset(base + len(records) - 1), LeaderEpoch(1), TimestampMs(base), stored)
        self.state, delta = self.state.apply(batch)
        self.batches.append(batch)
        self.deltas.append((delta, self.image))

    def _stored(self, record: Message) -> Message:
        """Through the bytes that the log would hold."""
        level = self.image.metadata_version if self.image.features else 30
        return read_metadata_record(write_metadata_record(record, record_version(record, level)))[0]


@st.composite
def commands(draw: st.DrawFn) -> Command:
    name, other = draw(NAMES), draw(SETTINGS)
    number, mark = draw(SMALL), bytes([draw(st.integers(1, 3))]) * 16
    resource = ConfigResource(*draw(st.sampled_from([(ResourceType.TOPIC, name), (ResourceType.BROKER, "")])))
    operation = draw(st.sampled_from(list(configs.Operation)))
    kinds: list[Command] = [
        lambda world: (
            topics.create(world.image, [topics.NewTopic(name, number, 1, configs=dict([other]))], world.context).records
        ),
        lambda world: topics.create(world.image, [topics.NewTopic(name, number)], world.context).records,
        lambda world: topics.create_partitions(world.image, [topics.Growth(name, number + 3)]).records,
        lambda world: topics.delete(world.image, [topics.Doomed(name)], world.context).records,
        lambda world: (
            configs.alter(
                world.image,
                [configs.Alteration(resource, [configs.Change(other[0], operation, other[1])])],
                world.context,
            ).records
        ),
        lambda world: configs.replace(world.image, [configs.Replacement(resource, [other])], world.context).records,
        lambda world: producer_ids.allocate(world.image, 1, world.epoch).records,
        lambda world: features.update(world.image, [features.FeatureUpdate("group.version", number % 2, 2)]).records,
        lambda world: _assign(world, name, mark),
        lambda world: brokers.fence(world.image, 1, world.epoch, world.context).records,
        lambda world: brokers.unfence(world.image, 1, world.epoch, world.context).records,
        lambda world: brokers.shut_down(world.image, 1, world.epoch, world.context).records,
        lambda _: _security(name, mark, remove=number < 1),
        lambda _: (BeginTransactionRecord(), *_security(name, mark, remove=False), EndTransactionRecord()),
        lambda _: (BeginTransactionRecord(), *_security(name, mark, remove=False), AbortTransactionRecord()),
        lambda _: (NoOpRecord(),),
    ]
    return draw(st.sampled_from(kinds))


def _assign(world: World, name: str, directory: bytes) -> tuple[Message, ...]:
    topic = world.image.topics.get(name)
    replicas = [directories.InDirectory(topic.id, number, directory) for number in topic.partitions] if topic else []
    return directories.assign(world.image, 1, world.epoch, replicas).records


def _security(name: str, mark: bytes, *, remove: bool) -> tuple[Message, ...]:
    """Kinds that no command makes yet."""
    entity = (EntityData(entity_type="user", entity_name=name or None),)
    token = DelegationTokenRecord(
        owner=name,
        requester=name,
        renewers=(name,),
        issue_timestamp=1,
        max_timestamp=2,
        expiration_timestamp=3,
        token_id=name,
    )
    return (
        ClientQuotaRecord(entity=entity, key="rate", value=1.0, remove=remove),
        UserScramCredentialRecord(name=name, mechanism=1, salt=mark, stored_key=b"", server_key=b"", iterations=4096),
        RemoveDelegationTokenRecord(token_id=name) if remove else token,
        AccessControlEntryRecord(
            id=mark,
            resource_type=2,
            resource_name=name,
            pattern_type=3,
            principal="User:x",
            host="*",
            operation=3,
            permission_type=3,
        ),
    )


def lived(history: list[Command]) -> World:
    world = World()
    for command in history:
        try:
            records = command(world)
        except BrokerError:
            continue  # refused: that changes nothing
        world.write(records)
    return world


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(st.lists(commands(), max_size=25), st.data())
def test_a_snapshot_and_the_rest_equal_the_whole(history: list[Command], data: st.DataObject) -> None:
    world = lived(history)
    at = data.draw(st.integers(0, len(world.batches)))
    state = Replay()
    for batch in world.batches[:at]:
        state, _ = state.apply(batch)
    copy = Replay(image_of(records_of(state.image), state.image.position))
    assert copy == state
    for batch in world.batches[at:]:
        copy, _ = copy.apply(batch)
    assert copy.image == world.image


def replicas_in(image: Image) -> dict[int, dict[bytes, tuple[int, ...]]]:
    found: dict[int, dict[bytes, tuple[int, ...]]] = {}
    for topic in image.topics:
        for number, each in topic.partitions.items():
            for broker in each.replicas:
                of_broker = found.setdefault(broker, {})
                of_broker[topic.id] = (*of_broker.get(topic.id, ()), number)
    return found


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(st.lists(commands(), max_size=25))
def test_one_who_follows_the_deltas_knows_everything(history: list[Command]) -> None:
    known_topics: dict[bytes, Topic] = {}
    known_configs: dict[ConfigResource, dict[str, str]] = {}
    known_brokers: dict[int, Broker] = {}
    known_features: dict[str, int] = {}
    for delta, image in lived(history).deltas:
        for gone in delta.topics.deleted:
            del known_topics[gone.id]
        for created in delta.topics.created:
            assert created.id not in known_topics
            known_topics[created.id] = created
        for change in delta.topics.changed:
            assert known_topics[change.after.id] == change.before
            same = change.before.partitions.keys() - set(change.partitions)
            assert all(change.before.partitions[each] == change.after.partitions[each] for each in same)
            known_topics[change.after.id] = change.after
        for resource in delta.configs.changed:
            known_configs[resource] = dict(image.configs.of(*resource))
        for broker in delta.brokers.changed:
            known_brokers[broker] = image.brokers[broker]
        for feature in delta.features.changed:
            known_features[feature] = image.features.get(feature, 0)
        assert known_topics == image.topics.ids
        assert replicas_in(image) == {broker: dict(each) for broker, each in image.topics.by_broker.items()}
        assert {name: topic.id for name, topic in image.topics.names.items()} == {
            topic.name: topic.id for topic in known_topics.values()
        }
        assert {key: value for key, value in known_configs.items() if value} == image.configs.resources
        assert known_brokers == image.brokers
        assert {name: level for name, level in known_features.items() if level} == image.features


@pytest.mark.slow
@settings(max_examples=examples(30))
@given(st.lists(commands(), max_size=25))
def test_images_that_were_handed_out_never_change(history: list[Command]) -> None:
    world = lived(history)
    state = Replay()
    for batch, (_, handed_out) in zip(world.batches, world.deltas, strict=True):
        state, _ = state.apply(batch)
        assert state.image == handed_out
