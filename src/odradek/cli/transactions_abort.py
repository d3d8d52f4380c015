"""`odradek transactions abort`: ends a transaction everywhere, or one that hangs where it hangs."""

import argparse
import json
import sys
from collections.abc import Mapping

from odradek.cli import reaching
from odradek.cli.main import EXIT_FAILED, Misused
from odradek.cli.streams import complain, confirmed
from odradek.cli.transactions_partitions import Scope, number
from odradek.cli.verbs import Verbs
from odradek.client.client import Client
from odradek.client.errors import ClientError, Refused
from odradek.client.producers import AbortMarker, describe_producers, write_abort
from odradek.client.transactions import ONGOING, describe_transactions, fence
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import ProducerId
from odradek.model.topic_partition import TopicPartition

_REASONS = {
    ErrorCode.INVALID_PRODUCER_EPOCH: "the producer has a higher epoch there",
    ErrorCode.TRANSACTION_COORDINATOR_FENCED: "a coordinator with a higher epoch wrote there",
}
"""In place of messages: the protocol has none for these."""
_WAYS = "give an ID, or --topic and --partition with either --start-offset or --producer-id and --producer-epoch"


def add_arguments(verbs: Verbs) -> None:
    aborting = verbs.add("abort", abort, "abort the transaction of an id, or one that hangs in a partition")
    aborting.add_argument("id", metavar="ID", nargs="?", help="a transactional id: its producer is fenced")
    aborting.add_argument("--topic", metavar="TOPIC")
    aborting.add_argument("--partition", metavar="N", type=number)
    aborting.add_argument("--start-offset", metavar="N", type=number, help="where the transaction begins")
    aborting.add_argument("--producer-id", metavar="ID", type=number, help="for brokers before 3.0, with its epochs")
    aborting.add_argument("--producer-epoch", metavar="N", type=number)
    aborting.add_argument("--coordinator-epoch", metavar="N", type=int, help="of the last marker (0)")
    aborting.add_argument("--yes", action="store_true", help="do not ask first; nobody is asked without a terminal")


def complaint(transactional_id: str, error: ClientError) -> str:
    if isinstance(error, Refused) and error.code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
        return f"transactional id {transactional_id} could not be found"
    return f"{transactional_id}: {error}"


def abort(options: argparse.Namespace) -> int:
    _check(options)
    place = options.id if options.id is not None else f"{options.topic}-{options.partition}"
    if not options.yes and sys.stdin.isatty() and not confirmed(f"abort the transaction of {place}?"):
        complain("nothing was aborted")
        return EXIT_FAILED

    async def work(client: Client) -> int:
        if options.id is not None:
            return await _abort_id(client, options)
        partition = TopicPartition(options.topic, options.partition)
        Scope(*partition).chosen(await client.look_up([partition.topic]))
        return await _abort_in(client, partition, options)

    return reaching.run(options, work)


def _check(options: argparse.Namespace) -> None:
    place = (options.topic, options.partition)
    producer = (options.producer_id, options.producer_epoch)
    by_producer = any(each is not None for each in (*producer, options.coordinator_epoch))
    by_offset = options.start_offset is not None
    if options.id is not None:
        is_clear = place == (None, None) and not by_offset and not by_producer
    else:
        is_clear = None not in place and by_offset != by_producer and not (by_producer and None in producer)
    if not is_clear:
        raise Misused(_WAYS)


async def _abort_id(client: Client, options: argparse.Namespace) -> int:
    name: str = options.id
    view = (await describe_transactions(client, [name]))[name]
    if isinstance(view, ClientError):
        complain(complaint(name, view))
        return EXIT_FAILED
    if view.state != ONGOING:
        complain(f"{name}: there is nothing to abort, it is in state {view.state}")
        return EXIT_FAILED
    return _report({"id": name}, await fence(client, view), name, options)


async def _abort_in(client: Client, partition: TopicPartition, options: argparse.Namespace) -> int:
    if options.start_offset is None:
        epoch = options.coordinator_epoch or 0
        marker = AbortMarker(ProducerId(options.producer_id), options.producer_epoch, max(epoch, 0))
    else:
        producers = (await describe_producers(client, [partition]))[partition]
        if isinstance(producers, ClientError):
            complain(f"{partition}: {producers}")
            return EXIT_FAILED
        found = next((each for each in producers if each.open_from == options.start_offset), None)
        if found is None:
            complain(f"{partition}: no open transaction begins at offset {options.start_offset}")
            return EXIT_FAILED
        marker = AbortMarker(found.producer_id, found.epoch, max(found.coordinator_epoch, 0))
    fields = {"topic": partition.topic, "partition": partition.partition, "producer": marker.producer_id}
    name = f"producer {marker.producer_id} in {partition}"
    return _report(fields, await write_abort(client, partition, marker), name, options)


def _report(fields: Mapping[str, object], outcome: ClientError | None, name: str, options: argparse.Namespace) -> int:
    result: dict[str, str | None] = {"outcome": "aborted"}
    if outcome is not None:
        code = outcome.code if isinstance(outcome, Refused) else None
        reason = _REASONS.get(code) if code is not None else None
        result = {"error": code.name if code is not None else None, "message": reason or str(outcome)}
        complain(f"{name}: {reason} ({code.name})" if reason and code is not None else f"{name}: {outcome}")
    if options.json:
        print(json.dumps({**fields, **result}))
    elif outcome is None:
        print(f"aborted the transaction of {name}")
    return EXIT_FAILED if outcome is not None else 0
