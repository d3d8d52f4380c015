"""The log on disk, in Apache Kafka's own format: segments, indexes, checkpoints, recovery, retention."""
