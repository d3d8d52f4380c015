"""Where a transactional id stands, and where it may go from there."""

from enum import IntEnum


class TransactionState(IntEnum):
    """By the number that its records have."""

    EMPTY = 0
    """Known, and nothing is open."""
    ONGOING = 1
    PREPARE_COMMIT = 2
    """Decided, which cannot be taken back: the markers are being written."""
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    """Unused for so long that it is forgotten. No record has it: a tombstone says it."""
    PREPARE_EPOCH_FENCE = 7
    """Kafka's way from ONGOING to PREPARE_ABORT when it is the coordinator who aborts. No record has it either: here
    that is one step."""

    @property
    def label(self) -> str:
        """As clients are told."""
        return _LABELS[self]

    @property
    def may_expire(self) -> bool:
        return self in _IDLE


_LABELS = {state: "".join(map(str.capitalize, state.name.split("_"))) for state in TransactionState}
_IDLE = (TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)

BY_LABEL = {label: state for state, label in _LABELS.items()}

_FROM_IDLE = frozenset(
    {TransactionState.EMPTY, TransactionState.ONGOING, TransactionState.PREPARE_ABORT, TransactionState.DEAD}
)
NEXT = {
    TransactionState.EMPTY: _FROM_IDLE,
    TransactionState.ONGOING: frozenset(
        {
            TransactionState.ONGOING,
            TransactionState.PREPARE_COMMIT,
            TransactionState.PREPARE_ABORT,
            TransactionState.PREPARE_EPOCH_FENCE,
        }
    ),
    TransactionState.PREPARE_COMMIT: frozenset({TransactionState.COMPLETE_COMMIT}),
    TransactionState.PREPARE_ABORT: frozenset({TransactionState.COMPLETE_ABORT}),
    TransactionState.COMPLETE_COMMIT: _FROM_IDLE,
    TransactionState.COMPLETE_ABORT: _FROM_IDLE,
    TransactionState.DEAD: frozenset[TransactionState](),
    TransactionState.PREPARE_EPOCH_FENCE: frozenset({TransactionState.PREPARE_ABORT}),
}


class IllegalMove(Exception):
    """A bug: no request leads there."""


def move(now: TransactionState, to: TransactionState) -> TransactionState:
    if to not in NEXT[now]:
        raise IllegalMove(f"from {now.label} to {to.label}")
    return to
