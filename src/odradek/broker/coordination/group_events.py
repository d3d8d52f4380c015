"""The lines of the log about groups: rebalances, members that come and go, what expires."""

import logging

from odradek.coordinators.groups.events import Event
from odradek.coordinators.result import Effect

logger = logging.getLogger(__name__)


def log_event(_number: int, effect: Effect) -> None:
    """Performs the effects of groups."""
    assert isinstance(effect, Event)
    logger.info(effect.text, extra=effect.fields)
