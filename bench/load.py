"""The load of the benchmarks, as Python sees it: load.c does the work, so that the load takes little of the two cores
that the broker needs too. Each work is a process of its own, against one broker.

Requests are made before the clock starts. What comes back is checked as it comes (errors, offsets, correlation ids),
and what the broker has afterwards is compared with what was sent.
"""

import hashlib
import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

from raw import PRODUCE_VERSION, Raw, batch_of, frame_of, produce_request

from odradek.wire.messages.metadata import MetadataRequest

METADATA_VERSION = 12
UNBOUNDED = 1 << 22
"""Requests on a connection, where the time is the bound."""
_LONG_S = 120.0
_SOURCE = Path(__file__).with_suffix(".c")
_CACHE = Path(__file__).parents[1] / ".cache" / "bench"
_FLAGS = ("-O2", "-std=gnu11", "-Wall", "-Wextra")


class NoCompiler(RuntimeError):
    """There is nothing to build load.c with."""

    def __init__(self) -> None:
        super().__init__("no C compiler (CC, cc, gcc or clang), which builds the load generator bench/load.c")


@cache
def program() -> Path:
    """load.c, built. The name has a hash of the source, so that an older one is never taken for it."""
    compiler = next(filter(None, map(shutil.which, (os.environ.get("CC", ""), "cc", "gcc", "clang"))), None)
    if compiler is None:
        raise NoCompiler
    path = _CACHE / f"load-{hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:16]}"
    if not path.exists():
        _CACHE.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f"{path.name}.{os.getpid()}")
        subprocess.run([compiler, *_FLAGS, "-o", str(fresh), str(_SOURCE)], check=True)
        fresh.rename(path)
    return path


def _run(work: str, *arguments: object, frames: bytes = b"") -> dict[str, float]:
    command = [str(program()), work, *map(str, arguments)]
    done = subprocess.run(command, input=frames, capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"load {work} failed ({done.returncode}): {done.stderr.decode()}")
    result: dict[str, float] = json.loads(done.stdout)
    return {**result, "requests_s": result["requests"] / result["seconds"]}


def pipe(
    address: str, frames: list[bytes], count: int, connections: int = 1, in_flight: int = 5, seconds: float = _LONG_S
) -> dict[str, float]:
    """Prepared requests, with so many under way on each connection, until each has sent `count` or the time is over.

    Frame n belongs to connection n modulo `connections`, which sends its frames in turn, over and over.
    """
    return _run("pipe", address, connections, in_flight, count, seconds, frames=b"".join(frames))


def produce(  # noqa: PLR0913 - the shape of a load
    address: str,
    topic: str,
    partitions: int,
    record_bytes: int,
    batch_bytes: int,
    count: int = UNBOUNDED,
    acks: int = 1,
    connections: int = 1,
    in_flight: int = 5,
    seconds: float = _LONG_S,
) -> dict[str, float]:
    """Requests of one batch each, the partitions in turn: so many on each connection, or for so many seconds."""
    batch, records = batch_of(batch_bytes, record_bytes)
    frames = [frame_of(produce_request(topic, n, batch, acks), PRODUCE_VERSION) for n in range(partitions)]
    dealt = [frames[n // connections] for n in range(partitions * connections)]
    raw = Raw(address)
    before = sum(raw.end_offsets(topic, partitions))
    result = pipe(address, dealt, count, connections, in_flight, seconds)
    arrived = sum(raw.end_offsets(topic, partitions)) - before
    raw.close()
    if arrived != result["requests"] * records:
        raise RuntimeError(f"{arrived} records arrived, of {result['requests'] * records}")
    size = result["requests"] * len(batch)
    return {**result, "bytes": size, "mb_s": size / result["seconds"] / 1e6, "records": arrived}


def fetch(address: str, topic: str, partitions: int, times: int, isolation: int = 0) -> dict[str, float]:
    """Everything that is in the topic, as a consumer with default settings asks for it, and that some times."""
    raw = Raw(address)
    ends = raw.end_offsets(topic, partitions)
    raw.close()
    result = _run("fetch", address, topic, times, isolation, *ends)
    return {**result, "mb_s": result["bytes"] / result["seconds"] / 1e6, "records": times * sum(ends)}


def end_to_end(address: str, topic: str, rate: int, seconds: float) -> dict[str, float]:
    """Records at a steady rate, ten in a batch; how long each batch takes until a consumer has it."""
    per_batch = 10
    batch, _ = batch_of(per_batch * 113 + 61, 100)
    request = frame_of(produce_request(topic, 0, batch, 1), PRODUCE_VERSION)
    raw = Raw(address)
    (offset,) = raw.end_offsets(topic, 1)
    raw.close()
    batches, interval_us = int(rate * seconds) // per_batch, per_batch * 1_000_000 // rate
    result = _run("pace", address, topic, per_batch, batches, interval_us, offset, frames=request)
    return {**result, "records": batches * per_batch}


def metadata(address: str, count: int) -> dict[str, float]:
    """All topics, again and again, one request at a time."""
    request = frame_of(MetadataRequest(topics=None, allow_auto_topic_creation=False), METADATA_VERSION)
    return pipe(address, [request], count, in_flight=1)
