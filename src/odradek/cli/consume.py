"""`odradek consume`: the records of a topic, printed as they come."""

import argparse
import sys
from collections.abc import Iterator, Sequence

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, KafkaError, KafkaException, Message, TopicPartition

from odradek.cli import librdkafka, reaching, records_out
from odradek.cli.group_reader import PROTOCOLS, GroupReader
from odradek.cli.librdkafka import Failed
from odradek.cli.main import Misused
from odradek.cli.polling import BATCH, Polling
from odradek.cli.records_out import FIELDS, Print
from odradek.cli.times import TIME_HELP, parse_time


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", metavar="TOPIC")
    start = parser.add_mutually_exclusive_group()
    start.add_argument("--from-beginning", action="store_true", help="all that is there, not only what comes")
    start.add_argument("--offset", metavar="N", type=int, help="from this offset; -N: the last N of each partition")
    start.add_argument("--from-time", metavar="TIME", type=parse_time, help=TIME_HELP)
    parser.add_argument(
        "--partition", metavar="N", type=int, action="append", help="only this partition; may be repeated"
    )
    parser.add_argument(
        "--group", metavar="NAME", help="share the partitions with a group, and commit what was printed"
    )
    parser.add_argument("--protocol", choices=PROTOCOLS, help=f"of the group ({PROTOCOLS[0]})")
    parser.add_argument("--max", metavar="N", type=_natural, help="end after so many records")
    parser.add_argument("--until-end", action="store_true", help="end where the topic ends now")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--key", action="store_true", help="print key, tab and value")
    form.add_argument("--format", metavar="TEXT", help=f"print this, with {{field}} for {FIELDS}")
    form.add_argument("--json", action="store_true", help="print JSON, one object a line")
    parser.add_argument("--base64", action="store_true", help="with --json: keys, values and headers in base64, always")
    reaching.add_arguments(parser)
    parser.set_defaults(handler=consume)


def _natural(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def consume(options: argparse.Namespace) -> int:
    if options.base64 and not options.json:
        raise Misused("--base64 is for --json")
    _check_group(options)
    show = _printer(options)
    librdkafka.look_up(options, create=False)
    reader = Reader(options) if options.group is None else GroupReader(options)
    try:
        out = sys.stdout.buffer
        for messages in reader.batches():
            out.write(b"".join(map(show, messages)))
            out.flush()
    except KafkaException as error:
        raise Failed(librdkafka.text_of(error.args[0])) from None
    finally:
        reader.close()
    return 0


def _check_group(options: argparse.Namespace) -> None:
    if options.group is None:
        if options.protocol is not None:
            raise Misused("--protocol is for --group")
        return
    if not options.group:
        raise Misused("--group needs a name")
    if options.partition or options.offset is not None or options.from_time is not None:
        raise Misused("a group has its own partitions and offsets: `odradek groups reset` changes where it goes on")


def _printer(options: argparse.Namespace) -> Print:
    if options.json:
        return records_out.json_line(base64=options.base64)
    raw = records_out.on_terminal if sys.stdout.isatty() else records_out.as_it_is
    if options.format is not None:
        try:
            return records_out.formatted(options.format, raw)
        except records_out.BadFormat as error:
            raise Misused(str(error)) from None
    return records_out.formatted(r"{key}\t{value}", raw) if options.key else records_out.value_line(raw)


class Reader:
    """Partitions are assigned by hand: there is no group, and nothing is committed."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._polling = Polling(options, _settings(options))
        self._consumer = self._polling.consumer

    def close(self) -> None:
        self._consumer.close()

    def batches(self) -> Iterator[list[Message]]:
        """Raises KafkaException for what ends it. A batch is never empty."""
        options = self._options
        starts = self._starts()
        ends = {each.partition: self._ends(each)[1] for each in starts} if options.until_end else {}
        unfinished = {each.partition for each in starts if not ends or _is_before(each.offset, ends[each.partition])}
        self._consumer.assign(starts)
        left = options.max
        while unfinished and (left is None or left > 0):
            found = self._polling.take(BATCH if left is None else min(left, BATCH))
            messages = [message for message in found if self._is_record(message, unfinished)]
            if options.until_end:
                messages = _up_to(messages, ends, unfinished)
            if messages:
                left = None if left is None else left - len(messages)
                yield messages

    def _is_record(self, message: Message, unfinished: set[int]) -> bool:
        error = message.error()
        if error is None:
            return True
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise Failed(f"offset {self._options.offset} is not in partition {message.partition()}")
        if error.code() != KafkaError._PARTITION_EOF:
            raise KafkaException(error)
        if self._options.until_end:
            unfinished.discard(message.partition() or 0)
        return False

    def _starts(self) -> list[TopicPartition]:
        options = self._options
        known = self._consumer.list_topics(options.topic, options.timeout).topics[options.topic]
        if known.error is not None:
            raise KafkaException(known.error)
        chosen: Sequence[int] = sorted(set(options.partition)) if options.partition else sorted(known.partitions)
        for partition in chosen:
            if partition not in known.partitions:
                last = len(known.partitions) - 1
                raise Misused(f"topic {options.topic} has partitions 0 to {last}, and no {partition}")
        return self._from(options, [TopicPartition(options.topic, partition) for partition in chosen])

    def _from(self, options: argparse.Namespace, partitions: list[TopicPartition]) -> list[TopicPartition]:
        if options.from_time is not None:
            asked = [TopicPartition(each.topic, each.partition, options.from_time) for each in partitions]
            return self._consumer.offsets_for_times(asked, options.timeout)
        for each in partitions:
            if options.offset is None:
                each.offset = OFFSET_BEGINNING if options.from_beginning else OFFSET_END
            elif options.offset >= 0:
                each.offset = options.offset
            else:
                low, high = self._ends(each)
                each.offset = max(low, high + options.offset)
        return partitions

    def _ends(self, partition: TopicPartition) -> tuple[int, int]:
        found = self._consumer.get_watermark_offsets(partition, self._options.timeout)
        if found is None:
            raise Failed(f"no answer within {self._options.timeout:g} s")
        return found


def _settings(options: argparse.Namespace) -> dict[str, object]:
    return librdkafka.settings(
        options,
        group_id="odradek-consume",  # must be there; without a subscription or a commit nobody hears of it
        auto_offset_reset="earliest" if options.offset is None else "error",
        # One partition alone would else be fetched in bursts with a second between them.
        queued_min_messages=1_000_000,
        fetch_queue_backoff_ms=10,
    ) | {"enable.auto.commit": False, "enable.partition.eof": True}


def _is_before(start: int, end: int) -> bool:
    """Whether there is anything between; a start may also be the beginning or the end, by a negative number."""
    return end > 0 and start != OFFSET_END and start < end


def _up_to(messages: list[Message], ends: dict[int, int], unfinished: set[int]) -> list[Message]:
    """Without those that came after the end was looked up; what has reached its end is finished."""
    kept = []
    for message in messages:
        partition, offset = message.partition() or 0, message.offset() or 0
        if offset < ends[partition]:
            kept.append(message)
        if offset + 1 >= ends[partition]:
            unfinished.discard(partition)
    return kept
