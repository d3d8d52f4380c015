"""Requests that are wrong in one way each, and what Apache Kafka 4.3 answers to them.

`tests/interop/test_bad_requests.py` sends them to Apache Kafka, `tests/node/test_bad_requests.py` to us. The topics
`plain` and `col.liding`, and `keyed`, which is compacted, must be there, and none may be made on demand.
"""

import asyncio
import zlib
from collections.abc import Callable
from struct import pack
from typing import NamedTuple

import cramjam
from crc32c import crc32c

from odradek.model.numbers import Offset, TimestampMs
from odradek.records.batch import Codec
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.wire.codec import decode
from odradek.wire.frame import request_frame
from odradek.wire.header import read_response_head
from odradek.wire.messages.api_versions import ApiVersionsResponse
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from odradek.wire.schema import Message

CLOSED = "closed"
SILENT = "silent"
"""Neither an answer nor an end."""
_NOW = TimestampMs(1_794_780_000_000)


class Case(NamedTuple):
    name: str
    make: Callable[[], bytes]
    """Makes what is sent: some of it takes a while."""
    kind: type[Message]
    version: int
    expected: int | str
    """The code in Kafka's answer; or CLOSED or SILENT."""
    ours: int | str | None = None
    """What we answer where that differs."""


async def outcome(address: tuple[str, int], case: Case) -> int | str:
    request = await asyncio.to_thread(case.make)
    reader, writer = await asyncio.open_connection(*address)
    try:
        writer.write(request)
        size = int.from_bytes(await reader.readexactly(4), "big")
        _, body = read_response_head(memoryview(await reader.readexactly(size)), case.kind, case.version)
        return _code_of(decode(case.kind, case.version, body))
    except (asyncio.IncompleteReadError, ConnectionError):
        return CLOSED
    finally:
        writer.close()


def _code_of(response: Message) -> int:
    if isinstance(response, ProduceResponse):
        return response.responses[0].partition_responses[0].error_code
    if isinstance(response, CreateTopicsResponse):
        return response.topics[0].error_code
    if isinstance(response, MetadataResponse):
        return response.topics[0].error_code if response.topics else 0
    if isinstance(response, ApiVersionsResponse):
        return response.error_code
    raise TypeError(type(response).__name__)


def all_cases() -> tuple[Case, ...]:
    return (*frames(), *names(), *batches(), *bombs())


def _framed(body: bytes) -> bytes:
    return pack(">i", len(body)) + body


def _head(key: int, version: int, *, flexible: bool = False) -> bytes:
    return pack(">hhih", key, version, 1, -1) + (b"\0" if flexible else b"")


def _request(message: Message, version: int) -> bytes:
    return b"".join(map(bytes, request_frame(message, version, 1, "bad")))  # type: ignore[arg-type]


# --- bytes


def frames() -> tuple[Case, ...]:
    def case(name: str, sent: bytes, expected: int | str = CLOSED) -> Case:
        return Case(name, lambda: sent, MetadataResponse, 1, expected)

    def versions(name: str, sent: bytes, version: int, expected: int | str) -> Case:
        return Case(name, lambda: sent, ApiVersionsResponse, version, expected)

    endless = b"\xff" * 11
    return (
        case("a size of minus one", pack(">i", -1)),
        case("a size of two gigabytes", pack(">i", (1 << 31) - 1)),
        case("a size of zero", pack(">i", 0)),
        case("a size just above the limit", pack(">i", 104_857_601)),
        case("another protocol", b"GET / HTTP/1.1\r\n\r\n"),
        case("a header that is cut off", _framed(pack(">hhi", 3, 1, 1)[:7])),
        case("a client id that is cut off", _framed(pack(">hhih", 3, 1, 1, 100) + b"abc")),
        case("an unknown API", _framed(_head(999, 0))),
        case("an API below zero", _framed(_head(-1, 0))),
        case("an API of brokers only", _framed(_head(63, 0) + bytes(40))),
        case("a version that is not served", _framed(_head(3, 99, flexible=True))),
        case("a version below zero", _framed(_head(3, -1))),
        case("Produce in version 0", _framed(_head(0, 0) + bytes(10))),
        case("Fetch in version 3", _framed(_head(1, 3) + bytes(30))),
        versions("ApiVersions of the future", _framed(_head(18, 99, flexible=True)), 0, 35),
        versions("ApiVersions with more behind it", _framed(_head(18, 0) + b"more"), 0, 0),
        versions("a header with an endless number of tags", _framed(_head(18, 3) + endless), 3, CLOSED),
        versions("a header with a tag that is too long", _framed(_head(18, 3) + b"\x01\x05\xff\xff\x03"), 3, CLOSED),
        versions(
            "a header with an unknown tag twice",
            _framed(_head(18, 3) + b"\x02\x05\x01x\x05\x01x" + b"\x02a\x02b\0"),
            3,
            0,
        ),
        versions(
            "a body with unknown tags", _framed(_head(18, 3, flexible=True) + b"\x02a\x02b\x02\x05\x01x\x06\x01x"), 3, 0
        ),
        versions(
            "a body with tags that fall",
            _framed(_head(18, 3, flexible=True) + b"\x02a\x02b\x02\x06\x01x\x05\x01x"),
            3,
            0,
        ),
        versions("a name that ends too early", _framed(_head(18, 3, flexible=True) + b"\x20a"), 3, CLOSED),
        versions("a name of endless length", _framed(_head(18, 3, flexible=True) + endless), 3, CLOSED),
        versions("a name that is null", _framed(_head(18, 3, flexible=True) + b"\x00\x02b\x00"), 3, CLOSED),
        case("a body that is missing", _framed(_head(3, 1))),
        case("an array with two billion items", _framed(_head(3, 1) + pack(">i", (1 << 31) - 1))),
        case("an array with a negative count", _framed(_head(3, 1) + pack(">i", -2)), 0),
        case("a string that ends too early", _framed(_head(3, 1) + pack(">ih", 1, 100) + b"abc")),
        case("a string with a negative length", _framed(_head(3, 1) + pack(">ih", 1, -2))),
        case("a name that is not UTF-8", _framed(_head(3, 1) + pack(">ih", 1, 2) + b"\xff\xfe"), 17),
    )


# --- names


def names() -> tuple[Case, ...]:
    def case(name: str, expected: int) -> Case:
        topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1, assignments=(), configs=())
        sent = _request(CreateTopicsRequest(topics=(topic,), timeout_ms=30_000), 7)
        return Case(f"create {name[:20]!r} of {len(name)}", lambda: sent, CreateTopicsResponse, 7, expected)

    def ask(name: str, expected: int) -> Case:
        sent = _request(MetadataRequest(topics=(MetadataRequestTopic(name=name),)), 9)
        return Case(f"ask for {name[:20]!r} of {len(name)}", lambda: sent, MetadataResponse, 9, expected)

    return (
        case("", 17),
        case(".", 17),
        case("..", 17),
        case("a" * 250, 17),
        case("a" * 249, 0),
        case("a b", 17),
        case("a/b", 17),
        case("caf\u00e9", 17),
        case("a\0b", 17),
        case("col_liding", 17),
        case("plain", 36),
        case("__cluster_metadata", 42),
        ask("", 17),
        ask("..", 17),
        ask("a" * 250, 17),
        ask("a/b", 17),
    )


# --- batches


def _produced(
    name: str,
    batch: bytes | bytearray | Callable[[], bytearray] | None,
    expected: int | str,
    ours: int | None = None,
    topic: str = "plain",
) -> Case:
    def make() -> bytes:
        part = PartitionProduceData(index=0, records=batch() if callable(batch) else batch)
        data = TopicProduceData(name=topic, partition_data=(part,))
        return _request(ProduceRequest(acks=1, timeout_ms=30_000, topic_data=(data,)), 9)

    return Case(name, make, ProduceResponse, 9, expected, ours)


def _batch(codec: Codec = Codec.NONE, spec: BatchSpec | None = None) -> bytearray:
    records = [Record(Offset(number), _NOW, b"k", b"value") for number in range(3)]
    return build_batch(records, spec or BatchSpec(codec=codec))


def _changed(at: int, form: str, value: int, *, sealed: bool = True, batch: bytearray | None = None) -> bytearray:
    changed = batch or _batch()
    new = pack(form, value)
    changed[at : at + len(new)] = new
    return _sealed(changed) if sealed else changed


def _sealed(batch: bytearray) -> bytearray:
    batch[17:21] = crc32c(bytes(batch[21:])).to_bytes(4, "big")
    return batch


def _with_records(records: bytes, codec: Codec = Codec.NONE, count: int = 3) -> bytearray:
    """A good head with a true CRC, and any bytes for records."""
    batch = bytearray(_batch(codec)[:61]) + records
    batch[8:12] = pack(">i", len(batch) - 12)
    batch[23:27] = pack(">i", count - 1)
    batch[57:61] = pack(">i", count)
    return _sealed(batch)


def batches() -> tuple[Case, ...]:
    good = bytes(_batch())
    inner = good[61:]
    return (
        _produced("a batch in order", bytearray(good), 0),
        _produced("no records", None, SILENT, 87),
        _produced("no bytes", b"", 87),
        _produced("less than a head", good[:40], 87),
        _produced("the last byte is missing", good[:-1], 87),
        _produced("two batches", good + good, 87),
        _produced("a wrong CRC", _changed(17, ">I", 1, sealed=False), 2),
        _produced("a changed byte", bytearray(good[:-1] + b"!"), 2),
        _produced("a length of minus one", _changed(8, ">i", -1), 2),
        _produced("a length of zero", _changed(8, ">i", 0), 2),
        _produced("a length of two gigabytes", _changed(8, ">i", (1 << 31) - 1), -1, 87),
        _produced("a length below a head", _changed(8, ">i", 20), 2),
        _produced("magic 0", _changed(16, ">b", 0, sealed=False), 87),
        _produced("magic 1", _changed(16, ">b", 1, sealed=False), 87),
        _produced("magic 3", _changed(16, ">b", 3, sealed=False), 2),
        _produced("magic -1", _changed(16, ">b", -1, sealed=False), 2),
        _produced("a count that is too large", _changed(57, ">i", 4), 87),
        _produced("a count of minus one", _changed(57, ">i", -1), 87),
        _produced("a count of zero", _changed(57, ">i", 0), 87),
        _produced("a count of two billion", _with_records(inner, count=(1 << 31) - 1), 87),
        _produced("a last offset that is too large", _changed(23, ">i", 3), 87),
        _produced("a base offset", _changed(0, ">q", 5, sealed=False), 87),
        _produced("a control batch", _changed(21, ">h", 0x20), 87),
        _produced("a delete horizon", _changed(21, ">h", 0x40), 0, 87),
        _produced("the broker's own timestamp type", _changed(21, ">h", 0x08), 0, 32),
        _produced("codec 5", _changed(21, ">h", 5), -1, 87),
        _produced("codec 7", _changed(21, ">h", 7), -1, 87),
        _produced("a producer without a sequence", _changed(43, ">q", 7), 87),
        *_inside(inner),
    )


def _inside(inner: bytes) -> tuple[Case, ...]:
    """With a head and a CRC that are right."""
    endless = b"\xff" * len(inner)
    return (
        _produced("fewer records than the count", _with_records(inner, count=4), 87, 0),
        _produced("more records than the count", _with_records(inner, count=2), 87, 0),
        _produced("bytes behind the records", _with_records(inner + b"!"), 87, 0),
        _produced("an endless varint for a length", _with_records(endless), -1, 0),
        _produced("a record of negative length", _with_records(b"\x01" + inner[1:]), 87, 0),
        _produced("gzip that is none", _with_records(inner, Codec.GZIP), -1, 0),
        _produced("snappy that is none", _with_records(inner, Codec.SNAPPY), -1, 0),
        _produced("lz4 that is none", _with_records(inner, Codec.LZ4), -1),
        _produced("zstd that is none", _with_records(inner, Codec.ZSTD), -1, 0),
        _produced("a gzip bomb", gzip_bomb, 87, 0),
        _produced("a zstd bomb", zstd_bomb, 87, 0),
    )


def gzip_bomb() -> bytearray:
    """200 MB in 200 KB."""
    return _with_records(zlib.compress(bytes(200 << 20), 9, wbits=31), Codec.GZIP)


def zstd_bomb() -> bytearray:
    """200 MB in 10 KB."""
    return _with_records(bytes(cramjam.zstd.compress(bytes(200 << 20))), Codec.ZSTD)


def bombs() -> tuple[Case, ...]:
    """Where we have to look at the records, since they need keys."""
    return (
        _produced("a gzip bomb, where keys are needed", gzip_bomb, 87, topic="keyed"),
        _produced("a zstd bomb, where keys are needed", zstd_bomb, 87, topic="keyed"),
    )
