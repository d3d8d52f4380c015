"""Records deleted from the start of partitions."""

from collections.abc import Mapping

from odradek.client.client import Client
from odradek.client.cluster import PartitionView
from odradek.client.errors import refusal
from odradek.client.leaders import ask_leaders
from odradek.client.offsets import Offsets
from odradek.model.numbers import Offset
from odradek.model.topic_partition import TopicPartition
from odradek.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)


async def delete_records(client: Client, before: Mapping[TopicPartition, Offset]) -> Offsets:
    """Deletes what is before an offset of each partition, and gives the offset at which it begins now."""

    async def ask(leader: int, led: Mapping[TopicPartition, PartitionView]) -> Offsets:
        topics: dict[str, list[DeleteRecordsPartition]] = {}
        for each in led:
            part = DeleteRecordsPartition(partition_index=each.partition, offset=before[each])
            topics.setdefault(each.topic, []).append(part)
        request = DeleteRecordsRequest(
            topics=tuple(DeleteRecordsTopic(name=name, partitions=tuple(parts)) for name, parts in topics.items()),
            timeout_ms=int(client.setting.request_timeout_s * 1000),
        )
        response = await client.ask_leader(leader, request, DeleteRecordsResponse)
        return {
            TopicPartition(topic.name, each.partition_index): refusal(each.error_code) or Offset(each.low_watermark)
            for topic in response.topics
            for each in topic.partitions
        }

    return await ask_leaders(client, list(before), ask)
