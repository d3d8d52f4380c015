"""Records into `produce` and out of `consume`."""

import json
from typing import Any

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, TIMESTAMP_NOT_AVAILABLE, Message
from hypothesis import given
from hypothesis import strategies as st

from odradek.cli import records_in, records_out
from odradek.cli.records_in import BadInput, Common
from odradek.cli.records_out import as_it_is, on_terminal

COMMON = Common(key=b"k", partition=3, timestamp=5, headers=[("h", b"1")])


def message(**fields: Any) -> Message:
    given = {"topic": "orders", "partition": 2, "offset": 7, "timestamp": (TIMESTAMP_CREATE_TIME, 1500), "headers": []}
    return Message(**{**given, **fields})


def from_json(*objects: object) -> list[records_in.Outgoing]:
    return list(records_in.from_json([json.dumps(each).encode() for each in objects], Common()))


def test_lines_have_what_is_common() -> None:
    lines = list(records_in.without_line_ends([b"one\n", b"\n", b"three \r\n", b"four"]))
    assert lines == [b"one", b"", b"three \r", b"four"]
    assert list(records_in.from_values([b"one"], COMMON)) == [(b"one", b"k", 3, 5, [("h", b"1")])]


def test_keys_are_split_off_at_the_first_separator() -> None:
    records = list(records_in.from_keyed([b"a::b::c", b"::", b"d::"], b"::", COMMON))
    assert [(key, value) for value, key, *_ in records] == [(b"a", b"b::c"), (b"", b""), (b"d", b"")]
    with pytest.raises(BadInput, match="line 2 has no key: there is no '::' in it"):
        list(records_in.from_keyed([b"a::b", b"c:d"], b"::", COMMON))


def test_json_objects() -> None:
    assert from_json({"value": "v"}) == [(b"v", None, -1, 0, None)]
    assert from_json({"key": "k", "value": None}) == [(None, b"k", -1, 0, None)]
    assert from_json({"value": {"a": [1, "ü"]}}) == [('{"a":[1,"ü"]}'.encode(), None, -1, 0, None)]
    assert from_json({"key_base64": "AP8=", "value_base64": ""}) == [(b"", b"\0\xff", -1, 0, None)]
    assert from_json({"value": "v", "partition": 4, "timestamp": 1000, "offset": 9, "topic": "x"})[0][2:4] == (4, 1000)
    headers = [{"key": "a", "value": "1"}, {"key": "a", "value_base64": "/w=="}, {"key": "b", "value": None}]
    assert from_json({"headers": headers})[0][4] == [("a", b"1"), ("a", b"\xff"), ("b", None)]
    assert from_json({"headers": {"a": "1"}})[0][4] == [("a", b"1")]
    assert list(records_in.from_json([b'{"value": "v"}\n', b" \n"], COMMON)) == [(b"v", b"k", 3, 5, [("h", b"1")])]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"{", "line 1: Expecting property name"),
        (b"[]", "line 1: not a JSON object"),
        (b'{"vlaue": 1}', "line 1: unknown field 'vlaue'"),
        (b'{"partition": "1"}', "line 1: partition is '1', not a whole number"),
        (b'{"timestamp": true}', "line 1: timestamp is True, not a whole number"),
        (b'{"key_base64": "%"}', "line 1: key_base64 is not base64"),
        (b'{"value_base64": 5}', "line 1: value_base64 is not base64"),
        (b'{"headers": 5}', "line 1: headers must be an object"),
        (b'{"headers": [{"value": 5}]}', "line 1: headers must be an object"),
        (b"\xff", "line 1: "),
    ],
)
def test_lines_that_are_no_records(line: bytes, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        list(records_in.from_json([line], Common()))


def test_values_as_lines() -> None:
    assert records_out.value_line(as_it_is)(message(value=b"a\x1b\xff")) == b"a\x1b\xff\n"
    assert records_out.value_line(as_it_is)(message(value=None)) == b"null\n"
    assert records_out.value_line(on_terminal)(message(value=b"a\x1b[2J\xff\tb")) == "a\\x1b[2J\ufffd\tb\n".encode()


def test_a_form_of_ones_own() -> None:
    template = r"{topic}/{partition}@{offset} {timestamp} {time}\t{key}\0{value} {headers} \{x"
    shown = records_out.formatted(template, as_it_is)(message(key=b"k", value=None, headers=[("a", b"1"), ("b", None)]))
    assert shown == b"orders/2@7 1500 1970-01-01T00:00:01.500+00:00\tk\0null a=1,b=null {x\n"
    with pytest.raises(records_out.BadFormat, match="there is no field 'valeu'"):
        records_out.formatted("{valeu}", as_it_is)


def test_a_time_beyond_the_calendar_is_a_number() -> None:
    far = message(timestamp=(TIMESTAMP_CREATE_TIME, 1 << 62), value=b"")
    assert records_out.formatted("{time}", as_it_is)(far) == b"%d\n" % (1 << 62)


def test_json() -> None:
    shown = json.loads(records_out.json_line(base64=False)(message(key=b"k\n", value="ü\x07".encode())))
    assert shown == {
        "topic": "orders",
        "partition": 2,
        "offset": 7,
        "timestamp": 1500,
        "timestamp_type": "create",
        "key": "k\n",
        "value": "ü\x07",
        "headers": [],
    }
    log_append = message(timestamp=(TIMESTAMP_LOG_APPEND_TIME, 1), value=b"")
    assert json.loads(records_out.json_line(base64=False)(log_append))["timestamp_type"] == "append"
    without = json.loads(records_out.json_line(base64=False)(message(timestamp=(TIMESTAMP_NOT_AVAILABLE, -1))))
    assert (without["timestamp"], without["timestamp_type"], without["key"], without["value"]) == (None,) * 4
    always = json.loads(records_out.json_line(base64=True)(message(key=b"k", value=None, headers=[("h", b"x")])))
    assert (always["key_base64"], always["value"]) == ("aw==", None)
    assert always["headers"] == [{"key": "h", "value_base64": "eA=="}]


MAYBE_BYTES = st.one_of(st.none(), st.binary(max_size=20), st.text(max_size=20).map(str.encode))


@given(MAYBE_BYTES, MAYBE_BYTES, st.lists(st.tuples(st.text(max_size=5), MAYBE_BYTES), max_size=3), st.booleans())
def test_what_consume_prints_as_json_produce_reads(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]], base64: bool
) -> None:
    line = records_out.json_line(base64=base64)(message(key=key, value=value, headers=headers))
    assert line.isascii()
    assert line.count(b"\n") == 1
    assert list(records_in.from_json([line], Common())) == [(value, key, 2, 1500, headers or None)]
