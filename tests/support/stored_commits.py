"""The offsets that groups committed, as they are stored."""

from odradek.wire.records.offsets import OffsetCommitKey, OffsetCommitValue
from odradek.wire.stored import CONSUMER_OFFSETS
from support.raw_client import RawClient
from support.reading import read_partition


async def stored_commits(port: int) -> dict[tuple[str, str, int], list[int]]:
    """By group, topic and partition, in the order in which brokers took them. They are all in one partition."""
    client = await RawClient.connect("127.0.0.1", port)
    try:
        records = (await read_partition(client, "__consumer_offsets")).records
    finally:
        await client.close()
    commits: dict[tuple[str, str, int], list[int]] = {}
    for record in records:
        assert record.key is not None
        key = CONSUMER_OFFSETS.read_key(record.key)
        if isinstance(key, OffsetCommitKey) and record.value is not None:
            value, _ = CONSUMER_OFFSETS.read_value(key, record.value)
            assert isinstance(value, OffsetCommitValue)
            commits.setdefault((key.group, key.topic, key.partition), []).append(value.offset)
    return commits
