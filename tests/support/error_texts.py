"""The errors that people and scripts meet most often, each with the words that they look for in its text.

Texts are each broker's own. The words in them are Apache Kafka's: "already exists", "does not exist", names, limits.
Errors of APIs whose answers have no text are not here: their clients say something of their own by the code.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from odradek.model.error_code import ErrorCode as E
from support.refused import (
    APPEND,
    BROKER,
    CLIENT_METRICS,
    DAY_MS,
    GROUP,
    LOGGER,
    NOBODYS_ID,
    TOPIC,
    Ask,
    assigned,
    batch,
    beating,
    changing,
    created_again,
    created_beside,
    created_too_often,
    creating,
    creating_one,
    crediting,
    deleting,
    describing,
    describing_consumer_group,
    describing_group,
    describing_producers,
    describing_users,
    discrediting,
    electing,
    growing,
    growing_nobody,
    new,
    numbered,
    producing,
    producing_to_nobody,
    reassigning,
    transacting,
    unregistering,
    updating,
)
from support.same_answers import Asker, Level, Side

_LIMIT_S = 300


class Question(NamedTuple):
    ask: Ask
    code: E
    words: str
    """In this order in the text; where something else stands between them, there are three dots."""


class Answered(NamedTuple):
    code: int
    text: str | None


def answered(question: Question, side: Side) -> Answered:
    """What a broker says."""

    async def play() -> Answered:
        asker = Asker(side, Level.HIGHEST)
        try:
            async with asyncio.timeout(_LIMIT_S):
                refusal = await question.ask(asker)
        finally:
            await asker.close()
        return Answered(refusal.error_code, refusal.error_message)

    return asyncio.run(play())


def has(text: str, words: str) -> bool:
    at = 0
    for part in words.split(" ... "):
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


_ASKED: Mapping[E, Sequence[tuple[Ask, str]]] = {
    E.TOPIC_ALREADY_EXISTS: [
        (created_again, "Topic 'there-highest' already exists"),
    ],
    E.INVALID_REQUEST: [
        (creating(new("a"), new("a")), "Duplicate topic name"),
        (assigned(1, partitions=1), "partition assignment ... numPartitions ... -1"),
        (assigned(1, replicas=1), "partition assignment ... replication factor ... -1"),
        (creating_one("__cluster_metadata"), "internal topic __cluster_metadata ... prohibited"),
        (deleting(None), "Neither topic name nor id"),
        (deleting("a", NOBODYS_ID), "both topic name and topic id"),
        (deleting(None, NOBODYS_ID, 2), "Duplicate topic id"),
        (changing(TOPIC, "changed", "retention.ms", None), "Null value not supported for ... : retention.ms"),
        (changing(TOPIC, "", "retention.ms", "5"), "Default topic resources are not allowed"),
        (changing(99, "x", "retention.ms", "5"), "Unknown resource type 99"),
        (changing(BROKER, "1", "log.retention.ms", "soon"), "Invalid value soon for configuration log.retention.ms"),
        (
            changing(BROKER, "1", "log.retention.hours", "5"),
            "Cannot update these configs dynamically: [log.retention.hours]",
        ),
        (
            changing(BROKER, "1", "num.io.threads", "100"),
            "thread count update ... num.io.threads=100 ... not ... greater than double the current value 8",
        ),
        (
            changing(BROKER, "1", "ssl.keystore.location", "x"),
            "configs can be dynamically updated only ... listener prefix: [ssl.keystore.location]",
        ),
        (changing(BROKER, "7", "log.retention.ms", "5"), "expected 1 ... but received 7"),
        (changing(BROKER, "x", "log.retention.ms", "5"), "Node id must be an integer, but it is: x"),
        (changing(CLIENT_METRICS, "m", "no.such", "5"), "Unknown client metrics configuration: no.such"),
        (
            changing(CLIENT_METRICS, "m", "interval.ms", "5"),
            "Invalid value 5 for interval.ms ... must be between 100 and 3600000",
        ),
        (describing(BROKER, "7"), "expected 1 ... but received 7"),
        (electing("elected", 2), "Unknown election type 2"),
        (beating(member_epoch=0, rebalance_timeout_ms=-1), "RebalanceTimeoutMs must be provided"),
        (beating(member_epoch=1, group_id=""), "GroupId can't be empty"),
    ],
    E.INVALID_PARTITIONS: [
        (creating_one("new", 0), "Number of partitions ... non-positive"),
        (growing(3), "opic ... already has 3 partition(s)"),
        (growing(2), "The topic grown currently has 3 partition(s) ... 2 would not be an increase"),
    ],
    E.POLICY_VIOLATION: [
        (creating_one("new", 10_001), "number of partitions per request"),
    ],
    E.INVALID_REPLICATION_FACTOR: [
        (creating_one("new", 1, 0), "Replication factor must be larger than 0, or -1"),
        (
            creating_one("new", 1, 2),
            "2 time(s) ... replication factor of 2 cannot be reached ... only 1 broker(s) are registered",
        ),
    ],
    E.INVALID_REPLICA_ASSIGNMENT: [
        (assigned(), "partition assignment ... an empty replica list"),
        (assigned(7), "partition assignment ... broker 7 ... no such broker is registered"),
        (assigned(1, 1), "partition assignment ... the broker 1 more than once"),
        (assigned(1, first=1), "consecutive 0-based integer sequence"),
        (growing(4, (1,), (1,)), "1 additional partition(s) ... 2 assignment(s) were specified"),
        (reassigning("reassigned", (2,)), "partition assignment ... broker 2 ... no such broker is registered"),
    ],
    E.INVALID_TOPIC_EXCEPTION: [
        (creating_one(""), "Topic name is invalid ... the empty string is not allowed"),
        (creating_one(".."), "Topic name is invalid ... '..' is not allowed"),
        (creating_one("x" * 250), "Topic name is invalid ... longer than the max allowed length 249"),
        (
            creating_one("a b"),
            "Topic name is invalid ... 'a b' contains ... characters other than ASCII alphanumerics, '.', '_' and '-'",
        ),
        (created_beside, "Topic 'with_dot-highest' collides with existing topic ... with.dot-highest"),
        (describing(TOPIC, ".."), "Topic name is invalid ... '..' is not allowed"),
    ],
    E.INVALID_CONFIG: [
        (creating_one(no_such="1"), "Unknown topic config name: no.such"),
        (
            creating_one(retention_ms="soon"),
            "Invalid value soon for configuration retention.ms ... number of type LONG",
        ),
        (
            creating_one(max_message_bytes="99999999999"),
            "Invalid value 99999999999 for configuration max.message.bytes ... number of type INT",
        ),
        (
            creating_one(min_cleanable_dirty_ratio="x"),
            "Invalid value x for configuration min.cleanable.dirty.ratio ... number of type DOUBLE",
        ),
        (
            creating_one(segment_bytes="1"),
            "Invalid value 1 for configuration segment.bytes ... must be at least 1048576",
        ),
        (
            creating_one(min_cleanable_dirty_ratio="2.0"),
            "Invalid value 2.0 for configuration min.cleanable.dirty.ratio ... must be no more than 1",
        ),
        (
            creating_one(preallocate="perhaps"),
            "Invalid value perhaps for configuration preallocate ... either true or false",
        ),
        (
            creating_one(cleanup_policy="shred"),
            "Invalid value shred for configuration cleanup.policy ... must be one of: compact, delete",
        ),
        (creating_one(retention_ms=None), "Null value not supported for ... retention.ms"),
        (
            creating_one(min_compaction_lag_ms="10", max_compaction_lag_ms="5"),
            "min.compaction.lag.ms (10) > max.compaction.lag.ms (5)",
        ),
        (creating_one(remote_storage_enable="true"), "Tiered Storage functionality is disabled"),
        (changing(TOPIC, "changed", "no.such", "1"), "Unknown topic config name: no.such"),
        (
            changing(TOPIC, "changed", "retention.ms", "-7"),
            "Invalid value -7 for configuration retention.ms ... must be at least -1",
        ),
        (
            changing(TOPIC, "changed", "retention.ms", "5", APPEND),
            "Can't APPEND to key retention.ms ... its type is not LIST",
        ),
        (changing(LOGGER, "1", "no.such", "INFO"), "Logger no.such does not exist"),
        (changing(LOGGER, "1", "root", "LOUD"), "log level of root ... LOUD ... Valid log levels are ... FATAL"),
        (changing(GROUP, "g", "no.such", "5"), "Unknown group config name: no.such"),
        (
            changing(GROUP, "g", "consumer.session.timeout.ms", "9999999"),
            "consumer.session.timeout.ms must be less than or equal to group.consumer.max.session.timeout.ms",
        ),
        (changing(CLIENT_METRICS, "m", "match", "no_such=5"), "Illegal client matching pattern: no_such=5"),
    ],
    E.THROTTLING_QUOTA_EXCEEDED: [
        (created_too_often, "quota has been exceeded"),
    ],
    E.UNKNOWN_TOPIC_OR_PARTITION: [
        (growing_nobody, "server does not host this topic-partition"),
        (deleting("nobody"), "server does not host this topic-partition"),
        (changing(TOPIC, "nobody", "retention.ms", "5"), "The topic 'nobody' does not exist"),
        (electing("nobody"), "topic ... nobody"),
        (reassigning("nobody", (1,)), "topic ... nobody"),
        (producing(batch("a"), index=9), "server does not host this topic-partition"),
        (describing_producers, "server does not host this topic-partition"),
    ],
    E.UNKNOWN_TOPIC_ID: [
        (deleting(None, NOBODYS_ID), "This server does not host this topic ID"),
        (producing_to_nobody, "This server does not host this topic ID"),
    ],
    E.ELECTION_NOT_NEEDED: [
        (electing("elected"), "Leader election not needed for topic partition"),
    ],
    E.NO_REASSIGNMENT_IN_PROGRESS: [
        (reassigning("reassigned", None), "No partition reassignment is in progress"),
    ],
    E.BROKER_ID_NOT_REGISTERED: [
        (unregistering, "Broker ID 7 is not currently registered"),
    ],
    E.INVALID_UPDATE_VERSION: [
        (updating("no.such", 1), "Invalid update version 1 for feature no.such ... does not support this feature"),
        (
            updating("metadata.version", 99),
            "Invalid update version 99 for feature metadata.version ... only supports versions 7-30",
        ),
        (
            updating("group.version", 0),
            "Invalid update version 0 for feature group.version ... downgrade ... upgrade type ... safe ... unsafe",
        ),
    ],
    E.UNACCEPTABLE_CREDENTIAL: [
        (crediting("ann", iterations=4095), "Too few iterations"),
        (crediting("ann", iterations=16385), "Too many iterations"),
        (crediting(""), "Username must not be empty"),
    ],
    E.UNSUPPORTED_SASL_MECHANISM: [
        (crediting("ann", mechanism=3), "Unknown SCRAM mechanism"),
    ],
    E.DUPLICATE_RESOURCE: [
        (crediting("ann", "ann"), "user credential cannot be altered twice ... request"),
        (describing_users("ann", "ann"), "SCRAM credentials ... the same user ... twice ... request: ann"),
    ],
    E.RESOURCE_NOT_FOUND: [
        (discrediting, "credential ... does not exist"),
        (describing_users("nobody"), "credential ... does not exist: nobody"),
    ],
    E.INVALID_REQUIRED_ACKS: [
        (producing(batch("a"), acks=2), "invalid value for required acks"),
    ],
    E.MESSAGE_TOO_LARGE: [
        (
            producing(batch("x" * 500), max_message_bytes="200"),
            "message ... larger than the max message size the server will accept",
        ),
    ],
    E.INVALID_TIMESTAMP: [
        (
            producing(batch("a", days=-2), message_timestamp_before_max_ms=str(DAY_MS)),
            "rejected due to invalid timestamp",
        ),
        (producing(batch("a", days=2)), "rejected due to invalid timestamp"),
    ],
    E.INVALID_RECORD: [
        (
            producing(batch("a", key=None), cleanup_policy="compact"),
            "Compacted topic cannot accept message without key",
        ),
    ],
    E.OUT_OF_ORDER_SEQUENCE_NUMBER: [
        (producing(numbered(0, 0), numbered(0, 5)), "out of order sequence number"),
    ],
    E.INVALID_PRODUCER_EPOCH: [
        (producing(numbered(1, 0), numbered(0, 0)), "attempted to produce with an old epoch"),
    ],
    E.INVALID_TXN_STATE: [
        (transacting(9), "was not added to the transaction"),
    ],
    E.TRANSACTION_ABORTABLE: [
        (transacting(11), "transaction ... abort"),
    ],
    E.INVALID_PRODUCER_ID_MAPPING: [
        (transacting(12, producer_id=1000), "producer id ... not currently assigned to its transactional id"),
    ],
    E.GROUP_ID_NOT_FOUND: [
        (describing_group, "Group nobody not found"),
        (describing_consumer_group, "Group nobody not found"),
    ],
    E.UNKNOWN_MEMBER_ID: [
        (beating(member_epoch=1), "Member new is not a member of group beating-highest"),
        (beating(member_epoch=1, instance_id="two"), "Instance id two is unknown"),
    ],
    E.FENCED_MEMBER_EPOCH: [
        (
            beating(member_id="there", member_epoch=1000, instance_id="one"),
            "greater member epoch (1000) than the one known ... must abandon all its partitions and rejoin",
        ),
    ],
    E.UNRELEASED_INSTANCE_ID: [
        (
            beating(member_epoch=0, instance_id="one"),
            "Static member new with instance id one cannot join the group ... the instance id is owned by",
        ),
    ],
    E.FENCED_INSTANCE_ID: [
        (
            beating(member_epoch=1, instance_id="one"),
            "Static member new with instance id one was fenced by member there",
        ),
    ],
    E.UNSUPPORTED_ASSIGNOR: [
        (
            beating(member_epoch=0, server_assignor="sticky"),
            "ServerAssignor sticky is not supported ... uniform ... range",
        ),
    ],
    E.INVALID_REGULAR_EXPRESSION: [
        (
            beating(member_epoch=0, subscribed_topic_regex="("),
            "SubscribedTopicRegex `(` is not a valid regular expression",
        ),
    ],
}


QUESTIONS = tuple(Question(ask, code, words) for code, asked in _ASKED.items() for ask, words in asked)
