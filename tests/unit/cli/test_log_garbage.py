"""Whatever bytes are in the files, there is an answer: never a traceback, and never a claim that all is well."""

import random
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.cli.main import main
from odradek.storage.verify import Severity, Verification
from support.disk import FaultyDisk
from support.examples import examples

NAMES = (
    "00000000000000000000.log",
    "00000000000000000000.index",
    "00000000000000000000.timeindex",
    "00000000000000000000.txnindex",
    "00000000000000000007.snapshot",
    "00000000000000000007-0000000001.checkpoint",
    "leader-epoch-checkpoint",
    "partition.metadata",
    "recovery-point-offset-checkpoint",
    "meta.properties",
    ".kafka_cleanshutdown",
    "quorum-state",
)


def spoil(rng: random.Random, data: bytes) -> bytes:
    """Change, remove, repeat or insert something."""
    spoiled = bytearray(data or b"\0")
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(spoiled) + 1)
        size = rng.choice([1, 4, 8, 61, 1000])
        what = rng.randrange(4)
        if what == 0:
            spoiled[at : at + size] = rng.randbytes(size)
        elif what == 1:
            del spoiled[at : at + size]
        elif what == 2:
            spoiled[at:at] = spoiled[at : at + size]
        else:
            spoiled[at:at] = bytes(size)
    return bytes(spoiled)


@pytest.mark.slow
@settings(max_examples=examples(100))
@given(seed=st.integers(0, 2**32))
def test_dump_of_spoiled_files(golden_data: Path, tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    rng = random.Random(seed)
    directory = tmp_path_factory.mktemp("spoiled")
    try:
        source = rng.choice(sorted((golden_data / rng.choice(["clean", "crashed"])).glob("*/*/")))
        for path in source.iterdir():
            if path.stat().st_size < 500_000:
                data = path.read_bytes()
                (directory / path.name).write_bytes(spoil(rng, data) if rng.random() < 0.7 else data)
        for name in NAMES:
            if rng.random() < 0.3:
                (directory / name).write_bytes(rng.randbytes(rng.randrange(300)))
        files = ",".join(str(path) for path in directory.iterdir())
        options = [[], ["--print-data-log"], ["--index-sanity-check"], ["--verify-index-only"], ["--max-bytes", "99"]]
        assert main(["log", "dump", "--files", files, *rng.choice(options)]) in (0, 1)
    finally:
        shutil.rmtree(directory)


@pytest.mark.slow
@settings(max_examples=examples(100))
@given(seed=st.integers(0, 2**32))
def test_verify_of_spoiled_directories(golden_data: Path, seed: int) -> None:
    rng = random.Random(seed)
    source = rng.choice(sorted((golden_data / rng.choice(["clean", "crashed"])).glob("*/*/")))
    disk = FaultyDisk("/data", f"/data/{source.name}")
    for path in (*source.parent.iterdir(), *source.iterdir()):
        if path.is_file() and path.stat().st_size < 500_000:
            data = path.read_bytes()
            name = f"/data/{path.relative_to(source.parent)}"
            disk.put(name, spoil(rng, data) if rng.random() < 0.3 else data)
    for name in NAMES:
        if rng.random() < 0.1:
            disk.put(f"/data/{source.name}/{name}", rng.randbytes(rng.randrange(300)))
    verification = Verification(disk, deep=rng.random() < 0.5, is_held=lambda _lock: rng.random() < 0.3)
    verification.add("/data")
    for finding in verification.run():
        assert finding.severity in Severity
        assert finding.path.startswith("/data")
        assert "\n" not in str(finding)
    assert disk.open_handles == 0
