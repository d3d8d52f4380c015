"""Apache Kafka starts with the settings that `odradek log handover` prints, however the directories are laid out."""

import contextlib
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer

from odradek.cli.main import main
from odradek.process.files import OsFiles
from odradek.quorum.reading import read_metadata
from odradek.testing import running_broker
from odradek.testing.broker import free_ports
from support.apache_kafka import ApacheKafka
from support.steady_clients import read_all

CLUSTER = "abcdefghijklmnopqrstuQ"
STORAGE = "kafka.tools.StorageTool"


def in_one(_kafka: ApacheKafka, work: Path) -> tuple[list[Path], list[str]]:
    return [work / "data"], []


def in_two_with_metadata_apart(_kafka: ApacheKafka, work: Path) -> tuple[list[Path], list[str]]:
    directories = [work / name for name in ("one", "two words", "metadata")]
    return directories, ["--data", str(directories[1]), "--set", f"metadata.log.dir={directories[2]}"]


def with_voters_in_the_log(kafka: ApacheKafka, work: Path) -> tuple[list[Path], list[str]]:
    """As `kafka-storage format --standalone` leaves it: the quorum's members are records, not settings."""
    clients, controller = free_ports()[:2]
    settings = {
        "process.roles": "broker,controller",
        "node.id": "7",
        "listeners": f"PLAINTEXT://127.0.0.1:{clients},CONTROLLER://127.0.0.1:{controller}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}",
        "log.dirs": str(work / "data"),
    }
    config = work / "format.properties"
    config.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    ended = kafka.run(STORAGE, "format", "--standalone", "--config", str(config), "--cluster-id", CLUSTER)
    assert ended.status == 0, ended.out + ended.err
    return [work / "data"], []


def handover(directories: list[Path], *options: str) -> str:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(["log", "handover", *options, *map(str, directories)])
    assert status == 0, err.getvalue()
    return out.getvalue()


@pytest.mark.parametrize("layout", [in_one, in_two_with_metadata_apart, with_voters_in_the_log])
def test_kafka_starts_and_odradek_comes_back(
    kafka: ApacheKafka, tmp_path: Path, layout: Callable[[ApacheKafka, Path], tuple[list[Path], list[str]]]
) -> None:
    directories, options = layout(kafka, tmp_path)
    place = ("orders", 0)
    with running_broker(directory=directories[0], options=options) as broker:
        broker.create_topic("orders", 2)
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        producer.produce("orders", "kept", partition=0)
        assert producer.flush(60) == 0
        broker.stop()
        config = tmp_path / "server.properties"
        # Where the log has the voters, it says where the controller listens.
        given = () if layout is with_voters_in_the_log else ("--controller", f"127.0.0.1:{free_ports()[0]}")
        config.write_text(handover(directories, *given), encoding="utf-8")
        running = kafka.launch(config, broker.port, tmp_path / "kafka.log")
        try:
            running.wait_until_up()
            assert read_all(broker.bootstrap, [place], "read_committed") == {place: [(0, b"kept")]}
        finally:
            running.stop()
        broker.start()
        assert read_all(broker.bootstrap, [place], "read_committed") == {place: [(0, b"kept")]}
        broker.kill()
        assert "broker,controller" in handover(directories)
        broker.start()
    found = read_metadata(OsFiles(), str(next(path for path in tmp_path.glob("*/__cluster_metadata-0"))))
    assert found.image.voters.kraft_version == (layout is with_voters_in_the_log)
