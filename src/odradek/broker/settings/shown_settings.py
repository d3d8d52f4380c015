"""A setting as clients are shown it: its value, where that comes from, and nothing of what is secret."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from odradek.broker.settings.settings import Origin, Settings, Source
from odradek.controller.config_checks import declared
from odradek.metadata.image import Image, ResourceType
from odradek.model.broker_config import BROKER_KEYS
from odradek.model.client_metrics_config import CLIENT_METRICS_KEYS, ClientMetricsConfig
from odradek.model.errors import InvalidConfig
from odradek.model.group_config import GROUP_KEYS, GroupConfig
from odradek.model.settings import Key, attribute_of
from odradek.model.topic_config import TOPIC_KEYS
from odradek.wire.messages.create_topics import CreatableTopicConfigs


@dataclass(frozen=True, slots=True)
class Shown:
    name: str
    key: Key[object] | None
    text: str | None
    origins: tuple[Origin, ...]
    """Topmost first."""
    read_only: bool = False

    @property
    def is_sensitive(self) -> bool:
        """What nobody here knows may be a password too."""
        return self.key is None or self.key.is_sensitive

    @property
    def value(self) -> str | None:
        return None if self.is_sensitive else self.text

    @property
    def documentation(self) -> str | None:
        """Not for what is set for a listener alone."""
        return self.key.doc if self.key is not None and self.key.name == self.name else None

    @property
    def source(self) -> Source:
        return self.origins[0].source if self.origins else Source.DEFAULT


def of_topic(settings: Settings, image: Image, own: Mapping[str, str]) -> Iterator[Shown]:
    """All settings of a topic with these overrides.

    An unknown name comes without a value, as from Kafka. An invalid value does not count, and is not shown.
    """
    known = {name: text for name, text in own.items() if _is_valid(name, text)}
    shown = {name: text for name, text in known.items() if not TOPIC_KEYS[name].internal}
    config = settings.of_topic(image, shown)  # without what would stand in for others
    for name in own.keys() - TOPIC_KEYS.keys():
        yield Shown(name, None, own[name], _set(name, own[name], own, Source.TOPIC))
    for name, key in TOPIC_KEYS.items():
        if key.internal and name not in known:
            continue
        text = known[name] if key.internal else key.format(getattr(config, attribute_of(name)))
        below = settings.origins(image, key.synonyms[0].name) if key.synonyms else ()
        yield Shown(name, key, text, (*_set(name, text, known, Source.TOPIC), *below))


def _is_valid(name: str, text: str) -> bool:
    try:
        TOPIC_KEYS[name].parse(text)
    except (KeyError, InvalidConfig):
        return False
    return True


def of_new_topic(settings: Settings, image: Image, own: Mapping[str, str]) -> Iterator[Shown]:
    """The same in the answer to its creation: texts as they came, and sources under whatever name."""
    for shown in of_topic(settings, image, own):
        key = TOPIC_KEYS[shown.name]
        if shown.name in own:
            yield replace(shown, text=own[shown.name])
        else:
            below = settings.chain(image, key.synonyms[0].name) if key.synonyms else ()
            yield replace(shown, origins=tuple(below))


def of_created_topic(settings: Settings, image: Image, own: Mapping[str, str]) -> tuple[CreatableTopicConfigs, ...]:
    """The same, as the response lists them."""
    return tuple(
        CreatableTopicConfigs(
            name=each.name, value=each.value, read_only=False, config_source=each.source, is_sensitive=False
        )
        for each in of_new_topic(settings, image, own)
    )


def of_group(settings: Settings, image: Image, own: Mapping[str, str]) -> Iterator[Shown]:
    """All settings of a group for which `own` is set."""
    config = GroupConfig.parse(own, settings.now(image))
    for name, key in GROUP_KEYS.items():
        text = key.format(getattr(config, attribute_of(name)))
        below: tuple[Origin, ...] = (Origin(name, key.format(key.default) or "", Source.DEFAULT),)
        if key.synonyms:
            below = settings.origins(image, key.synonyms[0].name)
        yield Shown(name, key, text, (*_set(name, text, own, Source.GROUP), *below))


def of_client_metrics(own: Mapping[str, str]) -> Iterator[Shown]:
    """All settings of a subscription for which `own` is set."""
    config = ClientMetricsConfig.parse(own)
    for name, key in CLIENT_METRICS_KEYS.items():
        text = key.format(getattr(config, attribute_of(name)))
        yield Shown(name, key, text, _set(name, text, own, Source.CLIENT_METRICS))


def _set(name: str, text: str | None, own: Mapping[str, str], source: Source) -> tuple[Origin, ...]:
    return (Origin(name, text or "", source),) if name in own else ()


def of_all_brokers(image: Image) -> Iterator[Shown]:
    """What was set for all of them while they run."""
    for name, text in sorted(image.configs.of(ResourceType.BROKER, "").items()):
        origins = (Origin(name, text, Source.DYNAMIC_ALL_BROKERS),)
        yield Shown(name, declared(ResourceType.BROKER, name), text, origins, _is_fixed(name))


def of_this_broker(settings: Settings, image: Image) -> Iterator[Shown]:
    config, given = settings.now(image), settings.texts(image)
    shown = {name for name, key in BROKER_KEYS.items() if not key.internal}
    for name in sorted(shown | given.keys()):
        key = BROKER_KEYS.get(name)
        text = key.format(getattr(config, attribute_of(name))) if key else given[name]
        known = declared(ResourceType.BROKER, name)
        yield Shown(name, known, text, settings.origins(image, name), _is_fixed(name))


def _is_fixed(name: str) -> bool:
    """As Kafka tells it: what is read at the start, what only a plugin knows, and all that is for a listener alone."""
    key = declared(ResourceType.BROKER, name)
    return key is None or key.live is None or key.name != name
