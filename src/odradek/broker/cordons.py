"""Log directories that take no new partitions: what is set of them, as the controller and the logs are told it."""

import os

from odradek.broker.settings import Settings
from odradek.controller import brokers
from odradek.metadata.decision import Decision
from odradek.metadata.image import Image
from odradek.metadata.uuids import from_text
from odradek.quorum.metadata_log import MetadataLog
from odradek.storage.log_dir import LogDir
from odradek.storage.log_dirs import LogDirs


class Cordons:
    def __init__(
        self, metadata: MetadataLog, logs: LogDirs, settings: Settings, node_id: int, broker_epoch: int
    ) -> None:
        self._metadata = metadata
        self._logs = logs
        self._settings = settings
        self._node_id = node_id
        self._broker_epoch = broker_epoch

    def begin(self) -> None:
        """When the node starts, and nobody is served yet."""
        self._metadata.commit_now(self._decide(self._metadata.latest).records)
        self._keep()

    async def follow(self) -> None:
        """When settings were changed: no partition is placed otherwise once this returns."""
        await self._metadata.perform(self._decide)
        self._keep()

    def _keep(self) -> None:
        self._logs.cordoned = frozenset(each.path for each in self._cordoned(self._metadata.image))

    def _decide(self, image: Image) -> Decision[None]:
        if self._node_id not in image.brokers:  # somebody has unregistered it
            return Decision((), None)
        metas = [each.meta for each in self._cordoned(image)]
        ids = [from_text(meta.directory_id) for meta in metas if meta is not None and meta.directory_id is not None]
        return brokers.cordon(image, self._node_id, self._broker_epoch, ids)

    def _cordoned(self, image: Image) -> list[LogDir]:
        paths = set(map(os.path.abspath, self._settings.now(image).cordoned_dirs))
        return [each for each in self._logs.dirs if os.path.abspath(each.path) in paths] if paths else []
