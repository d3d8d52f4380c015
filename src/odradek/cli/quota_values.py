"""Values of quotas as people write them: 10MB/s, 50%, 5/s."""

import argparse
import re
from math import isfinite

BYTE_RATES = ("producer_byte_rate", "consumer_byte_rate")
PERCENTAGES = ("request_percentage",)
RATES = ("controller_mutation_rate", "connection_creation_rate")
NAMES = (*BYTE_RATES, *PERCENTAGES, *RATES)

_BYTES = {
    unit: factor**power
    for prefixes, factor in ((("B", "kB", "MB", "GB", "TB"), 1000), (("B", "KiB", "MiB", "GiB", "TiB"), 1024))
    for power, unit in enumerate(prefixes)
}
_UNITS = {name.lower(): size for name, size in _BYTES.items()}
_VALUE = re.compile(r"(?P<number>[-+]?[\d_.]+(?:e[-+]?\d+)?)\s*(?P<unit>[a-z]*)(?P<per>/s|%)?", re.IGNORECASE)
_EXACT = 10
"""A value is shown in a unit of which it is a whole number of tenths."""

VALUE_HELP = "a number, with a unit where it fits: 10MB/s or 10MiB/s for bytes, 50% for request_percentage, 5/s"


def quota(text: str) -> tuple[str, float]:
    """`name=value`, for argparse. What a name and its range may be is left to the broker."""
    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} must be NAME=VALUE")
    return name, _parse(name, value.strip())


def _parse(name: str, text: str) -> float:
    match = _VALUE.fullmatch(text)
    unit = match["unit"].lower() if match else ""
    if match is None or not _fits(name, unit, match["per"]):
        raise argparse.ArgumentTypeError(f"{name}: {text!r} must be {VALUE_HELP}")
    try:
        number: float = float(match["number"]) * _UNITS.get(unit, 1)
    except ValueError:
        number = float("inf")
    if not isfinite(number):
        raise argparse.ArgumentTypeError(f"{name}: {text!r} is no number")
    return number


def _fits(name: str, unit: str, per: str | None) -> bool:
    if per == "%":
        return name in PERCENTAGES and not unit
    if name in BYTE_RATES:
        return not unit or unit in _UNITS
    return not unit and (per is None or name in RATES)


def shown(name: str, value: float) -> str:
    """So that it can be read by people, and given to `quota` again without a loss."""
    if name in PERCENTAGES:
        return f"{_number(value)}%"
    if name in RATES:
        return f"{_number(value)}/s"
    if name not in BYTE_RATES:
        return _number(value)
    units = sorted(_BYTES, key=lambda unit: _BYTES[unit], reverse=True)
    unit = next((each for each in units if value >= _BYTES[each] and value * _EXACT % _BYTES[each] == 0), "B")
    return f"{_number(value / _BYTES[unit])} {unit}/s"


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)
