"""Listeners, voters and other addresses, as settings write them."""

import re
from collections.abc import Iterable, Mapping
from enum import IntEnum
from ipaddress import ip_address
from typing import NamedTuple

from odradek.model.address import Address, format_host, parse_address, parse_port
from odradek.model.errors import InvalidConfig

ANY_HOST = "0.0.0.0"

_LISTENER = re.compile(r"([^:/]+)://(?:\[([0-9a-zA-Z%.:]*)\]|([0-9a-zA-Z\-%._:]*)):([0-9]{1,5})")
_VOTER = re.compile(r"([0-9]{1,10})@(.+)")
_HOST = re.compile(r"[0-9a-zA-Z\-%._:]+")
_COUNT = re.compile(r"-?[0-9]{1,9}")
_NODE_ID_MAX = (1 << 31) - 1


class SecurityProtocol(IntEnum):
    """Numbered as the protocol numbers them."""

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3

    @property
    def has_sasl(self) -> bool:
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)

    @property
    def has_tls(self) -> bool:
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)


class ListenerAddress(NamedTuple):
    """An entry of `listeners` by itself, before its protocol is looked up."""

    name: str
    host: str
    port: int


class Endpoint(NamedTuple):
    """Where a node listens, or is said to listen."""

    name: str
    """In capitals, as Kafka compares them."""
    host: str
    """Empty for all interfaces; advertised, that means the name of the machine."""
    port: int
    """0 leaves the choice to the system."""
    protocol: SecurityProtocol

    def __str__(self) -> str:
        return f"{self.name}://{format_host(self.host)}:{self.port}"


class Voter(NamedTuple):
    node_id: int
    address: Address

    def __str__(self) -> str:
        return f"{self.node_id}@{self.address}"


def parse_listener(text: str) -> ListenerAddress:
    match = _LISTENER.fullmatch(text)
    if not match:
        raise InvalidConfig(f"{text!r} must be NAME://host:port")
    name, in_brackets, host, port = match.groups()
    return ListenerAddress(name.upper(), host if in_brackets is None else in_brackets, parse_port(text, port))


def parse_voter(text: str) -> Voter:
    match = _VOTER.fullmatch(text)
    if not match or int(match[1]) > _NODE_ID_MAX:
        raise InvalidConfig(f"{text!r} must be id@host:port")
    return Voter(int(match[1]), parse_address(match[2]))


def parse_protocols(text: str) -> dict[str, SecurityProtocol]:
    """`NAME:PROTOCOL` pairs. Kafka lets a later pair replace an earlier one; here a name comes once."""
    protocols: dict[str, SecurityProtocol] = {}
    for pair in _pairs(text):
        name, colon, protocol = (part.strip() for part in pair.rpartition(":"))
        if not colon or not name:
            raise InvalidConfig(f"{pair!r} must be NAME:PROTOCOL")
        if protocol.upper() not in SecurityProtocol.__members__:
            raise InvalidConfig(f"{protocol!r} is none of {', '.join(SecurityProtocol.__members__)}")
        if name.upper() in protocols:
            raise InvalidConfig(f"{name!r} comes twice")
        protocols[name.upper()] = SecurityProtocol[protocol.upper()]
    return protocols


def parse_counts(text: str) -> dict[str, int]:
    """`host:count` pairs. Kafka takes counts below 0, too: they allow as much as 0 does."""
    counts = {}
    for pair in _pairs(text):
        host, _, count = (part.strip() for part in pair.rpartition(":"))
        if not _HOST.fullmatch(host) or not _COUNT.fullmatch(count):
            raise InvalidConfig(f"{pair!r} must be host:count")
        counts[host] = int(count)
    return counts


def to_endpoints(texts: Iterable[str], protocols: Mapping[str, SecurityProtocol]) -> tuple[Endpoint, ...]:
    endpoints = []
    for text in texts:
        listener = parse_listener(text)
        if listener.name not in protocols:
            raise InvalidConfig(f"listener {listener.name} has no protocol in listener.security.protocol.map")
        endpoints.append(Endpoint(*listener, protocols[listener.name]))
    return tuple(endpoints)


def port_taken_twice(endpoints: Iterable[Endpoint]) -> int | None:
    """A port that two listeners cannot share: only an IPv4 and an IPv6 address can."""
    by_port: dict[int, list[Endpoint]] = {}
    for endpoint in endpoints:
        if endpoint.port:
            by_port.setdefault(endpoint.port, []).append(endpoint)
    for port, sharing in by_port.items():
        if len(sharing) > 1 and sorted(map(_ip_version, sharing)) != [4, 6]:
            return port
    return None


def _ip_version(endpoint: Endpoint) -> int:
    try:
        return ip_address(endpoint.host).version
    except ValueError:
        return 0


def _pairs(text: str) -> list[str]:
    return [pair.strip() for pair in text.split(",")] if text.strip() else []
