"""`odradek log handover`: what is in the way of Apache Kafka, and the settings that it gets."""

import fcntl
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from odradek.cli.handover.checks import check_node
from odradek.cli.handover.node import Node
from odradek.cli.handover.properties import Addresses, settings
from odradek.cli.log_handover import Handover
from odradek.cli.main import main
from odradek.metadata.voters import Voters
from odradek.model.numbers import Offset
from odradek.process.files import OsFiles
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.storage.verify import Severity, Verification
from odradek.wire.records.control import Endpoint, KRaftVersionFeature, Voter, VotersRecord
from odradek.wire.records.metadata import FeatureLevelRecord
from odradek.wire.stored import write_metadata_record
from support.logs import NOW

METADATA = "__cluster_metadata-0"
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def data(golden_data: Path, tmp_path: Path) -> Path:
    """Two log directories of Kafka's, stopped properly."""
    shutil.copytree(golden_data / "clean", tmp_path / "data")
    return tmp_path / "data"


def handover(capsys: Capture, *arguments: object) -> tuple[int, dict[str, str], list[str]]:
    """The status, the settings, and what was found."""
    status = main(["log", "handover", *map(str, arguments)])
    printed = capsys.readouterr()
    lines = [line for line in printed.out.splitlines() if not line.startswith("#")]
    found = [line for line in printed.err.splitlines() if not line.startswith("checked ")]
    return status, dict(line.split("=", 1) for line in lines), found


def errors(lines: list[str]) -> list[str]:
    return [line.removeprefix("error    ") for line in lines if line.startswith("error ")]


def metadata_log(data: Path) -> Path:
    return max((data / "d1" / METADATA).glob("*.log"))


def append_metadata(data: Path, *records: FeatureLevelRecord) -> None:
    """As if the node had gone on: a batch after the last one."""
    verification = Verification(OsFiles())
    verification.add(str(data / "d1"))
    assert not [finding for finding in verification.run() if finding.severity.value == "error"]
    (log_dir,) = verification.log_dirs
    end = next(extent.end for partition, extent in log_dir.extents.items() if str(partition) == METADATA)
    assert end is not None
    values = [write_metadata_record(record, 0) for record in records]
    batch = [Record(Offset(end + number), NOW, None, value) for number, value in enumerate(values)]
    with metadata_log(data).open("ab") as log:
        log.write(build_batch(batch, BatchSpec(base_offset=end)))


def test_a_directory_that_can_be_handed_over(data: Path, capsys: Capture) -> None:
    status, given, found = handover(capsys, data)
    assert status == 0
    assert given == {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": "PLAINTEXT://127.0.0.1:19192,CONTROLLER://127.0.0.1:19193",
        "advertised.listeners": "PLAINTEXT://127.0.0.1:19192",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": "1@127.0.0.1:19193",
        "log.dirs": f"{data}/d1,{data}/d2",
        "metadata.log.dir": f"{data}/d1",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "offsets.topic.num.partitions": "2",
        "transaction.state.log.num.partitions": "2",
    }
    place = f"{data}/d1/{METADATA}"
    assert found == [
        f"warning  {place}: 3 ACLs count only with authorizer.class.name and super.users, which are not set",
        f"note     {place}: 2 SCRAM credentials serve only listeners with SASL",
    ]


def test_other_addresses(data: Path, capsys: Capture) -> None:
    _, given, _ = handover(capsys, data / "d1", data / "d2", "--listen", "[::1]:9000", "--controller", "localhost:9100")
    assert given["listeners"] == "PLAINTEXT://[::1]:9000,CONTROLLER://localhost:9100"
    assert given["controller.quorum.voters"] == "1@localhost:9100"
    with pytest.raises(SystemExit):
        main(["log", "handover", str(data), "--listen", "nowhere"])
    assert "'nowhere' must be host:port" in capsys.readouterr().err


def test_what_a_crash_left_is_told(golden_data: Path, capsys: Capture) -> None:
    status, _, found = handover(capsys, golden_data / "crashed")
    assert status == 0
    for name, text in (("d1", "842.4 kB of 9 partitions"), ("d2", "436.7 kB of 10 partitions")):
        path = golden_data / "crashed" / name
        assert f"note     {path}: was not stopped properly: Kafka reads {text} again when it starts" in found


def test_a_directory_that_was_forgotten(data: Path, capsys: Capture) -> None:
    status, given, found = handover(capsys, data / "d1")
    assert (status, given) == (1, {})
    ((place, text),) = [each.split(": ") for each in errors(found)]
    assert place == f"{data}/d1/{METADATA}"
    assert text.startswith("node 1 has a log directory ")
    assert text.endswith(" that was not named")
    status, given, found = handover(capsys, data / "d2")
    assert (status, given) == (1, {})
    assert errors(found) == [f"{data}/d2: no directory has the metadata log, __cluster_metadata-0: name that one, too"]


def test_directories_that_do_not_belong_together(data: Path, tmp_path: Path, capsys: Capture) -> None:
    other = tmp_path / "elsewhere" / "d2"
    other.parent.mkdir()
    (data / "d2").rename(other)
    meta = other / "meta.properties"
    meta.write_text(meta.read_text().replace("node.id=1", "node.id=2"))
    status, _, found = handover(capsys, data / "d1", other)
    assert status == 1
    assert errors(found)[0].startswith(f"{meta}: node 2 of cluster ")


def test_a_directory_in_use(data: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    # The lock of our own process cannot be asked about, so another's is played here.
    (data / "d2" / ".lock").touch()
    with (data / "d2" / ".lock").open("w") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        monkeypatch.setattr("odradek.cli.lock_probe.is_held", lambda path: "d2" in path)
        status, given, found = handover(capsys, data)
    assert (status, given) == (1, {})
    assert errors(found) == [f"{data}/d2: a broker has it open: stop it first"]


@pytest.mark.parametrize(
    ("name", "level", "text"),
    [
        ("metadata.version", 31, "metadata.version 31, where 7 to 30 are supported"),
        ("transaction.version", 3, "transaction.version is at 3, and Kafka 4.3 knows 0 to 2"),
        ("later.version", 1, "the feature later.version is not known to Kafka 4.3"),
    ],
)
def test_features_that_kafka_does_not_know(data: Path, capsys: Capture, name: str, level: int, text: str) -> None:
    append_metadata(data, FeatureLevelRecord(name=name, feature_level=level))
    status, given, found = handover(capsys, data)
    assert (status, given) == (1, {})
    assert [line for line in errors(found) if line.startswith(f"{data}/d1/{METADATA}: ") and line.endswith(text)]


def test_topics_without_logs_and_logs_without_topics(data: Path, capsys: Capture) -> None:
    (data / "d1" / "plain-0").rename(data / "d1" / "nobodys-0")
    status, _, found = handover(capsys, data)
    place = f"{data}/d1/{METADATA}"
    assert f"warning  {place}: plain: no log for 1 partition (0); Kafka begins with empty ones" in found
    stray = "no topic of the cluster has this partition; Kafka sets it aside as a stray"
    assert f"warning  {data}/d1/nobodys-0: {stray}" in found
    assert status == 1  # the checkpoints of a directory that was stopped properly name it


def test_a_log_of_a_topic_that_was_made_anew(data: Path, capsys: Capture) -> None:
    path = data / "d1" / "configured-0" / "partition.metadata"
    path.write_text("version: 0\ntopic_id: Kq6pOCYTQtqkJn4sW6DLcw")
    _, _, found = handover(capsys, data)
    text = "is of another topic of the same name (Kq6pOCYTQtqkJn4sW6DLcw); Kafka sets it aside as a stray"
    assert f"warning  {data}/d1/configured-0: {text}" in found


def test_metadata_that_makes_no_sense_is_one_line(data: Path, capsys: Capture) -> None:
    log = metadata_log(data)
    content = bytearray(log.read_bytes())
    content[100] ^= 1
    log.write_bytes(content)
    status, given, found = handover(capsys, data)
    assert (status, given) == (1, {})
    assert any(str(log) in line for line in errors(found))


def test_paths_that_are_no_log_directories(data: Path, tmp_path: Path, capsys: Capture) -> None:
    for path, text in (
        (tmp_path / "none", "does not exist"),
        (data / "d1" / "plain-0", "is a partition's directory; name the log directory that it is in"),
    ):
        assert main(["log", "handover", str(path)]) == 2
        assert capsys.readouterr() == ("", f"odradek: {path} {text}\n")


def test_settings_are_read_by_java_as_they_are_meant(data: Path, capsys: Capture) -> None:
    moved = data.rename(data.with_name("d\N{SNOWMAN}\\ta"))
    _, given, _ = handover(capsys, moved)
    assert given["metadata.log.dir"].endswith("/d\\u2603\\\\ta/d1")


def test_voters_that_are_kept_in_the_log_are_not_told_again(data: Path) -> None:
    verification = Verification(OsFiles(), one_node=True)
    verification.add(str(data))
    found = Handover(OsFiles(), verification)
    assert [finding.severity.value for finding in found.findings()] == ["warning", "note"]
    assert found.node is not None
    given = settings(with_voters(found.node, 1), Addresses())
    assert "controller.quorum.voters" not in given
    assert given["controller.quorum.bootstrap.servers"] == "controller:9093"
    assert given["listeners"].endswith(",CONTROLLER://controller:9093")
    (refusal,) = [str(each) for each in check_node(with_voters(found.node, 1, 2)) if each.severity is Severity.ERROR]
    assert refusal.endswith("node 1 can only be a quorum by itself; the voters here are 1, 2")


def with_voters(node: Node, *ids: int) -> Node:
    voters = tuple(
        Voter(
            voter_id=number,
            voter_directory_id=bytes(16),
            endpoints=(Endpoint(name="CONTROLLER", host="controller", port=9093),),
            kraft_version_feature=KRaftVersionFeature(min_supported_version=0, max_supported_version=1),
        )
        for number in ids
    )
    kept = Voters(kraft_version=1, record=VotersRecord(version=0, voters=voters))
    image = replace(node.metadata.image, voters=kept)
    return replace(node, metadata=node.metadata._replace(image=image))
