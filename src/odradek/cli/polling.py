"""A consumer of librdkafka that is asked for records again and again, and who notices that nobody is there."""

import argparse
import select
import sys
import time
from collections.abc import Mapping

from confluent_kafka import Consumer, KafkaError, KafkaException, Message

from odradek.cli import librdkafka
from odradek.cli.librdkafka import Failed
from odradek.cli.streams import complain

BATCH = 1000
_POLL_S = 0.2
"""How long Ctrl-C may take: librdkafka waits without hearing of it."""


class Polling:
    def __init__(self, options: argparse.Namespace, settings: Mapping[str, object]) -> None:
        self._options = options
        self._down_since: float | None = None
        try:
            self.consumer = Consumer(dict(settings), error_cb=self._on_error)
        except KafkaException as error:
            raise librdkafka.misused(error) from None

    def take(self, most: int) -> list[Message]:
        """What is there, once something is: to wait for a number of records would hold back the first of them."""
        try:
            first = self.consumer.poll(_POLL_S)
            if first is None:
                self._check()
                return []
            self._down_since = None
            return [first, *self.consumer.consume(most - 1, 0)] if most > 1 else [first]
        except SystemError:
            # confluent-kafka has lost the exception of a Ctrl-C that came while it called `_on_error`.
            raise KeyboardInterrupt from None

    def _check(self) -> None:
        """Nothing came for a while: is anybody there, at either end?"""
        if _is_cut_off(sys.stdout.fileno()):
            raise BrokenPipeError
        down = self._down_since
        if self._options.until_end and down is not None and time.monotonic() - down > self._options.timeout:
            raise Failed(f"no broker answers any more, for {self._options.timeout:g} s")

    def _on_error(self, error: KafkaError) -> None:
        if error.code() == KafkaError._ALL_BROKERS_DOWN and self._down_since is None:
            self._down_since = time.monotonic()
            complain("no broker answers any more; waiting for one")


def _is_cut_off(descriptor: int) -> bool:
    """Whether standard output is a pipe that nobody reads any more."""
    poller = select.poll()
    poller.register(descriptor, 0)
    return any(event & select.POLLERR for _, event in poller.poll(0))
