"""What Apache Kafka and odradek leave in their metadata logs when they are asked the same: the same records."""

import asyncio
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.model.error_code import ErrorCode
from odradek.testing.broker import running_broker
from odradek.wire.messages import incremental_alter_configs as some
from odradek.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.unregister_broker import UnregisterBrokerRequest
from support.apache_kafka import ApacheKafka
from support.same_answers import SETTINGS, Asker, Level, Side

TOPIC, BROKER, CLIENT_METRICS, GROUP = 2, 4, 16, 32
SET, DELETE = 0, 1
METADATA = "__cluster_metadata-0/00000000000000000000.log"
FIRST, LAST = "USER_SCRAM_CREDENTIAL_RECORD", "UNREGISTER_BROKER_RECORD"
"""Of what is compared: each begins and ends in its own way."""

_OWN = frozenset({"topicId", "brokerEpoch", "cordonedLogDirs", "directories", "logDirs"})
"""Each has its own ids and epochs: only whether there are any is compared, and how many."""


async def credential(ask: Asker, name: str, mechanism: int, iterations: int = 4096) -> None:
    upsertion = ScramCredentialUpsertion(
        name=name, mechanism=mechanism, iterations=iterations, salt=b"salt of it", salted_password=b"s" * 32
    )
    await ask.quietly(AlterUserScramCredentialsRequest(deletions=(), upsertions=(upsertion,)))


async def change(ask: Asker, kind: int, name: str, key: str, value: str | None) -> None:
    config = some.AlterableConfig(name=key, config_operation=DELETE if value is None else SET, value=value)
    resource = some.AlterConfigsResource(resource_type=kind, resource_name=name, configs=(config,))
    answer = await ask.quietly(some.IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False))
    assert answer.responses[0].error_code == ErrorCode.NONE, answer
    await ask.settle()


async def wait_for(ask: Asker, code: ErrorCode) -> None:
    """Until a topic can be created, or no longer: the controller hears of cordons from the broker."""
    topic = CreatableTopic(name="later", num_partitions=1, replication_factor=1, assignments=(), configs=())
    while True:
        answer = await ask.quietly(CreateTopicsRequest(topics=(topic,), validate_only=True))
        if answer.topics[0].error_code == code:
            return


async def story(side: Side) -> None:
    ask = Asker(side, Level.HIGHEST)
    try:
        await credential(ask, "ann", 1)
        await credential(ask, "bob", 2, 8192)
        await credential(ask, "ann", 2)
        gone = ScramCredentialDeletion(name="ann", mechanism=1)
        await ask.quietly(AlterUserScramCredentialsRequest(deletions=(gone,), upsertions=()))
        topic = await ask.create("orders", 2)
        await change(ask, TOPIC, topic, "retention.ms", "5000")
        await change(ask, BROKER, "", "log.retention.ms", "6000")
        await change(ask, BROKER, "1", "log.retention.ms", "7000")
        await change(ask, BROKER, "1", "log.retention.ms", "7000")
        await change(ask, BROKER, "1", "log.retention.ms", None)
        await change(ask, GROUP, "readers", "consumer.session.timeout.ms", "50000")
        await change(ask, CLIENT_METRICS, "some", "interval.ms", "5000")
        await change(ask, BROKER, "1", "cordoned.log.dirs", "*")
        await wait_for(ask, ErrorCode.INVALID_REPLICATION_FACTOR)
        await change(ask, BROKER, "1", "cordoned.log.dirs", None)
        await wait_for(ask, ErrorCode.NONE)
        answer = await ask.quietly(UnregisterBrokerRequest(broker_id=1))
        assert answer.error_code == ErrorCode.NONE
    finally:
        await ask.close()


def records(lines: list[str]) -> Iterator[tuple[str, Any]]:
    """Those between the first and the last of the story, in order; no-ops are Kafka's own."""
    began = False
    for line in lines:
        _, found, payload = line.partition(" payload: ")
        if not found:
            continue
        record = json.loads(payload)
        began = began or record["type"] == FIRST
        if began and record["type"] != "NO_OP_RECORD":
            yield record["type"], without_own(record["data"])
        if record["type"] == LAST:
            return


def without_own(data: Any) -> Any:
    if isinstance(data, dict):
        return {
            name: (len(value) if isinstance(value, list) else "own") if name in _OWN else without_own(value)
            for name, value in data.items()
        }
    return [without_own(each) for each in data] if isinstance(data, list) else data


@pytest.mark.slow
def test_kafka_leaves_the_same_records(
    kafka: ApacheKafka, tmp_path: Path, dump_with_odradek: Callable[..., Any]
) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    theirs.mkdir()
    with kafka.new_broker(theirs, SETTINGS) as running:
        asyncio.run(story(Side("Kafka", running.port, settles_late=True)))
        os.kill(running.pid, signal.SIGKILL)  # one that is not registered waits in vain to be let go
    with running_broker(SETTINGS, directory=ours) as broker:
        asyncio.run(story(Side("odradek", broker.port, settles_late=False)))
    found = [
        list(records(dump_with_odradek([path / METADATA], "--cluster-metadata-decoder").out))
        for path in (theirs / "data", ours)
    ]
    assert len(found[0]) > 15
    assert found[0] == found[1]
