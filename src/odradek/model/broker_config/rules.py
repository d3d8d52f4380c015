"""Rules for single settings that limits and lists of valid values cannot express."""

from collections.abc import Callable, Iterable

from odradek.model.address import parse_address
from odradek.model.broker_config.addresses import (
    parse_counts,
    parse_listener,
    parse_protocols,
    parse_voter,
)
from odradek.model.errors import InvalidConfig

_ASSIGNOR_CLASSES = "org.apache.kafka.coordinator.group.assignor."
_ASSIGNORS = {
    "uniform": "uniform",
    "range": "range",
    f"{_ASSIGNOR_CLASSES}UniformAssignor": "uniform",
    f"{_ASSIGNOR_CLASSES}RangeAssignor": "range",
}


def refuse_nothing(value: str | tuple[str, ...] | None) -> str | None:
    return None if value else "must not be empty"


def refuse_listeners(entries: tuple[str, ...] | None) -> str | None:
    return refuse_nothing(entries) or _first_complaint(parse_listener, entries or ())


def refuse_addresses(entries: tuple[str, ...]) -> str | None:
    return _first_complaint(parse_address, entries)


def refuse_voters(entries: tuple[str, ...]) -> str | None:
    complaint = _first_complaint(parse_voter, entries)
    if complaint:
        return complaint
    ids = [parse_voter(entry).node_id for entry in entries]
    return "a node comes twice" if len(set(ids)) < len(ids) else None


def refuse_protocols(text: str) -> str | None:
    return _first_complaint(parse_protocols, (text,))


def refuse_codec(number: int) -> str | None:
    return None if 0 <= number <= 4 else "must be 0 (none), 1 (gzip), 2 (snappy), 3 (lz4) or 4 (zstd)"


def refuse_without_classic(protocols: tuple[str, ...]) -> str | None:
    return None if "classic" in protocols else "must have classic"


def refuse_assignors(names: tuple[str, ...]) -> str | None:
    unknown = [name for name in names if assignor_of(name) is None]
    return refuse_nothing(names) or (f"{unknown[0]!r} is not one of uniform and range" if unknown else None)


def assignor_of(name: str) -> str | None:
    """Its own name, where it may be given by the class that it is in Apache Kafka; None for others than the two."""
    return _ASSIGNORS.get(name)


def refuse_counts(text: str) -> str | None:
    return _first_complaint(parse_counts, (text,))


def _first_complaint(parse: Callable[[str], object], texts: Iterable[str]) -> str | None:
    for text in texts:
        try:
            parse(text)
        except InvalidConfig as error:
            return str(error)
    return None
