"""What a load was told, and whether all of it is there."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from random import Random

from odradek.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse
from support.raw_client import RawClient
from support.reading import EARLIEST, Found, fetch, offset_of, read_partition, records_of

_PADDING = Random(1).randbytes(4000)
_TOPICS = {"orders", "aged", "cut", "settings"}

Acknowledged = tuple[str, int, int, int]
"""In one partition: producer, number of the first record, records, offset of the first record."""


def value_of(producer: str, number: int) -> bytes:
    """What a producer says with its record of this number, in each partition."""
    start = number * 7919 % 2500
    return f"{producer}/{number}/".encode() + _PADDING[start : start + number % 1500]


class Ledger:
    """What was acknowledged."""

    def __init__(self) -> None:
        self.batches: list[tuple[str, str, int, int, int, int]] = []
        """Producer, topic, partition, number of the first record, records, offset of the first record."""
        self.producer_ids: list[int] = []
        self.topics: dict[str, str] = {}
        """By name: there, gone, or unknown where the answer was lost."""
        self.written: list[str] = []
        """Topics with one record, which is their name."""
        self.cut = 0
        """Records of the topic `cut` are deleted up to here."""
        self.setting = 0
        """The value that the topic `settings` has, or one that was tried after it."""
        self.errors: list[str] = []

    def in_partitions(self) -> dict[tuple[str, int], list[Acknowledged]]:
        batches = defaultdict(list)
        for producer, topic, partition, first, size, base in self.batches:
            batches[topic, partition].append((producer, first, size, base))
        return batches


async def check(client: RawClient, ledger: Ledger, rng: Random, may_end_early: Collection[str] = ()) -> str:
    """AssertionError unless a broker has all of it. Retention must be over.

    Of the topics in `may_end_early`, the last records may be lost. Returns a summary.
    """
    assert ledger.errors == []
    count = 0
    for place, batches in sorted(ledger.in_partitions().items()):
        found = await read_partition(client, *place)
        check_records(found, batches, may_end_early=place[0] in may_end_early)
        check_idempotent(found)
        if found.records:
            await check_lookups(client, place, found, rng)
        assert place[0] == "aged" or found.start == 0
        count += len(found.records)
    await check_metadata(client, ledger)
    for name in ledger.written:
        if ledger.topics[name] == "there":
            assert [record.value for record in (await read_partition(client, name)).records] == [name.encode()]
    assert (await read_partition(client, "cut")).start >= ledger.cut
    return f"{len(ledger.batches)} batches acknowledged, {count} records there, {len(ledger.topics)} topics"


def check_records(found: Found, batches: Sequence[Acknowledged], *, may_end_early: bool) -> None:
    """Offsets have no gaps, and what was acknowledged is where the answer said."""
    assert [record.offset for record in found.records] == list(range(found.start, found.end))
    for producer, first, size, base in batches:
        assert may_end_early or base + size <= found.end, f"{size} records at {base} are lost: the end is {found.end}"
        for number in range(size):
            if found.start <= base + number < found.end:
                assert found.records[base + number - found.start].value == value_of(producer, first + number)


def check_idempotent(found: Found) -> None:
    """Each of their records once, and in order."""
    heard: dict[str, list[int]] = defaultdict(list)
    for record in found.records:
        name, number, _ = (record.value or b"").split(b"/", 2)
        heard[name.decode()].append(int(number))
    for producer, numbers in heard.items():
        assert numbers[0] == 0 or found.start > 0
        if producer.startswith("idempotent"):
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


async def check_lookups(client: RawClient, place: tuple[str, int], found: Found, rng: Random) -> None:
    """Indexes find what reading all of it finds."""
    for _ in range(20):
        offset = rng.randrange(found.start, found.end)
        data = await fetch(client, *place, offset)
        assert found.records[offset - found.start] in records_of(data)
        time = rng.choice(found.records).timestamp + rng.randrange(-2, 3)
        first = next((record.offset for record in found.records if record.timestamp >= time), -1)
        assert await offset_of(client, *place, time) == first
    assert await offset_of(client, *place, EARLIEST) == found.start


async def check_metadata(client: RawClient, ledger: Ledger) -> None:
    response = await client.ask(MetadataRequest(topics=None), MetadataResponse, 12)
    there = {topic.name for topic in response.topics}
    for name, state in ledger.topics.items():
        assert state == "unknown" or (name in there) == (state == "there"), f"{name} should be {state}"
    assert there >= _TOPICS
    assert there <= _TOPICS | set(ledger.topics)
    assert len(set(ledger.producer_ids)) == len(ledger.producer_ids)
    resource = DescribeConfigsResource(resource_type=2, resource_name="settings", configuration_keys=("retention.ms",))
    described = await client.ask(DescribeConfigsRequest(resources=(resource,)), DescribeConfigsResponse, 4)
    assert int(described.results[0].configs[0].value or "") >= ledger.setting
