"""The load of `./run bench groups`: members of groups, in a process of their own.

Not to be run by hand: `group_load.py NAME PARAMETERS`, where the parameters are JSON. Prints one line of JSON. What was
acknowledged is looked at again in the end.
"""

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import load
from harness import Watch, percentiles
from raw import Raw, frame_of

from odradek.wire.codec import decode, encode
from odradek.wire.frame import request_frame
from odradek.wire.header import read_response_head
from odradek.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from odradek.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from odradek.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from odradek.wire.records.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from odradek.wire.schema import Message

M = TypeVar("M", bound=Message)

FIND, JOIN, SYNC, HEARTBEAT, COMMIT, FETCH, CONSUMER_HEARTBEAT = 4, 9, 5, 4, 9, 9, 1
"""The versions that are spoken: the newest that name topics."""
_NOT_YET = (14, 15, 16)
"""The coordinator loads, is not available, or is another one."""
_UNKNOWN_MEMBER, _REBALANCE, _MEMBER_ID_REQUIRED, _ILLEGAL_GENERATION = 25, 27, 79, 22
_PAUSE_S = 0.01
_SESSION_MS = 45_000
_REBALANCE_MS = 60_000


class Connection:
    """One request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, address: str) -> "Connection":
        host, _, port = address.rpartition(":")
        return cls(*await asyncio.open_connection(host, int(port)))

    async def ask(self, request: Message, kind: type[M], version: int) -> M:
        parts = request_frame(request, version, 1, "bench")
        self._writer.write(b"".join(part for part in parts if isinstance(part, (bytes, bytearray, memoryview))))
        size = int.from_bytes(await self._reader.readexactly(4), "big")
        _, body = read_response_head(memoryview(await self._reader.readexactly(size)), kind, version)
        return decode(kind, version, body)

    def close(self) -> None:
        self._writer.close()


def with_version(message: Message) -> bytes:
    """As consumers write what they tell each other, in the oldest version."""
    return bytes(2) + encode(message, 0)


class ClassicMember:
    """An eager consumer that processes nothing. The leader gives each member an even share of one topic."""

    def __init__(self, connection: Connection, group: str, topic: str, partitions: int) -> None:
        self.group = group
        self.topic = topic
        self.partitions = partitions
        """How many the topic has, as far as this member knows."""
        self.member_id = ""
        self.generation = -1
        self.member_count = 0
        """Of its generation, which only the leader knows."""
        self.owned: tuple[int, ...] = ()
        self._connection = connection

    async def join(self) -> None:
        """Into a generation, up to its assignment."""
        while True:
            joined = await self._connection.ask(self._join_request(), JoinGroupResponse, JOIN)
            if joined.error_code == _MEMBER_ID_REQUIRED:
                self.member_id = joined.member_id
                continue
            if joined.error_code in _NOT_YET:
                await asyncio.sleep(_PAUSE_S)
                continue
            if joined.error_code == _UNKNOWN_MEMBER:
                self.member_id = ""
                continue
            _check(joined.error_code, "JoinGroup")
            self.member_id, self.generation = joined.member_id, joined.generation_id
            self.member_count = len(joined.members)
            synced = await self._connection.ask(self._sync_request(joined), SyncGroupResponse, SYNC)
            if synced.error_code in (_REBALANCE, _ILLEGAL_GENERATION, _UNKNOWN_MEMBER, *_NOT_YET):
                continue
            _check(synced.error_code, "SyncGroup")
            assignment = decode(ConsumerProtocolAssignment, 0, memoryview(synced.assignment)[2:])
            self.owned = tuple(n for each in assignment.assigned_partitions for n in each.partitions)
            return

    def _join_request(self) -> JoinGroupRequest:
        subscription = with_version(ConsumerProtocolSubscription(topics=(self.topic,)))
        return JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=_SESSION_MS,
            rebalance_timeout_ms=_REBALANCE_MS,
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=(JoinGroupRequestProtocol(name="range", metadata=subscription),),
        )

    def _sync_request(self, joined: JoinGroupResponse) -> SyncGroupRequest:
        shares: tuple[SyncGroupRequestAssignment, ...] = ()
        if joined.leader == self.member_id:
            names = sorted(each.member_id for each in joined.members)
            shares = tuple(
                SyncGroupRequestAssignment(member_id=name, assignment=self._share(at, len(names)))
                for at, name in enumerate(names)
            )
        return SyncGroupRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=shares,
        )

    def _share(self, at: int, count: int) -> bytes:
        mine = TopicPartition(topic=self.topic, partitions=tuple(range(at, self.partitions, count)))
        return with_version(ConsumerProtocolAssignment(assigned_partitions=(mine,)))

    def heartbeat_request(self) -> HeartbeatRequest:
        return HeartbeatRequest(group_id=self.group, generation_id=self.generation, member_id=self.member_id)

    async def heartbeat(self) -> bool:
        """False where a rebalance has begun."""
        answer = await self._connection.ask(self.heartbeat_request(), HeartbeatResponse, HEARTBEAT)
        if answer.error_code in (_REBALANCE, *_NOT_YET):
            return False
        _check(answer.error_code, "Heartbeat")
        return True

    def commit_request(self, partitions: Iterable[int], offset: int) -> OffsetCommitRequest:
        return OffsetCommitRequest(
            group_id=self.group,
            generation_id_or_member_epoch=self.generation,
            member_id=self.member_id,
            topics=(
                OffsetCommitRequestTopic(
                    name=self.topic,
                    partitions=tuple(
                        OffsetCommitRequestPartition(
                            partition_index=n, committed_offset=offset, committed_metadata="as of now"
                        )
                        for n in partitions
                    ),
                ),
            ),
        )

    async def commit(self, partitions: Iterable[int], offset: int) -> None:
        answer = await self._connection.ask(self.commit_request(partitions, offset), OffsetCommitResponse, COMMIT)
        for topic in answer.topics:
            for partition in topic.partitions:
                _check(partition.error_code, "OffsetCommit")


class ConsumerMember:
    """A consumer of KIP-848 that processes nothing and gives back at once what it is told to."""

    def __init__(self, connection: Connection, member_id: str, group: str, topic: str) -> None:
        self.owned: tuple[TopicPartitions, ...] = ()
        self._group = group
        self._topic = topic
        self._member_id = member_id
        self._epoch = 0
        self._connection = connection

    async def heartbeat(self) -> bool:
        """True where it got another assignment, which it has then, and should tell."""
        first = self._epoch == 0
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._group,
            member_id=self._member_id,
            member_epoch=self._epoch,
            rebalance_timeout_ms=_REBALANCE_MS if first else -1,
            subscribed_topic_names=(self._topic,) if first else None,
            topic_partitions=self.owned,
        )
        answer = await self._connection.ask(request, ConsumerGroupHeartbeatResponse, CONSUMER_HEARTBEAT)
        if answer.error_code in _NOT_YET:
            await asyncio.sleep(_PAUSE_S)
            return True
        _check(answer.error_code, "ConsumerGroupHeartbeat")
        self._epoch = answer.member_epoch
        if answer.assignment is None:
            return False
        self.owned = answer.assignment.topic_partitions
        return True

    @property
    def count(self) -> int:
        return sum(len(each.partitions) for each in self.owned)


async def find_coordinator(address: str) -> None:
    """Which makes the topic of the coordinator, where there is none yet."""
    connection = await Connection.open(address)
    request = FindCoordinatorRequest(coordinator_keys=("any",))
    while True:
        (found,) = (await connection.ask(request, FindCoordinatorResponse, FIND)).coordinators
        if found.error_code not in _NOT_YET:
            break
        await asyncio.sleep(_PAUSE_S)
    _check(found.error_code, "FindCoordinator")
    connection.close()


# --- commits


async def commit_latency(address: str, topic: str, count: int) -> dict[str, float]:
    """One offset after the other, each committed when the one before is acknowledged."""
    member = ClassicMember(await Connection.open(address), f"one-{topic}", topic, 1)
    await member.join()
    raw = Raw(address)
    times = []
    watch = Watch()
    for offset in range(count):
        frame = frame_of(member.commit_request((0,), offset), COMMIT)
        begin = time.perf_counter_ns()
        raw.sock.sendall(frame)
        raw.receive()
        times.append((time.perf_counter_ns() - begin) / 1e3)
    result = watch.stop()
    _check_committed(raw, [member.group], count - 1)
    return {**result, **percentiles(times)}


async def commit_rate(address: str, topic: str, consumers: int, count: int) -> dict[str, float]:
    """That many consumers, each in a group of its own, each with one commit under way."""
    members = [ClassicMember(await Connection.open(address), f"c{n}-{topic}", topic, 1) for n in range(consumers)]
    await asyncio.gather(*(member.join() for member in members))
    each = count // consumers
    frames = [frame_of(member.commit_request((0,), offset), COMMIT) for offset in range(each) for member in members]
    result = load.pipe(address, frames, each, connections=consumers, in_flight=1)
    _check_committed(Raw(address), [member.group for member in members], each - 1)
    return {**result, "commits_s": result["requests_s"]}


# --- many groups


async def many(  # noqa: PLR0913 - the parameters come as JSON
    address: str, pid: int, topic: str, partitions: int, groups: int, members: int, heartbeats: int, commits: int
) -> dict[str, float]:
    """All join at once; then heartbeats as fast as they are answered; then all commit, and that some times."""
    before = memory_kb(pid)
    crowd = [
        ClassicMember(await Connection.open(address), f"many-{n}", topic, partitions)
        for n in range(groups)
        for _ in range(members)
    ]
    watch = Watch()
    await asyncio.gather(*(member.join() for member in crowd))
    while unstable := _unstable(crowd, members):
        await asyncio.gather(*(member.join() for member in unstable))
    stable = watch.stop()
    after = memory_kb(pid)
    frames = [frame_of(member.heartbeat_request(), HEARTBEAT) for member in crowd]
    beat = partial(load.pipe, address, frames, heartbeats // 50, connections=50, in_flight=1)
    beat()  # does not count
    beaten = beat()
    if not all(await asyncio.gather(*(member.heartbeat() for member in crowd))):
        raise RuntimeError("a group was not stable in the end")
    for offset in range(commits):
        await asyncio.gather(*(member.commit(member.owned, offset) for member in crowd))
    return {
        "stable_s": stable["seconds"],
        "stable_cpu": stable["own_cpu"],
        "heartbeats_s": beaten["requests_s"],
        "heartbeats_cpu": beaten["own_cpu"],
        "member_kb": (after - before) / len(crowd),
    }


def _unstable(crowd: list[ClassicMember], size: int) -> list[ClassicMember]:
    """The members of groups that are not all in one generation."""
    by_group: dict[str, list[ClassicMember]] = {}
    for member in crowd:
        by_group.setdefault(member.group, []).append(member)
    return [
        member
        for group in by_group.values()
        if len({each.generation for each in group}) > 1 or max(each.member_count for each in group) < size
        for member in group
    ]


def is_loaded(raw: Raw, groups: int, offset: int, partitions: int) -> bool:
    """Whether all groups of `many` answer, with all that they committed."""
    asked = tuple(OffsetFetchRequestGroup(group_id=f"many-{n}", topics=None) for n in range(groups))
    answer = raw.ask(OffsetFetchRequest(groups=asked), OffsetFetchResponse, FETCH)
    if any(group.error_code for group in answer.groups):
        return False
    for group in answer.groups:
        found = [part.committed_offset for topic in group.topics for part in topic.partitions]
        if found != [offset] * partitions:
            raise RuntimeError(f"group {group.group_id} has committed {found}")
    return True


# --- more partitions


async def added_classic(address: str, topic: str, members: int, before: int, after: int) -> dict[str, float]:
    """How long it takes from new partitions to all members having them, once the leader knows of them."""
    crowd = [ClassicMember(await Connection.open(address), f"g-{topic}", topic, before) for _ in range(members)]
    await asyncio.gather(*(member.join() for member in crowd))
    while unstable := _unstable(crowd, members):
        await asyncio.gather(*(member.join() for member in unstable))

    async def live(member: ClassicMember) -> None:
        while sum(len(each.owned) for each in crowd) < after:
            if not await member.heartbeat():
                await member.join()
            else:
                await asyncio.sleep(HEARTBEAT_S)

    watch = Watch()
    add_partitions(address, topic, after)
    for member in crowd:
        member.partitions = after
    leader = next(member for member in crowd if member.member_count)
    await asyncio.gather(leader.join(), *(live(member) for member in crowd if member is not leader))
    return watch.stop()


async def added_consumer(address: str, topic: str, members: int, before: int, after: int) -> dict[str, float]:
    """The same with the newer protocol, where the broker notices."""
    crowd = [ConsumerMember(await Connection.open(address), f"m-{n}", f"g-{topic}", topic) for n in range(members)]

    async def live(member: ConsumerMember, wanted: int) -> None:
        while sum(each.count for each in crowd) != wanted or max(each.count for each in crowd) > wanted // members:
            if not await member.heartbeat():
                await asyncio.sleep(HEARTBEAT_S)

    await asyncio.gather(*(live(member, before) for member in crowd))
    watch = Watch()
    add_partitions(address, topic, after)
    await asyncio.gather(*(live(member, after) for member in crowd))
    return watch.stop()


HEARTBEAT_S = 0.5


def add_partitions(address: str, topic: str, count: int) -> None:
    wanted = CreatePartitionsTopic(name=topic, count=count, assignments=None)
    request = CreatePartitionsRequest(topics=(wanted,), timeout_ms=60_000, validate_only=False)
    for result in Raw(address).ask(request, CreatePartitionsResponse, 3).results:
        _check(result.error_code, "CreatePartitions")


# --- what all share


def memory_kb(pid: int) -> float:
    """What a broker holds: of a JVM the heap in use after a collection, since it gives nothing back of what it took."""
    if Path(f"/proc/{pid}/comm").read_text().strip() == "java":
        subprocess.run(["jcmd", str(pid), "GC.run"], check=True, capture_output=True)
        shown = subprocess.run(["jcmd", str(pid), "GC.heap_info"], check=True, capture_output=True, text=True).stdout
        return float(re.findall(r"heap .*used (\d+)K", shown)[0])
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return float(next(line for line in lines if line.startswith("VmRSS")).split()[1])


def _check(code: int, what: str) -> None:
    if code:
        raise RuntimeError(f"{what}: error {code}")


def _check_committed(raw: Raw, groups: list[str], offset: int) -> None:
    """Refused requests are answered fast: a benchmark of them would be a good one."""
    asked = tuple(OffsetFetchRequestGroup(group_id=group, topics=None) for group in groups)
    answer = raw.ask(OffsetFetchRequest(groups=asked), OffsetFetchResponse, FETCH)
    found = [part.committed_offset for group in answer.groups for topic in group.topics for part in topic.partitions]
    if found != [offset] * len(groups):
        raise RuntimeError(f"committed are {found}, and not {offset}")


WORKS: dict[str, Callable[..., Awaitable[dict[str, Any]]]] = {
    work.__name__: work for work in (commit_latency, commit_rate, many, added_classic, added_consumer)
}


async def main(name: str, parameters: dict[str, Any]) -> dict[str, float]:
    await find_coordinator(parameters["address"])
    return await WORKS[name](**parameters)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))))
