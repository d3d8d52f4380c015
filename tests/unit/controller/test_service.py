"""The active controller: requests in, committed responses out."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from odradek.controller.controller_request_context import ControllerRequestContext
from odradek.controller.errors import PolicyViolation
from odradek.controller.service import ActiveController
from odradek.metadata.image import Image
from odradek.model.error_code import ErrorCode
from odradek.model.errors import StorageFailed
from odradek.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    OpData,
)
from odradek.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from odradek.wire.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Feature,
    Listener,
)
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from odradek.wire.schema import Message

CLIENT = ControllerRequestContext(version=7, client_id="c", principal="alice", host="10.0.0.1")
OLD_CLIENT = CLIENT._replace(version=5)
NODE = ControllerRequestContext(version=4)


class Log:
    """Batches count as appended at once, and as committed when the test says so."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self.committed = asyncio.Event()
        self.committed.set()
        self.failure: StorageFailed | None = None

    @property
    def latest(self) -> Image:
        image: Image = self._cluster.image
        return image

    async def commit(self, records: Sequence[Message]) -> Image:
        self._cluster.write(*records)
        await self.committed.wait()
        if self.failure is not None:
            raise self.failure
        return self.latest


class Mutations:
    """Each client may create or delete one partition."""

    def __init__(self) -> None:
        self.accounts: list[tuple[ControllerRequestContext, bool]] = []
        self.left = 1

    def account(self, client: ControllerRequestContext, *, is_strict: bool) -> "Mutations":
        self.accounts.append((client, is_strict))
        return self

    def charge(self, partitions: int) -> None:
        if self.left < partitions:
            raise PolicyViolation("used up")
        self.left -= partitions

    def wait_ms(self) -> int:
        return 0 if self.left else 250


class Stage:
    def __init__(self, cluster: Any) -> None:
        self.cluster = cluster
        self.log = Log(cluster)
        self.mutations = Mutations()
        self.controller = ActiveController(
            log=self.log,
            context_of=lambda _: cluster.context,
            mutations=self.mutations,
            unknown_hosts=self._unknown_hosts,
        )

    async def _unknown_hosts(self, hosts: frozenset[str]) -> frozenset[str]:
        return frozenset(host for host in hosts if host.startswith("no-"))

    async def create(
        self, *names: str, context: ControllerRequestContext = NODE, partitions: int = 1
    ) -> CreateTopicsResponse:
        topics = tuple(
            CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, assignments=(), configs=())
            for name in names
        )
        response = await self.controller.ask(CreateTopicsRequest(topics=topics), context)
        assert isinstance(response, CreateTopicsResponse)
        return response


@pytest.fixture
def stage(cluster: Any) -> Stage:
    return Stage(cluster)


def test_two_requests_in_a_row_see_each_others_records(stage: Stage) -> None:
    async def main() -> None:
        stage.log.committed.clear()
        asked = [asyncio.ensure_future(stage.create("orders")) for _ in range(2)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not any(each.done() for each in asked), "what the second saw is not committed yet"
        stage.log.committed.set()
        first, second = [response.topics[0] for response in await asyncio.gather(*asked)]
        assert (first.error_code, second.error_code) == (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)

    asyncio.run(main())


def test_what_cannot_be_committed_is_answered_with_its_code(stage: Stage) -> None:
    async def main() -> None:
        stage.log.failure = StorageFailed("the disk is gone")
        (topic,) = (await stage.create("orders")).topics
        assert (topic.name, topic.error_code) == ("orders", ErrorCode.KAFKA_STORAGE_ERROR)
        request = DeleteTopicsRequest(topic_names=("orders",), timeout_ms=1)
        response = await stage.controller.ask(request, ControllerRequestContext(version=5))
        assert isinstance(response, DeleteTopicsResponse)
        assert [each.error_code for each in response.responses] == [ErrorCode.KAFKA_STORAGE_ERROR]

    asyncio.run(main())


def test_quotas_are_charged_where_it_is_decided(stage: Stage) -> None:
    async def main() -> None:
        created = await stage.create("a", "b", context=CLIENT)
        assert [each.error_code for each in created.topics] == [ErrorCode.NONE, ErrorCode.POLICY_VIOLATION]
        assert created.throttle_time_ms == 250
        await stage.create("c", context=OLD_CLIENT)
        assert stage.mutations.accounts == [(CLIENT, True), (OLD_CLIENT, False)]

    asyncio.run(main())


def test_no_quota_holds_back_the_nodes_of_the_cluster(stage: Stage) -> None:
    async def main() -> None:
        assert (await stage.create("a", partitions=5)).topics[0].error_code == ErrorCode.NONE
        assert stage.mutations.accounts == []

    asyncio.run(main())


def test_hosts_are_looked_up_before_it_is_decided(stage: Stage) -> None:
    def entry(host: str) -> EntryData:
        op = OpData(key="connection_creation_rate", value=1.0, remove=False)
        return EntryData(entity=(EntityData(entity_type="ip", entity_name=host),), ops=(op,))

    async def main() -> None:
        entries = tuple(map(entry, ("no-such-host", "10.0.0.9", "some-host")))
        request = AlterClientQuotasRequest(entries=entries, validate_only=False)
        response = await stage.controller.ask(request, CLIENT._replace(version=1))
        assert isinstance(response, AlterClientQuotasResponse)
        assert [each.error_code for each in response.entries] == [ErrorCode.INVALID_REQUEST, 0, 0]

    asyncio.run(main())


# --- a broker's life


async def register(stage: Stage, broker_id: int, cluster_id: str | None = None) -> BrokerRegistrationResponse:
    supported = stage.cluster.image.brokers[1].features
    request = BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id=cluster_id or "cluster",
        incarnation_id=bytes([broker_id]) * 16,
        listeners=(Listener(name="PLAINTEXT", host="h", port=9092, security_protocol=0),),
        features=tuple(
            Feature(name=name, min_supported_version=least, max_supported_version=most)
            for name, (least, most) in supported.items()
        ),
        rack=None,
        log_dirs=(bytes([100 + broker_id]) * 16,),
    )
    response = await stage.controller.ask(request, NODE)
    assert isinstance(response, BrokerRegistrationResponse)
    return response


async def beat(stage: Stage, broker_id: int, epoch: int, **fields: Any) -> BrokerHeartbeatResponse:
    given = {"current_metadata_offset": 1 << 40, "want_fence": False, "want_shut_down": False, **fields}
    request = BrokerHeartbeatRequest(broker_id=broker_id, broker_epoch=epoch, **given)
    response = await stage.controller.ask(request, ControllerRequestContext(version=2))
    assert isinstance(response, BrokerHeartbeatResponse)
    return response


def test_a_broker_of_another_cluster_is_refused(stage: Stage) -> None:
    response = asyncio.run(register(stage, 9, "another"))
    assert response.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    assert 9 not in stage.cluster.image.brokers


def test_a_broker_registers_is_unfenced_and_shuts_down(stage: Stage) -> None:
    async def main() -> None:
        brokers = stage.cluster.image.brokers
        registered = await register(stage, 9)
        assert registered.error_code == ErrorCode.NONE
        epoch = registered.broker_epoch
        behind = await beat(stage, 9, epoch, current_metadata_offset=epoch - 1)
        assert (behind.is_caught_up, behind.is_fenced) == (False, True)
        waiting = await beat(stage, 9, epoch, want_fence=True)
        assert (waiting.is_caught_up, waiting.is_fenced) == (True, True)
        ready = await beat(stage, 9, epoch, cordoned_log_dirs=(bytes([109]) * 16,))
        assert (ready.is_fenced, ready.should_shut_down) == (False, False)
        brokers = stage.cluster.image.brokers
        assert (brokers[9].active, brokers[9].cordoned_directories) == (True, (bytes([109]) * 16,))
        gone = await beat(stage, 9, epoch, want_shut_down=True)
        assert (gone.is_fenced, gone.should_shut_down) == (True, True)
        brokers = stage.cluster.image.brokers
        assert (brokers[9].fenced, brokers[9].in_controlled_shutdown) == (True, True)

    asyncio.run(main())


def test_heartbeats_of_an_earlier_life_or_of_nobody_are_refused(stage: Stage) -> None:
    async def main() -> None:
        for broker_id, epoch in ((1, stage.cluster.epochs[1] - 1), (77, 1)):
            response = await beat(stage, broker_id, epoch)
            assert (response.error_code, response.is_fenced) == (ErrorCode.STALE_BROKER_EPOCH, True)

    asyncio.run(main())


def test_a_broker_that_leads_shuts_down_in_two_steps(stage: Stage) -> None:
    """First others lead, then it may go."""

    async def main() -> None:
        await beat(stage, 2, stage.cluster.add_broker(2))
        created = await stage.controller.ask(
            CreateTopicsRequest(
                topics=(CreatableTopic(name="t", num_partitions=6, replication_factor=2, assignments=(), configs=()),)
            ),
            NODE,
        )
        assert isinstance(created, CreateTopicsResponse)
        epoch = stage.cluster.epochs[1]
        first = await beat(stage, 1, epoch, want_shut_down=True)
        assert (first.is_fenced, first.should_shut_down) == (False, False)
        partitions = stage.cluster.image.topics.get("t").partitions.values()
        assert {(each.leader, each.isr) for each in partitions} == {(2, (2,))}
        second = await beat(stage, 1, epoch, want_shut_down=True)
        assert (second.is_fenced, second.should_shut_down) == (True, True)

    asyncio.run(main())


@pytest.mark.parametrize("is_heard", [False, True])
def test_nothing_is_left_to_brokers_that_nobody_has_heard_from(stage: Stage, is_heard: bool) -> None:
    """They are registered, and were never fenced: another controller knew them."""

    async def main() -> None:
        for broker_id in (1, 2):
            stage.cluster.add_broker(broker_id)
        stage.cluster.create("orders", -1, assignments=((0, (1, 2)),))
        epochs = stage.cluster.epochs
        await beat(stage, 1, epochs[1])
        if is_heard:
            await beat(stage, 2, epochs[2])
        response = await beat(stage, 1, epochs[1], want_shut_down=True)
        assert response.should_shut_down is not is_heard
        partition = stage.cluster.image.topics.get("orders").partitions[0]
        assert (partition.leader, partition.isr) == ((2, (2,)) if is_heard else (1, (1, 2)))

    asyncio.run(main())
