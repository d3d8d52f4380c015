"""Quotas of clients: set, removed, found and refused, with the answers of Apache Kafka.

All that is set here is for users and clients that nobody is, or too large to hold anybody back, and is removed in the
end: the brokers are shared. Lists of entities and values are compared in one order, Kafka has them in hash tables.
"""

from collections.abc import Mapping, Sequence
from math import inf, nan
from typing import Any

import pytest

from odradek.wire.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from odradek.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.wire.schema import NO_UUID
from support.quotas import alteration
from support.same_answers import Asker, Case, Level, Side, differences

Entity = Mapping[str, str | None]
EXACT, DEFAULT, ANY = 0, 1, 2
PRODUCER, CONSUMER, TIME, CHANGES, CONNECTIONS = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
    "connection_creation_rate",
)
HUGE = 1e15


async def alter(ask: Asker, request: AlterClientQuotasRequest) -> None:
    answer = await ask.quietly(request)
    if isinstance(answer, str):
        ask.keep(answer)
        return
    ask.keep(sorted((_shown(each.entity), each.error_code, each.error_message is not None) for each in answer.entries))


async def put(ask: Asker, entity: Entity, values: Mapping[str, float | None], *, validate_only: bool = False) -> None:
    await alter(ask, alteration(entity, values, validate_only=validate_only))


async def find(ask: Asker, *components: tuple[str, int, str | None], strict: bool = False) -> None:
    asked = tuple(ComponentData(entity_type=kind, match_type=how, match=name) for kind, how, name in components)
    answer = await ask.quietly(DescribeClientQuotasRequest(components=asked, strict=strict))
    ask.keep([answer.error_code, answer.error_message if not answer.error_code else "words", answer.entries is None])
    found = [
        (_shown(each.entity), sorted((value.key, repr(value.value)) for value in each.values))
        for each in answer.entries or ()
    ]
    ask.keep(sorted(found))


def _shown(entity: Sequence[Any]) -> list[str]:
    return sorted(f"{each.entity_type}={each.entity_name}" for each in entity)


def own(ask: Asker) -> dict[str, Entity]:
    """Entities of all kinds, with names that no other level has."""
    user, app = ask.name("alice"), ask.name("app")
    return {
        "user": {"user": user},
        "client": {"client-id": app},
        "both": {"user": user, "client-id": app},
        "user of any client": {"user": user, "client-id": None},
        "client of any user": {"user": None, "client-id": app},
        "any user": {"user": None},
        "any client": {"client-id": None},
        "any of both": {"user": None, "client-id": None},
    }


async def set_and_found(ask: Asker) -> None:
    user, app = ask.name("alice"), ask.name("app")
    entities = own(ask)
    for number, entity in enumerate(entities.values()):
        await put(ask, entity, {PRODUCER: HUGE + number, TIME: 1e9})
    await put(ask, entities["user"], {CONSUMER: HUGE, CHANGES: 12345.5, PRODUCER: None})
    await put(ask, {"ip": "10.255.0.1"}, {CONNECTIONS: 2_147_483_647})
    await put(ask, {"ip": None}, {CONNECTIONS: 1_000_000})
    await ask.settle()
    for strict in (False, True):
        await find(ask, strict=strict)
        await find(ask, ("user", EXACT, user), strict=strict)
        await find(ask, ("user", DEFAULT, None), strict=strict)
        await find(ask, ("user", ANY, None), strict=strict)
        await find(ask, ("client-id", EXACT, app), strict=strict)
        await find(ask, ("client-id", ANY, None), strict=strict)
        await find(ask, ("user", EXACT, user), ("client-id", DEFAULT, None), strict=strict)
        await find(ask, ("client-id", ANY, None), ("user", ANY, None), strict=strict)
        await find(ask, ("ip", ANY, None), strict=strict)
        await find(ask, ("ip", EXACT, "10.255.0.1"), strict=strict)
        await find(ask, ("ip", DEFAULT, None), strict=strict)
        await find(ask, ("user", EXACT, "nobody"), strict=strict)
    for entity in entities.values():
        await put(ask, entity, dict.fromkeys((PRODUCER, CONSUMER, TIME, CHANGES)))
    for ip in ("10.255.0.1", None):
        await put(ask, {"ip": ip}, {CONNECTIONS: None})
    await ask.settle()
    await find(ask)


async def refused(ask: Asker) -> None:
    user: Entity = {"user": ask.name("refused")}
    for entity in (
        {},
        {"group": "g"},
        {"": "x"},
        {"USER": "x"},
        {"user": ""},
        {"client-id": ""},
        {"ip": ""},
        {"user": "x", "ip": "10.255.0.1"},
        {"client-id": "x", "ip": None},
        {"user": "x", "group": "g"},
        {"ip": "no such host"},
        {"ip": "no-such-host.invalid"},
        {"ip": "256.1.1.1"},
    ):
        await put(ask, entity, {PRODUCER: 1})
        await put(ask, entity, {CONNECTIONS: 1})
    for key in (PRODUCER, CONSUMER, TIME, CHANGES, CONNECTIONS, "no_such_quota", ""):
        for value in (0, -1, -0.5, -inf):
            await put(ask, user, {key: value})
    for key in (PRODUCER, CONSUMER):
        for value in (1.5, 1e19, inf):
            await put(ask, user, {key: value})
    for value in (0, -1, 1.5, 2.0**31, inf):
        await put(ask, {"ip": "10.255.0.2"}, {CONNECTIONS: value})
    await put(ask, {"ip": "10.255.0.2"}, {PRODUCER: 1})
    await put(ask, user, {CONSUMER: 5, PRODUCER: 0})
    await put(ask, user, {"no_such_quota": None})
    await put(ask, user, {})
    await ask.settle()
    await find(ask)


async def at_the_edge(ask: Asker) -> None:
    """What is taken though it makes little sense."""
    user: Entity = {"user": ask.name("edge")}
    for key, value in (
        (PRODUCER, 2.0**63),
        (PRODUCER, 1.0000001),
        (PRODUCER, nan),
        (TIME, inf),
        (TIME, 1e-300),
        (TIME, nan),
        (CHANGES, 0.001),
    ):
        await put(ask, user, {key: value})
        await ask.settle()
        await find(ask, ("user", ANY, None), strict=True)
    await put(ask, user, dict.fromkeys((PRODUCER, TIME, CHANGES)))
    await put(ask, {"ip": "localhost"}, {CONNECTIONS: 1_000_000})
    await put(ask, {"ip": "::1"}, {CONNECTIONS: 1_000_000})
    await ask.settle()
    await find(ask, ("ip", ANY, None))
    for ip in ("localhost", "::1"):
        await put(ask, {"ip": ip}, {CONNECTIONS: None})


async def only_validated(ask: Asker) -> None:
    user: Entity = {"user": ask.name("validated")}
    await put(ask, user, {PRODUCER: 7}, validate_only=True)
    await put(ask, user, {PRODUCER: 0}, validate_only=True)
    await ask.settle()
    await find(ask)


def entry(entity: Sequence[tuple[str, str | None]], *ops: tuple[str, float | None]) -> EntryData:
    return EntryData(
        entity=tuple(EntityData(entity_type=kind, entity_name=name) for kind, name in entity),
        ops=tuple(OpData(key=key, value=value or 0.0, remove=value is None) for key, value in ops),
    )


async def more_than_once(ask: Asker) -> None:
    user, other = ask.name("twice"), ask.name("once")
    for entries in (
        [entry([("user", user)], (PRODUCER, 1), (PRODUCER, 2))],
        [entry([("user", user)], (PRODUCER, 3)), entry([("user", user)], (PRODUCER, 4))],
        [entry([("user", user)], (PRODUCER, 0)), entry([("user", user)], (PRODUCER, 5))],
        [entry([("user", other), ("user", user)], (CONSUMER, 6))],
        [entry([("user", user)], (CONSUMER, 8)), entry([("user", "")], (CONSUMER, 9)), entry([("user", other)])],
        [],
    ):
        await alter(ask, AlterClientQuotasRequest(entries=tuple(entries), validate_only=False))
        await ask.settle()
        await find(ask)
    await put(ask, {"user": user}, {PRODUCER: None, CONSUMER: None})
    await put(ask, {"user": other}, {CONSUMER: None})


async def filters_without_sense(ask: Asker) -> None:
    for components in (
        [("", EXACT, "x")],
        [("group", EXACT, "x")],
        [("USER", EXACT, "x")],
        [("user", EXACT, "x"), ("user", ANY, None)],
        [("user", EXACT, None)],
        [("user", DEFAULT, "x")],
        [("user", ANY, "x")],
        [("user", 3, None)],
        [("user", -1, "x")],
        [("user", EXACT, "")],
        [("ip", ANY, None), ("user", ANY, None)],
        [("client-id", ANY, None), ("ip", EXACT, "10.255.0.1")],
        [("group", ANY, None), ("user", EXACT, None)],
    ):
        for strict in (False, True):
            await find(ask, *components, strict=strict)


async def changes(ask: Asker) -> None:
    """Topics beyond a quota: refused to clients of today, made for those who do not know the refusal.

    Each request has a connection of its own: one that was told to wait is not heard for minutes.
    """
    first, second = ask.name("first-change"), ask.name("second-change")

    def creation(name: str) -> CreateTopicsRequest:
        topic = CreatableTopic(name=name, num_partitions=2, replication_factor=1, assignments=(), configs=())
        return CreateTopicsRequest(topics=(topic,))

    def deletion(name: str) -> DeleteTopicsRequest:
        if ask.level is Level.HIGHEST:
            return DeleteTopicsRequest(topics=(DeleteTopicState(name=name, topic_id=NO_UUID),), timeout_ms=30_000)
        return DeleteTopicsRequest(topic_names=(name,), timeout_ms=30_000)

    # In a quota of its own for each level: Kafka remembers what was owed to one that was removed.
    client: Entity = {"client-id": "raw-client"}
    if ask.level is Level.HIGHEST:
        client = {"client-id": "raw-client", "user": "ANONYMOUS"}
    await put(ask, client, {CHANGES: 0.01})
    await ask.settle()
    growth = CreatePartitionsTopic(name=first, count=3, assignments=None)
    growing = CreatePartitionsRequest(topics=(growth,), timeout_ms=30_000, validate_only=False)
    for request in (creation(first), creation(second)):
        answer = await ask.beside(request)
        ask.keep([(each.name, each.error_code) for each in answer.topics])
    await ask.settle()
    answer = await ask.beside(growing)
    ask.keep([(each.name, each.error_code) for each in answer.results])
    answer = await ask.beside(deletion(first))
    ask.keep([(each.name, each.error_code) for each in answer.responses])
    await put(ask, client, {CHANGES: None})
    await ask.settle()
    for name in (first, second):
        answer = await ask.beside(deletion(name))
        ask.keep([(each.name, each.error_code) for each in answer.responses])


async def connection_settings(ask: Asker) -> None:
    """Bounds and rates of connections, of the broker and of a listener, checked only."""
    for name, values in {
        "max.connections": ("0", "1", "-1", "many"),
        "max.connection.creation.rate": ("0", "1", "-1", "2147483648"),
        "max.connections.per.ip": ("0", "1", "-1"),
        "max.connections.per.ip.overrides": ("127.0.0.1:5", "127.0.0.1:x", "127.0.0.1", "127.0.0.1:-1"),
        "listener.name.plaintext.max.connections": ("0", "1", "-1"),
        "listener.name.plaintext.max.connection.creation.rate": ("0", "1", "-1"),
        "quota.window.num": ("5",),
        "controller.quota.window.size.seconds": ("5",),
    }.items():
        for value in values:
            for broker in ("", "1"):
                config = AlterableConfig(name=name, config_operation=0, value=value)
                resource = AlterConfigsResource(resource_type=4, resource_name=broker, configs=(config,))
                await ask(IncrementalAlterConfigsRequest(resources=(resource,), validate_only=True))


CASES: list[Case] = [
    set_and_found,
    refused,
    at_the_edge,
    only_validated,
    more_than_once,
    filters_without_sense,
    changes,
    connection_settings,
]


@pytest.mark.parametrize("level", [Level.LOWEST, Level.HIGHEST], ids=lambda level: level.value)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_kafka_answers_the_same(both: tuple[Side, Side], case: Case, level: Level) -> None:
    found = differences(case, level, both)
    assert not found, found
