"""Where a node is: a host and a port."""

import re
from typing import NamedTuple

from odradek.model.errors import InvalidConfig

PORT_MAX = 65_535

_ADDRESS = re.compile(r"(?:\[([0-9a-zA-Z%.:]+)\]|([0-9a-zA-Z\-%._:]+)):([0-9]{1,5})")


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"{format_host(self.host)}:{self.port}"


def format_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def parse_address(text: str) -> Address:
    """`host:port`; an IPv6 address may be in brackets."""
    match = _ADDRESS.fullmatch(text)
    if not match:
        raise InvalidConfig(f"{text!r} must be host:port")
    in_brackets, host, port = match.groups()
    return Address(in_brackets or host, parse_port(text, port))


def parse_port(text: str, digits: str) -> int:
    """The port that `digits` are, in an address that is written as `text`."""
    if int(digits) > PORT_MAX:
        raise InvalidConfig(f"{text!r} has a port above {PORT_MAX}")
    return int(digits)
