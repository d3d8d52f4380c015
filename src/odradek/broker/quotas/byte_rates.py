"""Bytes that clients produce and fetch, held to a rate."""

from math import floor

from odradek.broker.quotas.limits import Client, Limits
from odradek.broker.quotas.rate import NowMs, Rate, Windows
from odradek.broker.quotas.sensors import Sensors
from odradek.model.settings import INT_MAX


class ByteRates:
    """`producer_byte_rate` or `consumer_byte_rate`."""

    def __init__(self, windows: Windows, now_ms: NowMs) -> None:
        self._least_s = windows.least_ms / 1000
        self._now_ms = now_ms
        self._sensors = Sensors(lambda bound: Rate(bound, windows), windows.span_ms)
        self._known = self._sensors.known
        self.is_set = False
        """Whether anybody has such a quota. To be asked first: it is all that the others pay."""

    def change(self, limits: Limits) -> None:
        self._sensors.change(limits)
        self.is_set = self._sensors.is_set

    def charge(self, client: Client, size: int) -> int:
        """Count some bytes of a client; returns for how many milliseconds it is to wait."""
        # Every request comes here: with as few calls as can be, and no look at the clock for a few bytes.
        try:
            rate = self._known[client.user, client.client_id]
        except KeyError:
            rate = self._sensors.of(client, self._now_ms())
        if rate is None:
            return 0
        uncounted = rate.uncounted + size
        if uncounted < rate.little:
            rate.uncounted = uncounted
            return 0
        rate.uncounted = 0.0
        return rate.charge(uncounted, self._now_ms())

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
