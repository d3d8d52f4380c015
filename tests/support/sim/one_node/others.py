"""An administrator who makes, changes and deletes topics, and a group without members that commits and reads.

A request of theirs that came late would undo what was done since, with Kafka, too: their network delivers none late.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from odradek.metadata.image import ResourceType
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from odradek.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from odradek.wire.messages.delete_topics import DeleteTopicsRequest
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from odradek.wire.schema import Message
from support.sim.line import Coordinated, Line
from support.sim.one_node.checkers.metadata import RETENTION, TopicState
from support.sim.process import Process
from support.sim.script import Script, ask, pause, perform

if TYPE_CHECKING:
    from support.sim.one_node.checkers.commits import Commits
    from support.sim.one_node.checkers.metadata import Metadata
    from support.sim.transactions.world import World

_TIMEOUT_MS = 10_000
_AGAIN_MS = 200
_GAP_MS_MAX = 2_000
_TOPICS = 4
_SET = 0
_CREATE, _DELETE, _GROW, _ALTER, _COMMIT, _FETCH = 7, 5, 3, 1, 8, 7
_GROUP = "committer"


class Administrator:
    def __init__(self, world: "World", metadata: "Metadata") -> None:
        self._rng = world.rng
        self._metadata = metadata
        self.process = Process(world.events)
        self._line = Line(world.prompt_host(self.process, "administrator"), self.process)
        self.is_ending = False
        self.is_done = False

    def start(self) -> None:
        self._line.open()
        perform(self._live())

    def _live(self) -> Script[None]:
        while not self.is_ending:
            yield from self._change(f"changing-{self._rng.randrange(_TOPICS)}")
            yield from pause(self.process, self._rng.randrange(_GAP_MS_MAX))
        self.is_done = True

    def _change(self, topic: str) -> Script[None]:
        now = self._metadata.now(topic)
        retention = str(self._rng.randint(10, 99) * 3_600_000)
        if now is None:
            wanted = TopicState(self._rng.randint(1, 3), retention)
            yield from self._insist(topic, wanted, _creation(topic, wanted), _CREATE, _topic_code)
        elif self._rng.random() < 0.4:
            request = DeleteTopicsRequest(topic_names=(topic,), timeout_ms=_TIMEOUT_MS)
            yield from self._insist(topic, None, request, _DELETE, lambda told: told.responses[0].error_code)
        elif self._rng.random() < 0.5:
            wanted = now._replace(partitions=now.partitions + 1)
            grown = CreatePartitionsTopic(name=topic, count=wanted.partitions, assignments=None)
            more = CreatePartitionsRequest(topics=(grown,), timeout_ms=_TIMEOUT_MS, validate_only=False)
            yield from self._insist(topic, wanted, more, _GROW, lambda told: told.results[0].error_code)
        else:
            wanted = now._replace(retention=retention)
            setting = AlterableConfig(name=RETENTION, config_operation=_SET, value=retention)
            resource = AlterConfigsResource(resource_type=ResourceType.TOPIC, resource_name=topic, configs=(setting,))
            alter = IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
            yield from self._insist(topic, wanted, alter, _ALTER, lambda told: told.responses[0].error_code)

    def _insist(
        self,
        topic: str,
        wanted: TopicState | None,
        request: Message,
        version: int,
        code_of: Callable[[Any], int],
    ) -> Script[None]:
        """Until it is done, by this request or by an earlier one whose answer was lost."""
        self._metadata.asked(topic, wanted)
        tries = 0
        while True:
            tries += 1
            response = yield from ask(self._line, request, version, _TIMEOUT_MS)
            if response is not None and (not (code := code_of(response)) or (tries > 1 and code in _DONE_BEFORE)):
                self._metadata.acked(topic)
                return
            yield from pause(self.process, _AGAIN_MS)


_DONE_BEFORE = (
    ErrorCode.TOPIC_ALREADY_EXISTS,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.INVALID_PARTITIONS,
)


def _creation(name: str, wanted: TopicState) -> CreateTopicsRequest:
    topic = CreatableTopic(
        name=name,
        num_partitions=wanted.partitions,
        replication_factor=1,
        assignments=(),
        configs=(CreatableTopicConfig(name=RETENTION, value=wanted.retention),),
    )
    return CreateTopicsRequest(topics=(topic,), timeout_ms=_TIMEOUT_MS)


def _topic_code(told: Any) -> int:
    code: int = told.topics[0].error_code
    return code


class Committer:
    def __init__(self, world: "World", commits: "Commits", topic: str) -> None:
        self._rng = world.rng
        self._commits = commits
        self._topic = topic
        self._offset = 0
        self.process = Process(world.events)
        self._line = Line(world.prompt_host(self.process, _GROUP), self.process, Coordinated.group(_GROUP))
        self.is_ending = False
        self.is_done = False

    def start(self) -> None:
        self._line.open()
        perform(self._live())

    def _live(self) -> Script[None]:
        while not self.is_ending:
            yield from self._commit()
            if self._rng.random() < 0.3:
                yield from self._read()
            yield from pause(self.process, self._rng.randrange(_GAP_MS_MAX))
        yield from self._read()
        self.is_done = True

    def _commit(self) -> Script[None]:
        self._offset += 1
        self._commits.asked(self._offset)
        part = OffsetCommitRequestPartition(partition_index=0, committed_offset=self._offset, committed_metadata="")
        topic = OffsetCommitRequestTopic(name=self._topic, partitions=(part,))
        request = OffsetCommitRequest(group_id=_GROUP, member_id="", topics=(topic,))
        while True:
            response = yield from ask(self._line, request, _COMMIT, _TIMEOUT_MS)
            if response is not None and not response.topics[0].partitions[0].error_code:
                self._commits.acked(self._offset)
                return
            yield from pause(self.process, _AGAIN_MS)

    def _read(self) -> Script[None]:
        topic = OffsetFetchRequestTopic(name=self._topic, partition_indexes=(0,))
        request = OffsetFetchRequest(group_id=_GROUP, topics=(topic,), require_stable=True)
        while True:
            response = yield from ask(self._line, request, _FETCH, _TIMEOUT_MS)
            if response is not None and not response.error_code:
                found = response.topics[0].partitions[0]
                if not found.error_code:
                    self._commits.read(found.committed_offset)
                    return
            yield from pause(self.process, _AGAIN_MS)
