"""Every transaction ends: in the records of its coordinator, and in each partition."""

from collections.abc import Iterator

from odradek.coordinators.transactions.state import TransactionState
from odradek.model.errors import BrokerError
from support.sim.node import SimNode
from support.sim.transactions.checkers.stable import StableOffsets
from support.sim.violations import Violation

_OPEN = (TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)


def is_quiet(node: SimNode, stable: StableOffsets) -> bool:
    is_seen = all(log.high_watermark == log.end_offset for log in node.logs)
    return is_seen and not stable.open_transactions() and not any(_open_ids(node))


def check_ended(node: SimNode, stable: StableOffsets) -> None:
    open_ids = list(_open_ids(node))
    if open_ids:
        raise Violation(f"transactions did not end: {', '.join(open_ids)}")
    for place, producers in stable.open_transactions().items():
        raise Violation(f"transactions of producers {producers} did not end in {place}")
    for log in node.logs:
        if log.last_stable_offset != log.end_offset:
            raise Violation(f"{log.partition} is stable up to {log.last_stable_offset} of {log.end_offset}")


def _open_ids(node: SimNode) -> Iterator[str]:
    try:
        for shard in node.coordinators.transactions.shards():
            for each in shard:
                if each.state in _OPEN:
                    yield f"{each.transactional_id} is in state {each.state.label}"
    except BrokerError as error:
        yield str(error)
