"""Reads the topics, in a thread of its own, and keeps a picture of what they say.

librdkafka does the reading: it finds leaders, leaves out what was aborted, and comes back when a broker does. There is
no group and nothing is committed, so any number of consoles may read the same topics.
"""

import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from odradek.console.picture import Gathering, Link, Picture
from odradek.console.rows import (
    ACTIVE_USERS,
    DEAD_LETTERS,
    DRIVER_ALERTS,
    TOPICS,
    TRUCK_POSITIONS,
    BadRow,
    read_row,
)
from odradek.model.clock import Clock

_RECORDS_USUAL = 20_000
_RECORDS: Mapping[str, int | None] = {
    TRUCK_POSITIONS: 50_000,
    DRIVER_ALERTS: 1_000,
    ACTIVE_USERS: 50_000,
    DEAD_LETTERS: None,
}
"""How many of the newest records of a partition are read at the start; None for all, since these are counted."""
_BATCH = 2_000
_POLL_S = 0.2
_PICTURE_S = 0.5
_ANSWER_S = 1.0
_LOOK_S, _LOOK_AWAY_S, _LOOK_MISSING_S = 5.0, 0.5, 1.0
"""How often the cluster is looked at: as a rule, while no broker answers, while topics are missing."""

_OWN: Mapping[str, Any] = {
    "client.id": "odradek-console",
    "group.id": "odradek-console",  # must be there; without a subscription or a commit nobody hears of it
    "isolation.level": "read_committed",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
    "allow.auto.create.topics": False,
    "reconnect.backoff.max.ms": 1_000,
    "log_level": 0,
}

Place = tuple[str, int]
"""A topic and a partition."""


class Feed:
    """`start`, then `picture` whenever one is wanted, then `stop`."""

    def __init__(self, settings: Mapping[str, Any], clock: Clock) -> None:
        """Settings are librdkafka's; there must be `bootstrap.servers`. Raises KafkaException for what it refuses."""
        self._link = Link(settings["bootstrap.servers"])
        self._clock = clock
        self._gathering = Gathering()
        self.picture = Picture(self._link)
        """Replaced whole, never changed: any thread may take it."""
        self._consumer = Consumer({**settings, **_OWN}, error_cb=self._on_error)
        self._next: dict[Place, int] = {}
        """What is read, and from where on."""
        self._unread: set[Place] = set()
        """Partitions whose end, as it was at the start, has not been seen yet."""
        self._cluster_id: str | None = None
        self._is_away = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="feed", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Returns when the connections are closed."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            look_at = picture_at = time.monotonic()
            while not self._stop.is_set():
                if self._is_away or time.monotonic() >= look_at:
                    look_at = time.monotonic() + self._look()
                self._read()
                if time.monotonic() >= picture_at:
                    picture_at = time.monotonic() + _PICTURE_S
                    self.picture = self._gathering.picture(self._link)
        finally:
            self._consumer.close()

    def _on_error(self, error: KafkaError) -> None:
        if error.code() == KafkaError._ALL_BROKERS_DOWN:
            self._is_away = True

    # --- the cluster

    def _look(self) -> float:
        """Whether it is there, and what is new in it. Returns the time until it should be looked at again."""
        try:
            found = self._consumer.list_topics(timeout=_ANSWER_S)
        except KafkaException:
            return self._gone()
        self._is_away = False
        if self._cluster_id not in (None, found.cluster_id):
            self._forget()
        self._cluster_id = found.cluster_id
        known = {name: sorted(each.partitions) for name, each in found.topics.items() if each.error is None}
        self._assign([(topic, number) for topic in TOPICS for number in known.get(topic, ())])
        missing = tuple(topic for topic in TOPICS if topic not in known)
        self._link = replace(self._link, away_since_ms=None, missing=missing, loaded=not self._unread)
        return _LOOK_MISSING_S if missing else _LOOK_S

    def _assign(self, wanted: list[Place]) -> None:
        starts = {place: self._start_of(place) for place in wanted if place not in self._next}
        found = {place: start for place, start in starts.items() if start is not None}
        kept = {place: at for place, at in self._next.items() if place in wanted}
        if found or len(kept) < len(self._next):
            self._next = kept | found
            self._unread = (self._unread & kept.keys()) | found.keys()
            self._consumer.assign([TopicPartition(*place, at) for place, at in self._next.items()])

    def _gone(self) -> float:
        self._is_away = True
        self._link = replace(self._link, away_since_ms=self._link.away_since_ms or self._clock.now_ms())
        self._stop.wait(_LOOK_AWAY_S)
        return 0.0

    def _forget(self) -> None:
        """Another cluster answers at the same address: what was read is not of it."""
        self._gathering = Gathering()
        self._next.clear()
        self._unread.clear()

    def _start_of(self, place: Place) -> int | None:
        """None where nobody can say: the next look may find somebody."""
        try:
            found = self._consumer.get_watermark_offsets(TopicPartition(*place), timeout=_ANSWER_S)
        except KafkaException:
            return None
        ends = cast("tuple[int, int] | None", found)  # none when the time is up, whatever its types say
        if ends is None:
            return None
        first, last = ends
        records = _RECORDS.get(place[0], _RECORDS_USUAL)
        return first if records is None else max(first, last - records)

    # --- records

    def _read(self) -> None:
        for message in self._consumer.consume(_BATCH, _POLL_S):
            place = (message.topic() or "", message.partition() or 0)
            error = message.error()
            if place not in self._next:
                continue  # it was read until a moment ago
            if error is None:
                self._next[place] = (message.offset() or 0) + 1
                self._take(place[0], message)
            elif error.code() == KafkaError._PARTITION_EOF:
                self._unread.discard(place)
                self._link = replace(self._link, loaded=not self._unread)

    def _take(self, topic: str, message: Message) -> None:
        try:
            self._gathering.take(topic, read_row(topic, message.value(), message.timestamp()[1]))
        except BadRow:
            self._gathering.bad_rows += 1
