"""What is left of a request when its handler has returned, and said that it answers by itself."""

from collections.abc import Callable

from odradek.broker.call import Call
from odradek.broker.dispatch import LATER
from odradek.wire.schema import Message


def answer_late(call: Call, finish: Callable[[], Message | object | None]) -> None:
    """Answer with what `finish` returns, or leave it to `finish` to do so later still (LATER).

    What `finish` does takes time of the client's quota, as the handler does. It is called also if the client has left.
    """
    times = call.times
    with call.guard():
        if times is not None:
            times.begin(call)
        response = finish()
        if response is not LATER:
            assert response is None or isinstance(response, Message)
            call.respond(response)
        if times is not None:
            times.end(call)
