"""Elections, reassignments and moves between log directories, with the answers of Apache Kafka."""

from collections.abc import Iterator

import pytest

from odradek.model.numbers import NO_TIMESTAMP, Offset
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.testing.broker import running_broker
from odradek.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from odradek.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from odradek.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
)
from odradek.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from odradek.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from support.apache_kafka import ApacheKafka, format_new
from support.places import move_request
from support.same_answers import SETTINGS, Asker, Case, Level, Side, differences

PREFERRED, UNCLEAN = 0, 1
PLAYED = [Level.LOWEST, Level.HIGHEST]


# --- ElectLeaders


async def elect(ask: Asker, kind: int, *named: tuple[str, tuple[int, ...]]) -> None:
    topics = tuple(TopicPartitions(topic=name, partitions=numbers) for name, numbers in named)
    await ask(ElectLeadersRequest(election_type=kind, topic_partitions=topics))


async def elections(ask: Asker) -> None:
    name = await ask.create("elected", 3)
    for kind in (PREFERRED, UNCLEAN, 2, -1):
        if ask.level is Level.LOWEST and kind != PREFERRED:
            continue  # which has one kind
        await elect(ask, kind, (name, (0, 2)))
        await elect(ask, kind, (name, (3, -1, 0)), ("none", (0,)))
        await elect(ask, kind, ("", (0,)), ("a b", (0,)), ("__cluster_metadata", (0,)))
        await elect(ask, kind, (name, ()))
        await elect(ask, kind)
        await elect(ask, kind, (name, (1, 1)))


async def elections_everywhere(ask: Asker) -> None:
    """Of all topics that there are, which are the same on both; those of other cases may come in between."""
    for kind in (PREFERRED,) if ask.level is Level.LOWEST else (PREFERRED, UNCLEAN):
        answer = await ask.quietly(ElectLeadersRequest(election_type=kind, topic_partitions=None))
        ask.keep(answer.error_code)
        ask.keep([each for each in answer.replica_election_results if each.partition_result])


# --- AlterPartitionReassignments, ListPartitionReassignments


async def reassign(ask: Asker, name: str, *parts: tuple[int, tuple[int, ...] | None], may_change: bool = True) -> None:
    wanted = tuple(ReassignablePartition(partition_index=number, replicas=each) for number, each in parts)
    topic = ReassignableTopic(name=name, partitions=wanted)
    fields = {} if ask.level is Level.LOWEST else {"allow_replication_factor_change": may_change}
    await ask(AlterPartitionReassignmentsRequest(topics=(topic,), **fields))


async def reassignments(ask: Asker) -> None:
    name = await ask.create("reassigned", 2)
    for may_change in (True, False):
        for replicas in ((1,), (), (2,), (1, 2), (1, 1), (-1,), (2, 1), None):
            await reassign(ask, name, (0, replicas), may_change=may_change)
    await reassign(ask, name, (0, (1,)), (1, (1,)), (2, (1,)), (-1, None))
    await reassign(ask, name, (0, (1,)), (0, None))
    for other in ("none", "", "a b", "__cluster_metadata"):
        await reassign(ask, other, (0, (1,)))
        await reassign(ask, other, (0, None))
    await ask(AlterPartitionReassignmentsRequest(topics=()))
    await reassign(ask, name)


async def listed(ask: Asker) -> None:
    name = await ask.create("listed", 2)
    await ask(ListPartitionReassignmentsRequest(topics=None))
    await ask(ListPartitionReassignmentsRequest(topics=()))
    for each, numbers in ((name, (0, 1)), (name, (7, -1)), (name, ()), ("none", (0,)), ("", (0,))):
        await ask(
            ListPartitionReassignmentsRequest(
                topics=(ListPartitionReassignmentsTopics(name=each, partition_indexes=numbers),)
            )
        )


CASES: list[Case] = [elections, elections_everywhere, reassignments, listed]


@pytest.mark.parametrize("level", PLAYED, ids=lambda level: level.value)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_partitions(both: tuple[Side, Side], case: Case, level: Level) -> None:
    assert differences(case, level, both) == ""


# --- AlterReplicaLogDirs


@pytest.fixture(scope="module")
def two_directories(kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Side, Side]]:
    """Both brokers with two log directories each."""
    theirs, ours = tmp_path_factory.mktemp("theirs"), tmp_path_factory.mktemp("ours")
    format_new(theirs / "a", theirs / "b")
    settings = {**SETTINGS, "log.dirs": f"{ours}/a,{ours}/b"}
    with (
        kafka.broker(theirs, [theirs / "a", theirs / "b"], SETTINGS) as one,
        running_broker(settings) as other,
    ):
        yield Side("Kafka", one.port, settles_late=True), Side("odradek", other.port, settles_late=False)


async def places(ask: Asker, name: str) -> list[tuple[str, DescribeLogDirsPartition]]:
    """Where partition 0 is, and where a copy of it is made; all directories are asked."""
    named = (DescribableLogDirTopic(topic=name, partitions=(0,)),)
    answer = await ask.quietly(DescribeLogDirsRequest(topics=named), 4)
    return [(each.log_dir, part) for each in answer.results for topic in each.topics for part in topic.partitions]


async def place(ask: Asker, name: str) -> str:
    """Where it is; a broker of Kafka's may be about to make it."""
    while len(found := await places(ask, name)) != 1:
        pass
    return found[0][0]


async def directories(ask: Asker, name: str) -> tuple[str, str]:
    """The one that the partition is in, and the other."""
    answer = await ask.quietly(DescribeLogDirsRequest(topics=None), 4)
    here = await place(ask, name)
    (there,) = (each.log_dir for each in answer.results if each.log_dir != here)
    return here, there


async def move(ask: Asker, name: str, path: str, partition: int = 0) -> None:
    await ask(move_request(name, path, partition))


async def arrive(ask: Asker, name: str, path: str) -> None:
    """Wait until it is there, and have what is told of it compared."""
    found = await places(ask, name)
    while [each[0] for each in found] != [path]:
        found = await places(ask, name)
    ask.keep(found[0][1])


async def fill(ask: Asker, name: str) -> None:
    records = [Record(Offset(n), NO_TIMESTAMP, b"k", f"{n}".encode()) for n in range(50)]
    data = PartitionProduceData(index=0, records=build_batch(records, BatchSpec()))
    topics = (TopicProduceData(name=name, partition_data=(data,)),)
    request = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=topics)
    while (await ask.quietly(request, 12)).responses[0].partition_responses[0].error_code:
        pass  # a broker of Kafka's may be about to lead it


async def moved(ask: Asker) -> None:
    name = await ask.create("moved")
    await fill(ask, name)
    here, there = await directories(ask, name)
    await move(ask, name, here)
    await arrive(ask, name, here)
    await move(ask, name, there)
    await arrive(ask, name, there)
    await fill(ask, name)
    ask.keep([record.value for record in await ask.stored(name, 0)])
    await move(ask, name, here)
    await move(ask, name, here)
    await arrive(ask, name, here)
    ask.keep([record.value for record in await ask.stored(name, 0)])


async def refused_moves(ask: Asker) -> None:
    name = await ask.create("not-moved")
    here, there = await directories(ask, name)
    for path in ("/none", "", "relative", f"{here}/", f"{here}/../none", "any"):
        await move(ask, name, path)
    for partition in (1, -1):
        await move(ask, name, there, partition)
    for other in ("", "a b", "__cluster_metadata", "x" * 214, "x" * 215, "x" * 249, "x" * 250):
        await move(ask, other, there)
    await ask(AlterReplicaLogDirsRequest(dirs=()))
    await ask(AlterReplicaLogDirsRequest(dirs=(AlterReplicaLogDir(path=there, topics=()),)))
    nothing = (AlterReplicaLogDirTopic(name=name, partitions=()),)
    await ask(AlterReplicaLogDirsRequest(dirs=(AlterReplicaLogDir(path=there, topics=nothing),)))
    twice = (AlterReplicaLogDirTopic(name=name, partitions=(0, 0)),)
    both_ways = (AlterReplicaLogDir(path="/none", topics=twice), AlterReplicaLogDir(path=here, topics=twice))
    await ask(AlterReplicaLogDirsRequest(dirs=both_ways))
    await arrive(ask, name, here)


async def wishes(ask: Asker) -> None:
    """For a partition that is not there: it is refused, and remembered for when it comes."""
    here, there = await directories(ask, await ask.create("anything"))
    for number, path in enumerate((here, there, here)):
        name = ask.name(f"wished-{number}")
        await move(ask, name, path)
        await ask.create(f"wished-{number}")
        ask.keep(await place(ask, name) == path)


DIRECTORY_CASES: list[Case] = [moved, refused_moves, wishes]


@pytest.mark.parametrize("level", PLAYED, ids=lambda level: level.value)
@pytest.mark.parametrize("case", DIRECTORY_CASES, ids=lambda case: case.__name__)
def test_log_directories(two_directories: tuple[Side, Side], case: Case, level: Level) -> None:
    assert differences(case, level, two_directories) == ""
