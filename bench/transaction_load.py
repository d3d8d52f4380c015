"""The load of `./run bench transactions`: producers with transactions, in a process of their own.

Not to be run by hand: `transaction_load.py NAME PARAMETERS`, where the parameters are JSON. Prints one line of JSON.
Transactions are those of KIP-890: partitions join as they are written to, and the epoch rises with each of them. A
request that is told to come again comes again at once, and is counted. What was acknowledged is looked at in the end.
"""

import json
import selectors
import sys
import time
from collections.abc import Callable
from struct import Struct
from typing import Any

import crc32c
from harness import Watch, percentiles
from raw import FETCH_VERSION, Raw, batch_of, fetch_request, frame_of, produce_request

from odradek.wire.codec import decode
from odradek.wire.header import read_response_head
from odradek.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from odradek.wire.messages.fetch import FetchResponse
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from odradek.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

PRODUCE, END, COMMIT, INIT, FIND, OFFSETS = 12, 5, 5, 5, 6, 9
"""The versions that are spoken: the newest that name topics."""
RECORD_BYTES = 100
_GROUPS, _TRANSACTIONS = 0, 1
_AGAIN = (14, 15, 16, 19, 51)
"""The coordinator loads, is not available, is another one; as leaders say that to producers; it ends a transaction."""
_SETTLE_S = 60
_TIMEOUT_MS = 60_000
_CRC_AT, _CHECKED_FROM = 17, 21
_CRC, _PRODUCER = Struct(">I"), Struct(">qhi")
_PRODUCER_AT = 43
"""Its id, its epoch, the first sequence."""


class Sender:
    """A producer with a transactional id. Sequences begin at 0 in each transaction, since each has another epoch."""

    def __init__(self, raw: Raw, transactional_id: str, topic: str, partition: int, records: int) -> None:
        self.raw = raw
        self.transactional_id = transactional_id
        self.again = 0
        """How often a request was told to come again."""
        batch, count = batch_of(61 + records * (RECORD_BYTES + 13), RECORD_BYTES)
        assert count == records
        batch[22] |= 0x10  # transactional
        data = TopicProduceData(name=topic, partition_data=(PartitionProduceData(index=partition, records=batch),))
        request = ProduceRequest(transactional_id=transactional_id, acks=-1, timeout_ms=30_000, topic_data=(data,))
        self._frame = bytearray(frame_of(request, PRODUCE))
        self._batch_at = self._frame.index(batch)
        self._batch_end = self._batch_at + len(batch)
        request_init = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=_TIMEOUT_MS)
        while (answer := raw.ask(request_init, InitProducerIdResponse, INIT)).error_code in _AGAIN:
            continue
        _check(answer.error_code, "InitProducerId")
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch

    def produce_frame(self) -> bytearray:
        """Good until the next."""
        at = self._batch_at
        _PRODUCER.pack_into(self._frame, at + _PRODUCER_AT, self.producer_id, self.epoch, 0)
        crc = crc32c.crc32c(memoryview(self._frame)[at + _CHECKED_FROM : self._batch_end])
        _CRC.pack_into(self._frame, at + _CRC_AT, crc)
        return self._frame

    def end_frame(self, *, commit: bool = True) -> bytes:
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=commit,
        )
        return frame_of(request, END)

    def is_taken(self, frame: memoryview) -> bool:
        """What a batch was answered with: False if it has to come again."""
        _, body = read_response_head(frame, ProduceResponse, PRODUCE)
        return self._is_done(
            decode(ProduceResponse, PRODUCE, body).responses[0].partition_responses[0].error_code, "Produce"
        )

    def is_ended(self, frame: memoryview) -> bool:
        _, body = read_response_head(frame, EndTxnResponse, END)
        answer = decode(EndTxnResponse, END, body)
        if not self._is_done(answer.error_code, "EndTxn"):
            return False
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
        return True

    def _is_done(self, code: int, what: str) -> bool:
        if code in _AGAIN:
            self.again += 1
            return False
        _check(code, what)
        return True


def until_done(raw: Raw, frame: Callable[[], bytes | bytearray], is_done: Callable[[memoryview], bool]) -> None:
    raw.sock.sendall(frame())
    while not is_done(raw.receive()):
        raw.sock.sendall(frame())


# --- transactions, as many as possible


class Flow:
    """One transaction after the other, each with one batch. Some of them are aborted."""

    def __init__(self, sender: Sender, count: int, aborted_every: int) -> None:
        self.left = count
        self._sender = sender
        self._aborted_every = aborted_every
        self._is_ending = False
        self.send()

    def send(self) -> None:
        commit = not self._aborted_every or self.left % self._aborted_every != 0
        frame = self._sender.end_frame(commit=commit) if self._is_ending else self._sender.produce_frame()
        self._sender.raw.sock.sendall(frame)

    def receive(self) -> None:
        frame = self._sender.raw.receive()
        if not self._is_ending:
            self._is_ending = self._sender.is_taken(frame)
        elif self._sender.is_ended(frame):
            self._is_ending = False
            self.left -= 1
        if self.left:
            self.send()


def transactions(  # noqa: PLR0913 - the parameters come as JSON
    address: str, topic: str, partitions: int, producers: int, records: int, count: int, aborted_every: int = 0
) -> dict[str, float]:
    """That many transactions of as many records, shared among the producers."""
    checker = Raw(address)
    find_coordinator(checker, _TRANSACTIONS)
    before = sum(checker.end_offsets(topic, partitions))
    each = count // producers
    senders = [Sender(Raw(address), f"{topic}-{n}", topic, n % partitions, records) for n in range(producers)]
    selector = selectors.DefaultSelector()
    watch = Watch()
    for sender in senders:
        selector.register(sender.raw.sock, selectors.EVENT_READ, Flow(sender, each, aborted_every))
    left = producers
    while left:
        for key, _ in selector.select():
            flow: Flow = key.data
            flow.receive()
            if not flow.left:
                selector.unregister(key.fileobj)
                left -= 1
    result = watch.stop()
    sent = each * producers
    await_end(checker, topic, partitions, before + sent * (records + 1))
    again = sum(sender.again for sender in senders)
    return {**result, "transactions_s": sent / result["seconds"], "again": again / sent}


def await_end(raw: Raw, topic: str, partitions: int, expected: int) -> None:
    """Refused requests are answered fast: a benchmark of them would be a good one. Markers may come a bit later."""
    deadline = time.perf_counter() + _SETTLE_S
    while (found := sum(raw.end_offsets(topic, partitions))) != expected:
        if time.perf_counter() > deadline:
            raise RuntimeError(f"the log ends at {found}, and not at {expected}")


# --- consume, transform, produce


def step(address: str, source: str, target: str, count: int) -> dict[str, float]:
    """One record read, one written, the position committed with it: how long that takes, one after the other."""
    raw = Raw(address)
    find_coordinator(raw, _TRANSACTIONS)
    find_coordinator(raw, _GROUPS)
    batch, _ = batch_of(1, RECORD_BYTES)
    filling = frame_of(produce_request(source, 0, batch, 1), PRODUCE)
    for _ in range(count):
        raw.sock.sendall(filling)
        raw.receive()
    sender = Sender(raw, f"step-{target}", target, 0, 1)
    times = []
    watch = Watch()
    for offset in range(count):
        begin = time.perf_counter_ns()
        raw.sock.sendall(frame_of(fetch_request(source, {0: offset}, isolation=1), FETCH_VERSION))
        _check_fetched(raw.receive())
        until_done(raw, sender.produce_frame, sender.is_taken)
        _commit(sender, source, offset + 1)
        until_done(raw, sender.end_frame, sender.is_ended)
        times.append((time.perf_counter_ns() - begin) / 1e3)
    result = watch.stop()
    await_end(raw, target, 1, 2 * count)
    _check_committed(raw, sender.transactional_id, count)
    return {**result, **percentiles(times), "again": sender.again / count}


def _check_fetched(frame: memoryview) -> None:
    _, body = read_response_head(frame, FetchResponse, FETCH_VERSION)
    part = decode(FetchResponse, FETCH_VERSION, body).responses[0].partitions[0]
    _check(part.error_code, "Fetch")
    if not part.records:
        raise RuntimeError("nothing was fetched")


def _commit(sender: Sender, source: str, offset: int) -> None:
    part = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")
    request = TxnOffsetCommitRequest(
        transactional_id=sender.transactional_id,
        group_id=sender.transactional_id,
        producer_id=sender.producer_id,
        producer_epoch=sender.epoch,
        topics=(TxnOffsetCommitRequestTopic(name=source, partitions=(part,)),),
    )
    while True:
        answer = sender.raw.ask(request, TxnOffsetCommitResponse, COMMIT)
        code = answer.topics[0].partitions[0].error_code
        if code not in _AGAIN:
            _check(code, "TxnOffsetCommit")
            return
        sender.again += 1


def _check_committed(raw: Raw, group: str, offset: int) -> None:
    asked = OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id=group, topics=None),), require_stable=True)
    deadline = time.perf_counter() + _SETTLE_S
    while True:
        (told,) = raw.ask(asked, OffsetFetchResponse, OFFSETS).groups
        found = [part.committed_offset for topic in told.topics for part in topic.partitions]
        if found == [offset]:
            return
        if time.perf_counter() > deadline:
            raise RuntimeError(f"committed is {found}, and not {offset}")


# --- a gigabyte


def fill(address: str, topic: str, partitions: int, batch_bytes: int, batches: int) -> dict[str, float]:
    """As many batches into each partition, 64 partitions in a request, from an idempotent producer."""
    raw = Raw(address)
    batch, records = batch_of(batch_bytes, RECORD_BYTES)
    watch = Watch()
    for _ in range(batches):
        for first in range(0, partitions, 64):
            which = range(first, min(first + 64, partitions))
            data = tuple(PartitionProduceData(index=n, records=batch) for n in which)
            request = ProduceRequest(
                acks=1, timeout_ms=30_000, topic_data=(TopicProduceData(name=topic, partition_data=data),)
            )
            for part in raw.ask(request, ProduceResponse, PRODUCE).responses[0].partition_responses:
                _check(part.error_code, "Produce")
    await_end(raw, topic, partitions, partitions * batches * records)
    return {**watch.stop(), "records": records}


# --- what all share


def find_coordinator(raw: Raw, of: int) -> None:
    """Which makes its topic, where there is none yet."""
    request = FindCoordinatorRequest(key_type=of, coordinator_keys=("any",))
    while True:
        (found,) = raw.ask(request, FindCoordinatorResponse, FIND).coordinators
        if found.error_code not in _AGAIN:
            _check(found.error_code, "FindCoordinator")
            return
        time.sleep(0.01)


def _check(code: int, what: str) -> None:
    if code:
        raise RuntimeError(f"{what}: error {code}")


WORKS: dict[str, Callable[..., dict[str, Any]]] = {work.__name__: work for work in (transactions, step, fill)}

if __name__ == "__main__":
    print(json.dumps(WORKS[sys.argv[1]](**json.loads(sys.argv[2]))))
