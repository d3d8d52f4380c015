"""The driver's part of writing exactly once: it ends the transactions that tasks have prepared."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from odradek.client.client import Client
from odradek.client.errors import ClientError, Refused
from odradek.client.transactions import ONGOING, TransactionView, describe_transactions, fence
from odradek.model.error_code import ErrorCode
from odradek.model.topic_partition import TopicPartition
from odradek.spark.sink.errors import BadReplay, CannotCommit, SinkError
from odradek.spark.sink.marker import Marker
from odradek.spark.sink.options import ExactlyOnce
from odradek.spark.sink.prepared import Prepared
from odradek.spark.sink.transaction import Transaction, end, leave_marker, read_marker, take_id

log = logging.getLogger(__name__)

_AT_ONCE_MAX = 20


async def commit_all(client: Client, prepared: Sequence[Prepared], once: ExactlyOnce) -> None:
    """`prepared` has all tasks of a batch. Raises SinkError where a transaction could not be committed.

    Task 0 comes first, alone, and takes down how many tasks there are, or were before if that is more. So nothing of a
    batch is committed before that is known, and a driver whose tasks were fenced by those of another commits nothing.

    A crash before task 0 is committed: nothing of the batch is; all of it is written anew. Behind that: the tasks that
    are committed say so to their next attempts, and the others are written anew. A batch write may have no next
    attempt: where one of its transactions is over already, nothing of it is committed.
    """
    first, *others = sorted(prepared, key=lambda each: each.task)
    tasks = len(prepared)
    if not first.job.of_query:
        await _check_open(client, [each.transaction for each in prepared if each.transaction is not None], once)
    if first.transaction is not None:
        await _commit_first(client, first, first.transaction, tasks, once)
    elif first.before is not None:
        await _commit_first(client, first, first.before.transaction, max(tasks, first.before.tasks), once)
        await _check_gone(client, first, range(tasks, first.before.tasks), once)

    async def commit(transaction: Transaction) -> None:
        await end(client, transaction, commit=True)

    failures = await _each([each.transaction for each in others if each.transaction is not None], commit)
    if failures:
        raise failures[0]


async def _check_open(client: Client, transactions: Sequence[Transaction], once: ExactlyOnce) -> None:
    """Raises CannotCommit where one cannot be committed any more. Brokers that cannot tell are taken at their word
    when it is committed."""
    try:
        views = await describe_transactions(client, [each.transactional_id for each in transactions])
    except ClientError as error:
        raise CannotCommit(f"cannot ask for the transactions to commit, so nothing was committed: {error}") from None
    for each in transactions:
        view = views[each.transactional_id]
        if isinstance(view, TransactionView) and not _is_open(each, view):
            raise CannotCommit(
                f"the transaction of {each.transactional_id} is not open any more, so nothing was committed: it took "
                f"longer than kafka.transaction.timeout.ms, {once.timeout_ms} ms, or another write has the same "
                "txnAppId; raise the one, or mend the other, and write again"
            )


def _is_open(transaction: Transaction, view: TransactionView) -> bool:
    is_same = (view.producer_id, view.epoch) == (transaction.producer_id, transaction.epoch)
    return is_same and view.state == ONGOING


async def _commit_first(
    client: Client, first: Prepared, transaction: Transaction, tasks: int, once: ExactlyOnce
) -> None:
    marker = Marker(first.job.batch, first.rows, first.row_hash, tasks)
    await leave_marker(client, transaction, TopicPartition(once.marker_topic, 0), marker)
    await end(client, transaction, commit=True)


async def abort_all(client: Client, prepared: Sequence[Prepared]) -> None:
    """What was committed already is not aborted, nor what another has taken."""

    async def abort(transaction: Transaction) -> None:
        await end(client, transaction, commit=False)

    for failure in await _each([each.transaction for each in prepared if each.transaction is not None], abort):
        log.warning("%s", failure)


async def abort_ids(client: Client, transactional_ids: Sequence[str]) -> None:
    """Of tasks that were stopped while they wrote, which Spark does by killing them a while later: readers of committed
    records would wait for the timeouts of their transactions. Those that have none that is open are fenced as well: one
    may be about to begin it. Others that are asked for never took their id."""
    views = await describe_transactions(client, transactional_ids)
    for transactional_id, view in views.items():
        if isinstance(view, TransactionView):
            failure = await fence(client, view)
        else:
            failure = None if _is_unknown(view) else view
        if failure is not None:
            log.warning("a transaction of %s may be open until its timeout: %s", transactional_id, failure)


def _is_unknown(error: ClientError) -> bool:
    return isinstance(error, Refused) and error.code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


async def _check_gone(client: Client, first: Prepared, tasks: range, once: ExactlyOnce) -> None:
    """Those that the batch had when it was tried before. Their rows are other tasks' now, so none may be committed."""
    place = TopicPartition(once.marker_topic, 0)
    for task in tasks:
        transactional_id = first.job.transactional_id(once.prefix, task)
        await take_id(client, transactional_id, once.timeout_ms)  # whoever is about to commit it is fenced
        marker = await read_marker(client, transactional_id, place)
        if marker is not None and marker.batch >= first.job.batch and marker.rows:
            raise BadReplay(
                f"query {first.job.name}, batch {first.job.batch}, task {task}: {marker.rows} rows were committed, and "
                f"now there are only {tasks.start} tasks; a batch that comes again must have the same rows in each task"
            )


async def _each(transactions: Sequence[Transaction], work: Callable[[Transaction], Awaitable[None]]) -> list[SinkError]:
    """All of them are tried, whatever becomes of the others."""
    slots = asyncio.Semaphore(_AT_ONCE_MAX)
    failures: list[SinkError] = []

    async def one(transaction: Transaction) -> None:
        async with slots:
            try:
                await work(transaction)
            except SinkError as error:
                failures.append(error)

    async with asyncio.TaskGroup() as tasks:
        for each in transactions:
            tasks.create_task(one(each), name=f"end-{each.transactional_id}")
    return failures
