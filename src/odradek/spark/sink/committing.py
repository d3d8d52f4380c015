"""The driver's part of writing exactly once: it ends the transactions that tasks have prepared."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

from odradek.client.client import Client
from odradek.client.errors import ClientError, Refused
from odradek.client.transactions import EMPTY, ONGOING, TransactionView, describe_transactions, fence
from odradek.model.error_code import ErrorCode
from odradek.model.topic_partition import TopicPartition
from odradek.spark.sink.errors import BadReplay, CannotCommit, Fenced, SinkError
from odradek.spark.sink.marker import Marker
from odradek.spark.sink.options import ExactlyOnce
from odradek.spark.sink.prepared import Prepared
from odradek.spark.sink.transaction import Transaction, end, leave_marker, read_marker, take_id

T = TypeVar("T")

log = logging.getLogger(__name__)

_AT_ONCE_MAX = 20
_LEFT_S_LEAST = 1.0
"""For the last of many transactions, when the time for all is over."""
_KILLED_WITHIN_S = 5.0
"""Spark looks every two seconds whether a task is to end, and kills its Python process two seconds later, or when
`spark.python.task.killTimeout` says."""


async def commit_all(client: Client, prepared: Sequence[Prepared], once: ExactlyOnce) -> None:
    """`prepared` has all tasks of a batch. Raises SinkError where a transaction could not be committed.

    Task 0 comes first, alone, and takes down how many tasks there are, or were before if that is more. So nothing of a
    batch is committed before that is known, and a driver whose tasks were fenced by those of another commits nothing.

    A crash before task 0 is committed: nothing of the batch is; all of it is written anew. Behind that: the tasks that
    are committed say so to their next attempts, and the others are written anew. A batch write may have no next
    attempt: where one of its transactions is over already, nothing of it is committed, and its commits are tried for as
    long as transactions may be open.
    """
    first, *others = sorted(prepared, key=lambda each: each.task)
    tasks = len(prepared)
    limit_s = None
    if not first.job.of_query:
        await _check_open(client, prepared, once)
        limit_s = once.timeout_ms / 1000
    opened = [each.transaction for each in others if each.transaction is not None]
    failures: list[SinkError] = []
    done = 0
    if first.transaction is not None:
        await _leave_first(client, first, first.transaction, tasks, once)
        failures = await _commit(client, [first.transaction], limit_s)
        done = 1 - len(failures)
    elif first.before is not None:
        await _leave_first(client, first, first.before.transaction, max(tasks, first.before.tasks), once)
        await end(client, first.before.transaction, commit=True)
        await _check_gone(client, first, range(tasks, first.before.tasks), once)
    if not failures:
        failures = await _commit(client, opened, limit_s)
        done += len(opened) - len(failures)
    if failures:
        raise failures[0] if first.job.of_query else CannotCommit(_partly(failures[0], done, once))


async def _commit(client: Client, transactions: Sequence[Transaction], limit_s: float | None) -> list[SinkError]:
    """Why those were not committed that were not; all are tried, whatever becomes of the others, and until the limit
    for all is over."""
    loop = asyncio.get_running_loop()
    begun_s = loop.time()

    async def commit(transaction: Transaction) -> SinkError | None:
        left_s = None if limit_s is None else max(begun_s + limit_s - loop.time(), _LEFT_S_LEAST)
        try:
            await end(client, transaction, commit=True, timeout_s=left_s)
        except SinkError as error:
            return error
        return None

    outcomes = await _at_once(commit(each) for each in transactions)
    return [each for each in outcomes if each is not None]


def _partly(error: SinkError, done: int, once: ExactlyOnce) -> str:
    """A query tries again by itself; a batch write does not."""
    told = f"{error}; rows of {done} tasks are committed, and maybe of more: "
    if once.app_id is None:
        return f"{told}they stay, and another run would write them again (with txnAppId and txnVersion it would not)"
    return f"{told}run it again with the same txnAppId and txnVersion, and it writes those that are missing"


async def _check_open(client: Client, prepared: Sequence[Prepared], once: ExactlyOnce) -> None:
    """Raises CannotCommit where one cannot be committed any more. Brokers that cannot tell are taken at their word
    when it is committed."""
    begun = [(each, each.transaction) for each in prepared if each.transaction is not None]
    try:
        views = await describe_transactions(client, [transaction.transactional_id for _, transaction in begun])
    except ClientError as error:
        raise CannotCommit(f"cannot ask for the transactions to commit, so nothing was committed: {error}") from None
    for each, transaction in begun:
        view = views[transaction.transactional_id]
        if isinstance(view, TransactionView) and not _is_open(transaction, view, has_rows=each.rows > 0):
            raise CannotCommit(
                f"the transaction of {transaction.transactional_id} is not open any more, so nothing was committed: it "
                f"took longer than kafka.transaction.timeout.ms, {once.timeout_ms} ms, or another write has the same "
                "txnAppId; raise the one, or mend the other, and write again"
            )


def _is_open(transaction: Transaction, view: TransactionView, *, has_rows: bool) -> bool:
    """Task 0 has one without rows too, which begins with the marker that the driver leaves."""
    is_same = (view.producer_id, view.epoch) == (transaction.producer_id, transaction.epoch)
    return is_same and (view.state == ONGOING or (view.state == EMPTY and not has_rows))


async def _leave_first(
    client: Client, first: Prepared, transaction: Transaction, tasks: int, once: ExactlyOnce
) -> None:
    marker = Marker(first.job.batch, first.rows, first.row_hash, tasks)
    await leave_marker(client, transaction, TopicPartition(once.marker_topic, 0), marker)


async def abort_all(client: Client, prepared: Sequence[Prepared]) -> list[str]:
    """What was committed already is not aborted, nor what another has taken: the ids of these are returned."""

    async def abort(transaction: Transaction) -> str | None:
        try:
            await end(client, transaction, commit=False)
        except SinkError as failure:
            log.warning("%s", failure)
            return transaction.transactional_id if isinstance(failure, Fenced) else None
        return None

    taken = await _at_once(abort(each.transaction) for each in prepared if each.transaction is not None)
    return [each for each in taken if each is not None]


async def wait_for_kills() -> None:
    """None of the tasks of a job that has failed goes on after this."""
    await asyncio.sleep(_KILLED_WITHIN_S)


async def abort_ids(
    client: Client, transactional_ids: Sequence[str], until_killed: Callable[[], Awaitable[None]] | None = None
) -> None:
    """Of tasks that were stopped while they wrote, which Spark does by killing them a while later: readers of committed
    records would wait for the timeouts of their transactions. Those that have none that is open are fenced as well: one
    may be about to begin it. And where `until_killed` waits for their end, they are looked at again behind it: those
    that had not even taken their id may have done so since."""
    idle = await _fence_known(client, transactional_ids)
    if idle and until_killed is not None:
        await until_killed()
        await _fence_known(client, idle)


async def _fence_known(client: Client, transactional_ids: Sequence[str]) -> list[str]:
    """Returns those that had nothing open."""

    async def one(transactional_id: str, view: TransactionView | ClientError) -> None:
        if isinstance(view, TransactionView):
            failure = await fence(client, view)
        else:
            failure = None if _is_unknown(view) else view
        if failure is not None:
            log.warning("a transaction of %s may be open until its timeout: %s", transactional_id, failure)

    views = await describe_transactions(client, transactional_ids)
    await _at_once(one(transactional_id, view) for transactional_id, view in views.items())
    return [each for each, view in views.items() if not isinstance(view, TransactionView) or view.state != ONGOING]


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


async def _at_once(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """What each gives, in their order."""
    slots = asyncio.Semaphore(_AT_ONCE_MAX)

    async def one(work: Coroutine[Any, Any, T]) -> T:
        async with slots:
            return await work

    async with asyncio.TaskGroup() as tasks:
        begun = [tasks.create_task(one(each), name="transaction") for each in works]
    return [each.result() for each in begun]
