import pytest

from odradek.model.error_code import ErrorCode


def test_codes_are_those_of_kafka_without_a_gap() -> None:
    assert [code.value for code in ErrorCode] == list(range(-1, 134))


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (-1, "UNKNOWN_SERVER_ERROR"),
        (0, "NONE"),
        (1, "OFFSET_OUT_OF_RANGE"),
        (2, "CORRUPT_MESSAGE"),
        (6, "NOT_LEADER_OR_FOLLOWER"),
        (25, "UNKNOWN_MEMBER_ID"),
        (35, "UNSUPPORTED_VERSION"),
        (45, "OUT_OF_ORDER_SEQUENCE_NUMBER"),
        (56, "KAFKA_STORAGE_ERROR"),
        (76, "UNSUPPORTED_COMPRESSION_TYPE"),
        (87, "INVALID_RECORD"),
        (90, "PRODUCER_FENCED"),
        (100, "UNKNOWN_TOPIC_ID"),
        (110, "FENCED_MEMBER_EPOCH"),
        (120, "TRANSACTION_ABORTABLE"),
        (133, "SHARE_SESSION_LIMIT_REACHED"),
    ],
)
def test_a_client_finds_the_number_that_it_acts_on(number: int, name: str) -> None:
    assert ErrorCode[name] == number
