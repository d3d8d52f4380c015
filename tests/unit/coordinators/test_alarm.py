"""The one timer of all deadlines: it rings when the first is due, and hears those out who spoke before."""

import asyncio
import selectors
import socket
from collections.abc import Coroutine
from typing import Any

from odradek.coordinators.alarm import Alarm


class StandStill(selectors.DefaultSelector):
    """Waits for nothing, and once for long: what comes meanwhile is seen only the next time it looks.

    So it is when a process is stopped while it waits, and goes on later.
    """

    def __init__(self, speaker: socket.socket) -> None:
        super().__init__()
        self._speaker = speaker
        self.now = 1000.0
        self.stands_still_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if self.stands_still_s:
            self.now += self.stands_still_s
            self.stands_still_s = 0.0
            self._speaker.send(b"here I am")
            return []
        self.now += timeout or 0
        return super().select(0)


def play(scene: Coroutine[Any, Any, None], selector: StandStill) -> None:
    def loop_of_its_time() -> asyncio.AbstractEventLoop:
        loop = asyncio.SelectorEventLoop(selector)
        loop.time = lambda: selector.now  # type: ignore[method-assign]
        return loop

    with asyncio.Runner(loop_factory=loop_of_its_time) as runner:
        runner.run(scene)


def test_those_who_spoke_while_the_process_stood_still_are_heard_first() -> None:
    listener, speaker = socket.socketpair()
    listener.setblocking(False)
    selector = StandStill(speaker)
    due: list[object] = []

    async def scene() -> None:
        rang = asyncio.Event()

        def ring() -> None:
            due.extend(timers.due())
            rang.set()
            alarm.set_for(timers)

        def hear() -> None:
            listener.recv(100)
            timers.set("the one who speaks", 6000)

        alarm = Alarm(ring)
        timers = alarm.new_timers()
        timers.set("the one who speaks", 6000)
        timers.set("the silent one", 6000)
        asyncio.get_running_loop().add_reader(listener, hear)
        selector.stands_still_s = 20.0
        await rang.wait()
        alarm.cancel()

    with listener, speaker:
        play(scene(), selector)
    assert due == ["the silent one"]
