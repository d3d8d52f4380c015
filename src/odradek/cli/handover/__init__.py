"""Handing a data directory to Apache Kafka: what could be in the way, and the settings that it needs."""
