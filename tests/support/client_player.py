"""The scenario of tests/interop/clients/README.md for clients in Python: the order of steps, and how they are printed.
A program gives what its client does as `Calls`."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from support import client_scenario as scenario

LIMIT_S = 60


class How(NamedTuple):
    """What a producer is told beside where the broker is; None for what it is not told."""

    codec: str | None = None
    acks: str | None = None
    idempotent: bool | None = None


class Refused(Exception):
    """What the broker refused, by the client's own name for the error."""


class Calls(Protocol):
    def create(self, topics: Sequence[str], partitions: int, configs: Mapping[str, str]) -> None: ...
    def topics(self) -> list[str]: ...
    def partitions(self, topic: str) -> int:
        """Raises Refused for a topic that is not there."""

    def config(self, topic: str, name: str) -> str: ...
    def send(self, topic: str, partition: int, records: Sequence[list[Any]], how: How) -> list[int]:
        """Records as they are printed, all in one batch. Returns their offsets; raises Refused."""

    def read(self, topic: str, partition: int, start: int | None, count: int | None) -> list[list[Any]]:
        """From an offset or the beginning; `count` records, or all that are there."""

    def follow(self, topic: str, lines: Iterable[str]) -> Iterator[tuple[int, str | None]]:
        """One producer and one consumer: each line is sent, and read again, with its offset."""

    def join(self, topic: str, group: str, protocol: str, count: int) -> list[tuple[int, int]]:
        """As a member of a group: the next records, by partition and offset. They, and no more, are committed."""

    def offset_at(self, topic: str, time_ms: int) -> int | None: ...
    def ends(self, topic: str) -> tuple[int, int]: ...
    def delete_records(self, topic: str, before: int) -> None: ...
    def add_partitions(self, topic: str, total: int) -> None: ...
    def set_config(self, topic: str, name: str, value: str) -> None: ...
    def delete(self, topic: str) -> None: ...


def main(kind: type[Any]) -> None:
    """Run the program of a client. `kind` makes its calls, given where the broker is."""
    mode, bootstrap, *rest = sys.argv[1:]
    calls: Calls = kind(bootstrap)
    if mode == "play":
        play(calls, rest[0], rest[1].split(","))
    elif mode == "read":
        for topic in rest:
            _print({"topic": topic, "records": calls.read(topic, 0, None, None)})
    elif mode == "join":
        topic, group, protocol, count = rest
        _print({"records": calls.join(topic, group, protocol, int(count))})
    else:
        for offset, value in calls.follow(rest[0], (line.rstrip("\n") for line in sys.stdin)):
            _print({"offset": offset, "value": value})


def play(calls: Calls, topic: str, codecs: Sequence[str]) -> None:
    changed = f"{topic}-changed"
    calls.create([topic, changed], 3, scenario.CONFIGS)
    _tell("created")
    configs = {name: calls.config(topic, name) for name in scenario.CONFIGS}
    _tell("described", partitions=calls.partitions(topic), configs=configs)
    _produce(calls, topic, codecs)
    _consume(calls, topic)
    _change(calls, changed)
    _fail(calls, topic)
    calls.delete(changed)
    _tell("deleted", topics=[name for name in sorted(calls.topics()) if name in (topic, changed)])


def _produce(calls: Calls, topic: str, codecs: Sequence[str]) -> None:
    records = scenario.records_of(codecs)
    for at, codec in enumerate(codecs):
        batch = records[at * scenario.BATCH_RECORDS :][: scenario.BATCH_RECORDS]
        offsets = calls.send(topic, 0, batch, How(codec=codec, acks="all", idempotent=True))
        _tell("produced", codec=codec, offsets=offsets)
    for acks in ("1", "0"):
        calls.send(topic, 1, [_record(f"acks-{acks}")], How(acks=acks, idempotent=False))
    _tell("acks", values=[record[3] for record in calls.read(topic, 1, 0, 2)])
    _tell("defaults", offset=calls.send(topic, 2, [_record("default")], How())[0])


def _consume(calls: Calls, topic: str) -> None:
    _tell("consumed", records=calls.read(topic, 0, None, None))
    later = calls.read(topic, 0, 15, None)
    _tell("from_offset", first=later[0][0], count=len(later))
    found, past_end = (calls.offset_at(topic, time) for time in (scenario.SEARCHED_MS, scenario.PAST_END_MS))
    _tell("by_time", found=found, past_end=past_end)
    earliest, latest = calls.ends(topic)
    _tell("offsets", earliest=earliest, latest=latest)


def _change(calls: Calls, topic: str) -> None:
    calls.send(topic, 0, scenario.records_of(["none"]), How())
    calls.delete_records(topic, 7)
    _tell("records_deleted", low=calls.ends(topic)[0], first=calls.read(topic, 0, None, None)[0][0])
    calls.add_partitions(topic, 5)
    _tell("partitions_added", partitions=calls.partitions(topic))
    calls.set_config(topic, "max.message.bytes", "30000")
    _tell("altered", value=calls.config(topic, "max.message.bytes"))


def _fail(calls: Calls, topic: str) -> None:
    try:
        calls.send(topic, 0, [_record("x" * 25_000)], How())
    except Refused as error:
        _tell("too_large", error=str(error))
    try:
        calls.partitions(f"{topic}-unknown")
    except Refused as error:
        _tell("unknown_topic", error=str(error))


def _record(value: str) -> list[Any]:
    return [0, scenario.FIRST_MS, None, value, []]


def encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def decoded(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


def _tell(step: str, **fields: Any) -> None:
    _print({"step": step, **fields})


def _print(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
