"""A node that is not running: its log directories, and what its metadata says."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from odradek.metadata.uuids import from_text
from odradek.model.topic_partition import TopicPartition
from odradek.quorum.opening import PARTITION as METADATA_PARTITION
from odradek.quorum.reading import Metadata
from odradek.storage.meta_properties import MetaProperties
from odradek.storage.verify import LogDirCheck


@dataclass(frozen=True, slots=True)
class Directory:
    path: str
    """Absolute."""
    meta: MetaProperties | None
    is_clean: bool
    is_in_use: bool
    topic_ids: Mapping[TopicPartition, str | None]
    """Of the partitions that are at home here."""
    recovery_points: Mapping[TopicPartition, int]

    @classmethod
    def of(cls, check: LogDirCheck) -> "Directory":
        """Once the check has run."""
        return cls(
            os.path.abspath(check.path),
            check.meta,
            check.is_clean,
            check.is_in_use,
            {partition: extent.topic_id for partition, extent in check.extents.items()},
            check.recovery_points,
        )

    @property
    def has_metadata(self) -> bool:
        return METADATA_PARTITION in self.topic_ids

    @property
    def id(self) -> bytes | None:
        """None where it has none, or one that is no uuid."""
        try:
            return from_text(self.meta.directory_id) if self.meta and self.meta.directory_id else None
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Node:
    directories: Sequence[Directory]
    metadata_directory: Directory
    metadata: Metadata

    @property
    def id(self) -> int:
        assert self.metadata_directory.meta is not None
        return self.metadata_directory.meta.node_id

    @property
    def log_dirs(self) -> list[Directory]:
        """Those that have logs of topics: not one that is there for the metadata alone."""
        broker = self.metadata.image.brokers.get(self.id)
        registered = () if broker is None else broker.directories
        only = self.metadata_directory
        alone = bool(registered) and only.id not in registered and list(only.topic_ids) == [METADATA_PARTITION]
        return [each for each in self.directories if not (alone and each is only)]
