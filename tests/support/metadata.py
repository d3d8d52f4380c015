"""A metadata log in tests: who hears of what is committed, and committing without a loop."""

from collections.abc import Sequence

from odradek.metadata.image import Image
from odradek.quorum.metadata_log import MetadataLog
from odradek.quorum.publisher import MetadataPublisher
from odradek.wire.schema import Message


def a_publisher() -> MetadataPublisher:
    """Of a node that ends with the test, should one of its listeners fail."""
    return MetadataPublisher(_raise)


def _raise(failure: str) -> None:
    raise AssertionError(failure)


def commit_now(metadata: MetadataLog, records: Sequence[Message]) -> Image:
    """Append records as one batch, and sync them before this returns."""
    metadata._append(records)
    metadata._sync()
    return metadata.image
