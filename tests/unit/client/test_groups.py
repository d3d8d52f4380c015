"""Groups and their offsets, on a cluster of fake brokers: who is asked, and what is tried again."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from odradek.client.client import Client
from odradek.client.committed import Committed, commit_offsets, delete_committed, fetch_committed
from odradek.client.errors import Refused, TooOld
from odradek.client.group_views import GroupView
from odradek.client.groups import delete_groups, describe_groups, list_groups
from odradek.client.setting import ClientSetting
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import LeaderEpoch, Offset
from odradek.model.topic_partition import TopicPartition
from odradek.wire.apis import APIS
from odradek.wire.codec import encode
from odradek.wire.messages import consumer_group_describe as modern
from odradek.wire.messages import describe_groups as classic
from odradek.wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from odradek.wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from odradek.wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from odradek.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from odradek.wire.records import consumer_protocol
from odradek.wire.schema import Message
from support.fake_broker import Asked, FakeBroker

ORDERS = TopicPartition("orders", 0)


class Cluster:
    """Brokers 1 and 2. Group `a` is coordinated by the first, all others by the second.

    `refusals` has what the next requests to coordinators are answered with; after that, `answers` has the answer.
    """

    def __init__(self) -> None:
        self.brokers = {number: FakeBroker(self._answer) for number in (1, 2)}
        self.refusals: list[ErrorCode] = []
        self.answers: dict[type[Message], Callable[[Any, ErrorCode], Message]] = {}

    def _answer(self, asked: Asked) -> None:
        request = asked.request
        if isinstance(request, MetadataRequest):
            brokers = tuple(
                MetadataResponseBroker(node_id=number, host=broker.address.host, port=broker.address.port)
                for number, broker in self.brokers.items()
            )
            asked.reply(MetadataResponse(brokers=brokers, controller_id=1))
        elif isinstance(request, FindCoordinatorRequest):
            asked.reply(FindCoordinatorResponse(coordinators=tuple(map(self._coordinator, request.coordinator_keys))))
        else:
            code = self.refusals.pop(0) if self.refusals else ErrorCode.NONE
            asked.reply(self.answers[type(request)](request, code))

    def _coordinator(self, group_id: str) -> Coordinator:
        node_id = 1 if group_id == "a" or 2 not in self.brokers else 2
        return Coordinator(key=group_id, node_id=node_id, host="", port=0)

    def asked(self, number: int, kind: type[Message]) -> list[Any]:
        return [each.request for each in self.brokers[number].asked if isinstance(each.request, kind)]


Test = Callable[[Cluster, Client], Coroutine[Any, Any, None]]


def run(test: Test, timeout_s: float = 60) -> None:
    async def main() -> None:
        cluster = Cluster()
        first, second = cluster.brokers.values()
        async with (
            asyncio.timeout(60),
            first.serving(),
            second.serving(),
            await Client.connect([first.address], ClientSetting(timeout_s=timeout_s)) as client,
        ):
            await test(cluster, client)

    asyncio.run(main())


def listing(request: ListGroupsRequest, code: ErrorCode) -> ListGroupsResponse:
    group = ListedGroup(group_id="a", protocol_type="consumer", group_state="Stable", group_type="Classic")
    return ListGroupsResponse(error_code=code, groups=() if code else (group,))


def test_a_list_asks_every_broker_and_waits_for_those_who_load() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        cluster.answers[ListGroupsRequest] = listing
        cluster.refusals = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
        found = await list_groups(client, ["stable"], ["classic"])
        assert [(each.group_id, each.kind, each.state) for each in found] == [("a", "classic", "Stable")]
        for number in (1, 2):
            (*_, last) = cluster.asked(number, ListGroupsRequest)
            assert (last.states_filter, last.types_filter) == (("stable",), ("classic",))
        assert sum(len(cluster.asked(number, ListGroupsRequest)) for number in (1, 2)) == 3

    run(test)


def test_a_list_that_lacks_a_broker_is_no_list() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        cluster.answers[ListGroupsRequest] = listing
        cluster.refusals = [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]
        with pytest.raises(Refused, match="CLUSTER_AUTHORIZATION_FAILED"):
            await list_groups(client)

    run(test)


def describing_modern(
    request: modern.ConsumerGroupDescribeRequest, code: ErrorCode
) -> modern.ConsumerGroupDescribeResponse:
    def described(group_id: str) -> modern.DescribedGroup:
        assignment = modern.Assignment(
            topic_partitions=(modern.TopicPartitions(topic_id=bytes(16), topic_name="orders", partitions=(1, 0)),)
        )
        member = modern.Member(
            member_id="m",
            member_epoch=4,
            client_id="c",
            client_host="/127.0.0.1",
            subscribed_topic_names=("orders",),
            assignment=assignment,
            target_assignment=modern.Assignment(topic_partitions=()),
            member_type=1,
        )
        return modern.DescribedGroup(
            error_code=code or (ErrorCode.NONE if group_id == "new" else ErrorCode.GROUP_ID_NOT_FOUND),
            group_id=group_id,
            group_state="Stable",
            group_epoch=5,
            assignment_epoch=4,
            assignor_name="uniform",
            members=(member,),
        )

    return modern.ConsumerGroupDescribeResponse(groups=tuple(map(described, request.group_ids)))


def describing_classic(request: classic.DescribeGroupsRequest, code: ErrorCode) -> classic.DescribeGroupsResponse:
    def described(group_id: str) -> classic.DescribedGroup:
        assignment = consumer_protocol.ConsumerProtocolAssignment(
            assigned_partitions=(consumer_protocol.TopicPartition(topic="orders", partitions=(2,)),)
        )
        member = classic.DescribedGroupMember(
            member_id="m",
            client_id="c",
            client_host="/127.0.0.1",
            member_metadata=b"\0\7unreadable",
            member_assignment=b"\0\1" + encode(assignment, 1),
        )
        return classic.DescribedGroup(
            error_code=code,
            group_id=group_id,
            group_state="Dead" if group_id == "none" else "Stable",
            protocol_type="connect" if group_id == "workers" else "consumer",
            protocol_data="range",
            members=() if group_id == "none" else (member,),
        )

    return classic.DescribeGroupsResponse(groups=tuple(map(described, request.groups)))


def test_both_kinds_of_groups_are_described_by_their_coordinators() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        cluster.answers[modern.ConsumerGroupDescribeRequest] = describing_modern
        cluster.answers[classic.DescribeGroupsRequest] = describing_classic
        found = await describe_groups(client, ["a", "new", "workers", "none"])
        assert list(found) == ["a", "new", "workers", "none"]
        assert [each.groups for each in cluster.asked(2, classic.DescribeGroupsRequest)] == [("workers", "none")]
        old, new, workers, none = found.values()
        assert isinstance(none, Refused)
        assert none.code is ErrorCode.GROUP_ID_NOT_FOUND
        assert isinstance(old, GroupView)
        assert (old.kind, old.assignor, old.epoch, old.coordinator.node_id) == ("classic", "range", None, 1)
        assert list(old.owners()) == [TopicPartition("orders", 2)]
        assert old.members[0].topics == ()
        assert isinstance(new, GroupView)
        assert (new.kind, new.assignor, new.epoch, new.assignment_epoch) == ("consumer", "uniform", 5, 4)
        assert new.members[0].assignment == (TopicPartition("orders", 0), TopicPartition("orders", 1))
        assert new.members[0].target == ()
        assert isinstance(workers, GroupView)
        assert workers.members[0].assignment is None

    run(test)


def test_a_broker_that_knows_no_consumer_groups_describes_classic_ones() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        cluster.answers[classic.DescribeGroupsRequest] = describing_classic
        key = next(api.key for api in APIS.values() if api.request is modern.ConsumerGroupDescribeRequest)
        del cluster.brokers[1].versions[key]
        (group,) = (await describe_groups(client, ["a"])).values()
        assert isinstance(group, GroupView)

    run(test)


def test_a_broker_that_is_too_old_is_told_of() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        for kind, versions in ((OffsetFetchRequest, (1, 7)), (ListGroupsRequest, (0, 3))):
            assert kind.spec.key is not None
            cluster.brokers[2].versions[kind.spec.key] = versions
        (outcome,) = (await fetch_committed(client, ["b"])).values()
        assert isinstance(outcome, TooOld)
        assert str(outcome).startswith("the broker is too old: ")
        cluster.answers[ListGroupsRequest] = listing
        with pytest.raises(TooOld):
            await list_groups(client, ["stable"])

    run(test)


def fetching(request: OffsetFetchRequest, code: ErrorCode) -> OffsetFetchResponse:
    partitions = (
        OffsetFetchResponsePartitions(partition_index=1, committed_offset=-1, metadata=""),
        OffsetFetchResponsePartitions(partition_index=0, committed_offset=7, metadata="m", committed_leader_epoch=3),
    )
    topics = (OffsetFetchResponseTopics(name="orders", partitions=partitions),)
    return OffsetFetchResponse(
        groups=tuple(
            OffsetFetchResponseGroup(group_id=each.group_id, topics=topics, error_code=code) for each in request.groups
        )
    )


def test_offsets_are_asked_for_by_name_and_again_where_the_coordinator_moved() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        cluster.answers[OffsetFetchRequest] = fetching
        cluster.refusals = [ErrorCode.NOT_COORDINATOR]
        found = await fetch_committed(client, ["a", "b", "c"])
        assert found == {each: {ORDERS: Committed(Offset(7), "m", LeaderEpoch(3))} for each in "abc"}
        asked = [each for broker in cluster.brokers.values() for each in broker.asked]
        sent = [each for each in asked if isinstance(each.request, OffsetFetchRequest)]
        assert {each.version for each in sent} == {9}
        assert len(sent) == 3

    run(test)


def test_what_does_not_pass_within_the_time_is_the_outcome_of_its_group() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        cluster.answers[OffsetFetchRequest] = fetching
        cluster.refusals = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
        (outcome,) = (await fetch_committed(client, ["a"])).values()
        assert str(outcome) == "COORDINATOR_LOAD_IN_PROGRESS"

    run(test, timeout_s=0.01)


def committing(request: OffsetCommitRequest, code: ErrorCode) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=tuple(
            OffsetCommitResponseTopic(
                name=topic.name,
                partitions=tuple(
                    OffsetCommitResponsePartition(
                        partition_index=each.partition_index,
                        error_code=code or (ErrorCode.OFFSET_METADATA_TOO_LARGE if each.committed_metadata else 0),
                    )
                    for each in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


def test_commits_have_an_outcome_for_each_partition() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        cluster.answers[OffsetCommitRequest] = committing
        cluster.refusals = [ErrorCode.NOT_COORDINATOR]
        long = TopicPartition("orders", 1)
        found = await commit_offsets(client, "a", {ORDERS: Committed(Offset(4)), long: Committed(Offset(5), "long")})
        assert found[ORDERS] is None
        assert str(found[long]) == "the metadata of the offset is too large (OFFSET_METADATA_TOO_LARGE)"
        requests = cluster.asked(1, OffsetCommitRequest)
        assert len(requests) == 2
        assert (requests[0].member_id, requests[0].generation_id_or_member_epoch) == ("", -1)

    run(test)


def test_a_coordinator_is_looked_for_once_and_anew_where_it_moved() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        cluster.answers[OffsetCommitRequest] = committing

        async def commit(group_id: str) -> list[int]:
            assert await commit_offsets(client, group_id, {ORDERS: Committed(Offset(4))}) == {ORDERS: None}
            return [len(cluster.asked(number, FindCoordinatorRequest)) for number in (1, 2)]

        assert [await commit("a"), await commit("a")] == [[1, 0], [1, 0]]
        assert await commit("b") == [2, 0]
        cluster.refusals = [ErrorCode.NOT_COORDINATOR]
        assert sum(await commit("a")) == 3
        assert sum(await commit("b")) == 4  # with one, all that was known is forgotten
        assert sum(await commit("b")) == 4

    run(test)


def test_a_coordinator_that_has_left_the_cluster_is_looked_for_anew() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        cluster.answers[OffsetCommitRequest] = committing
        assert await commit_offsets(client, "b", {ORDERS: Committed(Offset(4))}) == {ORDERS: None}
        del cluster.brokers[2]
        await client.look_up(())
        assert await commit_offsets(client, "b", {ORDERS: Committed(Offset(5))}) == {ORDERS: None}
        assert len(cluster.asked(1, OffsetCommitRequest)) == 1

    run(test)


def test_what_is_refused_to_a_group_is_refused_to_all_its_partitions() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        cluster.answers[OffsetDeleteRequest] = lambda request, code: OffsetDeleteResponse(error_code=code)
        cluster.refusals = [ErrorCode.GROUP_ID_NOT_FOUND]
        found = await delete_committed(client, "a", [ORDERS])
        assert str(found[ORDERS]) == "the group id does not exist (GROUP_ID_NOT_FOUND)"

    run(test)


def test_groups_are_deleted_by_their_coordinators() -> None:
    async def test(cluster: Cluster, client: Client) -> None:
        cluster.answers[DeleteGroupsRequest] = lambda request, code: DeleteGroupsResponse(
            results=tuple(
                DeletableGroupResult(group_id=each, error_code=ErrorCode.NON_EMPTY_GROUP if each == "c" else code)
                for each in request.groups_names
            )
        )
        cluster.refusals = [ErrorCode.COORDINATOR_NOT_AVAILABLE]
        found = await delete_groups(client, ["a", "b", "c"])
        assert [each and str(each) for each in found.values()] == [
            None,
            None,
            "the group is not empty (NON_EMPTY_GROUP)",
        ]

    run(test)
