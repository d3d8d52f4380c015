"""Apache Kafka's console producer and consumer with all their properties, on our broker and on Kafka's.

Records are sent one by one to topics of one partition: so they are the same on both.
"""

import time
from collections.abc import Sequence

import pytest

from support.group_tools import differences
from support.script_stage import MOMENTS, ONE_BY_ONE, PATIENT, ScriptStage

Stages = list[ScriptStage]

EVERYTHING = ("timestamp", "partition", "offset", "epoch", "headers", "key", "value")
TOOLS = "org.apache.kafka.tools.consumer"
SERDES = "org.apache.kafka.common.serialization"
LIMIT_S = 120


def properties(option: str, *given: str) -> list[str]:
    return [argument for each in given for argument in (option, each)]


def read(stage: ScriptStage, topic: str, *options: str, records: int) -> None:
    place = ("--topic", topic, "--partition", "0", "--offset", "earliest", "--max-messages", str(records))
    stage.play("kafka-console-consumer", *place, *options, in_order=True, masks=MOMENTS)


def read_everything(stage: ScriptStage, topic: str, records: int) -> None:
    shown = properties("--formatter-property", *(f"print.{name}=true" for name in EVERYTHING))
    read(stage, topic, *shown, records=records)


def made(stage: ScriptStage, topic: str, *configs: str) -> None:
    stage.quietly("kafka-topics", "--create", "--topic", topic, *properties("--config", *configs))


# --- the producer

READINGS: dict[str, tuple[Sequence[str], str, int]] = {
    "lines": ([], "one\n\nthree\nfour", 4),
    "keys": (["parse.key=true"], "a\t1\nb\t2\t3\n\tempty\n", 3),
    "another separator": (["parse.key=true", "key.separator=::"], "a::1\nb::2::3\n", 2),
    "null": (["parse.key=true", "null.marker=NIL"], "NIL\t1\na\tNIL\nNIL\tNIL\n", 3),
    "headers": (["parse.headers=true"], "h1:v1,h2:v2\tone\nh1:v1,h1:v3\ttwo\n", 2),
    "headers and keys": (
        ["parse.headers=true", "parse.key=true", "null.marker=NIL"],
        "h:v,i:NIL\tk\tv\nNIL\tk\tw\n",
        2,
    ),
    "separators of headers": (
        ["parse.headers=true", "headers.delimiter=|", "headers.separator=;", "headers.key.separator=="],
        "a=1;b=2|one\nc=|two\n",
        2,
    ),
}
"""Properties, lines, and how many records they are."""


@pytest.mark.parametrize("reading", READINGS.values(), ids=READINGS)
def test_lines_become_records(scripts: Stages, reading: tuple[Sequence[str], str, int]) -> None:
    given, lines, records = reading

    def case(stage: ScriptStage) -> None:
        made(stage, "lines")
        options = properties("--reader-property", *given)
        stage.play("kafka-console-producer", "--topic", "lines", *ONE_BY_ONE, *options, given=lines)
        read_everything(stage, "lines", records)
        stage.quietly("kafka-topics", "--delete", "--topic", "lines")

    assert differences(case, scripts) == ""


BAD_LINES: dict[str, tuple[Sequence[str], str]] = {
    "no key": (["parse.key=true"], "a\t1\nnokey\nb\t2\n"),
    "no headers": (["parse.headers=true"], "h:v\tone\nnothing\n"),
    "a header without a value": (["parse.headers=true"], "h\tone\n"),
    "same separators": (["parse.key=true", "parse.headers=true", "key.separator=,", "headers.delimiter=,"], "a\n"),
    "the marker is a separator": (["parse.key=true", "null.marker=:", "key.separator=:"], "a:b\n"),
}


@pytest.mark.parametrize("bad", BAD_LINES.values(), ids=BAD_LINES)
def test_lines_that_are_no_records(scripts: Stages, bad: tuple[Sequence[str], str]) -> None:
    given, lines = bad

    def case(stage: ScriptStage) -> None:
        made(stage, "bad-lines")
        for more in ([], ["ignore.error=true"]):
            options = properties("--reader-property", *given, *more)
            stage.play("kafka-console-producer", "--topic", "bad-lines", *ONE_BY_ONE, *options, given=lines)
            stage.play("kafka-get-offsets", "--topic", "bad-lines")
        stage.quietly("kafka-topics", "--delete", "--topic", "bad-lines")

    assert differences(case, scripts) == ""


SENDING: dict[str, Sequence[str]] = {
    **{codec: ["--compression-codec", codec] for codec in ("gzip", "snappy", "lz4", "zstd", "none")},
    "a codec by default": ["--compression-codec"],
    "no such codec": ["--compression-codec", "brotli"],
    **{f"acks {acks}": ["--request-required-acks", acks] for acks in ("0", "1", "-1", "all")},
    "no such acks": ["--request-required-acks", "7"],
    "batches": ["--batch-size", "100", "--timeout", "10", "--max-partition-memory-bytes", "8000"],
    "limits": ["--max-block-ms", "50000", "--max-memory-bytes", "1000000"],
    "retries": ["--message-send-max-retries", "1", "--retry-backoff-ms", "10", "--metadata-expiry-ms", "1000"],
    "sockets": ["--socket-buffer-size", "50000"],
    "a property": ["--command-property", "linger.ms=3", "--command-property", "client.id=console"],
    "no such reader": ["--line-reader", "no.such.Reader"],
}
SENT = 2 * sum(not name.startswith("no such") for name in SENDING)
"""Records of all of them together."""


def test_records_are_sent_in_many_ways(scripts: Stages) -> None:
    def case(stage: ScriptStage) -> None:
        made(stage, "sent")
        for options in SENDING.values():
            stage.play("kafka-console-producer", "--topic", "sent", *PATIENT, *options, given="a\nb\n")
        wait_for_end(stage, "sent", SENT)
        stage.play("kafka-get-offsets", "--topic", "sent")
        config = stage.file("compression.type=lz4\nclient.id=from-file\n")
        of_file = ("--topic", "sent", *PATIENT, "--command-config", config)
        stage.play("kafka-console-producer", *of_file, given="of the file\n")
        reader = stage.file("parse.key=true\nkey.separator=/\n")
        stage.play("kafka-console-producer", "--topic", "sent", *PATIENT, "--reader-config", reader, given="k/v\n")
        stage.play("kafka-get-offsets", "--topic", "sent")
        stage.play("kafka-console-producer", given="a\n")
        stage.quietly("kafka-topics", "--delete", "--topic", "sent")

    assert differences(case, scripts) == ""


def wait_for_end(stage: ScriptStage, topic: str, end: int) -> None:
    """What is sent without an acknowledgement is there some time after the script has ended."""
    deadline = time.monotonic() + LIMIT_S
    while f"{topic}:0:{end}\n" not in (told := stage.quietly("kafka-get-offsets", "--topic", topic)):
        assert time.monotonic() < deadline, f"{topic} on {stage.name} does not come to {end}: {told}"


def test_records_that_are_refused(scripts: Stages) -> None:
    def case(stage: ScriptStage) -> None:
        made(stage, "narrow", "max.message.bytes=200", "cleanup.policy=compact")
        for lines in (f"{'x' * 500}\nshort\n", "without a key\n"):
            stage.play("kafka-console-producer", "--topic", "narrow", *ONE_BY_ONE, given=lines)
        stage.play("kafka-get-offsets", "--topic", "narrow")
        stage.play("kafka-console-producer", "--topic", "bad/name", "--max-block-ms", "50000", *ONE_BY_ONE, given="a\n")
        stage.quietly("kafka-topics", "--delete", "--topic", "narrow")

    assert differences(case, scripts) == ""


# --- the consumer


@pytest.fixture(scope="module")
def shown(scripts: Stages) -> str:
    """A topic with keys, headers and what is null."""
    options = properties("--reader-property", "parse.key=true", "parse.headers=true", "null.marker=NIL")
    lines = "h:v,i:NIL\tk1\tv1\nNIL\tNIL\tv2\nh:w\tk3\tNIL\nNIL\t12345678\t87654321\n"
    for stage in scripts:
        made(stage, "shown")
        stage.quietly("kafka-console-producer", "--topic", "shown", *ONE_BY_ONE, *options, given=lines)
    return "shown"


FORMATS: dict[str, Sequence[str]] = {
    "plain": [],
    **{name: [f"print.{name}=true"] for name in EVERYTHING},
    "delivery": ["print.delivery=true", "print.key=true"],
    "no value": ["print.key=true", "print.value=false"],
    "separators": [
        *("print.key=true", "print.headers=true", "key.separator=|", "headers.separator=;", "line.separator=#\n"),
    ],
    "null": ["print.key=true", "print.headers=true", "null.literal=<null>"],
    "deserializers": [
        *("print.key=true", "print.headers=true", f"key.deserializer={SERDES}.StringDeserializer"),
        *(f"value.deserializer={SERDES}.BytesDeserializer", f"headers.deserializer={SERDES}.StringDeserializer"),
    ],
    "a deserializer with a setting": [
        *("print.key=true", f"key.deserializer={SERDES}.StringDeserializer", "key.deserializer.encoding=UTF-16"),
    ],
    "numbers that are none": [f"value.deserializer={SERDES}.LongDeserializer"],
    "no such deserializer": ["value.deserializer=no.such.Class"],
    "no such property": ["nonsense=1"],
}


@pytest.mark.parametrize("formatting", FORMATS.values(), ids=FORMATS)
def test_records_are_printed(scripts: Stages, shown: str, formatting: Sequence[str]) -> None:
    def case(stage: ScriptStage) -> None:
        read(stage, shown, *properties("--formatter-property", *formatting), records=4)

    assert differences(case, scripts) == ""


FORMATTERS: dict[str, Sequence[str]] = {
    "logging": ["--formatter", f"{TOOLS}.LoggingMessageFormatter"],
    "none": ["--formatter", f"{TOOLS}.NoOpMessageFormatter"],
    "default": ["--formatter", f"{TOOLS}.DefaultMessageFormatter"],
    "no such": ["--formatter", "no.such.Formatter"],
    "offsets": ["--formatter", f"{TOOLS}.OffsetsMessageFormatter"],
    "numbers": ["--value-deserializer", f"{SERDES}.LongDeserializer", "--skip-message-on-error"],
    "key": ["--key-deserializer", f"{SERDES}.StringDeserializer", "--formatter-property", "print.key=true"],
    "committed": ["--isolation-level", "read_committed"],
    "events": ["--enable-systest-events"],
    "a property": ["--command-property", "fetch.max.bytes=1000", "--command-property", "max.poll.records=1"],
}


def test_records_are_read_in_many_ways(scripts: Stages, shown: str) -> None:
    def case(stage: ScriptStage) -> None:
        for options in FORMATTERS.values():
            read(stage, shown, *options, records=4)
        read(stage, shown, "--formatter-config", stage.file("print.key=true\nprint.offset=true\n"), records=4)
        read(stage, shown, "--command-config", stage.file("client.id=from-file\n"), records=4)

    assert differences(case, scripts) == ""


PLACES: dict[str, Sequence[str]] = {
    "an offset": ["--topic", "shown", "--partition", "0", "--offset", "2", "--max-messages", "2"],
    "too far": ["--topic", "shown", "--partition", "0", "--offset", "99", "--timeout-ms", "300"],
    "the end": ["--topic", "shown", "--partition", "0", "--offset", "latest", "--timeout-ms", "300"],
    "in a group": ["--topic", "shown", "--group", "console", "--from-beginning", "--max-messages", "4"],
    "a pattern": ["--include", "show.", "--from-beginning", "--max-messages", "4"],
    "no offset": ["--topic", "shown", "--offset", "2"],
    "a word for an offset": ["--topic", "shown", "--partition", "0", "--offset", "middle"],
    "no such partition": ["--topic", "shown", "--partition", "7", "--offset", "0", "--timeout-ms", "300"],
    "two ways": ["--topic", "shown", "--include", "show.", "--max-messages", "1"],
    "two beginnings": ["--topic", "shown", "--partition", "0", "--offset", "0", "--from-beginning"],
    "a partition in a group": ["--topic", "shown", "--partition", "0", "--group", "console", "--max-messages", "1"],
    "nothing": [],
    "no such isolation": ["--topic", "shown", "--isolation-level", "nonsense"],
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_where_reading_begins(scripts: Stages, shown: str, place: Sequence[str]) -> None:
    assert shown == "shown"

    def case(stage: ScriptStage) -> None:
        stage.play("kafka-console-consumer", *place, in_order=True)

    assert differences(case, scripts) == ""


def test_offsets_of_groups_are_printed(scripts: Stages, shown: str) -> None:
    """What is in the internal topic, of a group that has committed."""

    def printed(stage: ScriptStage, formatter: str) -> set[str]:
        lines: list[str] = []
        for place in stage.quietly("kafka-get-offsets", "--topic", "__consumer_offsets").splitlines()[:-1]:
            _, partition, end = place.split(":")
            if int(end):
                options = ("--partition", partition, "--offset", "earliest", "--max-messages", end)
                more = ("--topic", "__consumer_offsets", "--formatter", f"{TOOLS}.{formatter}")
                lines += stage.quietly("kafka-console-consumer", *more, *options).splitlines()
        return {line.partition('"data"')[0] for line in lines if '"group":"committing"' in line}

    def case(stage: ScriptStage) -> None:
        group = ("--group", "committing", "--from-beginning", "--max-messages", "4")
        stage.quietly("kafka-console-consumer", "--topic", shown, *group)
        for formatter in ("OffsetsMessageFormatter", "GroupMetadataMessageFormatter"):
            told = printed(stage, formatter)
            assert told
            stage.keep("\n".join(told))

    assert differences(case, scripts) == ""
