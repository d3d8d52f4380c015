"""The settings of topics, as the logs of this node go by them.

A change of one topic's config reaches the logs of its partitions at once. A change of a broker's config counts only if
the defaults of topics change by it. It may then concern thousands of topics: these are updated some at a time.
"""

import asyncio

from odradek.broker.settings.settings import Settings
from odradek.metadata.delta import Delta
from odradek.metadata.image import EMPTY, Image, ResourceType
from odradek.model.clock import Clock
from odradek.model.topic_config import TopicConfig
from odradek.storage.log_dirs import LogDirs

AT_ONCE = 100
"""Topics that are updated before anybody hears of the change. It takes a few milliseconds."""
_TURN_S = 0.002
"""Then the others have theirs."""


class LogSettings:
    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._image = EMPTY
        self._logs: LogDirs | None = None
        self._defaults = settings.topic_defaults(EMPTY)
        self._due: dict[str, None] = {}
        """Topics whose logs are to be updated."""
        self._is_due = asyncio.Event()

    def of_topic(self, topic: str) -> TopicConfig:
        return self._settings.of_named_topic(self._image, topic)

    def follow(self, logs: LogDirs, image: Image) -> None:
        """From now on these are the logs. Before they are loaded, with an image that may be older than the first."""
        self._logs = logs
        self.begin(image)

    def begin(self, image: Image) -> None:
        """The image that logs are loaded with."""
        self._image = image
        self._defaults = self._settings.topic_defaults(image)
        self._update_expiry()

    def change(self, delta: Delta, image: Image) -> None:
        """Called with every committed batch of metadata."""
        self._image = image
        self._update_expiry()
        for resource in delta.configs.changed:
            if resource.type == ResourceType.TOPIC:
                self._due[resource.name] = None
        defaults = self._settings.topic_defaults(image)
        if defaults != self._defaults:
            self._defaults = defaults
            self._due.update((topic.name, None) for topic in image.topics)
        if len(self._due) > AT_ONCE:
            self._is_due.set()
            return
        while self._due:
            self._update_next()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._is_due.wait()
            self._is_due.clear()
            while self._due:
                until = self._clock.monotonic_s() + _TURN_S
                while self._due and self._clock.monotonic_s() < until:
                    self._update_next()
                await asyncio.sleep(0)

    def _update_expiry(self) -> None:
        if self._logs is not None:
            self._logs.producer_expiry_ms = self._settings.now(self._image).producer_id_expiration_ms

    def _update_next(self) -> None:
        name = next(iter(self._due))
        del self._due[name]
        topic = self._image.topics.get(name)
        if topic is not None and self._logs is not None:
            self._logs.update_config(name, topic.partitions)
