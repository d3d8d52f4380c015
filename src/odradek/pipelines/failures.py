"""What a job stops for: a line for people, and whether that may pass by itself."""

import re
from dataclasses import dataclass

from odradek.client.errors import ClientError, NotKafka, NotServed, Refused, TooOld
from odradek.model.error_code import ErrorCode
from odradek.model.errors import OdradekError
from odradek.spark.given_options import InvalidOption
from odradek.spark.offsets import InvalidOffsets
from odradek.spark.reading.errors import CorruptRecords, DataLoss, NoSuchPartition, TopicReplaced, UnfitTimestamp
from odradek.spark.sink.errors import BadMarker, BadReplay, BadRow, BadSchema

_OURS = re.compile(r"\b(odradek(?:\.\w+)+): (.+)")
_CODE = re.compile(r"\b[A-Z]+(?:_[A-Z]+)+\b")
_SPARKS = re.compile(r"\[(CONCURRENT_STREAM_LOG_UPDATE)\]")
"""What Spark says where another process runs the same job on the same checkpoint."""
_AROUND = re.compile(r"\[STREAM_FAILED\] Query \[.*?\] terminated with exception: (.+?)(?: SQLSTATE: \w+)?")

_LOST = (DataLoss, NoSuchPartition, TopicReplaced)
_LASTING = (
    *_LOST,
    *(BadMarker, BadReplay, BadRow, BadSchema, CorruptRecords, InvalidOffsets, InvalidOption, UnfitTimestamp),
    *(NotKafka, NotServed, TooOld),
)
_LASTING_CODES = frozenset(
    {
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.INVALID_TRANSACTION_TIMEOUT,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.POLICY_VIOLATION,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.SASL_AUTHENTICATION_FAILED,
        ErrorCode.SECURITY_DISABLED,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.UNSUPPORTED_VERSION,
    }
)


def _names(kinds: tuple[type[Exception], ...]) -> frozenset[str]:
    return frozenset(f"{kind.__module__}.{kind.__qualname__}" for kind in kinds)


_LOST_NAMES, _LASTING_NAMES = _names(_LOST), _names(_LASTING)
_CODE_NAMES = frozenset(code.name for code in _LASTING_CODES)


@dataclass(frozen=True, slots=True)
class Failure:
    reason: str
    """One line."""
    is_lasting: bool
    """Whether it would be the same at the next start."""


def failure_of(error: Exception) -> Failure:
    """Where an error of ours is within what Spark says, that is what tells what to do: it is all that is kept.

    What brokers or Spark say and is not known to last is taken to pass: that costs a few starts. What this package
    refuses lasts.
    """
    if isinstance(error, Refused):
        return Failure(str(error), error.code in _LASTING_CODES)
    if isinstance(error, OdradekError):
        return Failure(str(error), not isinstance(error, ClientError) or isinstance(error, _LASTING))
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    ours = next((found for line in lines if (found := _OURS.search(line))), None)
    if ours is None:
        reason = lines[0] if lines else type(error).__name__
        within = _AROUND.fullmatch(reason)
        return Failure(reason if within is None else within[1], _SPARKS.search(reason) is not None)
    name, reason = ours.groups()
    if name in _LOST_NAMES:
        reason += " (pipeline run: --skip-lost)"
    is_refused = not _CODE_NAMES.isdisjoint(_CODE.findall(reason))
    return Failure(reason, name in _LASTING_NAMES or is_refused)
