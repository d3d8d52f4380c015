"""When batches are done, as a stream hears it that Spark tells late."""

import queue
import threading

from odradek.model.topic_partition import TopicPartition
from odradek.spark.offsets import Position
from odradek.spark.streams.completion import Completion

_HANGS_S = 60


class Pauses:
    """Each lasts until it is ended."""

    def __init__(self) -> None:
        self._begun = threading.Semaphore(0)
        self._over = threading.Semaphore(0)

    def __call__(self, _seconds: float) -> None:
        self._begun.release()
        self._over.acquire()

    def wait(self) -> None:
        assert self._begun.acquire(timeout=_HANGS_S)

    def end(self) -> None:
        self._over.release()


def end_at(offset: int) -> Position:
    return Position({TopicPartition("orders", 0): offset})


def test_it_asks_until_a_batch_is_done() -> None:
    pauses, answers, done = Pauses(), iter([False, False, True]), queue.SimpleQueue[Position]()
    completion = Completion(lambda _end: next(answers), done.put, pauses)
    completion.planned(end_at(5))
    for _ in range(3):
        pauses.wait()
        assert done.empty()
        pauses.end()
    assert done.get(timeout=_HANGS_S) == end_at(5)


def test_nobody_is_asked_about_a_batch_that_spark_has_told_of() -> None:
    pauses, asked, done = Pauses(), list[Position](), queue.SimpleQueue[Position]()

    def is_done(end: Position) -> bool:
        asked.append(end)
        return True

    completion = Completion(is_done, done.put, pauses)
    completion.planned(end_at(5))
    pauses.wait()
    completion.told()
    completion.planned(end_at(7))
    pauses.end()
    pauses.wait()
    pauses.end()
    assert done.get(timeout=_HANGS_S) == end_at(7)
    assert asked == [end_at(7)]


def test_what_spark_tells_while_somebody_is_asked_is_not_told_again() -> None:
    pauses, done = Pauses(), queue.SimpleQueue[Position]()

    def is_done(end: Position) -> bool:
        if end == end_at(5):
            completion.planned(end_at(7))  # it was done, and is over by the time of the answer
        return True

    completion = Completion(is_done, done.put, pauses)
    completion.planned(end_at(5))
    for _ in range(2):
        pauses.wait()
        pauses.end()
    assert done.get(timeout=_HANGS_S) == end_at(7)
    assert done.empty()
