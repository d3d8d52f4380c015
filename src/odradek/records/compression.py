"""The four codecs of record batches, in the forms that Kafka's Java client writes and reads.

Nothing is inflated past a limit: each form tells, before any of it is inflated or while it is, how large it can become.
"""

import zlib
from collections.abc import Callable, Iterator
from struct import Struct
from struct import error as StructError
from typing import TYPE_CHECKING

import cramjam

from odradek.model.buffer import Buffer
from odradek.model.errors import CorruptBatch
from odradek.records.batch import Codec

if TYPE_CHECKING:
    from zstandard import ZstdDecompressor

INFLATED_MAX = 1 << 27
"""Bytes that a batch may inflate to, unless a caller says otherwise.

Producers bound a batch before they compress it, at 1 MiB or less by default, so an honest batch stays far below this,
whatever its ratio. A hostile one of 1 MiB could become 30 GiB.
"""

_UINT32_LE = Struct("<I")
_UINT64_LE = Struct("<Q")
_INT32 = Struct(">i")


def compress(codec: Codec, data: Buffer, level: int | None = None) -> bytes:
    """Compress as Kafka's Java client does, at Kafka's default level. A level that the codec has not is clamped."""
    if codec is Codec.NONE:
        return bytes(data)
    return _WRITERS[codec](data, level)


def decompress(codec: Codec, data: memoryview, limit: int = INFLATED_MAX) -> bytes | memoryview:
    """Inflate to at most `limit` bytes. Raises CorruptBatch for anything that is not the codec's, or is larger."""
    if codec is Codec.NONE:
        return data
    try:
        return _READERS[codec](data, limit)
    except (cramjam.DecompressionError, zlib.error, StructError, IndexError) as error:  # the last two: cut off
        raise CorruptBatch(f"{codec.name.lower()} data cannot be inflated to {limit} bytes at most: {error}") from None


def inflated_max(codec: Codec, data: memoryview) -> int | None:
    """A bound on what it inflates to, where the form tells before it is inflated: that of lz4 and zstd does.

    Raises CorruptBatch for what is not the codec's.
    """
    try:
        if codec is Codec.ZSTD:
            return _zstd_inflated_max(data)
        return _lz4_extent(data)[1] if codec is Codec.LZ4 else None
    except (StructError, IndexError) as error:
        raise CorruptBatch(f"{codec.name.lower()} data is cut off: {error}") from None


def decompress_into(codec: Codec, data: memoryview, room: memoryview) -> int:
    """Inflate into `room`, and say how many bytes that took. For codecs that have an `inflated_max`.

    Raises CorruptBatch as `decompress` does, with `room` as its limit.
    """
    try:
        if codec is Codec.ZSTD:
            return _inflate_zstd(data, room)
        return int(cramjam.lz4.decompress_into(data[: _lz4_extent(data)[0]], room))
    except (cramjam.DecompressionError, StructError, IndexError) as error:
        raise CorruptBatch(f"{codec.name.lower()} data cannot be inflated to {len(room)} bytes: {error}") from None


# gzip: members, each a deflate stream. Java joins members, and ignores what follows the last one and is none.

_GZIP = 16 + zlib.MAX_WBITS
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_MEMBERS_MAX = 16
"""Writers make one. zlib copies what follows a member, so thousands of empty ones would take long to get through."""


def _write_gzip(data: Buffer, level: int | None) -> bytes:
    return zlib.compress(data, -1 if level is None or level == -1 else min(max(level, 1), 9), wbits=_GZIP)


def _read_gzip(data: memoryview, limit: int) -> bytes:
    members: list[bytes] = []
    rest: bytes | memoryview = data
    while not members or rest[:2] == _GZIP_MAGIC:
        if len(members) == _GZIP_MEMBERS_MAX:
            raise CorruptBatch(f"gzip data has more than {_GZIP_MEMBERS_MAX} members")
        member = zlib.decompressobj(_GZIP)
        room = limit - sum(map(len, members))
        members.append(member.decompress(rest, room + 1))  # one more than allowed, to see that there is more
        if len(members[-1]) > room:
            raise CorruptBatch(f"gzip data inflates to more than {limit} bytes")
        if not member.eof:
            raise CorruptBatch("gzip data ends within a member")
        rest = member.unused_data
    return b"".join(members)


# snappy: raw blocks, each with its inflated size in front. Java puts them into frames of the library "xerial": a head,
# then blocks of 32 KiB with an int32 length each. librdkafka writes one raw block and no frame. Java reads both.

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEAD = _XERIAL_MAGIC + bytes((0, 0, 0, 1, 0, 0, 0, 1))  # the version, and the oldest that can read it
_XERIAL_BLOCK = 32 * 1024
_SNAPPY_RATIO_MAX = 22
"""The best that the format can do is a copy of 64 bytes in 3."""


def _write_snappy(data: Buffer, level: int | None) -> bytes:
    parts = [_XERIAL_HEAD]
    view = memoryview(data)
    for start in range(0, len(view), _XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + _XERIAL_BLOCK]))
        parts += (_INT32.pack(len(block)), block)
    return b"".join(parts)


def _read_snappy(data: memoryview, limit: int) -> bytes:
    if data[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC:
        return bytes(_read_snappy_block(data, limit))
    parts = []
    room = limit
    for block in _xerial_blocks(data):
        parts.append(_read_snappy_block(block, room))
        room -= len(parts[-1])
    return b"".join(parts)


def _xerial_blocks(data: memoryview) -> Iterator[memoryview]:
    at = 0
    while len(data) - at >= _INT32.size:  # Java ignores a tail that is shorter than a length
        if data[at : at + len(_XERIAL_MAGIC)] == _XERIAL_MAGIC:  # frames may follow one another
            if len(data) - at < len(_XERIAL_HEAD):
                raise CorruptBatch(f"snappy frame is cut off in its head at {at}")
            at += len(_XERIAL_HEAD)
            continue
        (size,) = _INT32.unpack_from(data, at)
        at += _INT32.size
        if not 0 < size <= len(data) - at:
            raise CorruptBatch(f"snappy block of {size} bytes at {at}, where {len(data) - at} are left")
        yield data[at : at + size]
        at += size


def _read_snappy_block(block: memoryview, limit: int) -> cramjam.Buffer:
    size = cramjam.snappy.decompress_raw_len(block)
    if size > limit:
        raise CorruptBatch(f"snappy block inflates to {size} bytes, of {limit} that are left of those allowed")
    if size > len(block) * _SNAPPY_RATIO_MAX:
        raise CorruptBatch(f"snappy block of {len(block)} bytes says that it inflates to {size}")
    return cramjam.snappy.decompress_raw(block)


# lz4: one frame of independent blocks. Java reads no other blocks, and nothing after the first frame.

_LZ4_MAGIC = 0x184D2204
_LZ4_HEAD = bytes.fromhex("04224d18 60 40 82")  # independent blocks of 64 KiB at most, no checksums, no content size
_LZ4_BLOCK = 64 * 1024
_LZ4_STORED = 1 << 31
_LZ4_RATIO_MAX = 255
_LZ4_FAST = 9
"""Kafka's default level. For it, and for it alone, Java takes the fast compressor and not the thorough one."""
_LZ4_THOROUGH_MIN, _LZ4_THOROUGH_MAX = 3, 12
"""The levels of the library's thorough compressor. Those of Kafka go from 1 to 17."""


def _write_lz4(data: Buffer, level: int | None) -> bytes:
    return _write_lz4_fast(data) if level is None or level == _LZ4_FAST else _write_lz4_thorough(data, level)


def _write_lz4_fast(data: Buffer) -> bytes:
    parts = [_LZ4_HEAD]
    view = memoryview(data)
    for start in range(0, len(view), _LZ4_BLOCK):
        plain = view[start : start + _LZ4_BLOCK]
        block = bytes(cramjam.lz4.compress_block(plain, store_size=False))
        if len(block) < len(plain):
            parts += (_UINT32_LE.pack(len(block)), block)
        else:
            parts += (_UINT32_LE.pack(len(plain) | _LZ4_STORED), bytes(plain))
    parts.append(_UINT32_LE.pack(0))
    return b"".join(parts)


def _write_lz4_thorough(data: Buffer, level: int) -> bytes:
    # cramjam knows levels for whole frames only; these have a checksum for each block, which Java reads too.
    level = min(max(level, _LZ4_THOROUGH_MIN), _LZ4_THOROUGH_MAX)
    frame = cramjam.lz4.Compressor(level=level, content_checksum=False, block_linked=False)
    frame.compress(bytes(data))  # it takes nothing else, such as a view of a batch
    return bytes(frame.finish())


def _read_lz4(data: memoryview, limit: int) -> memoryview:
    end, inflated_max = _lz4_extent(data)
    inflated = bytearray(min(inflated_max, limit))
    size = cramjam.lz4.decompress_into(data[:end], inflated)
    return memoryview(inflated)[:size]


def is_lz4_for_java(data: memoryview) -> bool:
    """Whether its first bytes are those of a frame that Java reads. What follows may still be wrong."""
    if len(data) < len(_LZ4_HEAD) or _UINT32_LE.unpack_from(data)[0] != _LZ4_MAGIC:
        return False
    return data[4] & 0b1110_0011 == 0b0110_0000 and data[5] >> 4 & 7 >= 4


def _lz4_extent(data: memoryview) -> tuple[int, int]:
    """Where the frame ends, and a bound on what it inflates to."""
    if not is_lz4_for_java(data):
        raise CorruptBatch("not an lz4 frame of independent blocks")
    flags, block_max = data[4], 1 << 8 + 2 * (data[5] >> 4 & 7)
    checksum = 4 if flags & 0b1_0000 else 0
    at = 15 if flags & 0b1000 else 7
    inflated_max = 0
    while True:
        (size,) = _UINT32_LE.unpack_from(data, at)
        at += 4
        if size == 0:
            break
        stored = size & _LZ4_STORED
        size &= ~_LZ4_STORED
        inflated_max += size if stored else min(block_max, size * _LZ4_RATIO_MAX)
        at += size + checksum
    at += 4 if flags & 0b100 else 0
    if at > len(data):
        raise CorruptBatch("lz4 frame is cut off")
    return at, inflated_max


# zstd: frames of blocks. Java joins frames; other bytes after a frame are an error.

_ZSTD_MAGIC = 0xFD2F_B528
_ZSTD_SKIPPABLE = 0x184D_2A50
_ZSTD_LEVEL = 3
_ZSTD_LEVEL_MIN, _ZSTD_LEVEL_MAX = -131_072, 22
_ZSTD_BLOCK = 128 * 1024
_ZSTD_DICTIONARY_ID_SIZES = (0, 1, 2, 4)
_ZSTD_CONTENT_SIZES = (0, 2, 4, 8)
_RAW, _RLE, _COMPRESSED = range(3)
_ZSTD_SMALL = 64 * 1024
_ZSTD_WINDOW_KEPT = 8 << 20
"""A frame may ask for more memory to inflate it, which is not kept then."""
_zstd_idle: list["ZstdDecompressor"] = []
"""At most as many as threads inflate at a time."""


def _write_zstd(data: Buffer, level: int | None) -> bytes:
    level = _ZSTD_LEVEL if level is None else min(max(level, _ZSTD_LEVEL_MIN), _ZSTD_LEVEL_MAX)
    return bytes(cramjam.zstd.compress(data, level=level))


def _read_zstd(data: memoryview, limit: int) -> memoryview:
    inflated = memoryview(bytearray(min(_zstd_inflated_max(data), limit)))
    return inflated[: _inflate_zstd(data, inflated)]


def _inflate_zstd(data: memoryview, room: memoryview) -> int:
    """For frames that are known to be whole.

    To make what inflates a frame takes as long as to inflate one of 16 KB, as most producers send them, so that is kept
    for these. cramjam makes it anew: it has the last word on all that is large, or out of the ordinary.
    """
    if len(data) <= _ZSTD_SMALL:
        from zstandard import ZstdDecompressor, ZstdError  # for 13 ms, which a broker without such batches saves

        try:
            decompressor = _zstd_idle.pop()
        except IndexError:
            decompressor = ZstdDecompressor(max_window_size=_ZSTD_WINDOW_KEPT)
        try:
            with decompressor.stream_reader(data, read_across_frames=True) as frames:
                size = frames.readinto(room)
                if size < len(room) or not frames.read(1):
                    return size
        except ZstdError:
            pass
        finally:
            _zstd_idle.append(decompressor)
    return int(cramjam.zstd.decompress_into(data, room))


def _zstd_inflated_max(data: memoryview) -> int:
    """A bound on what the frames inflate to, from the heads of their blocks."""
    at = inflated_max = 0
    while at < len(data) or not at:  # one frame at least
        (magic,) = _UINT32_LE.unpack_from(data, at)
        if magic == _ZSTD_MAGIC:
            at, frame_max = _zstd_frame_extent(data, at + 4)
            inflated_max += frame_max
        elif magic & ~0xF == _ZSTD_SKIPPABLE:
            at += 8 + _UINT32_LE.unpack_from(data, at + 4)[0]
        else:
            raise CorruptBatch(f"no zstd frame at {at}")
    if at > len(data):
        raise CorruptBatch("zstd frame is cut off")
    return inflated_max


def _zstd_frame_extent(data: memoryview, at: int) -> tuple[int, int]:
    """Where the frame ends whose magic ends at `at`, and a bound on what it inflates to."""
    descriptor = data[at]
    single_segment = descriptor & 0b10_0000
    at += 1 if single_segment else 2
    at += _ZSTD_DICTIONARY_ID_SIZES[descriptor & 0b11]
    at += _ZSTD_CONTENT_SIZES[descriptor >> 6] or (1 if single_segment else 0)
    inflated_max = 0
    last = 0
    while not last:
        block = data[at] | data[at + 1] << 8 | data[at + 2] << 16
        last, kind, size = block & 1, block >> 1 & 3, block >> 3
        inflated_max += size if kind in (_RAW, _RLE) else _ZSTD_BLOCK
        at += 3 + (1 if kind == _RLE else size)
    at += 4 if descriptor & 0b100 else 0
    return at, inflated_max


_WRITERS: dict[Codec, Callable[[Buffer, int | None], bytes]] = {
    Codec.GZIP: _write_gzip,
    Codec.SNAPPY: _write_snappy,
    Codec.LZ4: _write_lz4,
    Codec.ZSTD: _write_zstd,
}
_READERS: dict[Codec, Callable[[memoryview, int], bytes | memoryview]] = {
    Codec.GZIP: _read_gzip,
    Codec.SNAPPY: _read_snappy,
    Codec.LZ4: _read_lz4,
    Codec.ZSTD: _read_zstd,
}
