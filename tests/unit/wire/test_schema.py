import subprocess
import sys

import pytest

from odradek.wire.messages.fetch import FetchableTopicResponse, FetchPartition, FetchTopic, PartitionData
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.records.metadata import NoOpRecord
from odradek.wire.schema import REQUIRED, Message, Struct, replace, slots_of


def heartbeat(member: str = "m") -> HeartbeatRequest:
    return HeartbeatRequest(group_id="g", generation_id=1, member_id=member)


def test_fields_without_a_default_must_be_given() -> None:
    with pytest.raises(TypeError, match="member_id"):
        HeartbeatRequest(group_id="g", generation_id=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="nonsense"):
        HeartbeatResponse(nonsense=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="nonsense"):
        NoOpRecord(nonsense=1)  # type: ignore[call-arg]
    assert heartbeat().group_instance_id is None


def test_values_are_compared_by_type_and_fields() -> None:
    assert heartbeat() == heartbeat()
    assert heartbeat() != heartbeat("n")
    assert NoOpRecord() == NoOpRecord()
    assert HeartbeatResponse() != NoOpRecord()
    assert HeartbeatResponse() != "HeartbeatResponse()"


def test_values_show_what_is_not_the_default() -> None:
    assert repr(heartbeat()) == "HeartbeatRequest(group_id='g', generation_id=1, member_id='m')"
    assert repr(HeartbeatResponse(error_code=27)) == "HeartbeatResponse(error_code=27)"
    topic = FetchTopic(topic="t", partitions=(FetchPartition(partition=0, fetch_offset=5, partition_max_bytes=9),))
    assert repr(topic) == (
        "FetchTopic(topic='t', partitions=(FetchPartition(partition=0, fetch_offset=5, partition_max_bytes=9),))"
    )


def test_replace_copies() -> None:
    one = heartbeat()
    other = replace(one, generation_id=2)
    assert other == HeartbeatRequest(group_id="g", generation_id=2, member_id="m")
    assert one == heartbeat()


def test_values_hold_nothing_but_their_fields() -> None:
    assert not hasattr(heartbeat(), "__dict__")
    with pytest.raises(AttributeError):
        heartbeat().other = 1  # type: ignore[attr-defined]


def test_a_struct_that_was_not_given_is_always_the_same_object() -> None:
    one, two = (
        PartitionData(partition_index=index, high_watermark=0, aborted_transactions=(), records=None)
        for index in range(2)
    )
    assert one.current_leader is two.current_leader
    assert one.current_leader.leader_id == -1
    assert FetchableTopicResponse(partitions=(one,)).topic == ""


def test_a_field_without_a_default_is_in_every_version(messages: dict[str, type[Message]]) -> None:
    def check(kind: type[Struct], version: int) -> None:
        for slot in slots_of(kind, version, flexible=False):
            assert slot.is_present or slot.default is not REQUIRED, (kind, slot.name, version)
            assert slot.tag is None or slot.default is not REQUIRED, (kind, slot.name)
            if slot.struct is not None and slot.is_present:
                check(slot.struct, version)

    for kind in messages.values():
        for version in range(kind.spec.versions[0], kind.spec.versions[1] + 1):
            check(kind, version)


def test_declaring_a_message_compiles_nothing() -> None:
    code = (
        "from odradek.wire.messages.fetch import FetchRequest, FetchPartition\n"
        "from odradek.wire.schema import Struct\n"
        "assert FetchPartition.__init__ is Struct.__init__\n"
        "assert not FetchRequest.spec.readers and not FetchRequest.spec.writers\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
