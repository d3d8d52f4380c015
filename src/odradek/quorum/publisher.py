"""The way of an image through a node: each committed batch is told to an ordered list of listeners.

All listeners have heard of one batch before any hears of the next. A listener may rely on those before it in the list.
"""

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

from odradek.metadata.delta import Delta
from odradek.metadata.image import Image
from odradek.model.errors import BrokerError

logger = logging.getLogger(__name__)


class MetadataNotPublished(BrokerError):
    """The metadata is committed, but this node failed to act on it."""


class MetadataListener(NamedTuple):
    name: str
    change: Callable[[Delta, Image], object]
    """Told of a committed batch: what it changed, and the image after it."""
    begin: Callable[[Image], object] = lambda _: None
    """Told of the first image."""


class MetadataPublisher:
    def __init__(self, failed: Callable[[str], object]) -> None:
        """`failed` is told, once, why this node must end: one of its listeners raised."""
        self._failed = failed
        self._listeners: Sequence[MetadataListener] = ()
        self._failure: str | None = None

    def begin(self, listeners: Sequence[MetadataListener], image: Image) -> None:
        """Publish the first image. Before, nobody is told of anything. Raises what a listener raises."""
        for listener in listeners:
            listener.begin(image)
        self._listeners = tuple(listeners)

    def publish(self, delta: Delta, image: Image) -> None:
        """After a listener has failed, nobody is told of anything any more."""
        if self._failure is not None:
            return
        for listener in self._listeners:
            try:
                listener.change(delta, image)
            except Exception as error:
                # Some listeners know of this batch, and others do not: the node's parts contradict each other.
                self._failure = f"metadata listener {listener.name} failed at offset {image.offset}: {error}"
                logger.exception("a metadata listener failed", extra={"listener": listener.name})
                self._failed(self._failure)
                return

    def check(self) -> None:
        """Raises MetadataNotPublished after a listener has failed."""
        if self._failure is not None:
            raise MetadataNotPublished(self._failure)
