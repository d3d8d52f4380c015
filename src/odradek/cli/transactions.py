"""`odradek transactions`: what producers have open, who coordinates it, and how to end what nobody else ends."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from odradek.cli import reaching, transactions_abort, transactions_partitions
from odradek.cli.choices import one_of
from odradek.cli.main import EXIT_FAILED
from odradek.cli.streams import CONTROLS, complain, lenient
from odradek.cli.table import table
from odradek.cli.times import DURATION_HELP, parse_duration
from odradek.cli.transactions_partitions import clock_time
from odradek.cli.verbs import Verbs
from odradek.client.client import Client
from odradek.client.errors import ClientError
from odradek.client.transactions import (
    OPEN_STATES,
    STATES,
    Choice,
    ListedTransaction,
    TransactionView,
    describe_transactions,
    list_transactions,
)

_TITLES = ("id", "state", "producer", "coordinator")
_NUMBERS = ("producer", "coordinator")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = Verbs(parser)
    listing = verbs.add("list", list_all, "list transactional ids")
    listing.add_argument("--state", metavar="STATE,...", type=one_of(STATES), default=(), help=", ".join(STATES))
    listing.add_argument(
        "--producer-id", metavar="ID", type=int, action="append", default=[], help="of this producer; may be repeated"
    )
    listing.add_argument(
        "--open-for", metavar="TIME", type=parse_duration, help=f"open for longer than that: {DURATION_HELP}"
    )
    listing.add_argument("--pattern", metavar="REGEX", help="a regular expression that the whole id matches")
    describing = verbs.add("describe", describe, "show transactions, with the partitions in them")
    describing.add_argument("ids", metavar="ID", nargs="*", help="a transactional id; without one, all of them")
    transactions_partitions.add_arguments(verbs)
    transactions_abort.add_arguments(verbs)


def list_all(options: argparse.Namespace) -> int:
    open_for: timedelta | None = options.open_for
    choice = Choice(
        states=options.state or (OPEN_STATES if open_for is not None else ()),
        producer_ids=tuple(options.producer_id),
        open_for_ms=None if open_for is None else round(open_for.total_seconds() * 1000),
        pattern=options.pattern,
    )

    async def work(client: Client) -> int:
        listed = await list_transactions(client, choice)
        if options.json:
            for each in listed:
                print(json.dumps(dict(zip(_TITLES, _row(each), strict=True))))
        elif listed:
            print(*table(_TITLES, map(_row, listed), right=_NUMBERS), sep="\n", file=lenient(sys.stdout))
        return 0

    return reaching.run(options, work)


def _row(listed: ListedTransaction) -> tuple[object, ...]:
    return (listed.transactional_id, listed.state, listed.producer_id, listed.coordinator_id)


def describe(options: argparse.Namespace) -> int:
    async def work(client: Client) -> int:
        ids = list(dict.fromkeys(options.ids))
        if not ids:
            ids = [each.transactional_id for each in await list_transactions(client)]
        status = 0
        for name, view in (await describe_transactions(client, ids)).items():
            if isinstance(view, ClientError):
                complain(transactions_abort.complaint(name, view))
                status = EXIT_FAILED
            elif options.json:
                print(json.dumps(_as_object(view)))
            else:
                print(*_as_text(view, datetime.now(UTC)), sep="\n", file=lenient(sys.stdout))
        return status

    return reaching.run(options, work)


def _as_object(view: TransactionView) -> dict[str, Any]:
    return {
        "id": view.transactional_id,
        "state": view.state,
        "producer": view.producer_id,
        "epoch": view.epoch,
        "timeout_ms": view.timeout_ms,
        "started_ms": view.started_ms,
        "coordinator": {"id": view.coordinator.node_id, "address": str(view.coordinator.address)},
        "partitions": [{"topic": each.topic, "partition": each.partition} for each in view.partitions],
    }


def _as_text(view: TransactionView, now: datetime) -> Iterator[str]:
    parts = [
        view.state,
        f"producer {view.producer_id} with epoch {view.epoch}",
        *_age(view, now),
        f"timeout {view.timeout_ms / 1000:g} s",
        f"coordinator {view.coordinator.node_id} ({view.coordinator.address})",
    ]
    yield f"{view.transactional_id}: {', '.join(parts)}".translate(CONTROLS)
    topics: dict[str, list[int]] = {}
    for topic, number in view.partitions:
        topics.setdefault(topic, []).append(number)
    for topic, numbers in topics.items():
        yield f"  {topic}:{','.join(map(str, numbers))}".translate(CONTROLS)


def _age(view: TransactionView, now: datetime) -> Sequence[str]:
    if view.started_ms is None:
        return []
    began = clock_time(view.started_ms)
    if view.state not in OPEN_STATES:
        return [f"begun {began}"]
    age_s = max(0.0, now.timestamp() - view.started_ms / 1000)
    return [f"open for {age_s:,.0f} s since {began}"]
