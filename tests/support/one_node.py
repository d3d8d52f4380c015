"""What a Kafka of one node must be told: its defaults are those of three. odradek takes the same settings."""

from types import MappingProxyType

ONE_REPLICA = MappingProxyType(
    {
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
    }
)
"""Of the topics that brokers keep for themselves."""


def one_node(partitions: int = 1) -> dict[str, str]:
    """With so many partitions of each of those topics: fifty, as by default, take their time to be made."""
    return {
        "node.id": "1",
        **ONE_REPLICA,
        "offsets.topic.num.partitions": str(partitions),
        "transaction.state.log.num.partitions": str(partitions),
    }
