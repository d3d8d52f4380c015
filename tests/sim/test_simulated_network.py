"""What the simulated network does beside what any network does."""

from collections.abc import Callable
from contextlib import suppress
from random import Random

import pytest

from support.sim.events import Events
from support.sim.streams import CALM, SimChannel, SimHost, SimNetwork, Weather

PORT = 9092


class Stage:
    """A host that listens and one that dials, which note what they read and when."""

    def __init__(self, weather: Weather = CALM, seed: int = 1) -> None:
        self.events = Events()
        self.network = SimNetwork(self.events, Random(seed), weather)
        self.server = self.network.host("server", lambda call: call())
        self.client = self.network.host("client", lambda call: call())
        self.accepted: list[SimChannel] = []
        self.read: list[tuple[int, str, bytes]] = []
        acceptor = self.server.listen("", PORT)
        acceptor.on_acceptable(lambda: self.accepted.append(acceptor.accept()))

    def connect(self, host: SimHost | None = None) -> SimChannel | None:
        """The dialling end; the other is the last that was accepted."""
        found: list[SimChannel | None] = []
        (host or self.client).connect("server", PORT, found.append)
        while not found:
            assert self.events.run_next()
        self.events.run_until(self.events.now_ms)
        return found[0]

    def pair(self) -> tuple[SimChannel, SimChannel]:
        near = self.connect()
        assert near is not None
        return near, self.accepted[-1]

    def listen_to(self, name: str, channel: SimChannel) -> None:
        def read() -> None:
            self.read.append((self.events.now_ms, name, receive(channel)))
            if self.read[-1][2] in (b"end", b"reset"):
                channel.on_readable(None)

        channel.on_readable(read)

    def run(self, ms: int = 60_000) -> None:
        self.events.run_until(self.events.now_ms + ms)

    def data(self, name: str) -> bytes:
        return b"".join(data for _, who, data in self.read if who == name and data not in (b"end", b"reset"))

    def last(self, name: str) -> bytes:
        return [data for _, who, data in self.read if who == name][-1]


def receive(channel: SimChannel, size: int = 1 << 16) -> bytes:
    buffer = bytearray(size)
    try:
        count = channel.receive_into(buffer)
    except ConnectionResetError:
        return b"reset"
    return bytes(buffer[:count]) if count else b"end"


def fill(channel: SimChannel) -> None:
    with suppress(BlockingIOError):
        while True:
            channel.send(b"x" * 10_000)


def test_bytes_are_delayed_and_keep_their_order() -> None:
    stage = Stage(Weather(delay_ms_max=500, break_chance=0.0))
    near, far = stage.pair()
    stage.listen_to("server", far)
    began_ms = stage.events.now_ms
    for number in range(50):
        near.send(bytes([number]))
    stage.run()
    assert stage.data("server") == bytes(range(50))
    assert stage.read[-1][0] > began_ms + 100


def test_one_who_does_not_read_lets_the_other_wait() -> None:
    stage = Stage()
    near, far = stage.pair()
    fill(near)
    stage.run()
    again: list[int] = []

    def writable() -> None:
        again.append(stage.events.now_ms)
        near.on_writable(None)

    near.on_writable(writable)
    stage.run()
    assert not again
    assert receive(far) == b"x" * (1 << 16)
    stage.run()
    assert len(again) == 1
    assert near.send(b"x" * (1 << 20)) == 1 << 16


def test_an_end_comes_behind_what_was_sent() -> None:
    stage = Stage()
    near, far = stage.pair()
    stage.listen_to("server", far)
    near.send(b"last words")
    near.close()
    stage.run()
    assert (stage.data("server"), stage.last("server")) == (b"last words", b"end")


def outcomes(act: Callable[[SimChannel], None]) -> set[tuple[bytes, bytes]]:
    """What the server reads of "hello", with how its stream ends, for many seeds."""
    found = set()
    for seed in range(30):
        stage = Stage(Weather(delay_ms_max=20, break_chance=0.0), seed)
        near, far = stage.pair()
        stage.listen_to("server", far)
        near.send(b"hello")
        act(near)
        stage.run()
        found.add((stage.data("server"), stage.last("server")))
    return found


def test_what_was_under_way_when_a_stream_broke_is_lost_or_late() -> None:
    assert outcomes(SimChannel.abort) == {(b"hello", b"reset"), (b"", b"reset")}


def test_a_process_that_dies_resets_its_streams_behind_what_it_sent() -> None:
    assert outcomes(lambda near: near.abandon()) == {(b"hello", b"reset")}


def test_both_ends_of_a_stream_hear_that_it_broke() -> None:
    stage = Stage(Weather(delay_ms_max=20, break_chance=1.0))
    near, far = stage.pair()
    stage.listen_to("client", near)
    stage.listen_to("server", far)
    near.send(b"x")
    assert near.send(b"more") == 4, "it has not heard of it yet"
    stage.run()
    assert stage.last("client") == stage.last("server") == b"reset"
    with pytest.raises(BrokenPipeError):
        near.send(b"even more")
    assert b"more" not in stage.data("server")


def test_late_bytes_come_after_those_of_the_next_stream() -> None:
    firsts = set()
    for seed in range(30):
        stage = Stage(Weather(delay_ms_max=5, break_chance=0.0, late_ms_max=20), seed)
        near, far = stage.pair()
        stage.listen_to("old", far)
        near.send(b"old")
        near.abort()
        near, far = stage.pair()
        stage.listen_to("new", far)
        near.send(b"new")
        stage.run()
        firsts.add(next(data for _, _, data in stage.read if data != b"reset"))
    assert firsts == {b"old", b"new"}


def test_a_cut_link_holds_bytes_back_until_it_is_healed() -> None:
    stage = Stage()
    near, far = stage.pair()
    stage.listen_to("server", far)
    stage.network.cut("client", "server")
    near.send(b"x")
    stage.run()
    assert stage.read == []
    stage.network.heal("server", "client")
    stage.run()
    assert stage.data("server") == b"x"


def test_nobody_connects_over_a_cut_link_nor_to_a_dark_host() -> None:
    stage = Stage()
    stage.network.cut("client", "server")
    assert stage.connect() is None
    assert stage.events.now_ms >= 20_000
    stage.network.heal("client", "server")
    stage.server.is_dark = True
    assert stage.connect() is None
    stage.server.is_dark = False
    assert stage.connect() is not None


def test_a_host_without_power_tells_nobody_until_it_is_back() -> None:
    stage = Stage()
    near, _ = stage.pair()
    stage.listen_to("client", near)
    stage.server.is_dark = True
    stage.server.reset()
    near.send(b"x")
    stage.run()
    assert stage.read == []
    stage.server.is_dark = False
    near.send(b"x")
    stage.run()
    assert stage.last("client") == b"reset"


def test_a_host_without_a_process_refuses() -> None:
    stage = Stage()
    near, _ = stage.pair()
    stage.listen_to("client", near)
    stage.server.reset()
    stage.run()
    assert stage.last("client") == b"reset"
    assert stage.connect() is None


def test_a_paused_process_reads_when_it_goes_on() -> None:
    stage = Stage()
    waiting: list[Callable[[], None]] = []
    paused = stage.network.host("paused", waiting.append)
    found: list[SimChannel | None] = []
    paused.connect("server", PORT, found.append)
    stage.run()
    waiting.pop()()
    (near,) = found
    assert near is not None
    stage.listen_to("client", near)
    stage.accepted[-1].send(b"x")
    stage.run()
    assert stage.read == []
    waiting.pop()()
    assert stage.data("client") == b"x"


def test_a_tap_sees_what_a_process_reads_and_sends() -> None:
    stage = Stage()
    seen: list[tuple[str, bytes]] = []

    class Tap:
        def received(self, _channel: SimChannel, data: bytes) -> None:
            seen.append(("received", data))

        def sent(self, _channel: SimChannel, data: bytes) -> None:
            seen.append(("sent", data))

        def closed(self, _channel: SimChannel) -> None:
            seen.append(("closed", b""))

    stage.server.tap = Tap()
    near, far = stage.pair()
    near.send(b"a")
    stage.run()
    assert seen == []
    assert receive(far) == b"a"
    far.send(b"b")
    far.close()
    assert seen == [("received", b"a"), ("sent", b"b"), ("closed", b"")]
