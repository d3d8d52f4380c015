"""The same requests to Apache Kafka and to odradek, and their answers side by side.

A case is a function that asks a broker things, in a low, a middle or the highest version of each API. It is played on
both brokers. What must differ between any two clusters is replaced by what it stands for; all else has to be equal.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from enum import Enum
from typing import Any, NamedTuple

from odradek.model.errors import UnsupportedVersion
from odradek.records.record import Record
from odradek.wire.apis import APIS
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.wire.messages.describe_configs import DescribeConfigsResourceResult
from odradek.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    TopicData,
)
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from odradek.wire.schema import NO_UUID, Message, Struct
from support.one_node import ONE_REPLICA
from support.raw_client import RawClient
from support.reading import read_partition

CUT_OFF = "the connection is closed"
NOT_SAYABLE = "this version has no words for it"
SETTINGS = {
    **ONE_REPLICA,
    "auto.create.topics.enable": "true",
    "broker.session.timeout.ms": "60000",
    "group.consumer.max.session.timeout.ms": "120000",
    "group.consumer.session.timeout.ms": "120000",
    "group.initial.rebalance.delay.ms": "0",
    "log.retention.hours": "48",
    "metadata.max.idle.interval.ms": "20",
    "offsets.commit.timeout.ms": "60000",
    "offsets.retention.check.interval.ms": "86400000",
    "offsets.topic.num.partitions": "2",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "2",
}
"""Of both. The idle interval has Kafka write to its metadata log all the time, see `Asker.settle`.

The timeouts are long, so that on a machine that stands still for some seconds nobody is fenced or told to try again.
Groups without members and offsets stay: each broker would look for them at a moment of its own.
"""

_LIMIT_S = 300
"""For a case that waits for what does not come; the longest took half a minute on a machine that was busy."""


class Level(Enum):
    """Which version of each API a case is played in."""

    LOWEST = "lowest"
    MIDDLE = "middle"
    HIGHEST = "highest"

    def version_of(self, request: type[Message]) -> int:
        assert request.spec.key is not None
        offered, defined = APIS[request.spec.key].versions, request.spec.versions
        least, most = max(offered[0], defined[0]), min(offered[1], defined[1])
        return {Level.LOWEST: least, Level.MIDDLE: (least + most) // 2, Level.HIGHEST: most}[self]


class Side(NamedTuple):
    """One of the two brokers."""

    name: str
    port: int
    settles_late: bool
    """Whether the broker may answer before it has heard of what its controller decided, see `Asker.settle`."""


class Asker:
    """A broker while a case is played on it. What it answers is kept, as plain values."""

    def __init__(self, side: Side, level: Level) -> None:
        self.level = level
        self.settles_late = side.settles_late
        self.answers: list[object] = []
        self._side = side
        self._client: RawClient | None = None
        self._mapping = _Mapping(side.port)

    async def __call__(self, request: Message, version: int | None = None) -> Any:
        """The answer, which is also kept. None where there is none but a closed connection."""
        answer = await self._ask(request, version)
        self.keep(answer)
        return None if isinstance(answer, str) else answer

    async def quietly(self, request: Message, version: int | None = None) -> Any:
        """The answer, which is not compared: it sets the scene."""
        return await self._ask(request, version)

    async def beside(self, request: Message, version: int | None = None) -> Any:
        """The same on a connection of its own, which may wait while others ask."""
        other = Asker(self._side, self.level)
        try:
            return await other.quietly(request, version)
        finally:
            await other.close()

    async def stored(self, topic: str, partition: int) -> list[Record]:
        """All records of a partition, which are not compared as such."""
        client = await RawClient.connect("127.0.0.1", self._side.port)
        try:
            return (await read_partition(client, topic, partition)).records
        finally:
            await client.close()

    async def raw(self, key: int, version: int) -> str:
        """What follows on the head of a request alone, in any API and version: an answer in hex, or none."""
        head = key.to_bytes(2, "big") + version.to_bytes(2, "big", signed=True) + bytes(4) + b"\xff\xff" + bytes(1)
        reader, writer = await asyncio.open_connection("127.0.0.1", self._side.port)
        try:
            writer.write(len(head).to_bytes(4, "big") + head)
            size = int.from_bytes(await reader.readexactly(4), "big")
            answer = await reader.readexactly(size)
        except (asyncio.IncompleteReadError, ConnectionError):
            return CUT_OFF
        finally:
            writer.close()
        # Correlation id, then the code: what comes behind is a list of what is served.
        return answer[:6].hex()

    def keep(self, value: object) -> None:
        """Have this compared."""
        self.answers.append(self._mapping.plain(value))

    def name(self, text: str) -> str:
        """One that no other level uses: of a topic, for example."""
        return f"{text}-{self.level.value}"

    async def create(self, name: str, partitions: int = 1, **configs: str) -> str:
        """A topic that can be used when this returns; settings with underscores for the dots. Returns its name."""
        given = tuple(CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items())
        topic = CreatableTopic(
            name=self.name(name), num_partitions=partitions, replication_factor=1, assignments=(), configs=given
        )
        answer: CreateTopicsResponse = await self.quietly(CreateTopicsRequest(topics=(topic,)), 7)
        assert answer.topics[0].error_code == 0, answer
        await self.settle()
        return topic.name

    async def topic_id(self, name: str) -> bytes:
        asked = MetadataRequest(topics=(MetadataRequestTopic(name=name),), allow_auto_topic_creation=False)
        answer: MetadataResponse = await self.quietly(asked, 13)
        return answer.topics[0].topic_id

    async def settle(self) -> None:
        """Wait until the broker has heard of what its controller decided.

        A broker of Kafka's follows the metadata log, and is told of a change after its client is. It tells how far it
        has read before it acts on that, so it is up to date when it has read on once more. Something is written all
        the time.
        """
        if not self.settles_late:
            return
        partition = TopicData(topic_name="__cluster_metadata", partitions=(PartitionData(partition_index=0),))
        quorum: DescribeQuorumResponse = await self.quietly(DescribeQuorumRequest(topics=(partition,)), 2)
        with_the_change = await self._read_past(quorum.topics[0].partitions[0].high_watermark)
        await self._read_past(with_the_change)

    async def _read_past(self, offset: int) -> int:
        """Wait until the broker has read more of the metadata log than this. Returns how far it is."""
        asked = ApiVersionsRequest(client_software_name="same-answers", client_software_version="1")
        seen = -1
        while seen <= offset:
            answer: ApiVersionsResponse = await self.quietly(asked, 3)
            seen = answer.finalized_features_epoch
        return seen

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _ask(self, request: Message, version: int | None) -> Message | str:
        version = self.level.version_of(type(request)) if version is None else version
        client = self._client = self._client or await RawClient.connect("127.0.0.1", self._side.port)
        assert request.spec.key is not None
        try:
            return await client.ask(request, APIS[request.spec.key].response, version)
        except UnsupportedVersion:
            return NOT_SAYABLE
        except (asyncio.IncompleteReadError, ConnectionError):
            await self.close()
            return CUT_OFF


Case = Callable[[Asker], Awaitable[None]]


def differences(case: Case, level: Level, sides: tuple[Side, Side]) -> str:
    """A line for each field in which the two answer differently, with the number of the answer in the case."""
    first, second = asyncio.run(_play_both(case, level, sides))
    lines = list(_compare("", first, second, (sides[0].name, sides[1].name)))
    return "\n".join(["", *lines]) if lines else ""


async def _play_both(case: Case, level: Level, sides: tuple[Side, Side]) -> list[list[object]]:
    async with asyncio.timeout(_LIMIT_S):
        return list(await asyncio.gather(*(_play(case, level, side) for side in sides)))


async def _play(case: Case, level: Level, side: Side) -> list[object]:
    asker = Asker(side, level)
    try:
        await case(asker)
    finally:
        await asker.close()
    return asker.answers


def _compare(path: str, first: object, second: object, names: tuple[str, str]) -> Iterator[str]:
    if isinstance(first, dict) and isinstance(second, dict) and first.keys() == second.keys():
        for name in first:
            yield from _compare(f"{path}.{name}", first[name], second[name], names)
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for at, (one, other) in enumerate(zip(first, second, strict=True)):
            yield from _compare(f"{path}[{at}]", one, other, names)
    elif first != second or type(first) is not type(second):
        yield f"{path}: {names[0]} {first!r}, {names[1]} {second!r}"


class _Mapping:
    """What must differ between two clusters, or may, replaced by what it stands for."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._met: dict[str, dict[object, int]] = {}

    def plain(self, value: object) -> object:
        if isinstance(value, DescribeConfigsResourceResult) and value.name in _OWN_SETTINGS:
            return value.name
        if isinstance(value, Struct):
            return {name: self._field(value, name) for name in value.declared if name not in _NOT_COMPARED}
        if isinstance(value, (tuple, list)):
            return [self.plain(each) for each in value]
        return bytes(value) if isinstance(value, (bytearray, memoryview)) else value

    def _field(self, owner: Struct, name: str) -> object:
        value = getattr(owner, name)
        if name in _MADE_UP and value not in (NO_UUID, None, "", 0, -1):
            met = self._met.setdefault(name, {})
            return f"{name} {met.setdefault(value, len(met))}"
        if name in _PRODUCERS and value > 0:
            met = self._met.setdefault("producers", {})
            return f"producer {met.setdefault(value, len(met))}"
        if name in _MEMBERS and isinstance(value, str):
            return _UUID.sub(self._number, value)
        if name in _WORDS and value:
            return "words"
        if name in _MOMENTS and isinstance(value, int) and value > 0:
            return "a moment"
        if name == "error_message" and getattr(owner, "error_code", None):
            return "whatever"
        if name == "port" and value == self._port:
            return "the port"
        if (type(owner).__name__, name) in _UNORDERED and value:
            value = sorted(value, key=_place)
        return self.plain(value)

    def _number(self, found: re.Match[str]) -> str:
        met = self._met.setdefault("members", {})
        return f"<{met.setdefault(found.group(), len(met))}>"


def _place(item: object) -> list[str]:
    """What tells an item of a list from the others, without what each broker makes up."""
    return [str(getattr(item, name, None)) for name in _TELLING]


_TELLING = (
    *("name", "topic", "resource_name", "index", "partition_index", "user", "mechanism"),
    *("group_id", "group_instance_id", "metadata", "member_metadata", "member_assignment"),
)


_MADE_UP = frozenset({"cluster_id", "topic_id", "session_id", "log_dir", "replica_directory_id"})
"""Each broker has its own. They are numbered as they are met, so that the same one is still the same."""

_PRODUCERS = frozenset({"producer_id", "previous_producer_id", "next_producer_id"})
"""Numbered in the same way, whatever they are called."""

_MEMBERS = frozenset({"member_id", "leader"})
"""Ids of members end in a UUID where brokers make them. They are numbered in the same way."""

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_WORDS = frozenset({"documentation", "batch_index_error_message"})
"""Texts for people, and those that go with an error: ours, and sometimes there where Kafka has none."""

_OWN_SETTINGS = frozenset({"controller.quorum.voters", "listeners", "log.dirs"})
"""Settings that each has its own of: addresses and paths. Kafka needs to be told who its controller is."""

_MOMENTS = frozenset(
    {
        "current_state_timestamp",
        "last_fetch_timestamp",
        "last_caught_up_timestamp",
        "log_append_time_ms",
        "last_timestamp",
        "transaction_last_update_timestamp_ms",
        "transaction_start_time_ms",
        "transaction_start_timestamp_ms",
    }
)

_NOT_COMPARED = frozenset(
    {
        "finalized_features_epoch",  # an offset in the metadata log, in which Kafka writes all the time
        "throttle_time_ms",
        "total_bytes",  # of the disk
        "usable_bytes",
    }
)

_UNORDERED = frozenset(
    {
        ("AddPartitionsToTxnResponse", "results_by_topic_v3_and_below"),
        ("AddPartitionsToTxnResult", "topic_results"),
        ("AlterConfigsResponse", "responses"),
        ("AlterUserScramCredentialsResponse", "results"),
        ("DeleteGroupsResponse", "results"),
        ("DeleteRecordsTopicResult", "partitions"),
        ("DeleteTopicsResponse", "responses"),
        ("DescribeConfigsResult", "configs"),
        ("DescribeGroupsResponse", "groups"),
        ("DescribeLogDirsTopic", "partitions"),
        ("DescribeUserScramCredentialsResponse", "results"),
        ("DescribeUserScramCredentialsResult", "credential_infos"),
        ("DescribedGroup", "members"),
        ("IncrementalAlterConfigsResponse", "responses"),
        ("JoinGroupResponse", "members"),
        ("ListConfigResourcesResponse", "config_resources"),
        ("ListGroupsResponse", "groups"),
        ("ListOffsetsTopicResponse", "partitions"),
        ("MetadataResponse", "topics"),
        ("OffsetFetchResponse", "topics"),
        ("OffsetFetchResponseGroup", "topics"),
        ("OffsetFetchResponseTopic", "partitions"),
        ("OffsetFetchResponseTopics", "partitions"),
        ("TopicProduceResponse", "partition_responses"),
    }
)
"""Lists that Kafka gives in the order of a hash table, or shuffled, by the struct that they are in."""
