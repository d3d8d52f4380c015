"""What a broker itself has to say about a change of brokers' settings: whether it can act on it while it runs."""

from collections.abc import Mapping

from odradek.broker.settings.settings import Settings
from odradek.controller.config_checks import PROVIDERS
from odradek.controller.errors import InvalidRequest
from odradek.metadata.image import ConfigResource, Image, ResourceType
from odradek.model.broker_config import BROKER_KEYS, BrokerConfig, check_live
from odradek.model.broker_config.names import key_of, may_change
from odradek.model.errors import InvalidConfig
from odradek.model.settings import Key, attribute_of

THREADS = (
    "background.threads",
    "log.cleaner.threads",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
    "remote.log.manager.copier.thread.pool.size",
    "remote.log.manager.expiration.thread.pool.size",
    "remote.log.manager.follower.thread.pool.size",
    "remote.log.reader.threads",
)
"""Numbers of threads change by half or double at most at a time, as with Kafka."""

_AT_THE_START = frozenset({"listeners", "listener.security.protocol.map"})
"""What Kafka changes while it runs, and we do not: to take the change and not to act on it would be a lie."""

_PLUGINS = {
    "metric.reporters": frozenset({"org.apache.kafka.common.metrics.JmxReporter"}),
    "principal.builder.class": frozenset({BrokerConfig().principal_builder_class}),
    "ssl.engine.factory.class": frozenset[str](),
}
"""Settings that name classes, with those that can be named: there is no other to load."""

_NOT_TO_NONE = ("max.connections", "max.connection.creation.rate")
"""Settings that a file may have at 0, and that do not become 0 while the broker runs, for it or for a listener: nobody
could connect to change them again."""

_OF_LISTENERS_ALONE = ("ssl.keystore.", "ssl.truststore.", "ssl.key.password")


def check_change(settings: Settings, image: Image, resource: ConfigResource, values: Mapping[str, str | None]) -> None:
    """What is to be set for a broker or for all, None for the default. Raises InvalidRequest."""
    if resource.type != ResourceType.BROKER:
        return
    if resource.name:
        settings.check_this(resource.name)
    try:
        for name, text in values.items():
            if text is not None:
                _check_one(resource, name, text)
        now, after = settings.now(image), settings.after(image, resource, values)
        check_live(after, now)
        _check_threads(now, after)
    except InvalidConfig as error:
        raise InvalidRequest(str(error)) from None


def _check_one(resource: ConfigResource, name: str, text: str) -> None:
    key = key_of(name, BROKER_KEYS)
    if not may_change(name, key, for_all=not resource.name):
        raise InvalidConfig(f"Cannot update these configs dynamically: [{name}]")
    if name.startswith(_OF_LISTENERS_ALONE):
        raise InvalidConfig(f"Such configs can be dynamically updated only with the listener prefix: [{name}]")
    if name in _AT_THE_START:
        raise InvalidConfig(f"Cannot update these configs dynamically yet: [{name}]")
    if key is not None and key.live is not None and key.name != PROVIDERS:
        value = key.parse(text)
        _check_plugins(key, value)
        if key.name in _NOT_TO_NONE and value == 0:
            raise InvalidConfig(f"Invalid {name} 0: nobody could connect any more")


def _check_plugins(key: Key[object], value: object) -> None:
    known = _PLUGINS.get(key.name)
    for name in (value if isinstance(value, tuple) else (value,)) if known is not None else ():
        if name not in (known or ()):
            raise InvalidConfig(f"{key.name} is {name!r}, and there is no such class here")


def _check_threads(now: BrokerConfig, after: BrokerConfig) -> None:
    for name in THREADS:
        current: int = getattr(now, attribute_of(name))
        wanted: int = getattr(after, attribute_of(name))
        if wanted != current and not max(current // 2, 1) <= wanted <= current * 2:
            raise InvalidConfig(
                f"Dynamic thread count update failed for {name}={wanted}: "
                f"it must be at least half and not greater than double the current value {current}"
            )
