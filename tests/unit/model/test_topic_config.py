from dataclasses import FrozenInstanceError, fields, replace

import pytest

from odradek.model.errors import InvalidConfig
from odradek.model.settings import LONG_MAX, Kind, attribute_of
from odradek.model.topic_config import TOPIC_KEYS, TopicConfig

KAFKA = """
cleanup.policy list delete
compression.gzip.level int -1
compression.lz4.level int 9
compression.type string producer
compression.zstd.level int 3
delete.retention.ms long 86400000
file.delete.delay.ms long 60000
flush.messages long 9223372036854775807
flush.ms long 9223372036854775807
follower.replication.throttled.replicas list
index.interval.bytes int 4096
internal.segment.bytes int null
leader.replication.throttled.replicas list
local.retention.bytes long -2
local.retention.ms long -2
max.compaction.lag.ms long 9223372036854775807
max.message.bytes int 1048588
message.timestamp.after.max.ms long 3600000
message.timestamp.before.max.ms long 9223372036854775807
message.timestamp.type string CreateTime
min.cleanable.dirty.ratio double 0.5
min.compaction.lag.ms long 0
min.insync.replicas int 1
preallocate boolean false
remote.log.copy.disable boolean false
remote.log.delete.on.disable boolean false
remote.storage.enable boolean false
retention.bytes long -1
retention.ms long 604800000
segment.bytes int 1073741824
segment.index.bytes int 10485760
segment.jitter.ms long 0
segment.ms long 604800000
unclean.leader.election.enable boolean false
"""
"""Name, kind and default of every topic config of Apache Kafka 4.3."""


def test_names_kinds_and_defaults_are_those_of_kafka() -> None:
    ours = []
    for key in TOPIC_KEYS.values():
        text = key.format(key.default)
        ours.append(f"{key.name} {key.kind.name.lower()} {'null' if text is None else text}".rstrip())
    assert ours == KAFKA.strip().splitlines()


def test_every_attribute_is_named_as_its_setting() -> None:
    assert [attribute_of(name) for name in TOPIC_KEYS] == [field.name for field in fields(TopicConfig)]


def test_defaults_are_within_their_own_limits() -> None:
    for key in TOPIC_KEYS.values():
        text = key.format(key.default)
        assert text is None or key.parse(text) == key.default


def test_every_setting_says_what_it_does() -> None:
    assert all(key.doc.endswith(".") for key in TOPIC_KEYS.values())


def test_nothing_given_means_defaults() -> None:
    assert TopicConfig.parse({}) == TopicConfig()
    assert TopicConfig().segment_bytes == 1 << 30
    assert TopicConfig().flush_messages == LONG_MAX


def test_settings_are_read_by_name() -> None:
    config = TopicConfig.parse(
        {
            "segment.bytes": "2097152",
            "cleanup.policy": "compact, delete",
            "preallocate": "true",
            "min.cleanable.dirty.ratio": "0.1",
            "compression.type": "zstd",
            "message.timestamp.type": "LogAppendTime",
            "leader.replication.throttled.replicas": "0:1,1:2",
        }
    )
    assert config.segment_bytes == 2 << 20
    assert config.cleanup_policy == ("compact", "delete")
    assert config.preallocate is True
    assert config.min_cleanable_dirty_ratio == 0.1
    assert config.compression_type == "zstd"
    assert config.message_timestamp_type == "LogAppendTime"
    assert config.leader_replication_throttled_replicas == ("0:1", "1:2")


def test_what_is_not_given_comes_from_the_brokers_defaults() -> None:
    broker = replace(TopicConfig(), retention_ms=1000, segment_ms=500)
    config = TopicConfig.parse({"retention.ms": "-1"}, broker)
    assert (config.retention_ms, config.segment_ms) == (-1, 500)


def test_policies_are_told_apart() -> None:
    assert (TopicConfig().is_compacted, TopicConfig().is_deleted) == (False, True)
    both = TopicConfig.parse({"cleanup.policy": "compact,delete"})
    assert (both.is_compacted, both.is_deleted) == (True, True)
    none = TopicConfig.parse({"cleanup.policy": ""})
    assert (none.is_compacted, none.is_deleted) == (False, False)


def test_internal_segment_bytes_stands_in_for_segment_bytes() -> None:
    config = TopicConfig.parse({"internal.segment.bytes": "100", "segment.bytes": "2097152"})
    assert config.segment_bytes == 100
    assert [key.name for key in TOPIC_KEYS.values() if key.internal] == ["internal.segment.bytes"]


def test_a_test_may_go_below_the_limits_but_nothing_changes_in_place() -> None:
    config = replace(TopicConfig(), segment_bytes=10)
    assert config.segment_bytes == 10
    with pytest.raises(FrozenInstanceError):
        config.segment_bytes = 20  # type: ignore[misc]


def test_synonyms_go_from_the_exact_to_the_coarse() -> None:
    assert [synonym.name for synonym in TOPIC_KEYS["retention.ms"].synonyms] == [
        "log.retention.ms",
        "log.retention.minutes",
        "log.retention.hours",
    ]
    assert [synonym.unit for synonym in TOPIC_KEYS["segment.ms"].synonyms] == [1, 3_600_000]


@pytest.mark.parametrize(
    ("texts", "complaint"),
    [
        ({"segment.byte": "1"}, "Unknown topic config name: segment.byte"),
        (
            {"segment.bytes": "1048575"},
            "Invalid value 1048575 for configuration segment.bytes: must be at least 1048576",
        ),
        ({"cleanup.policy": "shred"}, "'shred' must be one of: compact, delete"),
        ({"compression.gzip.level": "0"}, "must be at least 1"),
        ({"compression.lz4.level": "18"}, "must be no more than 17"),
        ({"compression.zstd.level": "-131073"}, "must be at least -131072"),
        ({"follower.replication.throttled.replicas": "*,0:1"}, "list of partition:broker"),
        ({"follower.replication.throttled.replicas": "0-1"}, "list of partition:broker"),
        ({"min.compaction.lag.ms": "2", "max.compaction.lag.ms": "1"}, "> max.compaction.lag.ms \\(1\\)"),
        ({"remote.storage.enable": "true", "cleanup.policy": "compact"}, "needs a cleanup.policy of delete"),
        (
            {"remote.storage.enable": "true", "retention.ms": "5", "local.retention.ms": "6"},
            "local.retention.ms is 6, which is more than retention.ms, 5",
        ),
        (
            {"remote.storage.enable": "true", "retention.bytes": "5", "local.retention.bytes": "-1"},
            "local.retention.bytes is -1, which is more than retention.bytes, 5",
        ),
        (
            {"remote.storage.enable": "true", "remote.log.copy.disable": "true", "local.retention.ms": "6"},
            "local.retention.ms must be retention.ms: 6 is not 604800000",
        ),
    ],
)
def test_what_kafka_refuses_is_refused(texts: dict[str, str], complaint: str) -> None:
    with pytest.raises(InvalidConfig, match=complaint.replace("*", r"\*")):
        TopicConfig.parse(texts)


@pytest.mark.parametrize(
    "texts",
    [
        {"follower.replication.throttled.replicas": "*"},
        {"local.retention.ms": "6", "retention.ms": "5"},
        {"remote.storage.enable": "true", "local.retention.ms": "-1", "retention.ms": "-1"},
        {"remote.storage.enable": "true", "local.retention.bytes": "5", "retention.bytes": "5"},
        {"remote.storage.enable": "true", "remote.log.copy.disable": "true"},
        {"retention.bytes": "-5"},
    ],
)
def test_what_kafka_takes_is_taken(texts: dict[str, str]) -> None:
    TopicConfig.parse(texts)


def test_kinds_have_the_numbers_of_describe_configs() -> None:
    assert {kind.name: kind.value for kind in Kind} == {
        "BOOLEAN": 1,
        "STRING": 2,
        "INT": 3,
        "SHORT": 4,
        "LONG": 5,
        "DOUBLE": 6,
        "LIST": 7,
        "CLASS": 8,
        "PASSWORD": 9,
    }


def test_stored_overrides_that_do_not_count_are_named() -> None:
    texts = {"message.format.version": "2.8", "retention.ms": "soon", "segment.ms": "5", "internal.segment.bytes": "9"}
    config, ignored = TopicConfig.parse_stored(texts, TopicConfig(retention_ms=7))
    assert (config.retention_ms, config.segment_ms, config.segment_bytes) == (7, 5, 9)
    assert sorted(ignored) == ["message.format.version", "retention.ms"]
    assert "no setting" in ignored["message.format.version"]
    assert "soon" in ignored["retention.ms"]


def test_stored_overrides_that_contradict_each_other_are_kept() -> None:
    config, ignored = TopicConfig.parse_stored({"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "8"})
    assert (config.min_compaction_lag_ms, config.max_compaction_lag_ms, ignored) == (9, 8, {})
    with pytest.raises(InvalidConfig):
        config.check()
