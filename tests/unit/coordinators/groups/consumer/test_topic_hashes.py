"""Hashes of topics, next to values that Apache Kafka 4.3.0 and its library hash4j computed."""

from dataclasses import replace

import pytest

from odradek.coordinators.groups.consumer.topics import hash_of_topic
from odradek.coordinators.groups.xxh3 import xxh3_64
from odradek.metadata.image import EMPTY, Broker, Partition, Topic
from odradek.model.numbers import LeaderEpoch
from support.consumer_stage import ConsumerStage

ONE = bytes(range(1, 17))
OTHER = (-2).to_bytes(8, "big", signed=True) + (7).to_bytes(8, "big")


def topic(name: str, topic_id: bytes, *replicas: tuple[int, ...]) -> Topic:
    partitions = {
        number: Partition(
            leader=1, leader_epoch=LeaderEpoch(0), partition_epoch=0, replicas=each, isr=each, directories=()
        )
        for number, each in enumerate(replicas)
    }
    return Topic(name, topic_id, partitions)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (0, 0x2D06800538D394C2),
        (1, 0x13E608BC156DEFED),
        (3, 0xA9088DDA485B481C),
        (4, 0x6D9253B16C8B1ED3),
        (8, 0x60539DB630471163),
        (9, 0xFEFF668361D723A8),
        (16, 0xB8C859B0F030B585),
        (17, 0x714A04408E79B80F),
        (128, 0x67425A03650261BF),
        (129, 0xC664BF3311C6ABC4),
        (240, 0x64556DC6B462A6CF),
        (241, 0x8BEADD3A8874FE17),
        (1173, 0x249A356DA0934B79),
        (2046, 0x0DDCE144FDF000A8),
    ],
)
def test_bytes_of_any_length(size: int, expected: int) -> None:
    assert xxh3_64(bytes((number * 7 + 3) & 0xFF for number in range(size))) == expected


@pytest.mark.parametrize(
    ("hashed", "expected"),
    [
        (topic("orders", ONE, *[(1,)] * 3), 3653115502262934565),
        (topic("bills", OTHER, *[(1,)] * 100), 4308848562202906982),
        (topic("empty", OTHER), 4695899735553818811),
        (topic("racked", ONE, (0, 9), (1, 9)), -9112090935592421992),
    ],
)
def test_topics(hashed: Topic, expected: int) -> None:
    racks = {0: "r0", 1: "r1", 9: "a\u00e9"}
    brokers = {
        number: Broker(number, 1, bytes(16), endpoints={}, features={}, rack=rack) for number, rack in racks.items()
    }
    without_racks = hashed.name != "racked"
    image = EMPTY if without_racks else replace(EMPTY, brokers=brokers)
    assert hash_of_topic(hashed, image) == expected % (1 << 64)


def test_the_hash_of_a_group_is_of_the_topics_that_exist() -> None:
    stage = ConsumerStage()
    topics = stage.consumer.topics
    named = {each.name: each for each in (topic("orders", ONE, *[(1,)] * 3), topic("bills", OTHER, *[(1,)] * 100))}
    stage.image = replace(EMPTY, topics=replace(EMPTY.topics, names=named))
    assert topics.hash(("orders", "gone")) == 4469793264692497189
    assert topics.hash(("gone",)) == 0
    assert topics.hash(("orders", "bills")) == topics.hash(("bills", "orders")) != topics.hash(("bills",))
