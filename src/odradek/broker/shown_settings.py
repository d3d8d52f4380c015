"""A setting as clients are shown it: its value, where that comes from, and nothing of what is secret."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from odradek.broker.settings import Origin, Settings, Source
from odradek.metadata.image import Image, ResourceType
from odradek.model.broker_config import BROKER_KEYS
from odradek.model.broker_config.names import key_of
from odradek.model.settings import Key, attribute_of
from odradek.model.topic_config import TOPIC_KEYS


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
    def source(self) -> Source:
        return self.origins[0].source if self.origins else Source.DEFAULT


def of_topic(settings: Settings, image: Image, own: Mapping[str, str]) -> Iterator[Shown]:
    """All settings of a topic for which `own` is set."""
    config = settings.of_topic(image, own)
    for name, key in TOPIC_KEYS.items():
        if key.internal and name not in own:
            continue
        text = key.format(getattr(config, attribute_of(name)))
        below = settings.origins(image, key.synonyms[0].name) if key.synonyms else ()
        above = (Origin(name, own[name], Source.TOPIC),) if name in own else ()
        yield Shown(name, key, text, (*above, *below))


def of_all_brokers(image: Image) -> Iterator[Shown]:
    """What was set for all of them while they run."""
    for name, text in sorted(image.configs.of(ResourceType.BROKER, "").items()):
        origins = (Origin(name, text, Source.DYNAMIC_ALL_BROKERS),)
        yield Shown(name, key_of(name, BROKER_KEYS), text, origins, _is_fixed(name))


def of_this_broker(settings: Settings, image: Image) -> Iterator[Shown]:
    config, given = settings.now(image), settings.texts(image)
    shown = {name for name, key in BROKER_KEYS.items() if not key.internal}
    for name in sorted(shown | given.keys()):
        key = BROKER_KEYS.get(name)
        text = key.format(getattr(config, attribute_of(name))) if key else given[name]
        yield Shown(name, key or key_of(name, BROKER_KEYS), text, settings.origins(image, name), _is_fixed(name))


def _is_fixed(name: str) -> bool:
    """Whether it is read at the start and stays. What only a plugin knows cannot be changed either."""
    key = key_of(name, BROKER_KEYS)
    return key is None or key.live is None
