"""Bytes that clients produce and fetch, held to a rate."""

from math import floor
from weakref import WeakSet

from odradek.broker.quotas.limits import Limits, QuotaEntity
from odradek.broker.quotas.rate import NowMs, Rate, Windows
from odradek.broker.quotas.sensors import Sensors
from odradek.model.settings import INT_MAX

_NO_END = 1 << 62
"""What is granted to clients without a quota: more than a connection ever carries."""


class Grant:
    """Bytes that may come on one connection before its client's rate is asked. It begins with none."""

    __slots__ = ("__weakref__", "client_id", "granted", "left")

    def __init__(self) -> None:
        self.granted = 0
        self.left = 0
        """Of the granted bytes. Below zero, what came is counted, and there is a new grant."""
        self.client_id: str | None = None
        """Whose it is. Bytes of any other client id on the connection are counted at once."""


class ByteRates:
    """`producer_byte_rate` or `consumer_byte_rate`."""

    def __init__(self, windows: Windows, now_ms: NowMs) -> None:
        self._least_s = windows.least_ms / 1000
        self._now_ms = now_ms
        self._sensors = Sensors(lambda bound: Rate(bound, windows), windows.span_ms)
        self.is_set = False
        """Whether anybody has such a quota. To be asked first, where there is no grant: it is all that others pay."""
        self._grants: WeakSet[Grant] = WeakSet()
        """Those that hold, to be taken back."""

    def change(self, limits: Limits) -> None:
        self._sensors.change(limits)
        self.is_set = self._sensors.is_set
        for grant in self._grants:
            grant.granted = grant.left = 0
        self._grants.clear()

    def charge(self, client: QuotaEntity, size: int) -> int:
        """Count some bytes of a client; returns for how many milliseconds it is to wait."""
        now_ms = self._now_ms()
        rate = self._sensors.of(client, now_ms)
        return 0 if rate is None else rate.charge(size, now_ms)

    def renew(self, client: QuotaEntity, grant: Grant, size: int) -> int:
        """The same for what has come since the last grant; with it comes another.

        `size` is what came now, and is taken off the grant already. One that another holds is left to him.
        """
        if grant.granted and grant.client_id != client.client_id:
            grant.left += size
            return self.charge(client, size)
        grant.client_id = client.client_id
        now_ms = self._now_ms()
        rate = self._sensors.of(client, now_ms)
        wait_ms, little = 0, _NO_END
        if rate is not None:
            wait_ms = rate.charge(grant.granted - grant.left, now_ms)
            little = min(int(rate.little), _NO_END)
        grant.granted = grant.left = little
        if little:
            self._grants.add(grant)
        return wait_ms

    def take_back(self, client: QuotaEntity, size: int) -> None:
        """Uncount bytes that were counted just now: the client has to wait for them, so they are not sent."""
        now_ms = self._now_ms()
        rate = self._sensors.of(client, now_ms)
        if rate is not None:
            rate.charge(-size, now_ms)

    def most_at_once(self, client: QuotaEntity) -> int:
        """Of bytes: with more than these a client would wait even if it had had none for long, and never get them."""
        rate = self._sensors.of(client, self._now_ms())
        return INT_MAX if rate is None else min(floor(rate.bound * self._least_s), INT_MAX)
