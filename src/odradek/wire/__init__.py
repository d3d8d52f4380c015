"""Kafka's protocol as values and bytes: frames, headers, every message, every stored record. Pure."""
