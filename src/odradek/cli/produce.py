"""`odradek produce`: lines in, records out."""

import argparse
import sys
from collections.abc import Iterable, Iterator

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from odradek.cli import librdkafka, reaching, records_in
from odradek.cli.main import EXIT_FAILED, Misused
from odradek.cli.quantities import count
from odradek.cli.records_in import Common, Outgoing
from odradek.cli.streams import complain
from odradek.cli.times import TIME_HELP, parse_time
from odradek.model.errors import OdradekError

_QUEUED_RECORDS = 500_000
_QUEUED_KBYTES = 32 << 10
_ROOM_S = 0.1
_AFTER_INTERRUPT_S = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument("files", metavar="FILE", nargs="*", help="a record a line (default: standard input); - is that")
    parser.add_argument("--value", action="append", metavar="TEXT", help="a record, in place of files; may be repeated")
    parser.add_argument("--json", action="store_true", help="lines are JSON objects: key, value, headers, ...")
    keys = parser.add_mutually_exclusive_group()
    keys.add_argument("--key", metavar="TEXT", help="the key of all records")
    keys.add_argument("--key-separator", metavar="TEXT", help="lines are a key, this text and a value")
    parser.add_argument(
        "--header",
        metavar="NAME=VALUE",
        type=reaching.key_and_value,
        action="append",
        default=[],
        help="of all records; may be repeated",
    )
    parser.add_argument("--partition", metavar="N", type=int, default=records_in.ANY_PARTITION, help="(by key)")
    parser.add_argument("--timestamp", metavar="TIME", type=parse_time, default=records_in.NOW, help=TIME_HELP)
    parser.add_argument("--compression", choices=("none", "gzip", "snappy", "lz4", "zstd"), default="none")
    parser.add_argument("--acks", choices=("0", "1", "all"), default="all", help="who must have a record (all)")
    parser.add_argument("--quiet", action="store_true", help="do not say how many records were acknowledged")
    reaching.add_arguments(parser)
    parser.set_defaults(handler=produce)


def produce(options: argparse.Namespace) -> int:
    if options.value is not None and options.files:
        raise Misused("give either --value or files")
    if options.json and options.key_separator is not None:
        raise Misused("--key-separator is for lines of text, not for --json")
    topic = librdkafka.look_up(options, create=True)
    if topic is not None and options.partition >= len(topic.partitions):
        last = len(topic.partitions) - 1
        raise Misused(f"topic {options.topic} has partitions 0 to {last}, and no {options.partition}")
    sender = Sender(options)
    try:
        sender.send(_records(options))
    except OdradekError as error:
        sender.finish()
        complain(error)
        sender.report(options)
        return EXIT_FAILED
    except KeyboardInterrupt:
        sender.finish(_AFTER_INTERRUPT_S)
        sender.report(options)
        raise
    sender.finish()
    return sender.report(options)


class Sender:
    """Counts what was sent and what was not acknowledged. librdkafka tells of failures alone, which is far cheaper."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._topic: str = options.topic
        self._sent = 0
        self._failed = 0
        self._reason = ""
        self._is_hopeless = False
        try:
            self._producer = Producer(_settings(options), on_delivery=self._on_failure)
        except KafkaException as error:
            raise librdkafka.misused(error) from None

    def send(self, records: Iterable[Outgoing]) -> None:
        """Stops early when the broker is gone for longer than it is given."""
        topic, produce = self._topic, self._producer.produce
        sent = 0
        try:
            for value, key, partition, timestamp, headers in records:
                while True:
                    try:
                        produce(topic, value, key, partition, None, None, timestamp, headers)
                        break
                    except BufferError:
                        self._producer.poll(_ROOM_S)  # the queue is full: wait until some of it is delivered
                    except KafkaException as error:
                        self._count_failure(error.args[0])  # known at once, which else is known later
                        break
                sent += 1
                if not sent & 0xFFF:
                    self._producer.poll(0)
                    if self._is_hopeless:
                        break
        finally:
            self._sent = sent

    def finish(self, timeout_s: float = -1) -> None:
        """Wait until all is delivered or has failed."""
        left = self._producer.flush(timeout_s)  # on its own line: failures are counted while it runs
        self._failed += left

    def report(self, options: argparse.Namespace) -> int:
        delivered = self._sent - self._failed
        if self._failed:
            reason = f": {self._reason}" if self._reason else ""
            complain(f"{self._failed:,} of {count(self._sent, 'record')} not acknowledged{reason}")
        elif not options.quiet:
            print(f"{count(delivered, 'record')} {'sent' if options.acks == '0' else 'acknowledged'}", file=sys.stderr)
        return EXIT_FAILED if self._failed else 0

    def _on_failure(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._count_failure(error)

    def _count_failure(self, error: KafkaError) -> None:
        self._failed += 1
        self._reason = self._reason or librdkafka.text_of(error)
        self._is_hopeless = self._is_hopeless or error.fatal() or error.code() == KafkaError._MSG_TIMED_OUT


def _settings(options: argparse.Namespace) -> dict[str, object]:
    return librdkafka.settings(
        options,
        acks=options.acks,
        enable_idempotence=options.acks == "all",
        compression_type=options.compression,
        partitioner="murmur2_random",  # a key goes where Kafka's own producer sends it
        message_timeout_ms=int(options.timeout * 1000),
        message_max_bytes=1_000_000_000,  # the topic has the say
        queue_buffering_max_messages=_QUEUED_RECORDS,
        queue_buffering_max_kbytes=_QUEUED_KBYTES,
    ) | {"delivery.report.only.error": True}


def _records(options: argparse.Namespace) -> Iterator[Outgoing]:
    common = Common(
        key=None if options.key is None else _encode(options.key),
        partition=options.partition,
        timestamp=options.timestamp,
        headers=[(name, _encode(value)) for name, value in options.header] or None,
    )
    lines = [_encode(each) for each in options.value] if options.value is not None else _lines(options.files)
    if options.json:
        return records_in.from_json(lines, common)
    values = records_in.without_line_ends(lines) if options.value is None else iter(lines)
    if options.key_separator is not None:
        return records_in.from_keyed(values, _encode(options.key_separator), common)
    return records_in.from_values(values, common)


def _lines(files: list[str]) -> Iterator[bytes]:
    for name in files or ["-"]:
        if name == "-":
            yield from sys.stdin.buffer
        else:
            with open(name, "rb") as file:
                yield from file


def _encode(text: str) -> bytes:
    """As it stood on the command line, whatever bytes these were."""
    return text.encode(errors="surrogateescape")
