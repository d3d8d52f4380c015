"""The controllers, their election, and the log of metadata that they keep."""

from dataclasses import dataclass

from odradek.model.broker_config.rules import refuse_addresses, refuse_nothing, refuse_voters
from odradek.model.settings import Key, Kind, setting


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class QuorumSettings:
    """Part of BrokerConfig."""

    controller_listener_names: tuple[str, ...] = setting(
        Key(
            "controller.listener.names",
            Kind.LIST,
            (),
            "The listeners that controllers are reached at, in order of preference.",
            distinct=True,
            refuses=refuse_nothing,
            required=True,
        )
    )
    controller_performance_always_log_threshold_ms: int = setting(
        Key(
            "controller.performance.always.log.threshold.ms",
            Kind.LONG,
            2000,
            "An event that keeps the controller busy for longer is logged by itself.",
            least=0,
            internal=True,
        )
    )
    controller_performance_sample_period_ms: int = setting(
        Key(
            "controller.performance.sample.period.ms",
            Kind.LONG,
            60_000,
            "The time from one report on the speed of the controller to the next.",
            least=100,
            internal=True,
        )
    )
    controller_quorum_append_linger_ms: int = setting(
        Key(
            "controller.quorum.append.linger.ms",
            Kind.INT,
            25,
            "How long the leader of the quorum gathers records before it writes them.",
            least=0,
        )
    )
    controller_quorum_auto_join_enable: bool = setting(
        Key(
            "controller.quorum.auto.join.enable",
            Kind.BOOLEAN,
            False,
            "Whether a controller that is no voter yet adds itself to the voters.",
        )
    )
    controller_quorum_bootstrap_servers: tuple[str, ...] = setting(
        Key(
            "controller.quorum.bootstrap.servers",
            Kind.LIST,
            (),
            "Controllers, as host:port, of whom one is asked who leads the quorum.",
            refuses=refuse_addresses,
        )
    )
    controller_quorum_election_backoff_max_ms: int = setting(
        Key(
            "controller.quorum.election.backoff.max.ms",
            Kind.INT,
            1000,
            "The upper bound of the random wait after an election that nobody won.",
            least=0,
        )
    )
    controller_quorum_election_timeout_ms: int = setting(
        Key(
            "controller.quorum.election.timeout.ms",
            Kind.INT,
            1000,
            "How long a candidate waits for votes before it stands again.",
            least=0,
        )
    )
    controller_quorum_fetch_max_bytes: int = setting(
        Key(
            "controller.quorum.fetch.max.bytes",
            Kind.INT,
            1_048_576,
            "The most that one fetch of the metadata log returns.",
            least=1,
        )
    )
    controller_quorum_fetch_snapshot_max_bytes: int = setting(
        Key(
            "controller.quorum.fetch.snapshot.max.bytes",
            Kind.INT,
            1_048_576,
            "The most that one fetch of a metadata snapshot returns.",
            least=1,
        )
    )
    controller_quorum_fetch_timeout_ms: int = setting(
        Key(
            "controller.quorum.fetch.timeout.ms",
            Kind.INT,
            2000,
            "A voter that cannot fetch from the leader for this long stands for election; a leader that most do "
            "not fetch from steps down.",
            least=0,
        )
    )
    controller_quorum_request_timeout_ms: int = setting(
        Key(
            "controller.quorum.request.timeout.ms",
            Kind.INT,
            2000,
            "How long a request within the quorum may take.",
            least=0,
        )
    )
    controller_quorum_retry_backoff_ms: int = setting(
        Key(
            "controller.quorum.retry.backoff.ms",
            Kind.INT,
            20,
            "The pause before a request within the quorum is tried again.",
            least=0,
        )
    )
    controller_quorum_voters: tuple[str, ...] = setting(
        Key(
            "controller.quorum.voters",
            Kind.LIST,
            (),
            "A fixed set of voters, as id@host:port; without it, the quorum itself keeps the list.",
            refuses=refuse_voters,
        )
    )
    controller_socket_timeout_ms: int = setting(
        Key(
            "controller.socket.timeout.ms",
            Kind.INT,
            30_000,
            "How long a connection between broker and controller waits for an answer.",
        )
    )
    internal_metadata_delete_delay_millis: int = setting(
        Key(
            "internal.metadata.delete.delay.millis",
            Kind.LONG,
            60_000,
            "How long the files of deleted metadata segments and snapshots stay on disk.",
            internal=True,
        )
    )
    internal_metadata_log_segment_bytes: int | None = setting(
        Key(
            "internal.metadata.log.segment.bytes",
            Kind.INT,
            None,
            "Stands in for metadata.log.segment.bytes where a test needs smaller segments.",
            internal=True,
        )
    )
    internal_metadata_max_batch_size_in_bytes: int = setting(
        Key(
            "internal.metadata.max.batch.size.in.bytes",
            Kind.INT,
            8_388_608,
            "The largest batch that is appended to the metadata log.",
            internal=True,
        )
    )
    metadata_log_dir: str | None = setting(
        Key(
            "metadata.log.dir",
            Kind.STRING,
            None,
            "Where the metadata log lives; without a value, in the first log directory.",
        )
    )
    metadata_log_max_record_bytes_between_snapshots: int = setting(
        Key(
            "metadata.log.max.record.bytes.between.snapshots",
            Kind.LONG,
            20_971_520,
            "A snapshot of the metadata is made once this many bytes of records came since the last.",
            least=1,
        )
    )
    metadata_log_max_snapshot_interval_ms: int = setting(
        Key(
            "metadata.log.max.snapshot.interval.ms",
            Kind.LONG,
            3_600_000,
            "A snapshot of the metadata is made when the last is this old and something changed; 0 leaves it to "
            "the size.",
            least=0,
        )
    )
    metadata_log_segment_bytes: int = setting(
        Key(
            "metadata.log.segment.bytes",
            Kind.INT,
            1_073_741_824,
            "The metadata log rolls to a new segment past this size.",
            least=8_388_608,
        )
    )
    metadata_log_segment_ms: int = setting(
        Key(
            "metadata.log.segment.ms",
            Kind.LONG,
            604_800_000,
            "The metadata log rolls to a new segment after this time.",
        )
    )
    metadata_max_idle_interval_ms: int = setting(
        Key(
            "metadata.max.idle.interval.ms",
            Kind.INT,
            500,
            "How often the active controller writes a record that says nothing, which keeps the log moving; 0 for "
            "never.",
            least=0,
        )
    )
    metadata_max_retention_bytes: int = setting(
        Key(
            "metadata.max.retention.bytes",
            Kind.LONG,
            104_857_600,
            "Old snapshots and segments of the metadata log go once all of it is larger than this.",
        )
    )
    metadata_max_retention_ms: int = setting(
        Key(
            "metadata.max.retention.ms",
            Kind.LONG,
            604_800_000,
            "Old snapshots and segments of the metadata log go once they are older than this.",
        )
    )
    unclean_leader_election_interval_ms: int = setting(
        Key(
            "unclean.leader.election.interval.ms",
            Kind.LONG,
            300_000,
            "How often the controller looks for partitions without a leader that an unclean election could help.",
            least=1,
            internal=True,
        )
    )
    leader_imbalance_check_interval_seconds: int = setting(
        Key(
            "leader.imbalance.check.interval.seconds",
            Kind.LONG,
            300,
            "How often the controller looks for partitions that are not led by their preferred replica.",
            least=1,
        )
    )
    auto_leader_rebalance_enable: bool = setting(
        Key(
            "auto.leader.rebalance.enable",
            Kind.BOOLEAN,
            True,
            "Whether the controller gives leadership back to preferred replicas.",
        )
    )
