"""A Kafka-compatible event broker in pure Python, on Kafka's own data directory."""

__version__ = "0.1.0"
