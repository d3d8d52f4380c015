"""The quotas of one broker."""

from odradek.broker.quotas.byte_rates import ByteRates
from odradek.broker.quotas.connections import ConnectionRates
from odradek.broker.quotas.limits import limits_in
from odradek.broker.quotas.mutations import MutationRates
from odradek.broker.quotas.rate import Windows
from odradek.broker.quotas.requests import RequestTimes
from odradek.controller.quotas import (
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
)
from odradek.metadata.delta import Delta
from odradek.metadata.image import Image
from odradek.model.broker_config import BrokerConfig
from odradek.model.clock import Clock


class Quotas:
    def __init__(self, config: BrokerConfig, clock: Clock) -> None:
        monotonic_s = clock.monotonic_s

        def now_ms() -> int:
            return int(monotonic_s() * 1000)

        windows = Windows(config.quota_window_num, config.quota_window_size_seconds * 1000)
        changes = Windows(config.controller_quota_window_num, config.controller_quota_window_size_seconds * 1000)
        self.produced = ByteRates(windows, now_ms)
        self.fetched = ByteRates(windows, now_ms)
        self.requests = RequestTimes(windows, now_ms, monotonic_s)
        self.mutations = MutationRates(changes, now_ms)
        self.connections = ConnectionRates(windows, now_ms)
        """Follows `ConnectionAdmission`, which finds the addresses of hosts."""

    def begin(self, image: Image) -> None:
        """Those of an image are in force from now on."""
        self.produced.change(limits_in(image.quotas, PRODUCER_BYTE_RATE))
        self.fetched.change(limits_in(image.quotas, CONSUMER_BYTE_RATE))
        self.requests.change(limits_in(image.quotas, REQUEST_PERCENTAGE))
        self.mutations.change(limits_in(image.quotas, CONTROLLER_MUTATION_RATE))

    def change(self, delta: Delta, image: Image) -> None:
        if delta.quotas.changed:
            self.begin(image)
