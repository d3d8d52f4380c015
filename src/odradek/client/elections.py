"""Elections of leaders."""

from collections.abc import Iterable
from enum import IntEnum

from odradek.client.client import Client
from odradek.client.errors import Refused, TooOld, refusal
from odradek.model.errors import UnsupportedVersion
from odradek.model.topic_partition import TopicPartition
from odradek.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions


class Election(IntEnum):
    PREFERRED = 0
    """The first replica is to lead, if it is in sync."""
    UNCLEAN = 1
    """Where nobody leads and nobody is in sync, any replica is to lead: records may be lost."""


async def elect_leaders(
    client: Client, election: Election, partitions: Iterable[TopicPartition] | None
) -> dict[TopicPartition, Refused | None]:
    """What came of it; None stands for all partitions, of which those are left out in which nothing is to be done.

    Raises Refused for what is wrong with the whole, and TooOld where the broker knows no such election.
    """
    wanted = None
    if partitions is not None:
        topics: dict[str, list[int]] = {}
        for topic, number in partitions:
            topics.setdefault(topic, []).append(number)
        wanted = tuple(TopicPartitions(topic=name, partitions=tuple(numbers)) for name, numbers in topics.items())
    timeout_ms = int(client.setting.request_timeout_s * 1000)
    request = ElectLeadersRequest(election_type=election, topic_partitions=wanted, timeout_ms=timeout_ms)

    async def attempt() -> ElectLeadersResponse:
        response = await client.ask_controller(request, ElectLeadersResponse)
        if response.error_code:
            raise Refused(response.error_code)
        return response

    try:
        response = await client.persist(attempt)
    except UnsupportedVersion as error:
        raise TooOld(f"the broker is too old: {error}") from None
    return {
        TopicPartition(topic.topic, each.partition_id): refusal(each.error_code, each.error_message)
        for topic in response.replica_election_results
        for each in topic.partition_result
    }
