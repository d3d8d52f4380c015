"""Idempotent producers, and the transaction coordinator."""

from dataclasses import dataclass

from odradek.model.settings import Key, Kind, Live, setting


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class TransactionSettings:
    """Part of BrokerConfig."""

    add_partitions_to_txn_retry_backoff_max_ms: int = setting(
        Key(
            "add.partitions.to.txn.retry.backoff.max.ms",
            Kind.INT,
            100,
            "The most time that the broker itself goes on trying to add a partition to a transaction.",
            least=0,
        )
    )
    add_partitions_to_txn_retry_backoff_ms: int = setting(
        Key(
            "add.partitions.to.txn.retry.backoff.ms",
            Kind.INT,
            20,
            "The pause of the broker before it tries again to add a partition to a transaction.",
            least=1,
        )
    )
    producer_id_expiration_check_interval_ms: int = setting(
        Key(
            "producer.id.expiration.check.interval.ms",
            Kind.INT,
            600_000,
            "How often the broker looks for producers that it may forget.",
            least=1,
            internal=True,
        )
    )
    producer_id_expiration_ms: int = setting(
        Key(
            "producer.id.expiration.ms",
            Kind.INT,
            86_400_000,
            "A producer that wrote nothing to a partition for this long is forgotten there.",
            least=1,
            live=Live.CLUSTER_WIDE,
        )
    )
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = setting(
        Key(
            "transaction.abort.timed.out.transaction.cleanup.interval.ms",
            Kind.INT,
            10_000,
            "How often the coordinator looks for transactions that took too long.",
            least=1,
        )
    )
    transaction_max_timeout_ms: int = setting(
        Key(
            "transaction.max.timeout.ms",
            Kind.INT,
            900_000,
            "The longest timeout that a producer may ask for its transactions.",
            least=1,
        )
    )
    transaction_partition_verification_enable: bool = setting(
        Key(
            "transaction.partition.verification.enable",
            Kind.BOOLEAN,
            True,
            "Whether a leader asks the coordinator if a partition is in the transaction before it takes the first "
            "write.",
            live=Live.CLUSTER_WIDE,
        )
    )
    transaction_remove_expired_transaction_cleanup_interval_ms: int = setting(
        Key(
            "transaction.remove.expired.transaction.cleanup.interval.ms",
            Kind.INT,
            3_600_000,
            "How often the coordinator looks for transactional ids that are due to go.",
            least=1,
        )
    )
    transaction_state_log_load_buffer_size: int = setting(
        Key(
            "transaction.state.log.load.buffer.size",
            Kind.INT,
            5_242_880,
            "How much is read at a time when transactions are loaded.",
            least=1,
        )
    )
    transaction_state_log_min_isr: int = setting(
        Key(
            "transaction.state.log.min.isr",
            Kind.INT,
            2,
            "The min.insync.replicas of the topic of transactions.",
            least=1,
        )
    )
    transaction_state_log_num_partitions: int = setting(
        Key(
            "transaction.state.log.num.partitions",
            Kind.INT,
            50,
            "How many partitions the topic of transactions has; never to be changed later.",
            least=1,
        )
    )
    transaction_state_log_replication_factor: int = setting(
        Key(
            "transaction.state.log.replication.factor",
            Kind.SHORT,
            3,
            "How many replicas the topic of transactions has.",
            least=1,
        )
    )
    transaction_state_log_segment_bytes: int = setting(
        Key(
            "transaction.state.log.segment.bytes",
            Kind.INT,
            104_857_600,
            "The segment size of the topic of transactions.",
            least=1,
        )
    )
    transaction_two_phase_commit_enable: bool = setting(
        Key(
            "transaction.two.phase.commit.enable",
            Kind.BOOLEAN,
            False,
            "Whether producers may leave the end of a transaction to a coordinator outside, without a timeout.",
        )
    )
    transactional_id_expiration_ms: int = setting(
        Key(
            "transactional.id.expiration.ms",
            Kind.INT,
            604_800_000,
            "A transactional id that is unused for this long is forgotten.",
            least=1,
        )
    )
