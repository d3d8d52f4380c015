"""Connections that clients open, held to rates: those of the broker, of its listeners, and of addresses."""

from collections.abc import Mapping
from typing import NamedTuple

from odradek.broker.quotas.rate import NowMs, Rate, Windows
from odradek.model.settings import INT_MAX


class CreationRates(NamedTuple):
    """max.connection.creation.rate; the largest number is no bound."""

    broker: int = INT_MAX
    listeners: Mapping[str, int] = {}
    protected: str | None = None
    """The listener that brokers talk through, if clients have others: the rate of the broker does not hold for it."""


class ConnectionRates:
    """Listeners ask it about every connection, as soon as anything is set."""

    def __init__(self, windows: Windows, now_ms: NowMs) -> None:
        self._windows = windows
        self._now_ms = now_ms
        self._broker: Rate | None = None
        self._listeners: dict[str, Rate] = {}
        self._protected: str | None = None
        self._bounds: Mapping[str, float] = {}
        """Of addresses."""
        self._default: float | None = None
        """Of each other address."""
        self._addresses: dict[str, Rate] = {}
        self._looked_ms = 0
        self.is_set = False
        """Whether there is any bound."""

    def change_settings(self, rates: CreationRates) -> None:
        """Connections that came so far count against the new bounds, where there were any before."""
        self._protected = rates.protected
        self._broker = self._changed(self._broker, rates.broker)
        changed = {name: self._changed(self._listeners.get(name), bound) for name, bound in rates.listeners.items()}
        self._listeners = {name: rate for name, rate in changed.items() if rate is not None}
        self._update()

    def change_addresses(self, bounds: Mapping[str, float], default: float | None) -> None:
        """Bounds by address, and that of all others. Connections that came so far count against them."""
        self._bounds = bounds
        self._default = default
        for ip, rate in list(self._addresses.items()):
            now = bounds.get(ip, default)
            if now is None:
                del self._addresses[ip]
            else:
                rate.set_bound(now)
        self._update()

    def wait_ms(self, listener: str) -> int:
        """Count a connection; returns how long it waits until it is served, and those behind it until they come."""
        now_ms = self._now_ms()
        return max((self._charge(rate, now_ms) for rate in self._rates_of(listener)), default=0)

    def refuse_ms(self, listener: str, ip: str) -> int:
        """0 for an address that may connect. Any other is closed after this time, and does not count any more."""
        bound = self._bounds.get(ip, self._default)
        if bound is None:
            return 0
        now_ms = self._now_ms()
        rate = self._addresses.get(ip)
        if rate is None:
            self._forget(now_ms)
            rate = self._addresses[ip] = Rate(bound, self._windows)
        refused_ms = self._charge(rate, now_ms)
        if refused_ms:
            for each in (rate, *self._rates_of(listener)):
                each.charge(-1, now_ms)
        return refused_ms

    def _rates_of(self, listener: str) -> list[Rate]:
        broker = None if listener == self._protected else self._broker
        return [rate for rate in (broker, self._listeners.get(listener)) if rate is not None]

    def _charge(self, rate: Rate, now_ms: int) -> int:
        return min(rate.charge(1, now_ms), self._windows.size_ms)

    def _changed(self, rate: Rate | None, bound: int) -> Rate | None:
        if bound == INT_MAX:
            return None
        if rate is None:
            return Rate(bound, self._windows)
        rate.set_bound(bound)
        return rate

    def _forget(self, now_ms: int) -> None:
        """Addresses from which nothing came for so long that they count as new."""
        if now_ms - self._looked_ms >= self._windows.span_ms:
            self._looked_ms = now_ms
            self._addresses = {ip: rate for ip, rate in self._addresses.items() if not rate.is_over(now_ms)}

    def _update(self) -> None:
        self.is_set = bool(self._broker or self._listeners or self._bounds) or self._default is not None
