"""Partitions that clients create and delete, held to a rate."""

from odradek.broker.quotas.bucket import TokenBucket
from odradek.broker.quotas.limits import Limits, QuotaEntity
from odradek.broker.quotas.rate import NowMs, Windows
from odradek.broker.quotas.sensors import Sensors
from odradek.model.errors import ThrottlingQuotaExceeded


class MutationAccount:
    """What one request takes of its client's quota."""

    def __init__(self, bucket: TokenBucket | None, now_ms: NowMs, *, is_strict: bool) -> None:
        """`bucket` is None for a client without a quota. A strict account is for clients that know the refusal."""
        self._bucket = bucket
        self._now_ms = now_ms
        self._is_strict = is_strict
        self._until_ms = 0

    def charge(self, partitions: int) -> None:
        """Raises ThrottlingQuotaExceeded, and counts nothing, where the account is strict and the quota used up.

        As long as it is not used up a request is served, however many partitions it has.
        """
        bucket = self._bucket
        if bucket is None:
            return
        now_ms = self._now_ms()
        if self._is_strict:
            wait_ms = bucket.wait_ms(now_ms)
            if wait_ms:
                self._until_ms = now_ms + wait_ms
                raise ThrottlingQuotaExceeded(f"The quota has been exceeded: changes are throttled for {wait_ms} ms")
            bucket.take(partitions, now_ms)
        else:
            bucket.take(partitions, now_ms)
            self._until_ms = now_ms + bucket.wait_ms(now_ms)

    def wait_ms(self) -> int:
        """How long the client is to wait from now on."""
        return max(self._until_ms - self._now_ms(), 0) if self._until_ms else 0


class MutationRates:
    """`controller_mutation_rate`."""

    def __init__(self, windows: Windows, now_ms: NowMs) -> None:
        self._now_ms = now_ms
        self._sensors = Sensors(lambda bound: TokenBucket(bound, windows), windows.span_ms)

    def change(self, limits: Limits) -> None:
        self._sensors.change(limits)

    def account(self, client: QuotaEntity, *, is_strict: bool) -> MutationAccount:
        """For one request."""
        sensors = self._sensors
        bucket = sensors.of(client, self._now_ms()) if sensors.is_set else None
        return MutationAccount(bucket, self._now_ms, is_strict=is_strict)
