"""What a process does, told from above to below: a generator that waits for answers and for time to pass."""

from collections.abc import Callable, Generator
from functools import partial
from typing import Any, TypeAlias, TypeVar

from odradek.wire.schema import Message
from support.sim.line import Line
from support.sim.process import Process

T = TypeVar("T")
Resume = Callable[[Any], None]
Script: TypeAlias = Generator[Callable[[Resume], None], Any, T]
"""It yields what is to be begun, which is given the way back, and goes on with what comes of it."""


def perform(script: Script[None]) -> None:
    _go_on(script, None)


def _go_on(script: Script[None], value: Any) -> None:
    try:
        begin = script.send(value)
    except StopIteration:
        return
    begin(partial(_go_on, script))


def pause(process: Process, delay_ms: int) -> Script[None]:
    yield lambda resume: process.later(delay_ms, partial(resume, None))


def ask(line: Line, request: Message, version: int, timeout_ms: int) -> Script[Any]:
    """The response; None where it was lost, and the request perhaps with it."""
    return (yield lambda resume: line.ask(request, version, timeout_ms, resume, partial(resume, None)))
