"""The settings of a group, as Kafka 4.3 has them: names, defaults and limits. Most defaults are those of the broker."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from odradek.model.broker_config import BROKER_KEYS, BrokerConfig
from odradek.model.errors import InvalidConfig
from odradek.model.settings import Key, Kind, Synonym, attribute_of, keys_of, setting

_DURATION = re.compile(
    r"by_duration:\+?P(?=.)(\+?[0-9]+D)?(T(?=.)(\+?[0-9]+H)?(\+?[0-9]+M)?(\+?[0-9]+([.,][0-9]{0,9})?S)?)?",
    re.IGNORECASE,
)
_KINDS = ("consumer", "share", "streams")


def _refuse_reset(text: str) -> str | None:
    if text.lower() in ("earliest", "latest") or _DURATION.fullmatch(text):
        return None
    return "must be earliest, latest or by_duration: with a duration like PT1H"


def _as_broker(name: str, default: int, doc: str, least: int = 1) -> Key[int]:
    """A setting that the broker has too, for groups that do not say otherwise."""
    return Key(name, Kind.INT, default, doc, least=least, synonyms=(Synonym(f"group.{name}"),))


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConfig:
    """The settings of one group, typed. An attribute has the name of its setting, with underscores for the dots."""

    consumer_session_timeout_ms: int = setting(
        _as_broker("consumer.session.timeout.ms", 45_000, "After this time of silence a consumer is out of its group.")
    )
    consumer_heartbeat_interval_ms: int = setting(
        _as_broker("consumer.heartbeat.interval.ms", 5_000, "How often consumers tell that they are there.")
    )
    consumer_assignment_interval_ms: int = setting(
        _as_broker("consumer.assignment.interval.ms", 1_000, "The least time between two assignments.", least=0)
    )
    share_session_timeout_ms: int = setting(
        _as_broker("share.session.timeout.ms", 45_000, "After this time of silence a consumer is out of a share group.")
    )
    share_heartbeat_interval_ms: int = setting(
        _as_broker("share.heartbeat.interval.ms", 5_000, "How often its consumers tell that they are there.")
    )
    share_record_lock_duration_ms: int = setting(
        _as_broker("share.record.lock.duration.ms", 30_000, "How long a record is one consumer's alone.", least=1_000)
    )
    share_delivery_count_limit: int = setting(
        _as_broker("share.delivery.count.limit", 5, "How often a record is delivered before it is given up.", least=2)
    )
    share_partition_max_record_locks: int = setting(
        _as_broker("share.partition.max.record.locks", 2_000, "How many records may be locked at a time.", least=100)
    )
    share_auto_offset_reset: str = setting(
        Key(
            "share.auto.offset.reset",
            Kind.STRING,
            "latest",
            "Where a share group begins: earliest, latest, or by_duration: with a duration, that long ago.",
            refuses=_refuse_reset,
        )
    )
    share_isolation_level: str = setting(
        Key(
            "share.isolation.level",
            Kind.STRING,
            "read_uncommitted",
            "Whether records of transactions are delivered before these are committed.",
            valid=("read_committed", "read_uncommitted"),
        )
    )
    share_renew_acknowledge_enable: bool = setting(
        Key(
            "share.renew.acknowledge.enable",
            Kind.BOOLEAN,
            True,
            "Whether a consumer may keep a record locked for longer.",
        )
    )
    share_assignment_interval_ms: int = setting(
        _as_broker("share.assignment.interval.ms", 1_000, "The least time between two assignments.", least=0)
    )
    streams_session_timeout_ms: int = setting(
        _as_broker("streams.session.timeout.ms", 45_000, "After this time of silence a member is out of its group.")
    )
    streams_heartbeat_interval_ms: int = setting(
        _as_broker("streams.heartbeat.interval.ms", 5_000, "How often members tell that they are there.")
    )
    streams_num_standby_replicas: int = setting(
        _as_broker("streams.num.standby.replicas", 0, "How many members keep a copy of a task's state.", least=0)
    )
    streams_initial_rebalance_delay_ms: int = setting(
        _as_broker("streams.initial.rebalance.delay.ms", 3_000, "How long a new group waits for more members.", least=0)
    )
    streams_assignment_interval_ms: int = setting(
        _as_broker("streams.assignment.interval.ms", 1_000, "The least time between two assignments.", least=0)
    )

    @classmethod
    def parse(cls, texts: Mapping[str, str], broker: BrokerConfig) -> "GroupConfig":
        """Read settings by name; those not given are as the broker has them.

        Raises InvalidConfig for a name that no setting has, a value outside its limits, or values that contradict each
        other. Whether the broker allows them is `check_allowed`.
        """
        values: dict[str, Any] = {
            attribute_of(key.name): getattr(broker, attribute_of(synonym.name))
            for key in GROUP_KEYS.values()
            for synonym in key.synonyms
        }
        for name, text in texts.items():
            if name not in GROUP_KEYS:
                raise InvalidConfig(f"Unknown group config name: {name}")
            values[attribute_of(name)] = GROUP_KEYS[name].parse(text)
        config = replace(cls(), **values)
        for kind in _KINDS:
            session: int = getattr(config, f"{kind}_session_timeout_ms")
            heartbeat: int = getattr(config, f"{kind}_heartbeat_interval_ms")
            if session <= heartbeat:
                raise InvalidConfig(
                    f"{kind}.session.timeout.ms must be greater than {kind}.heartbeat.interval.ms, "
                    f"and is {session}, not more than {heartbeat}"
                )
        return config

    def check_allowed(self, names: Mapping[str, str], broker: BrokerConfig) -> None:
        """Raises InvalidConfig where one of these settings is outside of what the broker lets groups have."""
        for name in names:
            value: Any = getattr(self, attribute_of(name))
            least, most = _limit_name(name, "min"), _limit_name(name, "max")
            if least in BROKER_KEYS and value < getattr(broker, attribute_of(least)):
                raise InvalidConfig(f"{name} must be greater than or equal to {least}, and is {value}")
            if most in BROKER_KEYS and value > getattr(broker, attribute_of(most)):
                raise InvalidConfig(f"{name} must be less than or equal to {most}, and is {value}")


GROUP_KEYS = dict(sorted(keys_of(GroupConfig).items()))
"""The settings of a group by name."""


def _limit_name(name: str, bound: str) -> str:
    """For `consumer.session.timeout.ms`, `group.consumer.max.session.timeout.ms`. Few of them are settings."""
    kind, _, rest = name.partition(".")
    return f"group.{kind}.{bound}.{rest.removeprefix('num.')}"
