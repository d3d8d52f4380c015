"""Who a node is, what it does in the cluster, and how much of it runs at once."""

from dataclasses import dataclass

from odradek.model.broker_config.rules import refuse_nothing
from odradek.model.settings import LONG_MAX, Key, Kind, Live, setting


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class NodeSettings:
    """Part of BrokerConfig."""

    node_id: int = setting(
        Key("node.id", Kind.INT, -1, "The number of this node, unique in the cluster.", least=0, required=True)
    )
    broker_id: int = setting(
        Key("broker.id", Kind.INT, -1, "The older name of node.id; if both are given, they must agree.")
    )
    process_roles: tuple[str, ...] = setting(
        Key(
            "process.roles",
            Kind.LIST,
            (),
            "What this node is: a broker, a controller, or both.",
            valid=("broker", "controller"),
            refuses=refuse_nothing,
            required=True,
        )
    )
    broker_rack: str | None = setting(
        Key(
            "broker.rack",
            Kind.STRING,
            None,
            "The rack or zone that the broker stands in, so that replicas can be spread over several.",
        )
    )
    broker_heartbeat_interval_ms: int = setting(
        Key(
            "broker.heartbeat.interval.ms",
            Kind.INT,
            2000,
            "The time from one heartbeat of the broker to the active controller to the next.",
        )
    )
    broker_session_timeout_ms: int = setting(
        Key("broker.session.timeout.ms", Kind.INT, 9000, "A broker whose heartbeats stay away for this long is fenced.")
    )
    initial_broker_registration_timeout_ms: int = setting(
        Key(
            "initial.broker.registration.timeout.ms",
            Kind.INT,
            60_000,
            "How long a broker tries to register with the controller before it gives up and ends.",
        )
    )
    controlled_shutdown_enable: bool = setting(
        Key(
            "controlled.shutdown.enable",
            Kind.BOOLEAN,
            True,
            "Whether a broker hands its partitions to other leaders before it stops.",
        )
    )
    server_max_startup_time_ms: int = setting(
        Key(
            "server.max.startup.time.ms",
            Kind.LONG,
            LONG_MAX,
            "A start that takes longer than this ends the process.",
            least=0,
            internal=True,
        )
    )
    num_io_threads: int = setting(
        Key(
            "num.io.threads",
            Kind.INT,
            8,
            "Threads that work on requests, disk included.",
            least=1,
            live=Live.CLUSTER_WIDE,
        )
    )
    background_threads: int = setting(
        Key(
            "background.threads",
            Kind.INT,
            10,
            "Threads for chores that no client waits for.",
            least=1,
            live=Live.CLUSTER_WIDE,
        )
    )
    request_timeout_ms: int = setting(
        Key("request.timeout.ms", Kind.INT, 30_000, "How long a request from this node to another may take.")
    )
    early_start_listeners: tuple[str, ...] | None = setting(
        Key(
            "early.start.listeners",
            Kind.LIST,
            None,
            "Listeners that open before the broker has caught up with the metadata; without a value, those of the "
            "controller.",
            distinct=True,
        )
    )
    auto_create_topics_enable: bool = setting(
        Key(
            "auto.create.topics.enable",
            Kind.BOOLEAN,
            True,
            "Whether a topic that a client asks for by name is created when it does not exist.",
        )
    )
    delete_topic_enable: bool = setting(
        Key("delete.topic.enable", Kind.BOOLEAN, True, "Whether requests to delete topics are granted.")
    )
    create_topic_policy_class_name: str | None = setting(
        Key("create.topic.policy.class.name", Kind.CLASS, None, "A class that may refuse the creation of a topic.")
    )
    alter_config_policy_class_name: str | None = setting(
        Key("alter.config.policy.class.name", Kind.CLASS, None, "A class that may refuse a change of settings.")
    )
    config_providers: tuple[str, ...] = setting(
        Key(
            "config.providers",
            Kind.LIST,
            (),
            "Names of providers that settings can refer to for values kept elsewhere, such as secrets.",
            distinct=True,
            live=Live.CLUSTER_WIDE,
        )
    )
    kafka_metrics_polling_interval_secs: int = setting(
        Key(
            "kafka.metrics.polling.interval.secs",
            Kind.INT,
            10,
            "The time between two rounds of the reporters in kafka.metrics.reporters.",
            least=1,
        )
    )
    kafka_metrics_reporters: tuple[str, ...] = setting(
        Key(
            "kafka.metrics.reporters",
            Kind.LIST,
            (),
            "Classes that report the metrics of the older kind.",
            distinct=True,
        )
    )
    metric_reporters: tuple[str, ...] = setting(
        Key(
            "metric.reporters",
            Kind.LIST,
            ("org.apache.kafka.common.metrics.JmxReporter",),
            "Classes that are told of every metric.",
            distinct=True,
            live=Live.CLUSTER_WIDE,
        )
    )
    metrics_num_samples: int = setting(
        Key("metrics.num.samples", Kind.INT, 2, "How many windows a rate is averaged over.", least=1)
    )
    metrics_recording_level: str = setting(
        Key("metrics.recording.level", Kind.STRING, "INFO", "How much is measured: INFO, DEBUG or TRACE.")
    )
    metrics_sample_window_ms: int = setting(
        Key("metrics.sample.window.ms", Kind.LONG, 30_000, "The length of one window of a rate.", least=1)
    )
    telemetry_max_bytes: int = setting(
        Key(
            "telemetry.max.bytes",
            Kind.INT,
            1_048_576,
            "The largest batch of their own metrics that clients may push.",
            least=1,
        )
    )
    unstable_api_versions_enable: bool = setting(
        Key(
            "unstable.api.versions.enable",
            Kind.BOOLEAN,
            False,
            "Whether versions of requests that are still being worked on are served.",
            internal=True,
        )
    )
    unstable_feature_versions_enable: bool = setting(
        Key(
            "unstable.feature.versions.enable",
            Kind.BOOLEAN,
            False,
            "Whether versions of features that are still being worked on may be chosen.",
            internal=True,
        )
    )
