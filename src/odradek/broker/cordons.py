"""Cordoned log directories, which take no new partitions: passed from the settings to the logs and the controller."""

import os

from odradek.broker.lifecycle import BrokerLifecycle
from odradek.broker.settings.settings import Settings
from odradek.metadata.delta import Delta
from odradek.metadata.image import Image
from odradek.metadata.uuids import from_text
from odradek.process.tasks import Tasks
from odradek.storage.log_dirs import LogDirs


class Cordons:
    def __init__(self, logs: LogDirs, settings: Settings, lifecycle: BrokerLifecycle, tasks: Tasks) -> None:
        self._logs = logs
        self._settings = settings
        self._lifecycle = lifecycle
        self._tasks = tasks

    def begin(self, image: Image) -> None:
        """The heartbeat that unfences the broker tells the controller."""
        paths = set(map(os.path.abspath, self._settings.now(image).cordoned_dirs))
        cordoned = [each for each in self._logs.dirs if os.path.abspath(each.path) in paths] if paths else []
        self._logs.cordoned = frozenset(each.path for each in cordoned)
        metas = (each.meta for each in cordoned)
        self._lifecycle.cordoned = tuple(from_text(meta.directory_id) for meta in metas if meta and meta.directory_id)

    def change(self, delta: Delta, image: Image) -> None:
        """A change is told to the controller at once, not with the next heartbeat."""
        if not delta.configs.changed:
            return
        before = self._lifecycle.cordoned
        self.begin(image)
        if self._lifecycle.cordoned != before:
            self._tasks.create_task(self._lifecycle.report(image.offset), name="cordons")
