"""Metrics of clients: which of them are wanted of whom, how often, and whether what a client sends is in order.

Nobody here takes what clients send, as in a Kafka whose metric reporters take none: it is looked at and forgotten.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from crc32c import crc32c

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.client import Client
from odradek.controller.errors import InvalidRequest
from odradek.metadata.image import Configs, ResourceType
from odradek.metadata.uuids import METADATA_TOPIC_ID, is_reserved, to_text
from odradek.model.client_metrics_config import ClientMetricsConfig
from odradek.model.clock import Clock
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError, CorruptBatch, InvalidConfig, ThrottlingQuotaExceeded, UnsupportedCodec
from odradek.records.batch import Codec
from odradek.records.compression import decompress
from odradek.wire.messages.push_telemetry import PushTelemetryRequest
from odradek.wire.schema import NO_UUID

ALL_METRICS = "*"
INSTANCES_MAX = 16_384
INFLATED_MAX = 16 << 20
_FORGET_MS = 60_000
"""At least, and three times the interval in which a client is to send: then it is a new one."""
_LONGEST_INTERVAL_MS = ClientMetricsConfig().interval_ms


class UnknownSubscription(BrokerError):
    code = ErrorCode.UNKNOWN_SUBSCRIPTION_ID


class TelemetryTooLarge(BrokerError):
    code = ErrorCode.TELEMETRY_TOO_LARGE


class UnreadableMetrics(BrokerError):
    code = ErrorCode.INVALID_RECORD


class MetricsSubscription(NamedTuple):
    metrics: tuple[str, ...]
    """Beginnings of their names, or `*` alone."""
    interval_ms: int


@dataclass(slots=True)
class Instance:
    """A client that asks what is wanted of it, or sends it."""

    wanted: MetricsSubscription
    subscription_id: int
    version: int
    """Of the subscriptions that it was made for."""
    traits: Mapping[str, str | None]
    asked_ms: int = 0
    pushed_ms: int = 0
    used_ms: int = 0
    has_ended: bool = False
    last_error: ErrorCode = ErrorCode.NONE

    def may_ask(self, now_ms: int) -> bool:
        """Once in an interval, or when it was told that it has it wrong."""
        if now_ms - max(self.asked_ms, self.pushed_ms) >= self.wanted.interval_ms:
            self.asked_ms = now_ms
            return True
        return self.last_error in (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)

    def may_push(self, now_ms: int) -> bool:
        """Once in an interval, and whenever it has just asked: clients do not all begin at the same moment."""
        may = self.asked_ms > self.pushed_ms or now_ms - self.pushed_ms >= self.wanted.interval_ms
        if may:
            self.pushed_ms = now_ms
        return may


class Telemetry:
    def __init__(self, broker: Broker, clock: Clock, new_uuid: Callable[[], bytes], bytes_max: int) -> None:
        """`bytes_max` is how much a client may send at a time."""
        self._broker = broker
        self._clock = clock
        self._new_uuid = new_uuid
        self.bytes_max = bytes_max
        self._instances: OrderedDict[bytes, Instance] = OrderedDict()
        """Those that were not heard of for longest first; beyond INSTANCES_MAX these are forgotten."""
        self._last_of: dict[Client, bytes] = {}
        self._seen: Configs | None = None
        self._texts: dict[str, Mapping[str, str]] = {}
        self._version = 0

    def ask(self, call: Call, instance_id: bytes) -> tuple[bytes, Instance]:
        """What is wanted of a client; it gets an id if it has none. Raises ThrottlingQuotaExceeded."""
        if instance_id == NO_UUID:
            while is_reserved(instance_id := self._new_uuid()) or instance_id in self._instances:
                pass
        instance = self._instance(call, instance_id)
        if not instance.may_ask(self._clock.now_ms()):
            raise ThrottlingQuotaExceeded("asked again before the interval is over")
        instance.last_error = ErrorCode.NONE
        return instance_id, instance

    def push(self, call: Call, request: PushTelemetryRequest) -> None:
        """Raises a BrokerError for what is not in order, and remembers that of the client."""
        if request.client_instance_id in (NO_UUID, METADATA_TOPIC_ID):
            raise InvalidRequest("an id that no client has")
        instance = self._instance(call, request.client_instance_id)
        try:
            self._check(instance, request)
            instance.last_error = ErrorCode.NONE
        except BrokerError as error:
            instance.last_error = error.code
            raise
        finally:
            instance.has_ended = request.terminating

    def _check(self, instance: Instance, request: PushTelemetryRequest) -> None:
        if instance.has_ended:
            raise InvalidRequest("the client said that it ends, and goes on")
        if not instance.may_push(self._clock.now_ms()) and not request.terminating:
            raise ThrottlingQuotaExceeded("sent before the interval is over")
        if request.subscription_id != instance.subscription_id:
            raise UnknownSubscription("what is wanted has changed")
        if request.compression_type not in tuple(Codec):
            raise UnsupportedCodec(f"{request.compression_type} is no codec")
        if len(request.metrics) > self.bytes_max:
            raise TelemetryTooLarge(f"{len(request.metrics)} bytes; {self.bytes_max} are taken")
        try:
            if request.metrics:
                decompress(Codec(request.compression_type), memoryview(request.metrics), INFLATED_MAX)
        except CorruptBatch as error:
            raise UnreadableMetrics(str(error)) from None

    # --- who is there

    def _instance(self, call: Call, instance_id: bytes) -> Instance:
        self._update()
        now_ms = self._clock.now_ms()
        found = self._instances.pop(instance_id, None)
        if found is not None and now_ms - found.used_ms > max(_FORGET_MS, 3 * found.wanted.interval_ms):
            found = None
        if found is None or found.version < self._version:
            found = self._made(instance_id, _traits(call, instance_id) if found is None else found.traits)
            if call.client not in self._last_of:
                call.client.connection.when_closed(partial(self._left, call.client))
            self._last_of[call.client] = instance_id
        found.used_ms = now_ms
        self._instances[instance_id] = found
        if len(self._instances) > INSTANCES_MAX:
            self._instances.popitem(last=False)
        return found

    def _made(self, instance_id: bytes, traits: Mapping[str, str | None]) -> Instance:
        wanted = _wanted(self._texts.values(), traits)
        return Instance(wanted, _subscription_id(wanted, instance_id), self._version, traits)

    def _left(self, client: Client) -> None:
        self._instances.pop(self._last_of.pop(client), None)

    def _update(self) -> None:
        """Take notice of subscriptions that were changed."""
        configs = self._broker.image.configs
        if configs is self._seen:
            return
        texts = {
            resource.name: values
            for resource, values in configs.resources.items()
            if resource.type == ResourceType.CLIENT_METRICS
        }
        if texts != self._texts:
            self._texts = texts
            self._version += 1
        self._seen = configs


def _traits(call: Call, instance_id: bytes) -> Mapping[str, str | None]:
    """What subscriptions are matched with."""
    client = call.client
    return {
        "client_instance_id": to_text(instance_id),
        "client_id": call.client_id,
        "client_software_name": client.software_name,
        "client_software_version": client.software_version,
        "client_source_address": client.host,
        "client_source_port": str(client.address.port),
    }


def _wanted(subscriptions: Iterable[Mapping[str, str]], traits: Mapping[str, str | None]) -> MetricsSubscription:
    """Of all subscriptions that match: their metrics together, in the shortest of their intervals."""
    metrics: set[str] = set()
    interval_ms = _LONGEST_INTERVAL_MS
    for texts in subscriptions:
        try:
            config = ClientMetricsConfig.parse(texts)
        except InvalidConfig:
            continue  # set by another node
        if _matches(config.match, traits):
            metrics.update(config.metrics)
            interval_ms = min(interval_ms, config.interval_ms)
    return MetricsSubscription((ALL_METRICS,) if ALL_METRICS in metrics else tuple(sorted(metrics)), interval_ms)


def _matches(patterns: Iterable[str], traits: Mapping[str, str | None]) -> bool:
    """Of two patterns for one trait the last counts."""
    wanted = {name.strip(): pattern.strip() for name, _, pattern in (each.partition("=") for each in patterns)}
    return all((trait := traits[name]) is not None and re.fullmatch(pattern, trait) for name, pattern in wanted.items())


def _subscription_id(wanted: MetricsSubscription, instance_id: bytes) -> int:
    """Changes with what is wanted. Of more than one metric Kafka's is another: it takes them in the order of a hash."""
    text = f"[{', '.join(wanted.metrics)}]{wanted.interval_ms}"
    words = (int.from_bytes(instance_id[at : at + 4], "big") for at in range(0, 16, 4))
    number = crc32c(text.encode())
    for word in words:
        number ^= word
    return number - (1 << 32) if number >= 1 << 31 else number
