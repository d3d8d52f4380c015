"""Connections over TCP on which nothing that is sent waits for more."""

import json
import socket
import subprocess
import sys

import pytest

SETTING = """
import gc, json, socket
from odradek.spark.runtime.sockets import send_at_once

def pair(address="127.0.0.1"):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family) as listening:
        here = socket.create_connection(listening.getsockname()[:2])
        return here, listening.accept()[0]

def option(each, name):
    return each.getsockopt(socket.IPPROTO_TCP, getattr(socket, name))
"""
OPTIONS = """
here, there = pair()
idle = socket.socket()
unix, other = socket.socketpair()
before = [option(each, "TCP_NODELAY") for each in (here, there, idle)]
send_at_once()
late, _ = pair()
after = [bool(option(each, "TCP_NODELAY")) for each in (here, there, idle, late)]
here.sendall(b"still open")
unix.sendall(b"this too")
print(json.dumps([before, after, there.recv(10).decode(), other.recv(8).decode()]))
"""
IPV6 = """
here, there = pair("::1")
send_at_once()
print(json.dumps([bool(option(here, "TCP_NODELAY"))]))
"""
TIME_LIMIT = """
import os
here, there = pair()
unix, other = socket.socketpair()
socket.setdefaulttimeout(5)
send_at_once()
gc.collect()
print(json.dumps([os.get_blocking(each.fileno()) for each in (here, unix)]))
"""
ACKNOWLEDGING = """
here, there = pair()
of_this_task = [here.dup(), here.dup()]
send_at_once()
while of_this_task:
    of_this_task.pop().close()

def talk():
    for _ in range(1000):  # until the system takes it for a conversation
        there.sendall(b"question")
        here.recv(8)
        here.sendall(b"answer")
        there.recv(6)
        if not option(here, "TCP_QUICKACK"):
            return False
    return True

told = [talk()]
gc.collect(0)
told.append(bool(option(here, "TCP_QUICKACK")))
gc.collect()
told.append(bool(option(here, "TCP_QUICKACK")))
here.close()
gc.collect()  # of a connection that is gone
print(json.dumps(told))
"""


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


def run(script: str) -> list[object]:
    """In a process of its own, which has no other connections."""
    done = subprocess.run([sys.executable, "-c", SETTING + script], capture_output=True, text=True, check=True)
    assert not done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, list)
    return found


def test_what_is_sent_does_not_wait() -> None:
    before, after, *received = run(OPTIONS)
    assert before == [0, 0, 0]
    assert after == [True, True, False, False]  # connected ones that were there, and no others
    assert received == ["still open", "this too"]


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_what_is_sent_does_not_wait_with_ipv6() -> None:
    assert run(IPV6) == [True]


def test_connections_still_wait_for_what_is_to_come_where_sockets_have_a_time_limit() -> None:
    """Else a worker would take the pause between two tasks for the end."""
    assert run(TIME_LIMIT) == [True, True]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can be told to acknowledge at once")
def test_what_comes_is_acknowledged_after_the_collection_that_ends_a_task() -> None:
    assert run(ACKNOWLEDGING) == [False, False, True]


WHO_CALLS = """
here, there = pair()
{work}
print(json.dumps([bool(option(here, "TCP_NODELAY"))]))
"""


@pytest.mark.parametrize(
    "work",
    [
        "from odradek.spark.runtime.worker import in_task\nnext(in_task(iter('a')))",
        "from odradek.spark.options import source_options\n"
        "from odradek.spark.streams.reader import StreamReader\n"
        "given = {'kafka.bootstrap.servers': '127.0.0.1:1', 'subscribe': 'a'}\n"
        "StreamReader(source_options(given, streaming=True)).reportLatestOffset()",
    ],
    ids=["a task that reads", "the source of a stream"],
)
def test_who_sends_at_once(work: str) -> None:
    assert run(WHO_CALLS.format(work=work)) == [True]


def test_without_connections_nothing_is_done() -> None:
    assert run("send_at_once()\nprint(json.dumps([len(gc.callbacks)]))") == [0]
