"""kill -9 of a whole broker at any moment, under load: what was acknowledged is there.

ODRADEK_EXAMPLES=15 ./run test tests/crash/test_broker_kill.py      300 rounds instead of 20
"""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from odradek.testing.broker import RunningBroker, running_broker
from support.examples import examples
from support.ledger import Ledger, check
from support.load import set_topic
from support.raw_client import RawClient

pytestmark = pytest.mark.slow

CHILD = Path(__file__).with_name("loading_child.py")
SETTINGS = {
    "log.flush.offset.checkpoint.interval.ms": "100",
    "log.retention.check.interval.ms": "50",
    "log.segment.delete.delay.ms": "100",
    "metadata.log.max.record.bytes.between.snapshots": "2000",
    "metadata.max.retention.bytes": "50000",
    "internal.metadata.log.segment.bytes": "20000",
}
SMALL = {"internal.segment.bytes": "60000", "index.interval.bytes": "500"}
AGED = {**SMALL, "retention.bytes": "200000"}
KILLS = 10
"""On one directory; then all of it is checked."""


def test_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    seed = Random().randrange(1 << 32)
    print(f"seed {seed}")  # noqa: T201 - shown if it fails
    rng = Random(seed)
    for number in range(examples(2)):
        told = live_and_die(tmp_path / str(number), rng)
        print(f"life {number}: {told}")  # noqa: T201


def live_and_die(directory: Path, rng: Random) -> str:
    directory.mkdir()
    log_dirs = [str(directory / name) for name in ("data", "more")[: rng.randint(1, 2)]]
    settings = {**SETTINGS, "log.dirs": ",".join(log_dirs)}
    with running_broker(settings, directory=directory / "data") as broker:
        broker.create_topic("orders", 3, SMALL)
        broker.create_topic("aged", 2, AGED)
        broker.create_topic("cut", 1, SMALL)
        broker.create_topic("settings")
        ledger = load_and_kill(broker, settings, rng, directory / "ledger.json")
        told = asyncio.run(check_all(broker.port, ledger, rng))
        unexpected = [line for line in broker.log if "ERROR" in line or "Traceback" in line or "internal error" in line]
        assert unexpected == []
    verified = subprocess.run(
        [sys.executable, "-m", "odradek", "log", "verify", "--deep", *log_dirs],
        capture_output=True,
        text=True,
        check=False,
    )
    assert verified.returncode == 0, verified.stdout
    return f"{told}; {verified.stdout.splitlines()[-1]}"


def load_and_kill(broker: RunningBroker, settings: dict[str, str], rng: Random, path: Path) -> Ledger:
    """Returns what the child was told, after the broker was killed some times and started again."""
    command = [sys.executable, str(CHILD), str(broker.port), str(rng.randrange(1 << 32)), str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            for _ in range(KILLS):
                wait_for_answers(process, rng.randrange(400))
                broker.kill()
                if rng.random() < 0.3:
                    die_while_starting(broker, settings, rng.random() * 0.4)
                broker.start()
            process.communicate()
        except BaseException:
            process.kill()  # it would wait for ever for a broker that does not start
            raise
    assert process.returncode == 0
    ledger = Ledger()
    vars(ledger).update(json.loads(path.read_text(encoding="utf-8")))
    return ledger


def wait_for_answers(process: subprocess.Popen[bytes], count: int) -> None:
    assert process.stdout is not None
    for _ in range(count):
        assert process.stdout.readline(), "the child gave up"


def die_while_starting(broker: RunningBroker, settings: dict[str, str], after_s: float) -> None:
    """Killed in the middle of a recovery, or soon after it."""
    command = [sys.executable, "-m", "odradek", "serve", "--data", str(broker.directory)]
    command += ["--listen", broker.bootstrap]
    for name, value in settings.items():
        command += ["--set", f"{name}={value}"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(after_s)
        process.kill()


async def check_all(port: int, ledger: Ledger, rng: Random) -> str:
    client = await RawClient.connect("127.0.0.1", port)
    await set_topic(client, "aged", "retention.bytes", "-1")  # it must stand still to be checked
    told = await check(client, ledger, rng)
    await client.close()
    return told
