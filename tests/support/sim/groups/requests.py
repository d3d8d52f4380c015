"""The requests of consumers that both protocols have, in any version, and what they learn from the answers."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import TYPE_CHECKING

from odradek.metadata.image import Image
from odradek.model.topic_partition import TopicPartition
from odradek.wire.messages import offset_commit as oc
from odradek.wire.messages import offset_fetch as of
from support.sim.groups.spec import Spec

if TYPE_CHECKING:
    from support.sim.groups.consumer import Claim

_IDS = 10
"""The version of both APIs that names topics by their ids."""
_GROUPS = 8
_INSTANCES = 7


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, tuple[int, ...]]:
    return {
        topic: tuple(each.partition for each in group)
        for topic, group in groupby(sorted(partitions), key=lambda each: each.topic)
    }


def commit(spec: Spec, claim: "Claim", offsets: Mapping[TopicPartition, int], image: Image) -> oc.OffsetCommitRequest:
    with_ids = spec.versions.commit >= _IDS
    topics = tuple(
        oc.OffsetCommitRequestTopic(
            name="" if with_ids else topic,
            topic_id=image.topics.names[topic].id if with_ids else bytes(16),
            partitions=tuple(
                oc.OffsetCommitRequestPartition(
                    partition_index=number,
                    committed_offset=offsets[TopicPartition(topic, number)],
                    committed_metadata=committer(claim),
                )
                for number in numbers
            ),
        )
        for topic, numbers in by_topic(offsets).items()
    )
    return oc.OffsetCommitRequest(
        group_id=spec.group_id,
        generation_id_or_member_epoch=claim.epoch,
        member_id=claim.member_id,
        group_instance_id=spec.instance_id if spec.versions.commit >= _INSTANCES else None,
        topics=topics,
    )


def committer(claim: "Claim") -> str:
    """Stored with an offset, so that its record says who committed it."""
    return f"{claim.member_id} {claim.epoch}"


def fetch(spec: Spec, claim: "Claim", partitions: Iterable[TopicPartition], image: Image) -> of.OffsetFetchRequest:
    topics = by_topic(partitions)
    version = spec.versions.fetch
    if version < _GROUPS:
        return of.OffsetFetchRequest(
            group_id=spec.group_id,
            topics=tuple(
                of.OffsetFetchRequestTopic(name=topic, partition_indexes=numbers) for topic, numbers in topics.items()
            ),
        )
    group = of.OffsetFetchRequestGroup(
        group_id=spec.group_id,
        member_id=None if spec.is_classic else claim.member_id,
        member_epoch=-1 if spec.is_classic else claim.epoch,
        topics=tuple(
            of.OffsetFetchRequestTopics(
                name="" if version >= _IDS else topic,
                topic_id=image.topics.names[topic].id if version >= _IDS else bytes(16),
                partition_indexes=numbers,
            )
            for topic, numbers in topics.items()
        ),
    )
    return of.OffsetFetchRequest(groups=(group,), require_stable=True)


def fetched(response: of.OffsetFetchResponse, image: Image) -> dict[TopicPartition, int]:
    """What was committed, -1 where nothing was; nothing where the answer is an error."""
    topics: list[of.OffsetFetchResponseTopic | of.OffsetFetchResponseTopics] = []
    if not response.error_code:
        topics += response.topics
    for group in response.groups:
        if not group.error_code:
            topics += group.topics
    found = {}
    for topic in topics:
        name = topic.name
        if isinstance(topic, of.OffsetFetchResponseTopics) and not name:
            known = image.topics.by_id(topic.topic_id)
            name = known.name if known else ""
        for partition in topic.partitions:
            if not partition.error_code:
                found[TopicPartition(name, partition.partition_index)] = partition.committed_offset
    return found
