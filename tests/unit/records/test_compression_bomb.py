"""Batches that inflate to far more than they should take no memory worth mentioning. Runs in a process of its own,
whose peak tells.
"""

import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from odradek.records.batch import Codec
from odradek.records.compression import decompress

_LIMIT = 4 << 20
_ALLOWED_KIB = 12 << 10

_STATUS = Path("/proc/self/status")
"""Tells the peak of a process's own memory. That of getrusage is no less than the parent's was at the start."""

_INFLATE = """
import sys
from odradek.model.errors import CorruptBatch
from odradek.records.batch import Codec
from odradek.records.compression import compress, decompress

def peak_kib():
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])

bomb = memoryview(sys.stdin.buffer.read())
codec = Codec(int(sys.argv[1]))
decompress(codec, memoryview(compress(codec, bytes(1000))))  # whatever a first use takes
before = peak_kib()
try:
    decompress(codec, bomb, int(sys.argv[2]))
except CorruptBatch:
    print(peak_kib() - before)
"""


def gzip_bomb(mebibytes: int) -> bytes:
    writer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = writer.compress(bytes(1 << 20)) + writer.flush(zlib.Z_FULL_FLUSH)
    crc = 0
    for _ in range(mebibytes if mebibytes < 100 else 0):  # of a large one, nobody gets to see the end
        crc = zlib.crc32(bytes(1 << 20), crc)
    head, end = bytes.fromhex("1f8b0800000000000003"), b"\x03\x00"
    return head + block * mebibytes + end + crc.to_bytes(4, "little") + (mebibytes << 20).to_bytes(4, "little")


def snappy_bomb(mebibytes: int) -> bytes:
    block = b"\x80\x80\x02" + b"\x00\x00" + b"\xfe\x01\x00" * 511 + b"\xfa\x01\x00"  # 32 KiB: a zero, and copies of it
    return b"\x82SNAPPY\x00" + bytes(8) + (len(block).to_bytes(4, "big") + block) * (mebibytes * 32)


def lz4_bomb(mebibytes: int) -> bytes:
    block = b"\x1f\x00\x01\x00" + b"\xff" * 4111 + b"\xf6" + b"\x50" + bytes(5)  # 1 MiB: a zero, and a copy of it
    return bytes.fromhex("04224d18 60 60 51") + (len(block).to_bytes(4, "little") + block) * mebibytes + bytes(4)


def zstd_bomb(mebibytes: int) -> bytes:
    block = (128 << 10 << 3 | 1 << 1).to_bytes(3, "little") + b"\x00"  # 128 KiB: a run of zeros
    return bytes.fromhex("28b52ffd 00 58") + block * (mebibytes * 8) + b"\x01\x00\x00"


BOMBS = {Codec.GZIP: gzip_bomb, Codec.SNAPPY: snappy_bomb, Codec.LZ4: lz4_bomb, Codec.ZSTD: zstd_bomb}


@pytest.mark.parametrize("codec", BOMBS)
def test_a_small_bomb_goes_off(codec: Codec) -> None:
    assert bytes(decompress(codec, memoryview(BOMBS[codec](3)), _LIMIT)) == bytes(3 << 20)


@pytest.mark.skipif(not _STATUS.exists(), reason="needs Linux to tell the peak")
@pytest.mark.parametrize("codec", BOMBS)
def test_a_gibibyte_of_zeros_takes_little_memory(codec: Codec) -> None:
    command = [sys.executable, "-c", _INFLATE, str(codec.value), str(_LIMIT)]
    done = subprocess.run(command, input=BOMBS[codec](1024), capture_output=True, check=True)
    assert int(done.stdout) < _ALLOWED_KIB
