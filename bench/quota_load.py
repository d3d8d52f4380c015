"""What quotas cost, and how exactly they hold: ./run bench quota_load

Cost: the same load on the same broker, with a quota that nobody reaches and without any, in turn, many times. What is
compared is the CPU time that the broker took for a request, as the kernel counts it: other work on the machine does
not show in it as it does in rates. A broker that has nothing to do takes none.

Accuracy: clients that send or fetch as fast as they may, one and ten of them that share a quota, over ten seconds from
their first request. A client is heard by the broker when its time is over, whatever it does by itself.
"""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import harness
import load
from contenders import Odradek, Running, running
from raw import FETCH_VERSION, Raw, fetch_request, frame_of
from versus import Row, at_most, new_topic, prepared, progress, show, work_directory

from odradek.wire.codec import decode
from odradek.wire.header import read_response_head
from odradek.wire.messages.alter_client_quotas import AlterClientQuotasResponse
from odradek.wire.messages.fetch import FetchResponse
from support.quotas import EVERYBODY, alteration

WITH, WITHOUT = "with a quota", "without"
LOADS = {
    "one record a request, 5 in flight": {"record_bytes": 100, "batch_bytes": 1, "count": 1_000},
    "batches of 16 KB": {"record_bytes": 100, "batch_bytes": 16_000, "count": 1_000},
    "batches of 1 MB": {"record_bytes": 1_000, "batch_bytes": 1_000_000, "count": 40},
}
"""Short pieces, so that what else the machine does falls on both sides alike."""
ROUNDS = 300
"""The CPU of a piece varies by a fifth from one to the next: it takes so many to tell one part in a hundred."""
_ROUNDS_OF_A_TOPIC = 20
"""Its files go before the kernel writes them to the disk, which it would do in the time of whoever comes next."""
RATE = 5_000_000
SECONDS = 10
_BAR = at_most(1.02, "under 2 % more")
_NEVER_REACHED = 1e15


def cost(broker: Running, rounds: int) -> list[Row]:
    """CPU time of the broker for a produce request: with a quota as ours, without as the other."""
    rows = []
    for what, parameters in LOADS.items():
        taken = {WITH: list[float](), WITHOUT: list[float]()}
        for first in range(0, rounds, _ROUNDS_OF_A_TOPIC):
            topic = new_topic(broker, f"cost-{parameters['batch_bytes']}-{first}", 6)
            for number in range(first, min(first + _ROUNDS_OF_A_TOPIC, rounds)):
                # One way round and then the other, so that what comes second has no advantage.
                for side in (WITH, WITHOUT) if number % 2 else (WITHOUT, WITH):
                    set_quota(broker, "producer_byte_rate", _NEVER_REACHED if side == WITH else None)
                    taken[side].append(cpu_us(broker, topic, parameters))
            raw = Raw(broker.address)
            raw.delete_topics([topic])
            raw.close()
        for side, values in taken.items():
            progress(f"  {what}, {side}: {' '.join(f'{value:.1f}' for value in sorted(values))}")
        with_quota, without = (_lower_quartile(taken[side]) for side in (WITH, WITHOUT))
        name = f"CPU of a produce request, {what}"
        rows.append(Row(name, "us", with_quota, without, _BAR.text, _BAR.is_met(with_quota, without)))
    set_quota(broker, "producer_byte_rate", None)
    return rows


def _lower_quartile(values: list[float]) -> float:
    """Caches that others have emptied make work dearer, never cheaper: what is low is what the work itself takes."""
    return sorted(values)[len(values) // 4]


def set_quota(broker: Running, key: str, value: float | None) -> None:
    raw = Raw(broker.address)
    answer = raw.ask(alteration(EVERYBODY, {key: value}), AlterClientQuotasResponse, 1)
    raw.close()
    if answer.entries[0].error_code:
        raise RuntimeError(f"{key}: {answer.entries[0].error_message}")


def cpu_us(broker: Running, topic: str, parameters: dict[str, int]) -> float:
    """For one request, of all threads."""
    before = _cpu_ns(broker.pid)
    load.produce(broker.address, topic, 6, **parameters)
    return (_cpu_ns(broker.pid) - before) / parameters["count"] / 1000


def _cpu_ns(pid: int) -> int:
    return sum(int(path.read_text().split()[0]) for path in Path(f"/proc/{pid}/task").glob("*/schedstat"))


# --- accuracy


def accuracy(broker: Running) -> Iterator[Row]:
    """Bytes a second over the first ten seconds, next to the quota."""
    for clients in (1, 10):
        topic = new_topic(broker, f"produced-{clients}", 1)
        set_quota(broker, "producer_byte_rate", RATE)
        yield _row("produced", clients, flood(broker, topic, clients))
        set_quota(broker, "producer_byte_rate", None)
    topic = new_topic(broker, "fetched", 1)
    load.produce(broker.address, topic, 1, record_bytes=1_000, batch_bytes=16_000, count=6_000)
    for clients in (1, 10):
        set_quota(broker, "consumer_byte_rate", RATE)
        yield _row("fetched", clients, drain(broker, topic, clients))
        set_quota(broker, "consumer_byte_rate", None)


def _row(what: str, clients: int, rate: float) -> Row:
    name = f"{what} by {clients} that share a quota" if clients > 1 else f"{what} by one with a quota"
    return Row(name, "MB/s", rate / 1e6, RATE / 1e6, "within 10 %", abs(rate / RATE - 1) <= 0.1)


def flood(broker: Running, topic: str, clients: int) -> float:
    shape = {"record_bytes": 1_000, "batch_bytes": 16_000, "connections": clients, "in_flight": 1}
    return load.produce(broker.address, topic, 1, seconds=SECONDS, **shape)["mb_s"] * 1e6


def drain(broker: Running, topic: str, clients: int) -> float:
    """All read the same partition from its start, over and over."""
    raws = [Raw(broker.address) for _ in range(clients)]
    received = [0] * clients
    end = time.monotonic() + SECONDS

    def read(number: int) -> None:
        raw = raws[number]
        request = frame_of(fetch_request(topic, {0: 0}), FETCH_VERSION)
        with suppress(OSError):  # its socket is closed when the time is over
            while time.monotonic() < end:
                raw.sock.sendall(request)
                _, body = read_response_head(raw.receive(), FetchResponse, FETCH_VERSION)
                for each in decode(FetchResponse, FETCH_VERSION, body).responses:
                    records = each.partitions[0].records
                    received[number] += len(records) if isinstance(records, memoryview) else 0

    threads = [threading.Thread(target=read, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    time.sleep(max(end - time.monotonic(), 0))
    for raw in raws:
        with suppress(OSError):
            raw.sock.shutdown(socket.SHUT_RDWR)
    for thread in threads:
        thread.join()
    return sum(received) / SECONDS


def main() -> None:
    parser = harness.parser(__doc__ or "", rounds=ROUNDS)
    parser.add_argument("--only", choices=("cost", "accuracy"), help="one part of it")
    options = parser.parse_args()
    rows: list[Row] = []
    contender = Odradek()
    with work_directory() as root, running(contender, prepared(contender, root)) as broker:
        if options.only != "accuracy":
            rows += cost(broker, options.rounds)
        if options.only != "cost":
            rows += accuracy(broker)
    show(rows, WITH, "without, or the quota")
    if options.save:
        harness.save("quotas", {"rounds": options.rounds, "rows": list(map(asdict, rows))})


if __name__ == "__main__":
    main()
