"""`odradek transactions producers` and `find-hanging`: what partitions know of producers and their transactions."""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from odradek.cli import reaching
from odradek.cli.main import EXIT_FAILED, Misused
from odradek.cli.streams import complain, lenient
from odradek.cli.table import table
from odradek.cli.times import DURATION_HELP, parse_duration
from odradek.cli.verbs import Verbs
from odradek.client.client import Client
from odradek.client.cluster import ClusterView
from odradek.client.errors import ClientError, Refused
from odradek.client.hanging import Hanging, Search, find_hanging
from odradek.client.producers import ProducerView, describe_producers
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import TimestampMs
from odradek.model.topic_partition import TopicPartition

_PRODUCER_FIELDS = ("producer", "epoch", "coordinator_epoch", "last_sequence", "last_ms", "start")
_PRODUCERS = ("topic", "partition", "producer", "epoch", "coordinator epoch", "last sequence", "last record", "start")
_HANGING = ("topic", "partition", "start", "producer", "epoch", "last record", "id", "why")
_NUMBERS = ("partition", "producer", "epoch", "coordinator epoch", "last sequence", "start")
_QUIET = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which partitions are meant."""

    topic: str | None
    partition: int | None = None
    broker: int | None = None
    """Only those that it has a replica of."""

    def chosen(self, view: ClusterView) -> list[TopicPartition]:
        """In order. Raises Refused where one that was named is not there."""
        found = [
            TopicPartition(topic.name, each.partition)
            for topic in view.topics.values()
            for each in topic.partitions
            if self.partition in (None, each.partition) and (self.broker is None or self.broker in each.replicas)
        ]
        if self.topic is not None:
            error = view.topics[self.topic].error
            if error is not None and error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise Refused(error.code, f"Topic '{self.topic}' does not exist")
            if error is not None:
                raise error
            if self.partition is not None and self.partition >= len(view.topics[self.topic].partitions):
                raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{self.topic} has no partition {self.partition}")
        if self.broker is not None and self.broker not in view.brokers:
            raise Refused(ErrorCode.BROKER_NOT_AVAILABLE, f"there is no broker {self.broker}")
        return found


def add_arguments(verbs: Verbs) -> None:
    producers = verbs.add("producers", show_producers, "show the producers that partitions remember")
    producers.add_argument("--topic", metavar="TOPIC", required=True)
    producers.add_argument("--partition", metavar="N", type=number, help="only this one")
    producers.add_argument("--broker", metavar="ID", type=number, help="as this broker's replicas have it")
    hanging = verbs.add("find-hanging", show_hanging, "find open transactions that nobody will end")
    hanging.add_argument("--topic", metavar="TOPIC", help="only in this topic")
    hanging.add_argument("--partition", metavar="N", type=number, help="only in this partition of the topic")
    hanging.add_argument("--broker", metavar="ID", type=number, help="only in replicas of this broker")
    hanging.add_argument(
        "--max-transaction-timeout",
        metavar="TIME",
        type=_timeout,
        default=_QUIET,
        help=f"only those without a new record for so long (15m): {DURATION_HELP}; a plain number is minutes",
    )


def number(text: str) -> int:
    """For argparse: no sign."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} must be a number")
    return int(text)


def _timeout(text: str) -> timedelta:
    return timedelta(minutes=int(text)) if text.isascii() and text.isdecimal() else parse_duration(text)


def clock_time(at: TimestampMs) -> str:
    """In UTC. Years that Python has not are left as numbers."""
    try:
        return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return str(at)


def show_producers(options: argparse.Namespace) -> int:
    scope = Scope(options.topic, options.partition, options.broker)

    async def work(client: Client) -> int:
        described = await describe_producers(
            client, scope.chosen(await client.look_up([options.topic])), options.broker
        )
        rows = [
            (partition, producer)
            for partition, producers in described.items()
            if not isinstance(producers, ClientError)
            for producer in producers
        ]
        if options.json:
            for partition, producer in rows:
                print(json.dumps(_as_object(partition, producer)))
        elif rows:
            cells = [(*partition, *_cells(producer)) for partition, producer in rows]
            _show(_PRODUCERS, cells)
        return _complain((each, outcome) for each, outcome in described.items() if isinstance(outcome, ClientError))

    return reaching.run(options, work)


def _cells(producer: ProducerView) -> tuple[object, ...]:
    return (
        producer.producer_id,
        producer.epoch,
        producer.coordinator_epoch if producer.coordinator_epoch >= 0 else None,
        producer.last_sequence if producer.last_sequence >= 0 else None,
        clock_time(producer.last_timestamp),
        producer.open_from,
    )


def _as_object(partition: TopicPartition, producer: ProducerView) -> dict[str, Any]:
    values = (
        producer.producer_id,
        producer.epoch,
        producer.coordinator_epoch,
        producer.last_sequence,
        producer.last_timestamp,
        producer.open_from,
    )
    fields = dict(zip(_PRODUCER_FIELDS, values, strict=True))
    return {"topic": partition.topic, "partition": partition.partition, **fields}


def show_hanging(options: argparse.Namespace) -> int:
    if options.partition is not None and options.topic is None:
        raise Misused("--partition needs --topic")
    scope = Scope(options.topic, options.partition, options.broker)
    quiet_ms = round(options.max_transaction_timeout.total_seconds() * 1000)

    async def work(client: Client) -> int:
        view = await client.look_up(None if options.topic is None else [options.topic])
        search = Search(scope.chosen(view), options.broker, quiet_ms)
        found, failures = await find_hanging(client, search, TimestampMs(round(datetime.now(UTC).timestamp() * 1000)))
        if options.json:
            for each in found:
                fields = _as_object(each.partition, each.producer)
                print(json.dumps({**fields, "id": each.transactional_id, "why": each.why.value}))
        elif found:
            _show(_HANGING, map(_hanging_cells, found))
        return _complain(failures.items())

    return reaching.run(options, work)


def _hanging_cells(found: Hanging) -> tuple[object, ...]:
    producer = found.producer
    return (
        *found.partition,
        producer.open_from,
        producer.producer_id,
        producer.epoch,
        clock_time(producer.last_timestamp),
        found.transactional_id,
        found.why.value,
    )


def _show(titles: Sequence[str], cells: Iterable[Sequence[object]]) -> None:
    print(*table(titles, cells, right=_NUMBERS), sep="\n", file=lenient(sys.stdout))


def _complain(failures: Iterable[tuple[TopicPartition, ClientError]]) -> int:
    status = 0
    for partition, error in failures:
        complain(f"{partition}: {error}")
        status = EXIT_FAILED
    return status
