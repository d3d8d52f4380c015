"""Giving away producer ids, a block at a time."""

from typing import NamedTuple

from odradek.controller.brokers import check_epoch
from odradek.controller.errors import PolicyViolation
from odradek.controller.result import ControllerResult
from odradek.metadata.image import Image
from odradek.model.numbers import ProducerId
from odradek.wire.records.metadata import ProducerIdsRecord

BLOCK_SIZE = 1000
_LAST = (1 << 63) - 1


class Block(NamedTuple):
    first: ProducerId
    size: int = BLOCK_SIZE


def allocate(image: Image, broker_id: int, broker_epoch: int) -> ControllerResult[Block]:
    """Ids that nobody else ever gets, were the broker to use none of them."""
    check_epoch(image, broker_id, broker_epoch)
    first = max(image.next_producer_id, 0)
    if first > _LAST - BLOCK_SIZE:
        raise PolicyViolation("all producer ids are given away")
    record = ProducerIdsRecord(broker_id=broker_id, broker_epoch=broker_epoch, next_producer_id=first + BLOCK_SIZE)
    return ControllerResult((record,), Block(ProducerId(first)))
