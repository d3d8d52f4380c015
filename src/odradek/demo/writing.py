"""Writes simulated events: the history as fast as it goes, then the rest as its time comes."""

import time
from collections.abc import Iterable
from threading import Event as Signal
from threading import Thread

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from odradek.demo.pacing import Pace, Queue
from odradek.demo.scenario import LIVE_MS, SPEED, Scenario
from odradek.model.errors import OdradekError
from odradek.pipelines.simulation.event import Event

_TICK_S = 0.05
_FULL_S = 0.1
_FLUSH_S = 0.5
_STRETCH_MS = 600_000


class NotWritten(OdradekError):
    """An event did not get to its topic."""


class Writer:
    """A thread. What it wrote is always a beginning of the scenario's events, so their number says which they are.

    `live` starts the part that follows history. `stop` ends it, and what was taken by then is written to the end;
    `abandon` does not wait for that.
    """

    def __init__(self, scenario: Scenario, bootstrap: str) -> None:
        self.live, self.stop = Signal(), Signal()
        self._abandoned = False
        self.history_ms = 0
        """How much of the history is written, of the time there."""
        self.is_live = False
        self.failure: Exception | None = None
        self._scenario = scenario
        self._produced = 0
        self._refused: str | None = None
        # Idempotent: nothing comes twice, and a truck's events stay in order.
        settings = {"bootstrap.servers": bootstrap, "partitioner": "murmur2_random", "enable.idempotence": True}
        self._producer = Producer({**settings, "linger.ms": 20, "client.id": "odradek-demo", "log_level": 0})
        self._pace: Pace | None = None
        self._thread = Thread(target=self._run, name="writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def is_done(self) -> bool:
        """All that was produced is written, or `failure` says why not."""
        return not self._thread.is_alive()

    @property
    def written(self) -> int:
        """Events that were handed over; those of the table of plans are not counted."""
        return self._produced

    @property
    def time_ms(self) -> int:
        """The time there."""
        return LIVE_MS if self._pace is None else self._pace.time_ms()

    def abandon(self, timeout_s: float) -> None:
        self._abandoned = True
        self.stop.set()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)

    def _run(self) -> None:
        try:
            self._write()
        except (OdradekError, KafkaException) as error:
            self.failure = error

    def _write(self) -> None:
        self._send(self._scenario.plans())
        queue = Queue(self._scenario.events())
        start_ms = self._scenario.start_ms
        for until_ms in [*range(start_ms + _STRETCH_MS, LIVE_MS, _STRETCH_MS), LIVE_MS]:
            if self.stop.is_set():
                break
            self._produced += self._send(queue.before(until_ms))
            self.history_ms = until_ms - start_ms
        self._flush()
        self.is_live = True
        while not self.live.wait(_TICK_S) and not self.stop.is_set():
            self._producer.poll(0)
        self._pace = Pace(LIVE_MS, SPEED, time.monotonic)
        while not self.stop.wait(_TICK_S):
            self._produced += self._send(queue.before(self._pace.time_ms()))
        self._flush()

    def _send(self, events: Iterable[Event]) -> int:
        """How many there were; fewer where it is told to stop."""
        sent = 0
        for event in events:
            self._produce(event)
            sent += 1
            if self.stop.is_set():
                break
        self._producer.poll(0)
        self._check()
        return sent

    def _produce(self, event: Event) -> None:
        while True:
            try:
                self._producer.produce(
                    event.topic, event.value, event.key, timestamp=event.sent_ms, on_delivery=self._on_delivery
                )
                return
            except BufferError:  # its queue is full
                self._producer.poll(_FULL_S)
                self._check()
                if self._abandoned:
                    return

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is not None and self._refused is None:
            self._refused = f"an event was not written to {message.topic()}: {error.str()}"

    def _check(self) -> None:
        if self._refused is not None:
            raise NotWritten(self._refused)

    def _flush(self) -> None:
        while self._producer.flush(_FLUSH_S) and not self._abandoned:
            self._check()
        self._check()
