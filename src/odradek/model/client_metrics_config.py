"""The settings of a subscription to the metrics of clients, as Kafka 4.3 has them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from odradek.model.errors import InvalidConfig
from odradek.model.settings import Key, Kind, attribute_of, keys_of, setting

INTERVAL = "interval.ms"
INTERVAL_MS_LEAST, INTERVAL_MS_MOST = 100, 3_600_000

_MATCHABLE = frozenset(
    {
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    }
)


def _refuse_patterns(patterns: tuple[str, ...]) -> str | None:
    for pattern in patterns:
        name, _, expression = pattern.partition("=")
        if name.strip() not in _MATCHABLE or not expression or "=" in expression:
            return (
                f"Illegal client matching pattern: {pattern} is not one of {', '.join(sorted(_MATCHABLE))} "
                "with = and a regular expression"
            )
        try:
            re.compile(expression.strip())
        except re.error as error:
            return f"Illegal client matching pattern: {pattern}: {error}"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientMetricsConfig:
    """The settings of one subscription, typed. An attribute has the name of its setting, with underscores for dots."""

    metrics: tuple[str, ...] = setting(
        Key("metrics", Kind.LIST, (), "Beginnings of the names of the metrics that clients send.", distinct=True)
    )
    interval_ms: int = setting(Key(INTERVAL, Kind.INT, 300_000, "How often clients send them."))
    match: tuple[str, ...] = setting(
        Key(
            "match",
            Kind.LIST,
            (),
            "Which clients: what they tell of themselves, as name=regular-expression.",
            distinct=True,
            refuses=_refuse_patterns,
        )
    )

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> "ClientMetricsConfig":
        """Raises InvalidConfig for a name that no setting has and for a value that cannot be.

        The limits of the interval are not checked here: they have an error of their own.
        """
        values: dict[str, Any] = {}
        for name, text in texts.items():
            if name not in CLIENT_METRICS_KEYS:
                raise InvalidConfig(f"Unknown client metrics configuration: {name}")
            values[attribute_of(name)] = CLIENT_METRICS_KEYS[name].parse(text)
        return cls(**values)


CLIENT_METRICS_KEYS = dict(sorted(keys_of(ClientMetricsConfig).items()))
"""The settings of a subscription by name."""
