"""The settings that logs go by: storage asks for those of a topic, and its logs are told when they change."""

from odradek.broker.settings import Settings
from odradek.metadata.delta import Delta
from odradek.metadata.image import EMPTY, Image, ResourceType
from odradek.model.topic_config import TopicConfig
from odradek.storage.log_dirs import LogDirs


class LogSettings:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._image = EMPTY
        self._logs: LogDirs | None = None

    def of_topic(self, topic: str) -> TopicConfig:
        return self._settings.of_named_topic(self._image, topic)

    def follow(self, logs: LogDirs, image: Image) -> None:
        """From now on these are the logs. Before they are loaded, with an image that may be older than the first."""
        self._logs = logs
        self.begin(image)

    def begin(self, image: Image) -> None:
        self._image = image
        if self._logs is not None:
            self._logs.producer_expiry_ms = self._settings.now(image).producer_id_expiration_ms

    def change(self, delta: Delta, image: Image) -> None:
        self.begin(image)
        if self._logs is None:
            return
        if any(resource.type == ResourceType.BROKER for resource in delta.configs.changed):
            for topic in image.topics:  # what is set for brokers may be the default of every topic
                self._logs.update_config(topic.name)
            return
        for resource in delta.configs.changed:
            if resource.type == ResourceType.TOPIC:
                self._logs.update_config(resource.name)
