"""`odradek produce` and `odradek consume` against a broker."""

import io
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from odradek.cli.main import main
from odradek.testing import RunningBroker
from support.commands import next_line, started

pytestmark = pytest.mark.slow
LIMIT_S = 60


class Ended(NamedTuple):
    status: int
    out: bytes
    err: bytes


Odradek = Callable[..., Ended]


@pytest.fixture
def odradek(
    odradek_shared_broker: RunningBroker, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Odradek:
    monkeypatch.setenv("ODRADEK_BOOTSTRAP", odradek_shared_broker.bootstrap)

    def run(*arguments: str, given: bytes = b"") -> Ended:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        status = main(arguments)
        return Ended(status, *capfdbinary.readouterr())

    return run


@pytest.fixture
def topic(request: pytest.FixtureRequest, odradek: Odradek) -> str:
    """A topic of three partitions that no other test has, and that keeps records of any age."""
    name = f"cli-{request.node.name.removeprefix('test_')}".replace("_", "-")
    created = odradek("topics", "create", name, "--partitions", "3", "--config", "retention.ms=-1")
    assert created.status == 0
    return name


ALL = ("--from-beginning", "--until-end")


def test_lines_go_in_and_come_out(odradek: Odradek, topic: str) -> None:
    given = b"one\n\n\xff\x00 three\r\nfour"
    assert odradek("produce", topic, "--partition", "1", given=given) == (0, b"", b"4 records acknowledged\n")
    assert odradek("consume", topic, *ALL) == (0, given + b"\n", b"")
    assert odradek("consume", topic, *ALL, "--partition", "0") == (0, b"", b"")


def test_keys_headers_and_times(odradek: Odradek, topic: str) -> None:
    options = ("--key-separator", "=", "--header", "a=1", "--header", "a=2", "--timestamp", "1700000000000", "--quiet")
    assert odradek("produce", topic, *options, "--compression", "zstd", given=b"k1=v1\nk2=v=2\n") == (0, b"", b"")
    found = [json.loads(line) for line in odradek("consume", topic, *ALL, "--json").out.splitlines()]
    assert sorted((each["key"], each["value"]) for each in found) == [("k1", "v1"), ("k2", "v=2")]
    for each in found:
        assert (each["topic"], each["timestamp"], each["timestamp_type"]) == (topic, 1700000000000, "create")
        assert each["headers"] == [{"key": "a", "value": "1"}, {"key": "a", "value": "2"}]
    keyed = odradek("consume", topic, *ALL, "--key").out
    assert sorted(keyed.splitlines()) == [b"k1\tv1", b"k2\tv=2"]


def test_a_key_goes_where_kafkas_own_producer_sends_it(odradek: Odradek, topic: str) -> None:
    """murmur2 of the key, without its sign, by the number of partitions: as Java computes it."""
    odradek("produce", topic, "--key-separator", ":", given=b"21:x\nfoobar:x\na-little-bit-long-string:x\n")
    found = [json.loads(line) for line in odradek("consume", topic, *ALL, "--json").out.splitlines()]
    hashes = {"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536}
    assert {each["key"]: each["partition"] for each in found} == {
        key: (number & 0x7FFFFFFF) % 3 for key, number in hashes.items()
    }


def test_json_in_and_out_again(odradek: Odradek, topic: str) -> None:
    records = [
        {"key": "k", "value": None, "partition": 0},
        {"key_base64": "/w==", "value": {"a": 1}, "partition": 1, "headers": {"h": "x"}},
        {"value_base64": "AAEC", "partition": 2, "timestamp": 5},
    ]
    given = b"".join(json.dumps(each).encode() + b"\n" for each in records)
    assert odradek("produce", topic, "--json", given=given).status == 0
    first = odradek("consume", topic, *ALL, "--json").out
    assert len(first.splitlines()) == 3
    assert odradek("produce", topic, "--json", given=first).status == 0
    again = odradek("consume", topic, "--offset", "-1", "--until-end", "--json").out

    def without_offsets(lines: bytes) -> list[str]:
        found = [json.loads(line) for line in lines.splitlines()]
        return sorted(json.dumps({**each, "offset": None}) for each in found)

    assert without_offsets(again) == without_offsets(first)
    assert {json.loads(line)["offset"] for line in again.splitlines()} == {1}


def test_where_to_begin_and_to_end(odradek: Odradek, topic: str) -> None:
    for second in range(1, 6):
        value = f"v{second}"
        odradek("produce", topic, "--value", value, "--partition", "0", "--timestamp", str(second * 1000))

    def values(*options: str) -> list[bytes]:
        return odradek("consume", topic, "--partition", "0", *options).out.split()

    assert values("--offset", "3", "--until-end") == [b"v4", b"v5"]
    assert values("--offset", "-2", "--until-end") == [b"v4", b"v5"]
    assert values("--offset", "-99", "--until-end") == [b"v1", b"v2", b"v3", b"v4", b"v5"]
    assert values("--from-time", "1970-01-01T00:00:03Z", "--until-end") == [b"v3", b"v4", b"v5"]
    assert values("--from-time", "6000", "--until-end") == []
    assert values("--from-beginning", "--max", "2") == [b"v1", b"v2"]
    assert values("--until-end") == []
    assert odradek("consume", topic, "--offset", "9", "--partition", "0") == (
        1,
        b"",
        b"odradek: offset 9 is not in partition 0\n",
    )


def test_a_form_of_ones_own(odradek: Odradek, topic: str) -> None:
    odradek("produce", topic, "--value", "v", "--key", "k", "--partition", "2")
    ended = odradek("consume", topic, *ALL, "--format", r"{topic}[{partition}]@{offset} {key}\t{value}")
    assert ended.out == f"{topic}[2]@0 k\tv\n".encode()


def test_values_and_files(odradek: Odradek, topic: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\ntwo\n")
    (tmp_path / "b").write_bytes(b"three")
    odradek("produce", topic, str(tmp_path / "a"), str(tmp_path / "b"), "-", "--partition", "0", given=b"four\n")
    odradek("produce", topic, "--value", "fi\nve", "--partition", "0", "--acks", "1")
    assert odradek("produce", topic, "--value", "six", "--partition", "0", "--acks", "0").err == b"1 record sent\n"
    assert odradek("consume", topic, "--from-beginning", "--max", "6").out == b"one\ntwo\nthree\nfour\nfi\nve\nsix\n"
    missing = str(tmp_path / "none")
    assert odradek("produce", topic, missing) == (1, b"", f"odradek: {missing}: No such file or directory\n".encode())


def test_what_is_not_acknowledged_is_told(odradek: Odradek, topic: str) -> None:
    """Some of it: the broker has the say on each batch."""
    odradek("configs", "set", f"topics/{topic}", "max.message.bytes=1000")
    ended = odradek("produce", topic, "--value", "x" * 5000, "--partition", "0")
    assert ended.status == 1
    assert ended.err.startswith(b"odradek: 1 of 1 record not acknowledged: ")
    given = b'{"value": "good", "partition": 0}\n{"value": "bad", "partition": 9}\n'
    ended = odradek("produce", topic, "--json", given=given)
    assert (ended.status, ended.err) == (1, b"odradek: 1 of 2 records not acknowledged: unknown partition\n")
    assert odradek("consume", topic, *ALL).out == b"good\n"


def test_a_refused_record_is_the_same_failure_however_soon_it_is_known(odradek: Odradek, topic: str) -> None:
    """Of many records for a partition that is not there, the last ones are refused before they are queued."""
    given = b'{"value": "bad", "partition": 9}\n' * 20_000 + b'{"value": "good", "partition": 0}\n'
    ended = odradek("produce", topic, "--json", given=given)
    assert (ended.status, ended.err) == (1, b"odradek: 20,000 of 20,001 records not acknowledged: unknown partition\n")
    assert odradek("consume", topic, *ALL).out == b"good\n"


def test_input_that_is_no_record_ends_it(odradek: Odradek, topic: str) -> None:
    ended = odradek("produce", topic, "--key-separator", ":", "--partition", "0", given=b"a:1\nb\nc:3\n")
    assert ended.status == 1
    assert ended.err == b"odradek: line 2 has no key: there is no ':' in it\n1 record acknowledged\n"
    assert odradek("consume", topic, *ALL).out == b"1\n"


def test_topics_and_partitions_that_are_not_there(odradek: Odradek, topic: str) -> None:
    assert odradek("consume", "cli-none") == (1, b"", b"odradek: Topic 'cli-none' does not exist\n")
    wrong = f"odradek: topic {topic} has partitions 0 to 2, and no 3\n".encode()
    assert odradek("consume", topic, "--partition", "3") == (2, b"", wrong)
    assert odradek("produce", topic, "--partition", "3", "--value", "v") == (2, b"", wrong)


def test_produce_makes_the_topic_where_the_broker_lets_it(odradek: Odradek) -> None:
    assert odradek("produce", "cli-made-on-demand", "--value", "v").status == 0
    assert odradek("consume", "cli-made-on-demand", *ALL).out == b"v\n"


def test_interrupt_ends_consume_without_noise(
    odradek: Odradek, topic: str, odradek_shared_broker: RunningBroker
) -> None:
    odradek("produce", topic, "--value", "v")
    with started(odradek_shared_broker.bootstrap, "consume", topic, "--from-beginning") as process:
        assert next_line(process.stdout) == b"v\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=LIMIT_S) == (b"", b"")
        assert process.returncode == 130


def test_interrupt_of_produce_delivers_what_was_read(
    odradek: Odradek, topic: str, odradek_shared_broker: RunningBroker
) -> None:
    with started(odradek_shared_broker.bootstrap, "consume", topic, "--from-beginning") as reading:
        with started(odradek_shared_broker.bootstrap, "produce", topic) as process:
            assert process.stdin is not None
            process.stdin.write(b"one\n")
            process.stdin.flush()
            assert next_line(reading.stdout) == b"one\n"
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=LIMIT_S) == (b"", b"1 record acknowledged\n")
            assert process.returncode == 130
        reading.kill()


def test_a_reader_that_leaves_ends_consume_even_if_nothing_comes(
    odradek: Odradek, topic: str, odradek_shared_broker: RunningBroker
) -> None:
    odradek("produce", topic, "--value", "v")
    with started(odradek_shared_broker.bootstrap, "consume", topic, "--from-beginning") as process:
        assert next_line(process.stdout) == b"v\n"
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(LIMIT_S) == 1


def test_a_broker_that_dies_is_told_of(odradek_broker: RunningBroker) -> None:
    odradek_broker.create_topic("orders")
    with (
        started(odradek_broker.bootstrap, "consume", "orders", "--from-beginning") as reading,
        started(odradek_broker.bootstrap, "produce", "orders", "--timeout", "10") as process,
    ):
        assert process.stdin is not None
        process.stdin.write(b"one\n")
        process.stdin.flush()
        assert next_line(reading.stdout) == b"one\n"
        odradek_broker.create_topic("later")  # when this is answered, the record is acknowledged too
        odradek_broker.kill()
        assert next_line(reading.stderr) == b"odradek: no broker answers any more; waiting for one\n"
        out, err = process.communicate(b"two\n", timeout=LIMIT_S)
        assert (process.returncode, out) == (1, b"")
        assert err == b"odradek: 1 of 2 records not acknowledged: message timed out\n"
        odradek_broker.restart()
        assert main(["produce", "orders", "--value", "three", "--bootstrap", odradek_broker.bootstrap, "--quiet"]) == 0
        assert next_line(reading.stdout) == b"three\n"
        reading.kill()


def test_produce_and_consume_alone_load_librdkafka() -> None:
    nouns = "odradek.cli.serve, odradek.cli.topics, odradek.cli.configs, odradek.cli.groups"
    code = f"import sys, {nouns}; print('confluent_kafka' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"False\n"
