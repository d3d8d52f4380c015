"""Values of quotas: as people write them, and as they are shown."""

import argparse

import pytest

from odradek.cli.quota_values import quota, shown


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("producer_byte_rate=10MB/s", 10_000_000),
        ("producer_byte_rate=10 mb", 10_000_000),
        ("consumer_byte_rate=1.5MiB/s", 1_572_864),
        ("consumer_byte_rate=64KiB", 65_536),
        ("consumer_byte_rate=3GB/s", 3_000_000_000),
        ("producer_byte_rate=1_000_000", 1_000_000),
        ("producer_byte_rate=512/s", 512),
        ("producer_byte_rate=512B/s", 512),
        ("producer_byte_rate=1e6", 1_000_000),
        ("request_percentage=55.5%", 55.5),
        ("request_percentage=200", 200),
        ("controller_mutation_rate=2.5/s", 2.5),
        ("connection_creation_rate = 7", 7),
        ("producer_byte_rate=-1", -1),
        ("of_the_future=3", 3),
    ],
)
def test_values_are_read(text: str, value: float) -> None:
    name, parsed = quota(text)
    assert (name, parsed) == (text.partition("=")[0].strip(), value)


@pytest.mark.parametrize(
    "text",
    [
        "producer_byte_rate",
        "=5",
        "producer_byte_rate=",
        "producer_byte_rate=fast",
        "producer_byte_rate=5%",
        "producer_byte_rate=5 parsecs",
        "producer_byte_rate=1.2.3",
        "producer_byte_rate=nan",
        "producer_byte_rate=inf",
        "producer_byte_rate=1e999",
        "producer_byte_rate=5MB/h",
        "request_percentage=5MB",
        "request_percentage=5/s",
        "controller_mutation_rate=5kB",
        "of_the_future=5MB",
    ],
)
def test_what_is_no_value(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        quota(text)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("producer_byte_rate", 10_000_000.0, "10 MB/s"),
        ("producer_byte_rate", 1_500_000.0, "1.5 MB/s"),
        ("producer_byte_rate", 1_048_576.0, "1 MiB/s"),
        ("producer_byte_rate", 1_048_577.0, "1048577 B/s"),
        ("consumer_byte_rate", 0.5, "0.5 B/s"),
        ("request_percentage", 55.5, "55.5%"),
        ("controller_mutation_rate", 3.0, "3/s"),
        ("of_the_future", 3.0, "3"),
    ],
)
def test_values_are_shown_without_a_loss(name: str, value: float, text: str) -> None:
    assert shown(name, value) == text
    assert quota(f"{name}={text}") == (name, value)
