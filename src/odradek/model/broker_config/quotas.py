"""The windows over which quotas are measured."""

from dataclasses import dataclass

from odradek.model.settings import LONG_MAX, Key, Kind, Live, setting


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class QuotaSettings:
    """Part of BrokerConfig."""

    alter_log_dirs_replication_quota_window_num: int = setting(
        Key(
            "alter.log.dirs.replication.quota.window.num",
            Kind.INT,
            11,
            "How many windows the quota on moves between log directories looks at.",
            least=1,
        )
    )
    alter_log_dirs_replication_quota_window_size_seconds: int = setting(
        Key(
            "alter.log.dirs.replication.quota.window.size.seconds",
            Kind.INT,
            1,
            "The length of one window of the quota on moves between log directories.",
            least=1,
        )
    )
    client_quota_callback_class: str | None = setting(
        Key("client.quota.callback.class", Kind.CLASS, None, "A class that decides on the quotas of clients.")
    )
    controller_quota_window_num: int = setting(
        Key(
            "controller.quota.window.num",
            Kind.INT,
            11,
            "How many windows the quota on changes of topics looks at.",
            least=1,
        )
    )
    controller_quota_window_size_seconds: int = setting(
        Key(
            "controller.quota.window.size.seconds",
            Kind.INT,
            1,
            "The length of one window of the quota on changes of topics.",
            least=1,
        )
    )
    quota_window_num: int = setting(
        Key("quota.window.num", Kind.INT, 11, "How many windows the quotas of clients look at.", least=1)
    )
    quota_window_size_seconds: int = setting(
        Key("quota.window.size.seconds", Kind.INT, 1, "The length of one window of the quotas of clients.", least=1)
    )
    replication_quota_window_num: int = setting(
        Key(
            "replication.quota.window.num",
            Kind.INT,
            11,
            "How many windows the quotas of replication look at.",
            least=1,
        )
    )
    replication_quota_window_size_seconds: int = setting(
        Key(
            "replication.quota.window.size.seconds",
            Kind.INT,
            1,
            "The length of one window of the quotas of replication.",
            least=1,
        )
    )


THROTTLES: dict[str, Key[int]] = {
    key.name: key
    for key in (
        Key(
            "follower.replication.throttled.rate",
            Kind.LONG,
            LONG_MAX,
            "Bytes a second that the broker may fetch for replicas that a topic throttles.",
            least=0,
            live=Live.CLUSTER_WIDE,
        ),
        Key(
            "leader.replication.throttled.rate",
            Kind.LONG,
            LONG_MAX,
            "Bytes a second that the broker may send for replicas that a topic throttles.",
            least=0,
            live=Live.CLUSTER_WIDE,
        ),
        Key(
            "replica.alter.log.dirs.io.max.bytes.per.second",
            Kind.LONG,
            LONG_MAX,
            "Bytes a second for moves between log directories.",
            least=0,
            live=Live.CLUSTER_WIDE,
        ),
    )
}
"""Settings of a broker that are no part of its file: they are made while it runs, and only then."""
