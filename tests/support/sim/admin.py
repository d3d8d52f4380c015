"""An administrator, who asks again until what was to be done is done."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from odradek.broker.coordination.coordinator_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from odradek.model.error_code import ErrorCode
from odradek.model.topic_partition import TopicPartition
from odradek.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from odradek.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from support.sim.line import Line
from support.sim.process import Process
from support.sim.script import Script, ask, pause, perform
from support.sim.violations import Violation

if TYPE_CHECKING:
    from odradek.metadata.image import Image
    from odradek.wire.schema import Message
    from support.sim.events import Events
    from support.sim.node import SimNode
    from support.sim.streams import SimNetwork

_CREATE, _GROW = 7, 3
_TIMEOUT_MS = 5_000
_AGAIN_MS = 200
_SET_UP_MS_MAX = 60_000
_NOTHING: Mapping[str, Any] = {}


class Admin:
    """The topics of a run, as they are made by requests to a node."""

    def __init__(self, events: "Events", network: "SimNetwork", node: "SimNode") -> None:
        self._events = events
        self._node = node
        self._process = Process(events)
        self._line = Line(self._process.host(network, "admin"), self._process)
        self._partitions: dict[str, int] = {}

    @property
    def image(self) -> "Image":
        """What is committed. In a run it stands for what clients learn from their requests for metadata."""
        return self._node.image

    @property
    def names(self) -> list[str]:
        """Of the topics that were asked for."""
        return sorted(self._partitions)

    def set_up(
        self, topics: Mapping[str, int], coordinated: int, configs: Mapping[str, Mapping[str, str]] = _NOTHING
    ) -> None:
        """Returns when these are there, and those of both coordinators with so many partitions.

        Coordinators would have segments of a megabyte, and none of a run would ever get a second one.
        """
        done: list[bool] = []
        self._line.open()
        perform(self._set_up(topics, coordinated, configs, lambda: done.append(True)))
        while not done:
            if not self._events.run_next() or self._events.now_ms > _SET_UP_MS_MAX:
                raise Violation("the topics of the run cannot be made")

    def _set_up(
        self,
        topics: Mapping[str, int],
        coordinated: int,
        configs: Mapping[str, Mapping[str, str]],
        then: Callable[[], None],
    ) -> Script[None]:
        for name in (OFFSETS_TOPIC, TRANSACTIONS_TOPIC):
            yield from self._insist(_creation(name, coordinated, {"cleanup.policy": "compact"}), _CREATE, _is_created)
        for name, partitions in topics.items():
            yield from self._create(name, partitions, configs.get(name, _NOTHING))
        then()

    def create(self, name: str, partitions: int) -> None:
        perform(self._create(name, partitions))

    def grow(self, name: str, more: int) -> None:
        """The topic gets more partitions."""
        perform(self._grow(name, more))

    def _create(self, name: str, partitions: int, configs: Mapping[str, str] = _NOTHING) -> Script[None]:
        self._partitions[name] = partitions
        yield from self._insist(_creation(name, partitions, configs), _CREATE, _is_created)

    def _grow(self, name: str, more: int) -> Script[None]:
        count = self._partitions[name] = self._partitions[name] + more
        topic = CreatePartitionsTopic(name=name, count=count, assignments=None)
        request = CreatePartitionsRequest(topics=(topic,), timeout_ms=_TIMEOUT_MS, validate_only=False)
        yield from self._insist(request, _GROW, lambda response: self._has_grown(name, count, response))

    def _has_grown(self, name: str, count: int, response: CreatePartitionsResponse) -> bool:
        """INVALID_PARTITIONS is the answer where it has as many already, or more."""
        code = response.results[0].error_code
        return code == ErrorCode.NONE or len(self.image.topics.names[name].partitions) >= count

    def _insist(self, request: "Message", version: int, is_done: Callable[..., bool]) -> Script[None]:
        while True:
            response = yield from ask(self._line, request, version, _TIMEOUT_MS)
            if response is not None and is_done(response):
                return
            yield from pause(self._process, _AGAIN_MS)


def _creation(name: str, partitions: int, configs: Mapping[str, str]) -> CreateTopicsRequest:
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        assignments=(),
        configs=tuple(CreatableTopicConfig(name=each, value=value) for each, value in configs.items()),
    )
    return CreateTopicsRequest(topics=(topic,), timeout_ms=_TIMEOUT_MS)


def _is_created(response: CreateTopicsResponse) -> bool:
    return response.topics[0].error_code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)


def partitions_of(image: "Image", topics: Iterable[str]) -> frozenset[TopicPartition]:
    found = (image.topics.get(topic) for topic in topics)
    return frozenset(TopicPartition(topic.name, number) for topic in found if topic for number in topic.partitions)
