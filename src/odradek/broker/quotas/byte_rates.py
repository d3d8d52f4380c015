"""Bytes that clients produce and fetch, held to a rate."""

from math import floor
from typing import Protocol

from odradek.broker.quotas.limits import Client, Limits
from odradek.broker.quotas.rate import NowMs, Rate, Windows
from odradek.broker.quotas.sensors import Sensors
from odradek.model.settings import INT_MAX


class Meter(Protocol):
    """Where bytes are collected until they are worth counting: a connection."""

    uncounted: int
    counts_at: int
    """As soon as there are so many, they are counted."""
    counted_by: object
    """The limits that this comes from: not with others."""


class ByteRates:
    """`producer_byte_rate` or `consumer_byte_rate`."""

    def __init__(self, windows: Windows, now_ms: NowMs) -> None:
        self._least_s = windows.least_ms / 1000
        self._now_ms = now_ms
        self._sensors = Sensors(lambda bound: Rate(bound, windows), windows.span_ms)
        self.is_set = False
        """Whether anybody has such a quota. To be asked first: it is all that the others pay."""
        self.limits = Limits({})
        """Those that hold now."""

    def change(self, limits: Limits) -> None:
        self.limits = limits
        self._sensors.change(limits)
        self.is_set = self._sensors.is_set

    def charge(self, client: Client, size: int) -> int:
        """Count some bytes of a client; returns for how many milliseconds it is to wait."""
        now_ms = self._now_ms()
        rate = self._sensors.of(client, now_ms)
        return 0 if rate is None else rate.charge(size, now_ms)

    def charge_metered(self, client: Client, meter: Meter) -> int:
        """The same for what was collected, which begins anew: small requests take hardly longer than this."""
        size, meter.uncounted = meter.uncounted, 0
        meter.counted_by = self.limits
        now_ms = self._now_ms()
        rate = self._sensors.of(client, now_ms)
        if rate is None:
            meter.counts_at = INT_MAX
            return 0
        wait_ms = rate.charge(size, now_ms)
        meter.counts_at = min(int(rate.little), INT_MAX)
        return wait_ms

    def take_back(self, client: Client, size: int) -> None:
        """Bytes for which a client was told to wait just now, and that are not sent."""
        now_ms = self._now_ms()
        rate = self._sensors.of(client, now_ms)
        if rate is not None:
            rate.charge(-size, now_ms)

    def most_at_once(self, client: Client) -> int:
        """Of bytes: with more than these a client would wait even if it had had none for long, and never get them."""
        rate = self._sensors.of(client, self._now_ms())
        return INT_MAX if rate is None else min(floor(rate.bound * self._least_s), INT_MAX)
