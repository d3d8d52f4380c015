"""Sockets out: a client of Kafka's protocol."""
