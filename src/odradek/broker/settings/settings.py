"""The settings of this broker and their layers: what was set for it alone, for all brokers, in its file, by default.

A layer hides those below it. What was set while brokers run is in the metadata, the rest is known from the start.
"""

import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from enum import IntEnum
from typing import Any, NamedTuple

from odradek.controller.errors import InvalidRequest
from odradek.metadata.image import ConfigResource, Configs, Image, ResourceType
from odradek.model.broker_config import BROKER_KEYS, BrokerConfig, topic_defaults
from odradek.model.errors import InvalidConfig
from odradek.model.group_config import GroupConfig
from odradek.model.settings import attribute_of
from odradek.model.topic_config import TOPIC_KEYS, TopicConfig

logger = logging.getLogger(__name__)

_DEFAULTS: dict[str, str] = {
    name: text
    for name, key in BROKER_KEYS.items()
    if not key.required and (text := key.format(key.default)) is not None
}
_CHAINS: dict[str, tuple[str, ...]] = {
    synonym.name: tuple(each.name for each in key.synonyms) for key in TOPIC_KEYS.values() for synonym in key.synonyms
}
"""Settings that stand in for each other, as milliseconds and hours do: the first that is set counts."""

_NUMBER = re.compile(r"[+-]?[0-9]{1,10}")


class Source(IntEnum):
    """Where a value comes from, numbered as DescribeConfigs numbers it."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_ALL_BROKERS = 3
    STATIC = 4
    DEFAULT = 5
    LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


class Origin(NamedTuple):
    """A text that a setting has in one layer, under its own name or that of one that stands in for it."""

    name: str
    text: str
    source: Source


class Settings:
    def __init__(self, node_id: int, static: BrokerConfig, topics: TopicConfig) -> None:
        """`topics` are the defaults of topics as long as nothing else is set in the metadata."""
        self._node_id = node_id
        self._static = static
        self._given = _with_both_ids(static.given)
        self._topics = topics
        self._seen: Configs | None = None
        self._now = static
        self._topics_now = topics
        self._group_defaults: GroupConfig | None = None
        self._warned: set[tuple[str, str]] = set()
        """Topics and names of their overrides that were reported as ignored."""
        self._groups_now: dict[str, GroupConfig] = {}
        """Of groups for which something is set, as they were asked for."""

    def now(self, image: Image) -> BrokerConfig:
        """What counts: the topmost text of each setting."""
        self._update(image)
        return self._now

    def topic_defaults(self, image: Image) -> TopicConfig:
        """What a topic's settings are where nothing is set for the topic."""
        self._update(image)
        return self._topics_now

    def of_topic(self, image: Image, own: Mapping[str, str]) -> TopicConfig:
        """The settings of a topic with these overrides. Those that `TopicConfig.parse_stored` ignores do not count."""
        return self._parse_stored(image, own)[0]

    def of_named_topic(self, image: Image, topic: str) -> TopicConfig:
        """The settings of a topic, for its logs. Logs one warning for each override that is ignored."""
        config, ignored = self._parse_stored(image, image.configs.of(ResourceType.TOPIC, topic))
        for name, reason in ignored.items():
            if (topic, name) not in self._warned:
                self._warned.add((topic, name))
                logger.warning("ignoring a config of a topic", extra={"topic": topic, "config": name, "reason": reason})
        return config

    def _parse_stored(self, image: Image, own: Mapping[str, str]) -> tuple[TopicConfig, dict[str, str]]:
        defaults = self.topic_defaults(image)
        if not own:
            return defaults, {}
        config, ignored = TopicConfig.parse_stored(own, defaults)
        try:
            config.check()
        except InvalidConfig:
            # Checked when it was set, against the defaults of that time: those that came later do not go with it.
            return TopicConfig.parse_stored(own, self._topics)
        return config, ignored

    def of_group(self, image: Image, group_id: str) -> GroupConfig:
        """The settings of a group, as they count now."""
        self._update(image)
        found = self._groups_now.get(group_id)
        if found is None:
            own = image.configs.of(ResourceType.GROUP, group_id)
            found = self._group_config(own)
            if own:  # else there are as many of them as groups
                self._groups_now[group_id] = found
        return found

    def texts(self, image: Image) -> dict[str, str]:
        """All that is set anywhere, without defaults."""
        return {**self._given, **self._of_all(image), **self._of_this(image)}

    def origins(self, image: Image, name: str) -> tuple[Origin, ...]:
        """The layers in which a setting of the broker has a text, topmost first."""
        found = self.chain(image, name)
        own = next((at for at, origin in enumerate(found) if origin.name == name), len(found))
        return tuple(found[own:])  # what stands above, under another name, does not speak of this one

    def chain(self, image: Image, name: str) -> list[Origin]:
        """The same with those that stand in for it, wherever they stand: the first one counts."""
        layers: tuple[tuple[Source, Mapping[str, str]], ...] = (
            (Source.DYNAMIC_BROKER, self._of_this(image)),
            (Source.DYNAMIC_ALL_BROKERS, self._of_all(image)),
            (Source.STATIC, self._given),
            (Source.DEFAULT, _DEFAULTS),
        )
        names = _CHAINS.get(name, (name,))
        return [Origin(each, texts[each], source) for source, texts in layers for each in names if each in texts]

    def check_this(self, name: str) -> None:
        """Raises InvalidRequest where a resource of this name is not this broker."""
        if not _NUMBER.fullmatch(name):
            raise InvalidRequest(f"Node id must be an integer, but it is: {name[:40]}")
        if int(name) != self._node_id:
            raise InvalidRequest(f"Unexpected node id: expected {self._node_id}, but received {name}")

    def after(self, image: Image, resource: ConfigResource, values: Mapping[str, str | None]) -> BrokerConfig:
        """What would count if these were set for this broker, or for all; None for the default."""
        this, others = dict(self._of_this(image)), dict(self._of_all(image))
        layer = this if resource.name else others
        for name, text in values.items():
            layer.pop(name, None)
            if text is not None:
                layer[name] = text
        return replace(self._static, **_parsed({**others, **this}))

    def _of_this(self, image: Image) -> Mapping[str, str]:
        return image.configs.of(ResourceType.BROKER, str(self._node_id))

    def _of_all(self, image: Image) -> Mapping[str, str]:
        return image.configs.of(ResourceType.BROKER, "")

    def _update(self, image: Image) -> None:
        if image.configs is self._seen:
            return
        changed = {**self._of_all(image), **self._of_this(image)}
        now = _within_bounds(replace(self._static, **_parsed(changed)))
        if now != self._now:
            self._now = now
            self._topics_now = self._defaults()
        self._group_defaults = None
        self._groups_now.clear()
        self._seen = image.configs

    def _group_config(self, own: Mapping[str, str]) -> GroupConfig:
        if self._group_defaults is None:
            self._group_defaults = GroupConfig.parse({}, self._now)
        try:
            return GroupConfig.parse(own, self._now) if own else self._group_defaults
        except InvalidConfig:
            return self._group_defaults  # set by another node, or for defaults that were others then

    def _defaults(self) -> TopicConfig:
        if self._now == self._static:
            return self._topics
        try:
            return topic_defaults(self._now)
        except InvalidConfig:
            return self._topics  # each is valid, but they contradict each other


def _with_both_ids(given: Mapping[str, str]) -> Mapping[str, str]:
    """node.id and broker.id are one: whichever was given, both were."""
    ids = [given[name] for name in ("node.id", "broker.id") if name in given]
    return {**dict.fromkeys(("node.id", "broker.id"), ids[0]), **given} if ids else given


def _parsed(texts: Mapping[str, str]) -> dict[str, Any]:
    """Without those that nobody here knows, or that another node took and we do not."""
    values: dict[str, Any] = {}
    for name, text in texts.items():
        key = BROKER_KEYS.get(name)
        try:
            if key is not None and key.live is not None:
                values[attribute_of(name)] = key.parse(text)
        except InvalidConfig:
            continue
    return values


def _within_bounds(config: BrokerConfig) -> BrokerConfig:
    """What was set may lie outside of what the file allows by now: then the nearest that it allows counts."""
    values: dict[str, Any] = {}
    for kind in ("consumer", "share", "streams"):
        least, value, most = (
            getattr(config, f"group_{kind}_{bound}assignment_interval_ms") for bound in ("min_", "", "max_")
        )
        if not least <= value <= most:
            values[f"group_{kind}_assignment_interval_ms"] = min(max(value, least), most)
    return replace(config, **values) if values else config
