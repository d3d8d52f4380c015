"""Connections over TCP on which nothing that is sent waits for more."""

import json
import subprocess
import sys

import pytest

SETTING = """
import gc, json, socket
from odradek.spark.sockets import send_at_once

def pair(family, address):
    with socket.create_server((address, 0), family=family) as listening:
        here = socket.create_connection(listening.getsockname()[:2])
        return here, listening.accept()[0]

def option(each, name):
    return each.getsockopt(socket.IPPROTO_TCP, getattr(socket, name))
"""
OPTIONS = """
here, there = pair(socket.AF_INET, "127.0.0.1")
idle = socket.socket()
unix, _ = socket.socketpair()
before = [option(each, "TCP_NODELAY") for each in (here, there, idle)]
send_at_once()
late, _ = pair(socket.AF_INET, "127.0.0.1")
here.sendall(b"still open")
after = [bool(option(each, "TCP_NODELAY")) for each in (here, there, idle, late)]
print(json.dumps([before, after, there.recv(10).decode(), unix.fileno() >= 0]))
"""
ACKNOWLEDGING = """
here, there = pair(socket.AF_INET, "127.0.0.1")
of_this_task = [here.dup(), here.dup()]
send_at_once()
while of_this_task:
    of_this_task.pop().close()

def talk():
    for _ in range(5):  # until the system takes it for a conversation
        there.sendall(b"question")
        here.recv(8)
        here.sendall(b"answer")
        there.recv(6)
    return bool(option(here, "TCP_QUICKACK"))

told = [talk()]
gc.collect(0)
told.append(bool(option(here, "TCP_QUICKACK")))
gc.collect()
told.append(bool(option(here, "TCP_QUICKACK")))
here.close()
gc.collect()  # of a connection that is gone
print(json.dumps(told))
"""


def run(script: str) -> list[object]:
    """In a process of its own, which has no other connections."""
    done = subprocess.run([sys.executable, "-c", SETTING + script], capture_output=True, text=True, check=True)
    assert not done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, list)
    return found


def test_what_is_sent_does_not_wait() -> None:
    before, after, received, is_open = run(OPTIONS)
    assert before == [0, 0, 0]
    assert after == [True, True, False, False]  # connected ones that were there, and no others
    assert received == "still open"
    assert is_open


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can be told to acknowledge at once")
def test_what_comes_is_acknowledged_after_the_collection_that_ends_a_task() -> None:
    assert run(ACKNOWLEDGING) == [False, False, True]


WHO_CALLS = """
here, there = pair(socket.AF_INET, "127.0.0.1")
{work}
print(json.dumps([bool(option(here, "TCP_NODELAY"))]))
"""


@pytest.mark.parametrize(
    "work",
    [
        "from odradek.spark.worker import in_task\nnext(in_task(iter('a')))",
        "from odradek.spark.sink.writers import BatchSink\n"
        "BatchSink._write_rows = lambda *_: None\n"
        "BatchSink.write_rows(BatchSink.__new__(BatchSink), iter(()), None)",
        "from odradek.spark.options import source_options\n"
        "from odradek.spark.stream_reader import StreamReader\n"
        "given = {'kafka.bootstrap.servers': '127.0.0.1:1', 'subscribe': 'a'}\n"
        "StreamReader(source_options(given, streaming=True)).reportLatestOffset()",
    ],
    ids=["a task that reads", "a task that writes", "the source of a stream"],
)
def test_who_sends_at_once(work: str) -> None:
    assert run(WHO_CALLS.format(work=work)) == [True]


def test_without_connections_nothing_is_done() -> None:
    assert run("send_at_once()\nprint(json.dumps([len(gc.callbacks)]))") == [0]
