"""What a job stops for, in a line, and whether it is worth another start."""

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException

from odradek.client.errors import NotKafka, Refused, Unreachable
from odradek.model.address import Address
from odradek.model.error_code import ErrorCode
from odradek.pipelines.failures import Failure, failure_of
from odradek.pipelines.judging import NotUtc

WHERE = Address("127.0.0.1", 1)
AROUND = "[STREAM_FAILED] Query [id = 1] ended with exception: Job aborted\n  pyspark.errors.exceptions: {}\n  at java"


@pytest.mark.parametrize(
    "said",
    [
        "odradek.spark.cluster.NoBroker: cannot reach 127.0.0.1:1: refused",
        "odradek.spark.cluster.NoSuchTopic: topic t does not exist",
        "odradek.spark.reading.errors.Unread: t-0 could not be read from offset 1 on",
        "odradek.spark.sink.errors.CannotWrite: cannot write to topic t: UNKNOWN_TOPIC_OR_PARTITION",
        "odradek.spark.sink.errors.Fenced: cannot commit the transaction of x: INVALID_PRODUCER_EPOCH",
        "odradek.client.errors.Refused: t-0 has no leader (LEADER_NOT_AVAILABLE)",
    ],
)
def test_what_may_pass_within_what_spark_says(said: str) -> None:
    error = StreamingQueryException(AROUND.format(said))
    assert failure_of(error) == Failure(said.partition(": ")[2], is_lasting=False)


@pytest.mark.parametrize(
    "said",
    [
        "odradek.spark.given_options.InvalidOption: option x: there is no such option; mend it",
        "odradek.spark.sink.errors.BadReplay: query q, batch 1, task 0: 3 rows were committed",
        "odradek.spark.sink.errors.CannotWrite: cannot write to topic t: TOPIC_AUTHORIZATION_FAILED",
        "odradek.spark.sink.errors.CannotWrite: t-0 refused a batch: too large (MESSAGE_TOO_LARGE)",
        "odradek.client.errors.Refused: GROUP_AUTHORIZATION_FAILED",
    ],
)
def test_what_lasts_within_what_spark_says(said: str) -> None:
    error = AnalysisException(AROUND.format(said))
    assert failure_of(error) == Failure(said.partition(": ")[2], is_lasting=True)


@pytest.mark.parametrize("kind", ["DataLoss", "NoSuchPartition", "TopicReplaced"])
def test_what_is_lost_is_told_with_the_way_to_go_on(kind: str) -> None:
    error = StreamingQueryException(AROUND.format(f"odradek.spark.reading.errors.{kind}: t-0 is gone"))
    assert failure_of(error) == Failure("t-0 is gone (pipeline run: --skip-lost)", is_lasting=True)


def test_what_spark_says_itself() -> None:
    assert failure_of(StreamingQueryException("\n  a worker died\nmore")) == Failure("a worker died", is_lasting=False)
    within = "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: {} SQLSTATE: XXKST"
    failed = StreamingQueryException(within.format("Python worker failed to connect back."))
    assert failure_of(failed) == Failure("Python worker failed to connect back.", is_lasting=False)
    assert failure_of(StreamingQueryException("[CONCURRENT_STREAM_LOG_UPDATE] Multiple jobs")).is_lasting


def test_what_brokers_say() -> None:
    assert failure_of(Unreachable(WHERE, "refused")) == Failure("cannot reach 127.0.0.1:1: refused", is_lasting=False)
    assert failure_of(NotKafka(WHERE, "HTTP")).is_lasting
    assert not failure_of(Refused(ErrorCode.BROKER_NOT_AVAILABLE)).is_lasting
    assert failure_of(Refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)).is_lasting


def test_what_is_refused_here_lasts() -> None:
    assert failure_of(NotUtc("CET")).is_lasting
